// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Another process, seen from outside: its threads, its children, its mappings and the places of their pages.
// All of it is text of /proc (proc(5)), read through Os, so recorded trees can stand in. A process is known
// by its number and start time together; the number alone may belong to somebody else tomorrow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "sys/os.hpp"

namespace nigh::sys {

struct TaskFacts {
  int id = 0;
  std::string name;  // comm: up to 15 bytes of anything
  char state = '?';  // 'T': stopped by a signal, 't': by a debugger, 'Z': ended, not yet waited for
  int parent = 0;
  long threads = 0;
  std::uint64_t start = 0;  // ticks since boot
  int cpu = -1;             // where it ran last
  double cpu_seconds = 0;   // of CPU time so far, user and system
};
double ticks_per_second();
// The line of /proc/PID/stat; nothing is believed but what follows the last ')'. Error: invalid.
Result<TaskFacts> parse_task(const std::string& stat);
// The facts of a process, or (tid > 0) of one of its threads. Errors: io (there is none), invalid.
Result<TaskFacts> task_facts(const Os& os, int pid, int tid = 0);

// The threads of a process, ascending; empty: it has ended (or may not be looked at).
std::vector<int> threads_of(const Os& os, int pid);
// The processes it started, and theirs, that still run; not itself. At most 65536 (a fork storm has no end).
std::vector<int> descendants_of(const Os& os, int pid);

// One process, told from a later one with its number.
struct ProcessId {
  int pid = 0;
  std::uint64_t start = 0;
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};
Result<ProcessId> process_id(const Os& os, int pid);
// True if it runs still: not ended, not a zombie without threads.
bool lives(const Os& os, const ProcessId& who);

struct Mapping {
  std::uint64_t first = 0, last = 0;  // bytes [first, last)
  bool writable = false;
  bool shared = false;
  std::uint64_t inode = 0;
  std::string name;  // a path, "[heap]", "": anonymous
  // Mappings that the kernel made for itself and nobody moves: [vdso], [vvar], [vsyscall].
  [[nodiscard]] bool special() const { return name.rfind("[v", 0) == 0; }
};
// /proc/PID/maps, ascending. Errors: io (gone), permission (another user's process).
Result<std::vector<Mapping>> mappings(const Os& os, int pid);

struct NumaMapping {
  std::uint64_t first = 0;               // the file tells no end
  std::string policy;                    // "default", "bind:0-1", "prefer:2", "interleave:0-3" ...
  std::map<int, std::uint64_t> by_node;  // pages of page_bytes
  std::uint64_t page_bytes = 4096;
};
// /proc/PID/numa_maps, ascending (the kernel walks all its pages: 10 to 20 ms/GB). Lines that can't be read
// are left out. Errors: as mappings; unsupported (a kernel without NUMA).
Result<std::vector<NumaMapping>> numa_mappings(const Os& os, int pid);

}  // namespace nigh::sys
