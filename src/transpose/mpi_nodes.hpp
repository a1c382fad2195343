// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The ranks of a communicator, which of them share a node, and how those get at each other's memory. Compiled
// for the ABI of each MPI library.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "transpose/mpi_check.hpp"
#include "transpose/peers.hpp"

namespace nigh::transpose {

// Communicators of our own, so that nothing meets the program's messages.
class Nodes {
 public:
  explicit Nodes(MPI_Comm comm);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  [[nodiscard]] MPI_Comm all() const { return all_; }
  [[nodiscard]] MPI_Comm node() const { return node_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  // The ranks (in `all`) of this node, by their rank in `node`.
  [[nodiscard]] const std::vector<int>& neighbours() const { return neighbours_; }
  // The ranks of every node; the first has rank 0. And the index of this one.
  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
  [[nodiscard]] std::size_t group() const { return group_; }

  // The fault of the first rank that has one, on every rank: "rank 3: ..."; empty: there is none. Collective.
  [[nodiscard]] std::string agree(const std::string& wrong) const;
  // True if it is so on every rank. Collective.
  [[nodiscard]] bool all_agree(bool so) const;

 private:
  MPI_Comm all_ = MPI_COMM_NULL, node_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<int> neighbours_;
  std::vector<Group> groups_;
  std::size_t group_ = 0;
};

// For each neighbour how its rows are reached, all in the same way or by messages; collective over the node.
std::vector<Peer> find_peers(const Nodes& nodes, const std::byte* a, std::size_t bytes);

}  // namespace nigh::transpose
