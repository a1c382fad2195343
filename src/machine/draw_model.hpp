// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The common part of the terminal and the SVG picture: the tree as boxes and cells. A box is a chain of
// objects that hold one another alone (package 0 - numa 0 - L3) under one title, a cell is a core with its
// PUs. The private L2 of cores is named once in the title around them, so that the picture shows shared
// caches only.
#pragma once

#include <string>
#include <vector>

#include "machine/draw.hpp"

namespace nigh {

struct DrawCell {
  std::vector<int> pus;  // in SMT order
};

struct DrawBox {
  std::vector<std::string> title;  // parts, outermost first: "package 0", "numa 0, 8 GiB", "L3 2 MiB"
  std::vector<Kind> kinds;         // of the objects in the chain
  std::vector<DrawBox> boxes;
  std::vector<DrawCell> cells;
  bool cells_first = true;
  std::string shape;   // equal for boxes that look alike but for numbers; marks are part of it
  std::string plural;  // "packages", for "3 more: packages 1-3"; "" when not numbered
  int number = -1;     // what the outermost object of the chain is numbered
  CpuSet pus;
  [[nodiscard]] bool has(Kind kind) const;
  [[nodiscard]] std::string full_title() const;  // parts joined by a middle dot
};

// The machine as one box; its title is empty when the machine's children differ or are several.
DrawBox draw_model(const Machine& machine, const PuMarks& marks);

// "8 GiB", "512 KiB", "1.25 MiB"; "" for 0.
std::string format_bytes(std::uint64_t bytes);

// Columns that printable text takes on a terminal (each character one).
int display_width(const std::string& text);

}  // namespace nigh
