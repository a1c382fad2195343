// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Boxes in boxes as SVG. Each box picks the number of columns that fits its children into the smallest frame
// of a page's proportions, so a laptop and a machine of 512 PUs both come out well shaped. Colours are
// classes with a light and a dark form; ink is currentColor, so the picture takes the page's own where it is
// inlined.
#include <algorithm>

#include "machine/draw_model.hpp"
#include "machine/palette.hpp"

namespace nigh {

namespace {
constexpr double aspect = 1.5;
constexpr double pad = 9;
constexpr double gap = 8;
constexpr double title_height = 21;
constexpr double char_width = 6.6;  // of a 12 px sans title, on the wide side
constexpr double core_pad = 3;
constexpr double pu_gap = 2;
constexpr double core_gap = 5;
constexpr double line_height = 15;
constexpr double title_room = 190;  // a title may make its box this wide, no wider
constexpr double head_height = 50;
constexpr double margin = 18;

struct Size {
  double w = 0;
  double h = 0;
};

struct Laid {
  const DrawBox* box = nullptr;
  Size size;
  std::vector<Laid> boxes;
  std::size_t cell_columns = 1;
  std::size_t box_columns = 1;
  Size cells;
  std::vector<std::string> title;  // lines
};

// The parts of a title in lines that fit into `room`, as far as whole parts do.
std::vector<std::string> title_lines(const DrawBox& box, double room) {
  std::vector<std::string> out;
  for (const auto& part : box.title) {
    std::string longer = out.empty() ? part : out.back() + " · " + part;
    if (!out.empty() && char_width * display_width(longer) <= room)
      out.back() = longer;
    else
      out.push_back(part);
  }
  return out;
}

double title_space(const Laid& laid) {
  if (laid.title.empty()) return 0;
  return title_height - 5 + line_height * static_cast<double>(laid.title.size() - 1);
}

// The frame of the page's proportions that holds a picture of this size.
double frame_of(Size s) { return std::max(s.w / aspect, s.h); }

class SvgDrawer {
 public:
  SvgDrawer(const Machine& machine, const PuMarks& marks);
  Markup draw();

 private:
  [[nodiscard]] Size grid(const std::vector<Laid>& boxes, std::size_t columns) const;
  [[nodiscard]] Size core_size(const DrawBox& box) const;
  void lay_cells(Laid& laid) const;
  Laid lay(const DrawBox& box) const;
  void put(const Laid& laid, Size size, double x, double y);  // stretched to `size`
  void put_title(const Laid& laid, double x, double y);
  void put_boxes(const Laid& laid, double x, double y);
  void put_cells(const Laid& laid, double x, double y);
  void put_pu(int pu, double x, double y);
  [[nodiscard]] Markup head(Size size) const;

  const Machine& machine_;
  const PuMarks& marks_;
  DrawBox root_;
  double pu_width_ = 24;
  double pu_height_ = 20;
  Markup out_;
};

SvgDrawer::SvgDrawer(const Machine& machine, const PuMarks& marks)
    : machine_(machine), marks_(marks), root_(draw_model(machine, marks)) {
  int longest = 2;
  for (int pu : machine.pus().members())
    longest = std::max(longest, static_cast<int>(std::to_string(pu).size()));
  for (const auto& [pu, mark] : marks) longest = std::max(longest, display_width(mark.text));
  pu_width_ = std::max(pu_width_, 9 + 7.0 * longest);
  if (!marks.empty()) pu_height_ = 31;
}

Size SvgDrawer::core_size(const DrawBox& box) const {
  std::size_t pus = 1;
  for (const auto& c : box.cells) pus = std::max(pus, c.pus.size());
  auto n = static_cast<double>(pus);
  return {2 * core_pad + n * pu_width_ + (n - 1) * pu_gap, 2 * core_pad + pu_height_};
}

void SvgDrawer::lay_cells(Laid& laid) const {
  std::size_t n = laid.box->cells.size();
  if (n == 0) return;
  Size core = core_size(*laid.box);
  double title = char_width * display_width(laid.box->full_title());
  title = std::min(title, title_room);
  double best = 1e300;
  for (std::size_t columns = 1; columns <= n; ++columns) {
    const std::size_t row_count = (n + columns - 1) / columns;
    auto rows = static_cast<double>(row_count);
    auto across = static_cast<double>(columns);
    Size s{across * core.w + (across - 1) * core_gap, rows * core.h + (rows - 1) * core_gap};
    double holes = static_cast<double>(columns) * rows - static_cast<double>(n);
    double cost = std::max(std::max(s.w, title) / 2.2, s.h) * (1 + 0.004 * holes) + 0.01 * s.h;
    if (cost >= best) continue;
    best = cost;
    laid.cell_columns = columns;
    laid.cells = s;
  }
}

// Size of a grid whose columns and rows are each as large as their largest member.
Size SvgDrawer::grid(const std::vector<Laid>& boxes, std::size_t columns) const {
  double each = 0;
  for (const auto& b : boxes) each = std::max(each, b.size.w);
  Size s{static_cast<double>(columns) * each + static_cast<double>(columns - 1) * gap, -gap};
  for (std::size_t at = 0; at < boxes.size(); at += columns) {
    double row = 0;
    for (std::size_t i = at; i < std::min(boxes.size(), at + columns); ++i)
      row = std::max(row, boxes[i].size.h);
    s.h += row + gap;
  }
  return s;
}

Laid SvgDrawer::lay(const DrawBox& box) const {
  Laid laid;
  laid.box = &box;
  for (const auto& b : box.boxes) laid.boxes.push_back(lay(b));
  lay_cells(laid);
  Size inside = laid.cells;
  if (!laid.boxes.empty()) {
    double best = 1e300;
    Size boxes;
    for (std::size_t columns = 1; columns <= laid.boxes.size(); ++columns) {
      Size s = grid(laid.boxes, columns);
      std::size_t holes = (columns - laid.boxes.size() % columns) % columns;
      double slots = static_cast<double>(laid.boxes.size() + holes);
      double cost = frame_of(s) * (1 + 0.6 * static_cast<double>(holes) / slots);
      if (cost >= best) continue;
      best = cost;
      laid.box_columns = columns;
      boxes = s;
    }
    if (inside.h > 0) inside.h += gap;
    inside = {std::max(inside.w, boxes.w), inside.h + boxes.h};
  }
  laid.title = title_lines(box, std::max(inside.w, title_room));
  bool titled = !laid.title.empty();
  double words = 0;
  for (const auto& line : laid.title) words = std::max(words, char_width * display_width(line) + 10);
  double edge = titled ? 2 * pad : 0;
  laid.size = {std::max(inside.w, words) + edge, inside.h + edge + title_space(laid)};
  return laid;
}

void SvgDrawer::put_pu(int pu, double x, double y) {
  auto mark = marks_.find(pu);
  double middle = x + pu_width_ / 2;
  auto rect = [&](const Markup& style) {
    out_ += markup("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" {}/>", x, y,
                   pu_width_, pu_height_, style);
  };
  if (mark == marks_.end() || mark->second.color < 0) {
    bool off = mark != marks_.end();
    rect(markup("class=\"{}\"", off ? "nigh-off" : "nigh-pu"));
    out_ += markup("<text class=\"nigh-num{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", off ? " nigh-dim" : "",
                   middle, y + pu_height_ / 2 + 4, pu);
    return;
  }
  auto colour = palette_color(mark->second.color);
  auto text = ink_on(colour);
  rect(markup("fill=\"{}\"", hex(colour)));
  out_ += markup("<text class=\"nigh-mark\" x=\"{:.1f}\" y=\"{:.1f}\" style=\"fill:{}\">{}</text>", middle,
                 y + 14, hex(text), mark->second.text);
  out_ += markup("<text class=\"nigh-small\" x=\"{:.1f}\" y=\"{:.1f}\" style=\"fill:{}\">{}</text>", middle,
                 y + 26, hex(text), pu);
}

void SvgDrawer::put_cells(const Laid& laid, double x, double y) {
  Size core = core_size(*laid.box);
  for (std::size_t i = 0; i < laid.box->cells.size(); ++i) {
    const auto& cell = laid.box->cells[i];
    double cx = x + static_cast<double>(i % laid.cell_columns) * (core.w + core_gap);
    const std::size_t row = i / laid.cell_columns;
    double cy = y + static_cast<double>(row) * (core.h + core_gap);
    double wide = 2 * core_pad + static_cast<double>(cell.pus.size()) * (pu_width_ + pu_gap) - pu_gap;
    out_ += markup(
        "<rect class=\"nigh-core\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "rx=\"6\"/>",
        cx, cy, wide, core.h);
    for (std::size_t k = 0; k < cell.pus.size(); ++k)
      put_pu(cell.pus[k], cx + core_pad + static_cast<double>(k) * (pu_width_ + pu_gap), cy + core_pad);
    out_ += "\n";
  }
}

void SvgDrawer::put_boxes(const Laid& laid, double x, double y) {
  double each = 0;
  for (const auto& b : laid.boxes) each = std::max(each, b.size.w);
  for (std::size_t at = 0; at < laid.boxes.size(); at += laid.box_columns) {
    std::size_t end = std::min(laid.boxes.size(), at + laid.box_columns);
    double row = 0;
    for (std::size_t i = at; i < end; ++i) row = std::max(row, laid.boxes[i].size.h);
    for (std::size_t i = at; i < end; ++i)
      put(laid.boxes[i], {each, row}, x + static_cast<double>(i - at) * (each + gap), y);
    y += row + gap;
  }
}

// The first part stands out, but for caches.
void SvgDrawer::put_title(const Laid& laid, double x, double y) {
  const auto& box = *laid.box;
  bool named = box.kinds.empty() || (box.kinds.front() != Kind::l3 && box.kinds.front() != Kind::l2);
  for (std::size_t i = 0; i < laid.title.size(); ++i) {
    const std::string& text = laid.title[i];
    Markup line = escaped(text);
    if (i == 0 && named) {
      const std::size_t end = std::min(box.title[0].find(','), box.title[0].size());
      line = markup("<tspan class=\"nigh-name\">{}</tspan>{}", text.substr(0, end), text.substr(end));
    }
    out_ += markup("<text class=\"nigh-title\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x,
                   y + line_height * static_cast<double>(i), line);
  }
}

void SvgDrawer::put(const Laid& laid, Size size, double x, double y) {
  const auto& box = *laid.box;
  if (!laid.title.empty()) {
    const char* look = box.has(Kind::numa) ? (box.pus.empty() ? "nigh-memory" : "nigh-node") : "nigh-box";
    out_ += markup(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "rx=\"8\"/>\n",
        look, x, y, size.w, size.h);
    put_title(laid, x + pad, y + 16);
    x += pad;
    y += pad + title_space(laid);
  }
  put_cells(laid, x, y);
  if (!box.cells.empty()) y += laid.cells.h + gap;
  put_boxes(laid, x, y);
}

Markup SvgDrawer::head(Size size) const {
  std::string name = machine_.title.empty() ? machine_.name : machine_.title;
  if (name.empty()) name = "machine";
  Markup out = markup(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"nigh-machine\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n",
      size.w, size.h, name);
  out +=
      "<style>\n"
      ".nigh-machine{color:#1c2430;font-family:Inter,\"Segoe UI\",\"DejaVu Sans\",Helvetica,Arial,sans-serif;"
      "max-width:100%;height:auto}\n"
      ".nigh-machine text{fill:currentColor;font-size:11.5px}\n"
      ".nigh-machine .nigh-head{font-size:17px;font-weight:600}\n"
      ".nigh-machine .nigh-sub{font-size:12px;fill-opacity:.65}\n"
      ".nigh-machine .nigh-title{fill-opacity:.72}\n"
      ".nigh-machine .nigh-name{font-weight:600;fill-opacity:1}\n"
      ".nigh-machine .nigh-box{fill:currentColor;fill-opacity:.035;stroke:currentColor;stroke-opacity:.28}\n"
      ".nigh-machine .nigh-node{fill:#2f6fde;fill-opacity:.09;stroke:#2f6fde;stroke-opacity:.6}\n"
      ".nigh-machine .nigh-memory{fill:#8b5cf6;fill-opacity:.13;stroke:#8b5cf6;stroke-opacity:.75;"
      "stroke-dasharray:5 3}\n"
      ".nigh-machine .nigh-core{fill:currentColor;fill-opacity:.09}\n"
      ".nigh-machine .nigh-pu{fill:#fff;fill-opacity:.95}\n"
      ".nigh-machine .nigh-off{fill:currentColor;fill-opacity:.05}\n"
      ".nigh-machine .nigh-num{text-anchor:middle;font-variant-numeric:tabular-nums}\n"
      ".nigh-machine .nigh-dim{fill-opacity:.35}\n"
      ".nigh-machine text.nigh-mark{text-anchor:middle;font-weight:700}\n"
      ".nigh-machine text.nigh-small{text-anchor:middle;font-size:9px;fill-opacity:.85}\n"
      "@media (prefers-color-scheme:dark){.nigh-machine{color:#e6e9ef}.nigh-machine .nigh-pu{fill:#0b0f16;"
      "fill-opacity:.55}.nigh-machine .nigh-box{fill-opacity:.06}.nigh-machine .nigh-node{fill-opacity:.16;"
      "stroke:#6ea0ff}}\n"
      "</style>\n";
  out += markup(
      "<text class=\"nigh-head\" x=\"{0:.0f}\" y=\"32\">{1}</text>\n"
      "<text class=\"nigh-sub\" x=\"{0:.0f}\" y=\"52\">{2}</text>\n",
      margin, name, machine_.summary());
  return out;
}

Markup SvgDrawer::draw() {
  Laid laid = lay(root_);
  std::string name = machine_.title.empty() ? machine_.name : machine_.title;
  double words = std::max(10.9 * display_width(name), char_width * display_width(machine_.summary()));
  Size size{std::max(laid.size.w, words) + 2 * margin, laid.size.h + head_height + 2 * margin};
  put(laid, laid.size, margin, head_height + margin);
  return head(size) + out_ + "</svg>\n";
}
}  // namespace

Markup draw_svg(const Machine& machine, const PuMarks& marks) { return SvgDrawer(machine, marks).draw(); }

}  // namespace nigh
