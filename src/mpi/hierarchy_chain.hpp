// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Large messages between nodes go piece by piece along a chain of them: all links are busy at once, so a
// message takes little longer than over one (P. Patarasuk, A. Faraj, X. Yuan, Pipelined Broadcast on Ethernet
// Switched Clusters, IPDPS 2006). The other way round the same chain reduces, and closed to a ring it
// gathers.
#pragma once

#include <cstddef>

#include "mpi/library.hpp"

namespace nigh::mpi::coll {

// One rank of each node in `comm`, numbered as the nodes. The calls return a code of the library; `piece` in
// bytes.
struct Chain {
  MPI_Comm comm;
  int nodes, node;

  // `data`: complete at the root.
  int bcast(int root, char* data, std::size_t bytes, std::size_t piece) const;
  // `to`: at the root, and no part of `from`. The operation commutes.
  int reduce(int root, const char* from, char* to, std::size_t bytes, std::size_t element, MPI_Datatype type,
             MPI_Op op, std::size_t piece) const;
  // In place: bytes[i] at blocks + offsets[i] are node i's.
  int allgather(char* blocks, const int* bytes, const int* offsets, std::size_t piece) const;
};

}  // namespace nigh::mpi::coll
