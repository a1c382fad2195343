// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes of a message that are not in one piece: `count` elements, `extent` bytes apart, each made of the
// same blocks. Sender and receiver may have different layouts of the same bytes; copy() walks both at once,
// so that a strided send into a strided receive is still one copy (MPI derived datatypes, OpenSHMEM
// iput/iget).
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::message {

struct Block {
  std::ptrdiff_t offset = 0;  // from the start of the element, bytes
  std::size_t bytes = 0;
};

// A plain value in memory of the space (the blocks too), so that a peer can read it.
struct Layout {
  const Block* blocks = nullptr;  // in the order of the message's bytes
  std::size_t block_count = 0;
  std::ptrdiff_t extent = 0;      // bytes from one element to the next
  std::size_t element_bytes = 0;  // sum of the blocks
};

// `bytes` bytes of message, starting at byte `skip` of it, from one place to the other; a null layout: in one
// piece. Streaming stores where they pay. Source and destination must not overlap.
void copy(void* to, const Layout* to_layout, const void* from, const Layout* from_layout, std::size_t skip,
          std::size_t bytes);

// In one piece: the fastest copy of this machine for `bytes` (measured thresholds, see docs/decisions).
void copy_bytes(void* to, const void* from, std::size_t bytes);

}  // namespace nigh::message
