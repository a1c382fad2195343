// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The questions that MPI has for the space that the front carries.
#include <limits>

#include "space/heap.hpp"
#include "space/slot.hpp"
#include "sys/variables.hpp"

namespace nigh::space {

// The half for the library says what is wrong with the variable.
std::size_t least_shared() {
  std::uint64_t wish = Space::one_copy_bytes;
  const char* text = look_up_at_start("NIGH_MPI_P2P_MIN", nullptr);
  if (text == nullptr || !sys::whole_number(text, 0, Space::one_copy_bytes, wish))
    return Space::one_copy_bytes;
  return wish;
}

}  // namespace nigh::space
