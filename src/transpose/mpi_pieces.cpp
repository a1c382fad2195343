// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/mpi_pieces.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace nigh::transpose {

namespace {
// The longest message that Open MPI's TCP sends at once. Longer ones it offers first, and over TCP offers and
// their answers stand behind all the data that are under way: the side that was answered first then sends all
// that it has before the other one may begin.
constexpr std::size_t short_piece = std::size_t{60} << 10;
constexpr double patience = 0.01;  // seconds

// True if this library sends such a piece at once, over the link between these nodes: it is through before
// anybody receives it. Collective.
bool goes_at_once(const Nodes& nodes) {
  const int next = (nodes.rank() + 1) % nodes.size();
  const int before = (nodes.rank() + nodes.size() - 1) % nodes.size();
  const auto away = [&](int rank) {
    return std::find(nodes.neighbours().begin(), nodes.neighbours().end(), rank) == nodes.neighbours().end();
  };
  const std::unique_ptr<std::byte[]> both(new (std::nothrow) std::byte[2 * short_piece]());
  if (!nodes.all_agree(both != nullptr)) return false;
  // A first message may have to wait for its connection.
  MPI_Sendrecv(nullptr, 0, MPI_BYTE, next, 0, nullptr, 0, MPI_BYTE, before, 0, nodes.all(),
               MPI_STATUS_IGNORE);
  MPI_Request sent = MPI_REQUEST_NULL;
  int through = 1;
  if (away(next)) {
    MPI_Isend(both.get(), static_cast<int>(short_piece), MPI_BYTE, next, 0, nodes.all(), &sent);
    const double end = MPI_Wtime() + patience;
    do { MPI_Test(&sent, &through, MPI_STATUS_IGNORE); } while (through == 0 && MPI_Wtime() < end);
  }
  const bool all = nodes.all_agree(through != 0);
  if (away(before))
    MPI_Recv(both.get() + short_piece, static_cast<int>(short_piece), MPI_BYTE, before, 0, nodes.all(),
             MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  return all;
}
}  // namespace

std::size_t find_piece(const Nodes& nodes) {
  return nodes.groups().size() > 1 && goes_at_once(nodes) ? short_piece : no_pieces;
}

}  // namespace nigh::transpose
