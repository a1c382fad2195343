// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A matrix dealt by rows to ranks, and its transpose, dealt by rows, too: what each has of either, and the
// moves between two of them. Pure but for the moves; who reaches whose memory, and how, is decided elsewhere.
//
//      A, rows x columns                     B = transpose
//        0    1    2  of B                     0    1    2  of A
//      ┌────┬────┬────┐ rank 0               ┌────┬────┬────┐ rank 0
//      ├────┼────┼────┤ rank 1               ├────┼────┼────┤ rank 1     block (1, 2) of A, turned, is block
//      ├────┼────┼────┤ rank 2               ├────┼────┼────┤ rank 2     (2, 1) of B
//      └────┴────┴────┘                      └────┴────┴────┘
#pragma once

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
  [[nodiscard]] std::size_t most() const { return (things + ranks - 1) / ranks; }
};

struct Slabs {
  Deal rows, columns;       // of A; B has `columns` rows
  std::size_t element = 8;  // bytes
  [[nodiscard]] std::size_t bytes_of_a(std::size_t rank) const {
    return rows.count(rank) * columns.things * element;
  }
  [[nodiscard]] std::size_t bytes_of_b(std::size_t rank) const {
    return columns.count(rank) * rows.things * element;
  }
};

// Some of the columns of A that are a rank's rows of B, counted from its first: a panel.
struct Panel {
  std::size_t first = 0, count = 0;
};
// Panel `index` of a rank's rows of B, when a message holds at most `bytes` from one rank; at least one row
// each. Both who sends and who receives count them alike.
std::size_t rows_of_panel(const Slabs& slabs, std::size_t bytes);
std::size_t panels(const Slabs& slabs, std::size_t to, std::size_t bytes);
Panel panel(const Slabs& slabs, std::size_t to, std::size_t bytes, std::size_t index);

// The share of thread `part` of `parts` in each of these moves.
// Straight from the rows of rank `from` to the rows of rank `to`: one pass, no message.
void take(const Slabs& slabs, std::size_t from, const std::byte* a, std::size_t to, std::byte* b, int part,
          int parts, const Way& way);
// What rank `from` sends to rank `to` of a panel: turned already, panel.count x (rows of `from`).
void pack(const Slabs& slabs, std::size_t from, const std::byte* a, std::size_t to, Panel panel,
          std::byte* message, int part, int parts, const Way& way);
void unpack(const Slabs& slabs, std::size_t from, const std::byte* message, Panel panel, std::byte* b,
            int part, int parts, const Way& way);

}  // namespace nigh::transpose
