// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Reach is tried from the best: memory of nigh_transpose_alloc(), the space of `nigh run
// --mpi`, the kernel. Ranks of a node agree on one of them, since those that read others in place wait for
// the same barrier.
#include "transpose/mpi_nodes.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "transpose/mpi_memory.hpp"

// From `nigh run --mpi`, where it is.
extern "C" __attribute__((weak)) void* nigh_space_global(const void* data, std::size_t bytes);

namespace nigh::transpose {

namespace {
bool all_of_node(const Nodes& nodes, bool mine) {
  int here = mine ? 1 : 0, all = 0;
  MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_LAND, nodes.node());
  return all != 0;
}

// One value of each neighbour.
std::vector<std::uint64_t> gather(const Nodes& nodes, std::uint64_t mine) {
  std::vector<std::uint64_t> all(nodes.neighbours().size());
  MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, nodes.node());
  return all;
}

// Each rank's rows may lie anywhere in its part, and more ranks may have parts than these. Who has nothing
// has them nowhere, and reads those of the others.
bool by_given(const Nodes& nodes, const std::byte* a, std::size_t bytes, std::vector<Peer>& peers) {
  constexpr std::uint64_t nothing = ~std::uint64_t{0};
  Given given = bytes > 0 ? find_given(a, bytes) : Given();
  const std::vector<std::uint64_t> numbers = gather(nodes, bytes > 0 ? given.number : nothing);
  const auto some = std::find_if(numbers.begin(), numbers.end(), [](auto n) { return n != nothing; });
  if (some == numbers.end()) {
    peers.assign(peers.size(), Peer{Reach::memory, 0, nullptr});
    return true;
  }
  if (bytes == 0 && *some != 0) given = find_given(*some);
  bool same = given.number != 0 &&
              std::all_of(numbers.begin(), numbers.end(), [&](auto n) { return n == *some || n == nothing; });
  std::vector<int> here(peers.size()), there(peers.size(), MPI_UNDEFINED);
  std::iota(here.begin(), here.end(), 0);
  if (same) {
    MPI_Group these = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
    MPI_Comm_group(nodes.node(), &these);
    MPI_Comm_group(given.node, &all);
    MPI_Group_translate_ranks(these, static_cast<int>(here.size()), here.data(), all, there.data());
    MPI_Group_free(&these);
    MPI_Group_free(&all);
    same = std::find(there.begin(), there.end(), MPI_UNDEFINED) == there.end();
  }
  const std::vector<std::uint64_t> offsets =
      gather(nodes, same && bytes > 0 ? static_cast<std::uint64_t>(a - given.memory) : 0);
  if (!all_of_node(nodes, same)) return false;
  for (std::size_t i = 0; i < peers.size(); ++i)
    peers[i] = {Reach::memory, 0, given.parts->part(there[i]) + offsets[i]};
  return true;
}

bool by_space(const Nodes& nodes, const std::byte* a, std::size_t bytes, std::vector<Peer>& peers) {
  const void* global = nigh_space_global != nullptr && bytes > 0 ? nigh_space_global(a, bytes) : nullptr;
  const std::vector<std::uint64_t> addresses = gather(nodes, reinterpret_cast<std::uint64_t>(global));
  if (!all_of_node(nodes, global != nullptr || (bytes == 0 && nigh_space_global != nullptr))) return false;
  for (std::size_t i = 0; i < peers.size(); ++i)
    peers[i] = {Reach::memory, 0, reinterpret_cast<const std::byte*>(addresses[i])};
  return true;
}

bool by_kernel(const Nodes& nodes, const std::byte* a, std::size_t bytes, std::vector<Peer>& peers) {
  const std::vector<std::uint64_t> processes = gather(nodes, static_cast<std::uint64_t>(getpid()));
  const std::vector<std::uint64_t> addresses =
      gather(nodes, reinterpret_cast<std::uint64_t>(bytes > 0 ? a : nullptr));
  bool all = true;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    peers[i] = {Reach::process_memory, static_cast<pid_t>(processes[i]),
                reinterpret_cast<const std::byte*>(addresses[i])};
    all = all && (peers[i].a == nullptr || readable(peers[i].process, peers[i].a));
  }
  return all_of_node(nodes, all);
}
}  // namespace

Nodes::Nodes(MPI_Comm comm) {
  MPI_Comm_dup(comm, &all_);
  // The program's handler would return to code that reads no status, or leave by an exception or a longjmp.
  MPI_Comm_set_errhandler(all_, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_rank(all_, &rank_);
  MPI_Comm_size(all_, &size_);
  node_ = split_node(all_);
  int here = 1;
  MPI_Comm_size(node_, &here);
  neighbours_.resize(static_cast<std::size_t>(here));
  MPI_Allgather(&rank_, 1, MPI_INT, neighbours_.data(), 1, MPI_INT, node_);
  const int first = *std::min_element(neighbours_.begin(), neighbours_.end());
  std::vector<int> firsts(static_cast<std::size_t>(size_)), known;
  MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, all_);
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const auto at = std::find(known.begin(), known.end(), firsts[i]);
    const auto index = static_cast<std::size_t>(at - known.begin());
    if (at == known.end()) {
      known.push_back(firsts[i]);
      groups_.emplace_back();
    }
    groups_[index].push_back(i);
    if (firsts[i] == first) group_ = index;
  }
}

Nodes::~Nodes() {
  if (mpi_has_ended()) return;  // and them with it
  MPI_Comm_free(&node_);
  MPI_Comm_free(&all_);
}

std::string Nodes::agree(const std::string& wrong) const {
  int mine = wrong.empty() ? size_ : rank_, first = size_;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, all_);
  if (first == size_) return "";
  char text[400] = {};
  std::strncpy(text, wrong.c_str(), sizeof text - 1);
  MPI_Bcast(text, sizeof text, MPI_CHAR, first, all_);
  return size_ == 1 ? text : "rank " + std::to_string(first) + ": " + text;
}

bool Nodes::all_agree(bool so) const {
  int here = so ? 1 : 0, all = 0;
  MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_LAND, all_);
  return all != 0;
}

std::vector<Peer> find_peers(const Nodes& nodes, const std::byte* a, std::size_t bytes) {
  std::vector<Peer> peers(nodes.neighbours().size());
  if (by_given(nodes, a, bytes, peers) || by_space(nodes, a, bytes, peers) ||
      by_kernel(nodes, a, bytes, peers)) {
    int here = 0;
    MPI_Comm_rank(nodes.node(), &here);
    peers[static_cast<std::size_t>(here)] = {Reach::memory, 0, a};
  } else {
    peers.assign(peers.size(), Peer());
  }
  return peers;
}

}  // namespace nigh::transpose
