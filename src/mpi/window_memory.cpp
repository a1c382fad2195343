// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Alloc_mem: memory for messages and windows, says the program, so it is shared from the start.
#include <algorithm>
#include <mutex>

#include "mpi/ours.hpp"
#include "mpi/window.hpp"

namespace nigh::mpi {
namespace {

constexpr std::size_t line_bytes = 64, page_bytes = 4096;

std::mutex g_blocks_lock;
std::vector<void*> g_blocks;  // ours, that the program has

}  // namespace

void* new_block(std::size_t bytes, bool zeroed, std::size_t align) {
  return process().space->alloc_block(bytes, std::max(align, bytes < page_bytes ? line_bytes : page_bytes),
                                      zeroed);
}

}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Alloc_mem(MPI_Aint bytes, MPI_Info info, void* base) {
  if (bytes <= 0 || !base) return real().Alloc_mem(bytes, info, base);
  // Libraries call malloc: NWChem asks for 42 MB again and again, and touches little of it. An info may ask
  // for an alignment.
  void* block = new_block(static_cast<std::size_t>(bytes), false, info == MPI_INFO_NULL ? 0 : page_bytes);
  if (!block) return real().Alloc_mem(bytes, info, base);
  const std::lock_guard guard(g_blocks_lock);
  g_blocks.push_back(block);
  *static_cast<void**>(base) = block;
  return MPI_SUCCESS;
}

int nigh_mpi_Free_mem(void* base) {
  {
    const std::lock_guard guard(g_blocks_lock);
    const auto found = std::find(g_blocks.begin(), g_blocks.end(), base);
    if (!base || found == g_blocks.end()) return real().Free_mem(base);
    *found = g_blocks.back();
    g_blocks.pop_back();
  }
  process().space->release(base);
  return MPI_SUCCESS;
}
