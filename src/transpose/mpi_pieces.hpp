// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A message between nodes goes as pieces that the library sends at once, where it does so: one that it offers
// first may have to wait for an answer that stands behind all the data under way (decision 0022).
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>

#include "transpose/mpi_nodes.hpp"

namespace nigh::transpose {

inline constexpr std::size_t no_pieces = INT_MAX;  // bytes: messages are whole
// Under way from a rank. More would only wait in the library's queue, and credits behind them.
inline constexpr std::size_t most_pieces_out = 2;
// For messages of both kinds with the same rank.
enum MessageTag : int { data_tag = 0, credit_tag = 1, surplus_tag = 2 };

// The number of pieces of a message; one of no bytes is one, too.
constexpr std::size_t count_pieces(std::size_t bytes, std::size_t piece) {
  return std::max<std::size_t>(1, (bytes + piece - 1) / piece);
}

// Bytes of a piece between these nodes, or no_pieces. Collective.
std::size_t find_piece(const Nodes& nodes);

}  // namespace nigh::transpose
