// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A panel: a few lines of a pass that are worked on together, and where their elements lie.
#pragma once

#include <algorithm>

#include "fft/pass.hpp"

namespace nigh::fft {

struct Panel {
  std::size_t matrix, first, count;
  std::size_t ours = 1;  // panels of this matrix that this thread has from here on
};

// Calls work(address of element `begin` of line 0, begin, end) for each part of the lines of `matrix` that
// lies in one place.
template <class Work>
void each_piece(const View& view, std::size_t n, std::size_t matrix, const Work& work) {
  const std::size_t origin = matrix * view.flat;
  for (const LinePiece& piece : view.pieces) {
    const std::size_t begin = std::max(piece.first, origin),
                      end = std::min(piece.first + piece.count, origin + n);
    if (begin >= end) continue;
    std::byte* at = piece.at + (begin - piece.first) * view.element;
    if (view.flat == 0) at += matrix * view.matrix;
    work(at, begin - origin, end - origin);
  }
}

// The panels of `lines` lines that thread `part` of `parts` works on.
template <class Work>
void each_panel(const Pass& pass, std::size_t lines, int part, int parts, const Work& work) {
  const std::size_t of_matrix = (pass.lines + lines - 1) / lines;
  const transpose::IndexRange mine = transpose::share(
      of_matrix * pass.matrices, 1, static_cast<std::size_t>(part), static_cast<std::size_t>(parts));
  for (std::size_t i = mine.first; i < mine.end; ++i) {
    const std::size_t first = i % of_matrix * lines;
    work(Panel{i / of_matrix, first, std::min(lines, pass.lines - first),
               std::min(mine.end - i, of_matrix - i % of_matrix)});
  }
}

}  // namespace nigh::fft
