// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that the ranks of a node map, and what nigh_transpose_alloc() gave out of it. Compiled for the ABI
// of each MPI library.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "transpose/shared_pages.hpp"

namespace nigh::transpose {

// A part for each rank of a node, zeroed, on pages of its own: pages of ours where ranks may open each
// other's files, else a window of MPI's. Collective over `node`, as its end is.
class NodeMemory {
 public:
  NodeMemory(MPI_Comm node, std::size_t bytes);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  // The same on all ranks of the node: there is too little memory, or no way to share it.
  [[nodiscard]] bool there() const { return !parts_.empty(); }
  [[nodiscard]] std::byte* part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }

 private:
  bool by_pages(MPI_Comm node, std::size_t bytes);
  bool by_window(MPI_Comm node, std::size_t bytes);
  std::vector<SharedPages> pages_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> parts_;
};

// The ranks of `all` that share memory; NIGH_MPI_FAKE_NODES=N (for tests): as if those of this node were on N
// nodes, in blocks.
MPI_Comm split_node(MPI_Comm all);

// The memory that nigh_transpose_alloc() gave out.
struct Given {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  MPI_Comm node = MPI_COMM_NULL;
  std::uint64_t number = 0;  // the same on all ranks of the node, and of no other part of theirs
  const NodeMemory* parts = nullptr;
};
// In which [at, at + bytes) lies; number 0: in none.
Given find_given(const std::byte* at, std::size_t bytes);
Given find_given(std::uint64_t number);  // what this rank got with it

}  // namespace nigh::transpose
