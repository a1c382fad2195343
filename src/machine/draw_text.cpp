// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Boxes in boxes on a terminal. Every piece is a block of lines of one width; blocks are put side by side,
// stacked and framed. A picture that gets too tall is drawn again with alike siblings folded, one more level
// at a time from the outside in, until it fits a screen.
#include <fmt/format.h>

#include <algorithm>

#include "machine/draw_model.hpp"

namespace nigh {

namespace {
constexpr int screen_height = 38;
constexpr int max_folds = 8;

struct Block {
  std::vector<std::string> lines;
  std::vector<int> widths;  // columns, without escape sequences
  void add(std::string line, int columns) {
    lines.push_back(std::move(line));
    widths.push_back(columns);
  }
  void add(const Block& other) {
    lines.insert(lines.end(), other.lines.begin(), other.lines.end());
    widths.insert(widths.end(), other.widths.begin(), other.widths.end());
  }
  [[nodiscard]] int width() const {
    return widths.empty() ? 0 : *std::max_element(widths.begin(), widths.end());
  }
};

std::string spaces(int n) { return std::string(static_cast<std::size_t>(std::max(0, n)), ' '); }

std::string dashes(int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += "─";
  return out;
}

// Foregrounds that can be told apart on black and on white.
constexpr int ansi_colors[] = {33, 166, 34, 133, 161, 37, 178, 70, 99, 137, 103, 43};

class TextDrawer {
 public:
  TextDrawer(const PuMarks& marks, int width, bool color) : marks_(marks), width_(width), color_(color) {}
  Block draw(const DrawBox& root, int folds) {
    for (int pu : root.pus.members()) pu_columns_ = std::max(pu_columns_, display_width(pu_text(pu)));
    return draw_root(root, folds);
  }

 private:
  Block draw_root(const DrawBox& root, int folds);
  [[nodiscard]] std::string paint(const std::string& text, const char* code) const {
    return color_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  [[nodiscard]] std::string pu_text(int pu) const;
  [[nodiscard]] std::string painted_pu(int pu, int columns) const;
  Block cells(const std::vector<DrawCell>& cells, int width);
  Block children(const std::vector<DrawBox>& boxes, int width, int folds);
  Block side_by_side(const std::vector<Block>& blocks, int width);
  Block box(const DrawBox& box, int width, int folds);
  Block frame(const DrawBox& box, const Block& content, int width);
  Block wrapped(const std::string& text, int width);
  Block fold_note(const std::vector<DrawBox>& boxes, std::size_t first, std::size_t end, int width);

  const PuMarks& marks_;
  int width_;
  bool color_;
  int pu_columns_ = 1;  // one width for all, so that columns line up
};

std::string TextDrawer::pu_text(int pu) const {
  auto mark = marks_.find(pu);
  if (mark == marks_.end()) return std::to_string(pu);
  if (mark->second.color < 0)
    return fmt::format("{}:{}", pu, mark->second.text.empty() ? "-" : mark->second.text);
  return fmt::format("{}:{}", pu, mark->second.text);
}

std::string TextDrawer::painted_pu(int pu, int columns) const {
  std::string text = printable(pu_text(pu));
  std::string pad = spaces(columns - display_width(text));
  auto mark = marks_.find(pu);
  if (mark == marks_.end()) return pad + text;
  if (mark->second.color < 0) return pad + paint(text, "2");
  auto code = fmt::format("1;38;5;{}", ansi_colors[static_cast<std::size_t>(mark->second.color) % 12]);
  return pad + paint(text, code.c_str());
}

// Cores in rows: "[0 8] [1 9]", each PU in a column of the same width.
Block TextDrawer::cells(const std::vector<DrawCell>& cells, int width) {
  int columns = pu_columns_;
  Block out;
  std::string line;
  int used = 0;
  for (const auto& c : cells) {
    int cell = static_cast<int>(c.pus.size()) * (columns + 1) + 1;
    if (used > 0 && used + 1 + cell > width) {
      out.add(std::move(line), used);
      line.clear();
      used = 0;
    }
    if (used > 0) line += ' ';
    used += cell + (used > 0 ? 1 : 0);
    line += paint("[", "2");
    for (std::size_t i = 0; i < c.pus.size(); ++i) line += (i > 0 ? " " : "") + painted_pu(c.pus[i], columns);
    line += paint("]", "2");
  }
  if (used > 0) out.add(std::move(line), used);
  return out;
}

// Words wrapped at spaces, for titles and notes.
Block TextDrawer::wrapped(const std::string& text, int width) {
  Block out;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      out.add(line, display_width(line));
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  if (!line.empty()) out.add(line, display_width(line));
  return out;
}

// Rows of blocks of one width, as many in a row as fit.
Block TextDrawer::side_by_side(const std::vector<Block>& blocks, int width) {
  int each = 0;
  for (const auto& b : blocks) each = std::max(each, b.width());
  auto in_row = static_cast<std::size_t>(std::max(1, (width + 1) / (each + 1)));
  Block out;
  for (std::size_t at = 0; at < blocks.size(); at += in_row) {
    std::size_t end = std::min(blocks.size(), at + in_row);
    std::size_t height = 0;
    for (std::size_t i = at; i < end; ++i) height = std::max(height, blocks[i].lines.size());
    for (std::size_t row = 0; row < height; ++row) {
      std::string line;
      int used = 0;
      for (std::size_t i = at; i < end; ++i) {
        bool any = row < blocks[i].lines.size();
        int target = static_cast<int>(i - at) * (each + 1);
        line += spaces(target - used) + (any ? blocks[i].lines[row] : "");
        used = std::max(target, used) + (any ? blocks[i].widths[row] : 0);
      }
      out.add(std::move(line), used);
    }
  }
  return out;
}

// "+ 3 more: packages 1-3 (PUs 4-15)" for boxes [first, end), which are like the one before them.
Block TextDrawer::fold_note(const std::vector<DrawBox>& boxes, std::size_t first, std::size_t end,
                            int width) {
  CpuSet numbers;
  CpuSet pus;
  for (std::size_t i = first; i < end; ++i) {
    if (boxes[i].number >= 0) numbers.set(boxes[i].number);
    pus |= boxes[i].pus;
  }
  const auto& name = boxes[first].plural;
  std::string text = fmt::format("+ {} more like this", end - first);
  if (!name.empty()) {
    bool one = end - first == 1 && name.back() == 's';
    text += fmt::format(": {} {}", one ? name.substr(0, name.size() - 1) : name, numbers.to_list());
  }
  if (!pus.empty()) text += fmt::format("{} PUs {}", name.empty() ? ":" : ",", pus.to_list());
  Block out = wrapped(text, width);
  for (auto& line : out.lines) line = paint(line, "3");
  return out;
}

Block TextDrawer::children(const std::vector<DrawBox>& boxes, int width, int folds) {
  Block out;
  std::vector<Block> row;
  auto flush = [&] {
    if (!row.empty()) out.add(side_by_side(row, width));
    row.clear();
  };
  int deeper = boxes.size() > 1 ? folds - 1 : folds;
  for (std::size_t at = 0; at < boxes.size();) {
    std::size_t end = at + 1;
    while (end < boxes.size() && boxes[end].shape == boxes[at].shape) ++end;
    bool fold = folds > 0 && end - at > 1;
    std::size_t shown = fold ? at + 1 : end;
    for (std::size_t i = at; i < shown; ++i) row.push_back(box(boxes[i], width, deeper));
    if (fold) {
      flush();
      out.add(fold_note(boxes, shown, end, width));
    }
    at = end;
  }
  flush();
  return out;
}

Block TextDrawer::frame(const DrawBox& box, const Block& content, int width) {
  std::string title = box.full_title();
  Block inside;
  if (display_width(title) + 6 > width && box.title.size() > 1) {  // too long: the rest goes inside
    title = box.title.front();
    std::string rest;
    for (std::size_t i = 1; i < box.title.size(); ++i) rest += (i > 1 ? " · " : "") + box.title[i];
    inside = wrapped(rest, std::max(8, width - 4));
  }
  inside.add(content);
  int inner = std::max(inside.width(), display_width(title) + 2);
  Block out;
  bool hollow = box.has(Kind::numa) && box.pus.empty();
  const char* tint = box.has(Kind::numa) ? "36" : "1";
  out.add(paint("╭─ ", "2") + paint(title, hollow ? "35" : tint) +
              paint(" " + dashes(inner - 1 - display_width(title)) + "╮", "2"),
          inner + 4);
  for (std::size_t i = 0; i < inside.lines.size(); ++i)
    out.add(
        paint("│", "2") + ' ' + inside.lines[i] + spaces(inner - inside.widths[i]) + ' ' + paint("│", "2"),
        inner + 4);
  out.add(paint("╰" + dashes(inner + 2) + "╯", "2"), inner + 4);
  return out;
}

Block TextDrawer::box(const DrawBox& box, int width, int folds) {
  int inner = std::max(8, width - 4);
  Block content = cells(box.cells, inner);
  content.add(children(box.boxes, inner, folds));
  return frame(box, content, width);
}

Block TextDrawer::draw_root(const DrawBox& root, int folds) {
  if (!root.title.empty()) return box(root, width_, folds);
  Block out = cells(root.cells, width_);
  out.add(children(root.boxes, width_, folds));
  return out;
}
}  // namespace

std::string draw_text(const Machine& machine, const PuMarks& marks, int width, bool color) {
  DrawBox root = draw_model(machine, marks);
  TextDrawer drawer(marks, std::max(width, 24), color);
  Block picture = drawer.draw(root, 0);
  for (int folds = 1; folds <= max_folds && picture.lines.size() > screen_height; ++folds)
    picture = drawer.draw(root, folds);
  std::string out;
  for (const auto& line : picture.lines) out += line + '\n';
  return out;
}

}  // namespace nigh
