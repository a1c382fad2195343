// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The static data that share_data() has shared, for a library that has to name it to others than the ranks of
// this node (OpenSHMEM shows it to MPI).
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::space {

struct SharedData {
  void* begin = nullptr;  // where the program sees it
  std::size_t bytes = 0;
  std::uint64_t module = 0;  // equal in all ranks for the same segment of the same file
};

}  // namespace nigh::space

extern "C" {
// Piece `index` of ours, from 0; 0 when there are no more, else 1.
__attribute__((visibility("default"))) int nigh_space_shared_data(int index, nigh::space::SharedData* data);
}
