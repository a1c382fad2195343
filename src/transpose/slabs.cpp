// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/slabs.hpp"

#include <algorithm>

namespace nigh::transpose {

namespace {
// Rows of one matrix; `at`: how many rows of the panel come before them.
struct Piece {
  std::size_t matrix, first, count, at;
};

// The pieces of a panel of rows of which each matrix has `rows`. Few large matrices: all threads share each;
// many small ones are shared out.
template <class Move>
void each_piece(const Panel& panel, std::size_t rows, int part, int parts, const Move& move) {
  if (panel.count == 0 || rows == 0) return;
  const std::size_t first = panel.first / rows, end = (panel.first + panel.count - 1) / rows + 1;
  const auto threads = static_cast<std::size_t>(parts);
  const bool many = end - first >= 4 * threads;
  const IndexRange mine =
      many ? share(end - first, 1, static_cast<std::size_t>(part), threads) : IndexRange{0, end - first};
  for (std::size_t matrix = first + mine.first; matrix < first + mine.end; ++matrix) {
    const std::size_t from = std::max(panel.first, matrix * rows),
                      to = std::min(panel.first + panel.count, (matrix + 1) * rows);
    move(Piece{matrix, from - matrix * rows, to - from, from - panel.first}, many ? 0 : part,
         many ? 1 : parts);
  }
}

// The member's share of a panel of a group's rows, in rows of that member, and the row of the panel at which
// it begins.
struct Cut {
  Panel panel;
  std::size_t at = 0;
};
Cut cut(const Panel& panel, std::size_t before, std::size_t rows) {
  const std::size_t from = std::max(panel.first, before),
                    to = std::min(panel.first + panel.count, before + rows);
  if (from >= to) return {};
  return {{from - before, to - from}, from - panel.first};
}
}  // namespace

Layout layout_of_a(const Slabs& slabs, std::size_t rank) {
  return {slabs.columns.things, slabs.rows.count(rank) * slabs.columns.things};
}
Layout layout_of_b(const Slabs& slabs, std::size_t rank) {
  return {slabs.rows.things, slabs.columns.count(rank) * slabs.rows.things};
}

void take(const Slabs& slabs, std::size_t from, const From& a, std::size_t to, const To& b,
          const Panel& panel, int part, int parts, const CopyOptions& way) {
  const std::size_t rows = slabs.rows.count(from), element = slabs.element;
  if (rows == 0) return;  // nor need there be memory
  each_piece(panel, slabs.columns.count(to), part, parts, [&](const Piece& piece, int p, int of) {
    const std::size_t column = slabs.columns.first(to) + piece.first;
    const Block block{
        a.at + (piece.matrix * a.layout.apart + column) * element,
        a.layout.stride,
        b.at + (piece.matrix * b.layout.apart + piece.first * b.layout.stride + slabs.rows.first(from)) *
                   element,
        b.layout.stride,
        rows,
        piece.count};
    transpose_part(block, element, p, of, way);
  });
}

std::size_t rows_of_a(const Slabs& slabs, const Group& group) {
  std::size_t all = 0;
  for (const std::size_t rank : group) all += slabs.rows.count(rank);
  return all;
}
std::size_t rows_of_b(const Slabs& slabs, const Group& group) {
  std::size_t all = 0;
  for (const std::size_t rank : group) all += slabs.columns.count(rank);
  return all * slabs.matrices;
}

std::size_t rows_of_panel(const Slabs& slabs, const Group& from, std::size_t bytes) {
  const std::size_t row = std::max<std::size_t>(1, rows_of_a(slabs, from) * slabs.element);
  const std::size_t count = std::max<std::size_t>(1, bytes / row);
  const std::size_t per_line = line / slabs.element;
  return count < per_line ? count : count / per_line * per_line;
}

std::size_t panels(const Slabs& slabs, const Group& from, const Group& to, std::size_t bytes) {
  if (rows_of_a(slabs, from) == 0) return 0;
  const std::size_t each = rows_of_panel(slabs, from, bytes);
  return (rows_of_b(slabs, to) + each - 1) / each;
}

Panel panel(const Slabs& slabs, const Group& from, const Group& to, std::size_t bytes, std::size_t index) {
  const std::size_t each = rows_of_panel(slabs, from, bytes), all = rows_of_b(slabs, to);
  const std::size_t first = std::min(all, index * each);
  return {first, std::min(each, all - first)};
}

void pack(const Slabs& slabs, const Group& from, std::size_t member, const From& a, const Group& to,
          const Panel& panel, std::byte* message, int part, int parts, const CopyOptions& way) {
  const std::size_t rows = slabs.rows.count(from[member]), all = rows_of_a(slabs, from),
                    element = slabs.element;
  if (rows == 0) return;
  std::size_t left = 0;  // of our columns of the message
  for (std::size_t i = 0; i < member; ++i) left += slabs.rows.count(from[i]);
  std::size_t before = 0;
  for (const std::size_t rank : to) {
    const std::size_t of_rank = slabs.columns.count(rank);
    const Cut own = cut(panel, before, of_rank * slabs.matrices);
    before += of_rank * slabs.matrices;
    each_piece(own.panel, of_rank, part, parts, [&](const Piece& piece, int p, int of) {
      const std::size_t column = slabs.columns.first(rank) + piece.first;
      const Block block{a.at + (piece.matrix * a.layout.apart + column) * element,
                        a.layout.stride,
                        message + ((own.at + piece.at) * all + left) * element,
                        all,
                        rows,
                        piece.count};
      transpose_part(block, element, p, of, way);
    });
  }
}

void unpack(const Slabs& slabs, const Group& from, const std::byte* message, const Group& to,
            std::size_t member, const Panel& panel, const To& b, int part, int parts,
            const CopyOptions& way) {
  const std::size_t all = rows_of_a(slabs, from), element = slabs.element;
  std::size_t before = 0;
  for (std::size_t i = 0; i < member; ++i) before += slabs.columns.count(to[i]) * slabs.matrices;
  const std::size_t mine = slabs.columns.count(to[member]);
  const Cut own = cut(panel, before, mine * slabs.matrices);
  for (std::size_t i = 0, left = 0; i < from.size();) {
    // Ranks in a row have rows in a row.
    const std::size_t first = slabs.rows.first(from[i]);
    std::size_t run = 0;
    do run += slabs.rows.count(from[i++]);
    while (i < from.size() && slabs.rows.first(from[i]) == first + run);
    if (run > 0)
      each_piece(own.panel, mine, part, parts, [&](const Piece& piece, int p, int of) {
        copy_part({message + ((own.at + piece.at) * all + left) * element, all * element,
                   b.at + (piece.matrix * b.layout.apart + piece.first * b.layout.stride + first) * element,
                   b.layout.stride * element, piece.count, run * element},
                  p, of, way);
      });
    left += run;
  }
}

}  // namespace nigh::transpose
