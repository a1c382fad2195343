// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Where a rank finds the arrays of the others, for who does more with them than to transpose.
#include <algorithm>

#include "transpose/mpi_nodes.hpp"
#include "transpose/plan.hpp"
#pragma GCC visibility push(default)
#include <nigh/transpose_mpi.h>
#pragma GCC visibility pop

using namespace nigh::transpose;

int nigh_transpose_reach(void* at, size_t bytes, MPI_Comm comm, void** of_each) {
  try {
    if (auto usable = check_comm(comm); !usable) {
      set_why(usable.error().message);
      return -1;
    }
    const Nodes nodes(comm);
    const std::vector<Peer> peers = find_peers(nodes, static_cast<const std::byte*>(at), bytes);
    const bool all = nodes.groups().size() == 1 && std::all_of(peers.begin(), peers.end(), [](const Peer& p) {
                       return p.reach == Reach::memory;
                     });
    if (nodes.all_agree(all)) {
      for (std::size_t i = 0; i < peers.size(); ++i)
        of_each[nodes.neighbours()[i]] = const_cast<std::byte*>(peers[i].a);
      return 0;
    }
    set_why("the array of a rank is on another node, or in memory that is not mapped by all");
  } catch (const std::exception& error) { set_why(error.what()); }
  return -1;
}
