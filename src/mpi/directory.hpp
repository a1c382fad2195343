// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// How the members of a group find each other's cells without a message. Each rank keeps a table in the space,
// context -> its cells, that its peers read. A word stays until no peer can look for it any more.
#pragma once

#include <atomic>
#include <cstdint>

#include "message/collective.hpp"

namespace nigh::mpi {

struct Page;

// In memory of the space. Only its owner writes: the cells first, then the context.
struct Directory {
  struct Word {
    std::atomic<std::uint64_t> context;
    std::atomic<message::Cells*> cells;
  };
  std::uint64_t capacity = 0;  // a power of 2; the words lie behind
  Word* words() { return reinterpret_cast<Word*>(this + 1); }
};

// This rank is a member of the group `context`; null: one without cells. False: no memory. The second
// replaces what was told before.
bool tell_first(std::uint64_t context, message::Cells* cells);
bool tell(std::uint64_t context, message::Cells* cells);
// Finds a word of the owner of `page`. False: there is none yet.
bool heard(const Page& page, std::uint64_t context, message::Cells*& cells);
// No peer looks for it any more.
void forget(std::uint64_t context);

}  // namespace nigh::mpi
