// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The outcome of a move of pages. Every page that was asked for is counted once: moved, there already, or
// failed for one cause.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace nigh::watch {

enum class Cause : std::uint8_t {
  busy,        // held by somebody (I/O under way, pinned) or isolated just now: EBUSY, or the kernel gave up
  no_memory,   // the target node is full: ENOMEM
  shared,      // mapped by other processes, too, and there was no leave or right to move those: EACCES
  absent,      // was freed meanwhile: ENOENT, EFAULT
  gone,        // the process ended (ESRCH) or is about to (EINVAL)
  permission,  // EPERM: it may not be traced by us
  no_node,     // the target has no memory (went off-line) or the process's cpuset excludes it: ENODEV, EACCES
  other,
};
constexpr std::size_t causes = 8;
const char* cause_name(Cause cause);
Cause cause_of_page(int status);  // -errno of one page, sys::untold: the kernel gave up
Cause cause_of_call(int error);   // -errno of a whole call

struct MoveReport {
  std::uint64_t asked = 0;  // pages (a huge one counts once)
  std::uint64_t moved = 0;
  std::uint64_t already = 0;  // came there without us meanwhile
  std::array<std::uint64_t, causes> failed{};
  std::uint64_t bytes = 0;         // moved
  std::uint64_t held_back = 0;     // bytes not tried: no room on the target
  std::uint64_t other_policy = 0;  // mappings whose memory policy still names a source node
  double seconds = 0;              // all of it
  double moving = 0;               // in move_pages calls (wall clock, not summed over threads)
  double paused = 0, longest_pause = 0;
  int pauses = 0, expired_pauses = 0;
  int calls = 0, call_pages = 0;  // move_pages calls; pages of the last one
  double longest_call = 0;        // seconds
  bool stopped = false;           // asked to stop, or the process is gone
  std::string note;               // why less was done than asked, empty: it was all done
  // Adds a move that followed this one.
  void add(const MoveReport& other);
  [[nodiscard]] std::uint64_t failures() const;
  // True if asked = moved + already + failures.
  [[nodiscard]] bool adds_up() const { return asked == moved + already + failures(); }
  [[nodiscard]] double gb_per_second() const {
    return moving > 0 ? static_cast<double>(bytes) / moving / 1e9 : 0;
  }
  [[nodiscard]] std::string sentence() const;
};

}  // namespace nigh::watch
