// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One event of perf_event_open(2) with its ring. The kernel writes records and moves data_head; we copy what
// lies between data_tail and data_head, then give the space back by moving data_tail. The ring wraps at its
// end, also in the middle of a record, so what is handed out is a straight copy.
//
//   mmap:  | user page | 2^n data pages ............................ |   (AUX: a second mapping, same rules)
//            data_head --acquire--> us        us --release--> data_tail
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sys/os.hpp"

namespace nigh::sys {

// Appends the bytes of `ring` from tail to head (endless counts; bytes is a power of two). An impossible
// distance (head beyond tail by more than the ring) gives nothing.
void copy_ring(const std::byte* ring, std::size_t bytes, std::uint64_t tail, std::uint64_t head,
               std::vector<std::byte>& out);

class PerfEvent {
 public:
  PerfEvent() = default;
  PerfEvent(PerfEvent&& other) noexcept { *this = std::move(other); }
  PerfEvent& operator=(PerfEvent&& other) noexcept;
  PerfEvent(const PerfEvent&) = delete;
  PerfEvent& operator=(const PerfEvent&) = delete;
  ~PerfEvent();

  // Opens the event for thread `tid` (0: the caller, -1: all, then cpu must be named) on `cpu` (-1: any), in
  // the group of `leader`, if any. Errors: permission, unsupported (no such event, no PMU), io (gone, files).
  static Result<PerfEvent> open(perf_event_attr attr, int tid, int cpu, const PerfEvent* leader = nullptr);

  // Maps a ring of at most `pages` data pages, a power of two; halves it down to `fewest` where the kernel's
  // limit on locked memory (perf_event_mlock_kb, RLIMIT_MEMLOCK) refuses it. Errors: permission, io.
  Result<void> map(std::size_t pages, std::size_t fewest = 1);
  // The AUX buffer, after map(); pages is a power of two.
  Result<void> map_aux(std::size_t pages);

  Result<void> enable();
  Result<void> disable();
  Result<void> set_period(std::uint64_t period);

  // Appends what has come since the last call and gives the space back to the kernel.
  void drain(std::vector<std::byte>& out);
  // Returns where in the AUX buffer (its endless count) the bytes began.
  std::uint64_t drain_aux(std::vector<std::byte>& out);

  [[nodiscard]] bool opened() const { return fd_ >= 0; }
  [[nodiscard]] std::size_t ring_bytes() const { return ring_bytes_; }

 private:
  void close();
  int fd_ = -1;
  std::byte* base_ = nullptr;  // the user page, then the ring
  std::size_t ring_bytes_ = 0;
  std::byte* aux_ = nullptr;
  std::size_t aux_bytes_ = 0;
};

// /proc/sys/kernel/perf_event_paranoid; 2 where it can't be read (the kernel's default), -1 to 4.
int perf_paranoid(const Os& os);
// True if this process may do the things that CAP_PERFMON (or CAP_SYS_ADMIN) allows: from CapEff in
// /proc/self/status.
bool may_perfmon(const Os& os);
// Bytes that the rings of this user may lock in all: perf_event_mlock_kb for each online CPU and
// RLIMIT_MEMLOCK (perf_event_open(2)); no limit (SIZE_MAX) with CAP_IPC_LOCK or perf_event_paranoid -1. Other
// programs of the user share it.
std::size_t ring_limit(const Os& os);
// Lifts the soft limit on open files to the hard one; returns the limit then.
std::size_t raise_file_limit();

}  // namespace nigh::sys
