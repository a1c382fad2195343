// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The blocks that are worth sharing: those that are sent. Most of a heap never leaves its rank, and a small
// page of the slot costs 1.7 times a private one, so the places in the program that allocate are learned. A
// site is a call and a class of sizes, and is in one of four states:
//   on trial  its blocks are shared as long as the budget lasts: 8 MiB when the ranks join, and what a
//             tenth of the bytes that are sent from private memory pays for, and a two-hundredth of the CPU
//             time while messages are seen that one copy would do for; blocks that get huge pages for less
//             than small ones cost need none of it
//   sends     a block of it was in a message: all are shared that lie in pages which were used before,
//             others out of a second budget: 8 MiB, 8 MiB for each second of CPU time, and a fifth of the
//             bytes that are sent from private memory
//   private   a shared block of it was freed and no message had been in it: all are libc's
//   known     an earlier run of the program saw it send (learned.hpp): all are shared, until one is freed
//             that was in no message
// A message from a private block makes its site one that sends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nigh::space {

using Mark = std::atomic<std::uint8_t>;

// One word, so that it is handed on in a register.
class Site {
 public:
  enum How : std::uint32_t { shares, on_trial, is_private, is_denied };  // on_trial: and shares
  constexpr Site() = default;
  constexpr Site(std::size_t id, How how)
      : word_(static_cast<std::uint32_t>(how) << 16 | static_cast<std::uint32_t>(id)) {}
  [[nodiscard]] constexpr std::uint16_t id() const {
    return static_cast<std::uint16_t>(word_);
  }  // 0: not known
  [[nodiscard]] constexpr How how() const { return static_cast<How>(word_ >> 16); }
  [[nodiscard]] constexpr bool is_shared() const { return how() <= on_trial; }

 private:
  std::uint32_t word_ = 0;
};

void sites_start(bool learn);
// At the end of the process: keeps what was learned for the next run.
void sites_keep();
// The ranks have joined: until now nothing was on trial, since most of what interpreters and libraries make
// before that stays.
void sites_joined();
bool sites_learn();
// True if a site that sends may have this block. Pages that no block has used before are paid for, others
// cost nothing. False: the block is given back, and the program gets a private one. lo 0: its address is not
// known yet; with 0 bytes: whether any new page can be paid for.
bool site_affords(Site site, std::uintptr_t lo, std::size_t bytes);
// True for memory of the slot that no block has used since its pages were last given back.
bool is_new_memory(std::uintptr_t lo, std::size_t bytes);
// The pages were given back to the kernel.
void sites_emptied(std::uintptr_t lo, std::size_t bytes);
// The site of a block that is about to be made. `resized`: in place of another one, which costs a copy, so
// only sites that send share it.
Site site_of(std::uintptr_t caller, std::size_t bytes, bool resized = false);
void site_made(Site site, std::uintptr_t lo, std::size_t bytes);
// True: the shared block that begins at `lo` is not of a site that sends.
bool site_on_trial(std::uintptr_t lo);
// A shared block, about to be freed. True: it was in no message, and the next ones will be private.
bool site_freed(std::uintptr_t lo, std::size_t bytes);
// A shared block was grown or shrunk, and moved.
void site_moved(std::uintptr_t from, std::size_t bytes, std::uintptr_t to, std::size_t bytes_now);

// One for each page of the slot: a message began there. Null where nothing is learned.
Mark* site_marks();
// A message that one copy would do for was in private memory.
void site_missed(std::uintptr_t lo, std::size_t bytes);
struct SiteCounts {
  unsigned long long all = 0, send = 0, idle = 0, known = 0;
};
SiteCounts site_counts();

}  // namespace nigh::space
