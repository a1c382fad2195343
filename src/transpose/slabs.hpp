// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Matrices dealt by rows to ranks, and their transposes, dealt by rows, too: what each has of either, and the
// moves between two of them, or between the ranks of two nodes. Pure but for the moves; who reaches whose
// memory, and how, is decided elsewhere.
//
//      A, rows x columns                     B = transpose
//        0    1    2  of B                     0    1    2  of A
//      ┌────┬────┬────┐ rank 0               ┌────┬────┬────┐ rank 0
//      ├────┼────┼────┤ rank 1               ├────┼────┼────┤ rank 1     block (1, 2) of A, turned, is block
//      ├────┼────┼────┤ rank 2               ├────┼────┼────┤ rank 2     (2, 1) of B
//      └────┴────┴────┘                      └────┴────┴────┘
#pragma once

#include <vector>

#include "transpose/local.hpp"

namespace nigh::transpose {

// `things` dealt to `ranks` in their order, as evenly as can be.
struct Deal {
  std::size_t things = 0;
  std::size_t ranks = 1;
  [[nodiscard]] std::size_t first(std::size_t rank) const {
    return things / ranks * rank + things % ranks * rank / ranks;
  }
  [[nodiscard]] std::size_t count(std::size_t rank) const { return first(rank + 1) - first(rank); }
  [[nodiscard]] std::size_t most() const { return things / ranks + (things % ranks != 0 ? 1 : 0); }
};

struct Slabs {
  Deal rows, columns;        // of A; B has `columns` rows
  std::size_t element = 8;   // bytes
  std::size_t matrices = 1;  // a batch of them, each dealt alike
  // Without gaps.
  [[nodiscard]] std::size_t bytes_of_a(std::size_t rank) const {
    return matrices * rows.count(rank) * columns.things * element;
  }
  [[nodiscard]] std::size_t bytes_of_b(std::size_t rank) const {
    return matrices * columns.count(rank) * rows.things * element;
  }
};

// The layout of a rank's rows: elements from a row to the next, and from a matrix to the next.
struct Layout {
  std::size_t stride = 0, apart = 0;
};
Layout layout_of_a(const Slabs& slabs, std::size_t rank);  // without gaps
Layout layout_of_b(const Slabs& slabs, std::size_t rank);
struct From {
  const std::byte* at = nullptr;
  Layout layout;
};
struct To {
  std::byte* at = nullptr;
  Layout layout;
};

// Some of the rows of B that a rank has, or those of a node together: matrix by matrix, rank by rank.
struct Panel {
  std::size_t first = 0, count = 0;
};
[[nodiscard]] inline Panel whole_of(const Slabs& slabs, std::size_t rank) {
  return {0, slabs.matrices * slabs.columns.count(rank)};
}

// The share of thread `part` of `parts` in each of these moves.
// Straight from the rows of rank `from` to those rows of rank `to`: one pass, no message.
void take(const Slabs& slabs, std::size_t from, const From& a, std::size_t to, const To& b,
          const Panel& panel, int part, int parts, const CopyOptions& way);

// The ranks of a node. What they have for another node goes in messages that hold rows of B, each with what
// all of them have of it, in their order; so each writes some columns of a message and takes some rows.
using Group = std::vector<std::size_t>;
std::size_t rows_of_a(const Slabs& slabs, const Group& group);  // of one matrix
std::size_t rows_of_b(const Slabs& slabs, const Group& group);  // of all matrices

// Panel `index` of what group `from` sends to group `to`, when a message holds at most `bytes`; at least one
// row each. Both who sends and who receives count them alike.
std::size_t rows_of_panel(const Slabs& slabs, const Group& from, std::size_t bytes);
std::size_t panels(const Slabs& slabs, const Group& from, const Group& to, std::size_t bytes);
Panel panel(const Slabs& slabs, const Group& from, const Group& to, std::size_t bytes, std::size_t index);

// Writes the part of rank `from[member]` into that message: turned already.
void pack(const Slabs& slabs, const Group& from, std::size_t member, const From& a, const Group& to,
          const Panel& panel, std::byte* message, int part, int parts, const CopyOptions& way);
// Takes the part of rank `to[member]` from it.
void unpack(const Slabs& slabs, const Group& from, const std::byte* message, const Group& to,
            std::size_t member, const Panel& panel, const To& b, int part, int parts, const CopyOptions& way);

}  // namespace nigh::transpose
