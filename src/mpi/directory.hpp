// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The directory by which the members of a group or a window find each other's words (cells, a card) without a
// message. Each rank keeps a table in the space, context -> address, that its peers read. An entry stays
// until no peer can look for it any more.
#pragma once

#include <atomic>
#include <cstdint>

namespace nigh::mpi {

struct Page;

// In memory of the space. Only its owner writes: what is shown first, then the context.
struct Directory {
  struct Word {
    std::atomic<std::uint64_t> context;
    std::atomic<void*> shown;
  };
  std::uint64_t capacity = 0;  // a power of 2; the words lie behind
  Word* words() { return reinterpret_cast<Word*>(this + 1); }
};

// This rank is a member of the group or window `context`; null: it shows nothing. False: no memory. The
// second replaces what was told before.
bool tell_first(std::uint64_t context, void* shown);
bool tell(std::uint64_t context, void* shown);
// Finds a word of the owner of `page`. False: there is none yet.
bool heard(const Page& page, std::uint64_t context, void*& shown);
// No peer looks for it any more.
void forget(std::uint64_t context);

}  // namespace nigh::mpi
