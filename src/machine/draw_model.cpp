// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Built bottom up, so that a box's shape is made of those of what it holds.
#include "machine/draw_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace nigh {

namespace {
bool is_cache(Kind kind) { return kind == Kind::l3 || kind == Kind::l2; }

class ModelMaker {
 public:
  ModelMaker(const Machine& machine, const PuMarks& marks) : m_(machine), marks_(marks) { number_objects(); }
  DrawBox box(int index);

 private:
  [[nodiscard]] const Object& object(int i) const { return m_.objects[static_cast<std::size_t>(i)]; }
  void number_objects();
  [[nodiscard]] std::string label(int index) const;
  [[nodiscard]] const Object* lone_core(int index) const;
  int follow_chain(int index, DrawBox& out) const;
  std::size_t take_cores(const std::vector<int>& children, std::size_t at, DrawBox& out,
                         std::string& title) const;
  void fill(int index, DrawBox& out);
  [[nodiscard]] DrawCell cell(const Object& core) const;
  void finish(DrawBox& out) const;

  const Machine& m_;
  const PuMarks& marks_;
  std::vector<int> number_;  // by object: its OS number, or its place among its kind
};

void ModelMaker::number_objects() {
  std::map<Kind, int> met;
  for (const auto& o : m_.objects) {
    int place = met[o.kind]++;
    number_.push_back(o.os_index >= 0 ? o.os_index : place);
  }
}

std::string ModelMaker::label(int index) const {
  const auto& o = object(index);
  std::string size = format_bytes(o.bytes);
  if (is_cache(o.kind)) return (o.kind == Kind::l3 ? "L3" : "L2") + (size.empty() ? "" : ' ' + size);
  std::string out = fmt::format("{} {}", kind_name(o.kind), number_[static_cast<std::size_t>(index)]);
  if (!size.empty()) out += ", " + size;
  if (o.kind == Kind::numa && o.pus.empty()) out += ", memory only";
  return out;
}

// The core that the object is, or that an L2 of its own holds.
const Object* ModelMaker::lone_core(int index) const {
  const auto& o = object(index);
  if (o.kind == Kind::core) return &o;
  bool holds_one = o.kind == Kind::l2 && o.children.size() == 1 && object(o.children[0]).kind == Kind::core;
  return holds_one ? &object(o.children[0]) : nullptr;
}

// Puts the labels of an object and of its only children into the title; returns the innermost object.
int ModelMaker::follow_chain(int index, DrawBox& out) const {
  for (;;) {
    const auto& o = object(index);
    if (o.kind != Kind::machine) {
      if (out.kinds.empty()) {
        out.number = number_[static_cast<std::size_t>(index)];
        out.plural =
            is_cache(o.kind) ? "" : fmt::format("{}{}", kind_name(o.kind), o.kind == Kind::numa ? "" : "s");
      }
      out.title.push_back(label(index));
      out.kinds.push_back(o.kind);
    }
    if (o.children.size() != 1 || lone_core(o.children[0]) != nullptr ||
        object(o.children[0]).kind == Kind::pu)
      return index;
    index = o.children[0];
  }
}

// Takes cores from `at` on, as long as their L2 is alike, into `out`; `title` says what L2 they have.
std::size_t ModelMaker::take_cores(const std::vector<int>& children, std::size_t at, DrawBox& out,
                                   std::string& title) const {
  const auto& first = object(children[at]);
  std::size_t end = at;
  for (; end < children.size() && lone_core(children[end]) != nullptr; ++end) {
    const auto& o = object(children[end]);
    if (o.kind != first.kind || o.bytes != first.bytes) break;
    out.cells.push_back(cell(*lone_core(children[end])));
  }
  if (first.kind == Kind::l2) {
    std::string size = format_bytes(first.bytes);
    title = end - at > 1 ? fmt::format("{} × L2", end - at) : "L2";
    title += size.empty() ? "" : ' ' + size;
  }
  return end;
}

DrawCell ModelMaker::cell(const Object& core) const {
  DrawCell out;
  for (int pu : core.children) out.pus.push_back(object(pu).os_index);
  return out;
}

void ModelMaker::fill(int index, DrawBox& out) {
  const auto& children = object(index).children;
  for (std::size_t at = 0; at < children.size();) {
    if (object(children[at]).kind == Kind::pu) {  // PUs without a core: a cell each
      DrawCell alone;
      alone.pus.push_back(object(children[at++]).os_index);
      out.cells.push_back(std::move(alone));
    } else if (lone_core(children[at]) != nullptr) {
      DrawBox cores;
      std::string title;
      bool from_start = at == 0;
      at = take_cores(children, at, cores, title);
      if (from_start && at == children.size()) {
        out.cells = std::move(cores.cells);
        if (!title.empty()) out.title.push_back(title);
        return;
      }
      if (!title.empty()) cores.title.push_back(title);
      if (title.empty()) cores.title.push_back(cores.cells.size() == 1 ? "core" : "cores");
      cores.kinds.push_back(Kind::l2);
      for (const auto& c : cores.cells)
        for (int pu : c.pus) cores.pus.set(pu);
      finish(cores);
      out.boxes.push_back(std::move(cores));
    } else {
      out.boxes.push_back(box(children[at++]));
    }
  }
}

void ModelMaker::finish(DrawBox& out) const {
  std::string shape = "{";
  for (const auto& part : out.title) {
    // numbers that name a thing do not make a difference, sizes do
    std::size_t comma = part.find(',');
    bool named =
        part.rfind("L2", 0) != 0 && part.rfind("L3", 0) != 0 && part.find(" × L2") == std::string::npos;
    shape += (named ? part.substr(0, part.find(' ')) + (comma == std::string::npos ? "" : part.substr(comma))
                    : part);
    shape += ';';
  }
  for (const auto& b : out.boxes) shape += b.shape;
  for (const auto& c : out.cells) {
    shape += '[';
    for (int pu : c.pus) {
      auto mark = marks_.find(pu);
      shape += mark == marks_.end() ? "." : fmt::format("{}/{} ", mark->second.text, mark->second.color);
    }
    shape += ']';
  }
  out.shape = shape + '}';
}

DrawBox ModelMaker::box(int index) {
  DrawBox out;
  out.pus = object(index).pus;
  int inner = follow_chain(index, out);
  fill(inner, out);
  finish(out);
  return out;
}

// Length of the well-formed UTF-8 sequence at `at`, 0 when it is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  unsigned lead = byte(at);
  std::size_t n = lead < 0x80                   ? 1
                  : lead >= 0xc2 && lead < 0xe0 ? 2
                  : lead >= 0xe0 && lead < 0xf0 ? 3
                  : lead >= 0xf0 && lead < 0xf5 ? 4
                                                : 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  bool overlong = (lead == 0xe0 && byte(at + 1) < 0xa0) || (lead == 0xf0 && byte(at + 1) < 0x90);
  bool beyond = (lead == 0xed && byte(at + 1) > 0x9f) || (lead == 0xf4 && byte(at + 1) > 0x8f);
  bool no_character = lead == 0xef && byte(at + 1) == 0xbf && byte(at + 2) >= 0xbe;
  bool c1_control = lead == 0xc2 && byte(at + 1) < 0xa0;
  return overlong || beyond || no_character || c1_control ? 0 : n;
}
}  // namespace

bool DrawBox::has(Kind kind) const { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); }

std::string DrawBox::full_title() const {
  std::string out;
  for (const auto& part : title) out += (out.empty() ? "" : " · ") + part;
  return out;
}

DrawBox draw_model(const Machine& machine, const PuMarks& marks) { return ModelMaker(machine, marks).box(0); }

std::string format_bytes(std::uint64_t bytes) {
  if (bytes == 0) return "";
  const char* unit = "KiB";
  int shift = 10;
  if (bytes >= std::uint64_t{1} << 30)
    unit = "GiB", shift = 30;
  else if (bytes >= std::uint64_t{1} << 20)
    unit = "MiB", shift = 20;
  double value = static_cast<double>(bytes) / static_cast<double>(std::uint64_t{1} << shift);
  std::string text = fmt::format("{:.2f}", value);
  if (value >= 100)
    text = fmt::format("{:.0f}", value);
  else if (value >= 10)
    text = fmt::format("{:.1f}", value);
  if (text.find('.') != std::string::npos) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return text + ' ' + unit;
}

std::string printable(std::string_view text, std::string_view kept) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t n = utf8_length(text, at);
    auto c = static_cast<unsigned char>(text[at]);
    bool fine = n > 0 && ((c >= ' ' && c != 0x7f) || kept.find(text[at]) != std::string_view::npos);
    out += fine ? text.substr(at, n) : "?";
    at += std::max<std::size_t>(n, 1);
  }
  return out;
}

int display_width(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace nigh
