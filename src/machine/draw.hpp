// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Pictures of a machine: boxes in boxes down to the PUs, on a terminal and as SVG. A plan is drawn by the
// same code, with a mark on each PU that carries threads, so that both pictures look alike.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "machine/machine.hpp"
#include "machine/markup.hpp"

namespace nigh {

struct PuMark {
  std::string text;  // what stands on the PU, such as "2.3" for thread 3 of team 2; short
  int color = 0;     // equal numbers get the same colour (a team); -1: not available (outside the mask)
};
using PuMarks = std::map<int, PuMark>;  // by OS number of the PU

// The tree in at most `width` columns, identical siblings folded ("3 more like this") unless they carry
// marks that differ. `color` adds ANSI colours.
std::string draw_text(const Machine& machine, const PuMarks& marks = {}, int width = 80, bool color = false);

// The node-to-node matrices (SLIT, bandwidth, latency) as aligned tables with the source of each figure.
std::string draw_matrices(const Machine& machine, int width = 80);

// GPUs and network adapters, a line each, and what they are near; "" without any.
std::string draw_devices(const Machine& machine, int width = 80);

// Text from outside as it may go to a terminal or into a picture: control characters, but for those `kept`,
// and broken UTF-8 become '?'.
std::string printable(std::string_view text, std::string_view kept = {});

// One self-contained <svg> element, readable in light and dark pages, no script, no outside reference.
Markup draw_svg(const Machine& machine, const PuMarks& marks = {});

}  // namespace nigh
