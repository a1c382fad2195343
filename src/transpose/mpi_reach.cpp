// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The other ranks' arrays, for code that does more with them than to transpose.
#include <algorithm>

#include "transpose/mpi_nodes.hpp"
#include "transpose/plan.hpp"
#pragma GCC visibility push(default)
#include <nigh/transpose_mpi.h>
#pragma GCC visibility pop

using namespace nigh;
using namespace nigh::transpose;

namespace {
Result<void> reach(const std::byte* at, std::size_t bytes, MPI_Comm comm, void** of_each) {
  if (auto usable = check_comm(comm); !usable) return usable;
  const Nodes nodes(comm);
  const std::string wrong = nodes.agree(of_each == nullptr ? "of_each is NULL" : "");
  if (!wrong.empty()) return fail(Errc::invalid, wrong);
  const std::vector<Peer> peers = find_peers(nodes, at, bytes);
  const bool all = nodes.groups().size() == 1 && std::all_of(peers.begin(), peers.end(), [](const Peer& p) {
                     return p.reach == Reach::memory;
                   });
  if (!nodes.all_agree(all))
    return fail(Errc::unsupported,
                "the array of a rank is on another node, or in memory that is not mapped by all");
  for (std::size_t i = 0; i < peers.size(); ++i)
    of_each[nodes.neighbours()[i]] = const_cast<std::byte*>(peers[i].a);
  return {};
}
}  // namespace

int nigh_transpose_reach(void* at, size_t bytes, MPI_Comm comm, void** of_each) {
  return guarded(
      [&] {
        const auto found = reach(static_cast<const std::byte*>(at), bytes, comm, of_each);
        if (!found) set_why(found.error().message);
        return found ? 0 : -1;
      },
      set_why, -1);
}
