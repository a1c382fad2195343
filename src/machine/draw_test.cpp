// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Pictures: what they must show, the widths they must keep, that the SVG is well-formed whatever the names
// are, and that team colours can be read and told apart.
#include "machine/draw.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "machine/draw_model.hpp"
#include "machine/load.hpp"
#include "machine/palette.hpp"

namespace nigh {
namespace {

Machine model(const std::string& name) { return *load_model(name); }

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// A small well-formedness check: tags balance, entities are known, no stray '<' or '&', attributes are
// quoted.
std::string xml_fault(const std::string& text) {
  std::vector<std::string> open;
  bool root_closed = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '&') {
      auto end = text.find(';', at);
      std::string entity = end == std::string::npos ? "" : text.substr(at, end - at + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;" &&
          entity != "&#39;")
        return "bad entity at " + std::to_string(at);
    }
    if (static_cast<unsigned char>(text[at]) < ' ' && text[at] != '\n') return "control character";
    if (text[at] != '<') {
      if (open.empty() && text[at] != '\n') return "text outside the root at " + std::to_string(at);
      ++at;
      continue;
    }
    if (root_closed) return "second root";
    auto end = text.find('>', at);
    if (end == std::string::npos) return "unclosed tag";
    std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos || times(tag, "\"") % 2 != 0) return "bad tag " + tag;
    std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "unbalanced " + tag;
      open.pop_back();
      root_closed = open.empty();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  return open.empty() && root_closed ? "" : "not closed";
}

TEST(DrawText, BarcelonaAsDrawn) {
  EXPECT_EQ(draw_text(model("nehalem-hp")),
            "╭─ package 0 · numa 0 · L3 8 MiB · 4 × L2 256 KiB ─╮\n"
            "│ [ 0  8] [ 2 10] [ 4 12] [ 6 14]                  │\n"
            "╰──────────────────────────────────────────────────╯\n"
            "╭─ package 1 · numa 1 · L3 8 MiB · 4 × L2 256 KiB ─╮\n"
            "│ [ 1  9] [ 3 11] [ 5 13] [ 7 15]                  │\n"
            "╰──────────────────────────────────────────────────╯\n");
}

TEST(DrawText, KeepsItsWidthAndStaysShort) {
  for (const auto& name : model_names())
    for (int width : {60, 80, 120}) {
      auto text = draw_text(model(name), {}, width);
      auto all = lines(text);
      EXPECT_LE(all.size(), width >= 80 ? 40u : 48u) << name;
      for (const auto& line : all) EXPECT_LE(display_width(line), width) << name << '\n' << text;
    }
}

TEST(DrawText, FoldsAlikeSiblingsAndSaysWhich) {
  auto text = draw_text(model("scalemp"));
  EXPECT_NE(text.find("+ 12 more like this: boards 1-12, PUs 8-103"), std::string::npos) << text;
  EXPECT_EQ(times(text, "board "), 1u);
}

TEST(DrawText, MarksThatDifferAreNeverFolded) {
  auto m = model("opteron-6272");
  PuMarks marks;
  for (int pu = 0; pu < 64; ++pu) marks[pu] = {std::to_string(pu / 8) + '.' + std::to_string(pu % 8), pu / 8};
  auto text = draw_text(m, marks);
  for (int pu = 0; pu < 64; ++pu)
    EXPECT_NE(text.find(std::to_string(pu) + ':' + marks[pu].text), std::string::npos) << pu;
  PuMarks off;
  for (int pu = 16; pu < 64; ++pu) off[pu] = {"", -1};
  auto masked = draw_text(m, off);
  EXPECT_NE(masked.find("16:-"), std::string::npos) << masked;
  EXPECT_NE(masked.find("+ 2 more like this: packages 2-3"), std::string::npos) << masked;
}

TEST(DrawText, ColourChangesNoColumn) {
  auto m = model("tigerton");
  PuMarks marks{{0, {"0", 0}}, {4, {"1", 13}}, {8, {"", -1}}};
  auto plain = draw_text(m, marks);
  auto colored = draw_text(m, marks, 80, true);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  std::string stripped;
  for (std::size_t at = 0; at < colored.size(); ++at) {
    if (colored[at] == '\x1b')
      at = colored.find('m', at);
    else
      stripped += colored[at];
  }
  EXPECT_EQ(stripped, plain);
  EXPECT_GT(colored.size(), plain.size());
}

TEST(DrawMatrices, SmallOnesInFullLargeOnesByRelation) {
  auto opteron = draw_matrices(model("opteron-6272"));
  EXPECT_NE(opteron.find("     3   1915m"), std::string::npos) << opteron;
  EXPECT_NE(opteron.find("m measured, g guessed"), std::string::npos);
  auto m = model("scalemp-bielefeld");
  std::size_t n = m.node_count();
  m.bandwidth.value.assign(n * n, 300);
  m.bandwidth.source.assign(n * n, Source::guessed);
  m.bandwidth.value[0 * n + 5] = 20;
  m.bandwidth.value[1] = 9000;
  auto text = draw_matrices(m);
  EXPECT_NE(text.find("elsewhere"), std::string::npos) << text;
  EXPECT_NE(text.find("in the board"), std::string::npos) << text;
  EXPECT_NE(text.find("0 to 5: 20"), std::string::npos) << text;
  EXPECT_NE(text.find("(870 links)") == std::string::npos ? text.find("(840 links)") : 0, std::string::npos)
      << text;
  for (const auto& line : lines(text)) EXPECT_LE(display_width(line), 80) << line;
  for (const auto& name : model_names())
    for (const auto& line : lines(draw_matrices(model(name)))) EXPECT_LE(display_width(line), 80) << line;
}

TEST(DrawSvg, IsWellFormedAndShowsEveryPu) {
  for (const auto& name : model_names()) {
    auto m = model(name);
    const std::string svg = draw_svg(m).text();
    EXPECT_EQ(xml_fault(svg), "") << name;
    EXPECT_EQ(times(svg, "class=\"nigh-pu\""), static_cast<std::size_t>(m.pus().count())) << name;
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_EQ(times(svg, "http"), 1u);  // the namespace alone
    EXPECT_LT(svg.size(), 400000u);
  }
  EXPECT_NE(xml_fault("<a><b></a></b>"), "");  // the check can fail
  EXPECT_NE(xml_fault("<a>&x</a>"), "");
}

TEST(DrawSvg, LargeMachinesKeepAPagesProportions) {
  for (const char* name : {"scalemp", "scalemp-bielefeld", "xeon-6980p-snc3", "opteron-6272", "barcelona"}) {
    const std::string svg = draw_svg(model(name)).text();
    auto at = svg.find("viewBox=\"0 0 ") + 13;
    double w = std::strtod(svg.c_str() + at, nullptr);
    double h = std::strtod(svg.c_str() + svg.find(' ', at), nullptr);
    EXPECT_GT(w / h, 0.7) << name;
    EXPECT_LT(w / h, 3.2) << name;
    EXPECT_LT(w, 1700) << name;
  }
}

TEST(DrawSvg, TextFromOutsideIsEscaped) {
  auto m = model("tigerton");
  m.title = "a<b & \"c\" 'd' \x01\xff\xc0\x80 µ";
  PuMarks marks{{0, {"<&>", 0}}, {1, {"\x02", 1}}, {2, {"", -1}}};
  const std::string svg = draw_svg(m, marks).text();
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("a&lt;b &amp; &quot;c&quot; &#39;d&#39; ????"), std::string::npos);
  EXPECT_NE(svg.find("&lt;&amp;&gt;"), std::string::npos);
  EXPECT_EQ(times(svg, "class=\"nigh-off\""), 1u);
}

TEST(Palette, InkIsReadableAndTeamsDiffer) {
  for (std::size_t i = 0; i < palette.size(); ++i) {
    EXPECT_GE(contrast(ink_on(palette[i]), palette[i]), 4.5) << i;
    for (std::size_t j = 0; j < i; ++j) {
      int d = std::abs(palette[i].r - palette[j].r) + std::abs(palette[i].g - palette[j].g) +
              std::abs(palette[i].b - palette[j].b);
      EXPECT_GE(d, 60) << i << ' ' << j;
    }
  }
}

TEST(FormatBytes, PicksTheUnit) {
  EXPECT_EQ(format_bytes(0), "");
  EXPECT_EQ(format_bytes(512 << 10), "512 KiB");
  EXPECT_EQ(format_bytes(1310720), "1.25 MiB");
  EXPECT_EQ(format_bytes(504ULL << 20), "504 MiB");
  EXPECT_EQ(format_bytes(8ULL << 30), "8 GiB");
  EXPECT_EQ(format_bytes(6805467136), "6.34 GiB");
  EXPECT_EQ(format_bytes(100), "0.1 KiB");
}

}  // namespace
}  // namespace nigh
