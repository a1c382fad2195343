// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Making the slot. At first only the header is mapped. What is handed out later needs the descriptor, and
// programs close descriptors that they don't know (daemons close all), so it is looked at each time: when it
// is gone, the slot stays as it is, and more memory is private.
#include "space/slot.hpp"

#include <string.h>
#include <unistd.h>

#include "space/fork.hpp"
#include "space/heap.hpp"
#include "space/huge.hpp"
#include "space/job.hpp"
#include "space/limits.hpp"
#include "space/pager.hpp"
#include "sys/raw_file.hpp"

namespace nigh::space {

constinit Slot g_slot;
static constinit std::atomic<Phase> g_phase{Phase::unborn};
static constinit std::atomic<long> g_starter{0};

// The environment of the kernel's making, for as long as libc's is not there.
static constinit char g_environment[32768];
static constinit long g_environment_bytes = -1;

Phase phase() { return g_phase.load(std::memory_order_acquire); }

const char* start_environment(const char* name) {
  const std::size_t length = strlen(name);
  if (environ != nullptr) {
    for (char** entry = environ; *entry != nullptr; ++entry)
      if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
    return nullptr;
  }
  if (g_environment_bytes < 0)
    g_environment_bytes = sys::raw_read_file("/proc/self/environ", g_environment, sizeof g_environment);
  for (const char* at = g_environment; at < g_environment + g_environment_bytes; at += strlen(at) + 1)
    if (strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
  return nullptr;
}

const char* look_up_at_start(const char* name, void*) { return start_environment(name); }

bool fd_is_ours() { return sys::raw_identity(g_slot.state.fd) == g_slot.file; }

void patched() {
  g_slot.patched.store(true, std::memory_order_release);
  if (g_slot.listener.patched != nullptr) g_slot.listener.patched(g_slot.listener.self);
}

// Each step names what was refused; nothing is left behind by a step that fails.
static const char* map_slot(MemoryState& s) {
  long fd = huge_start(s.span);
  if (fd < 0) fd = sys::raw_memory_file("nigh", s.span);
  if (fd < 0) return "the kernel refuses a file of memory (memfd_create, ftruncate)";
  s.fd = static_cast<int>(fd);
  g_slot.file = sys::raw_identity(s.fd);
  // Are all addresses free? Then only the header stays.
  constexpr int flags = MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE;
  const long all = sys::raw_map(s.slot, s.span, PROT_NONE, flags, s.fd, 0);
  if (!sys::is_error(all)) sys::raw_unmap(static_cast<std::uintptr_t>(all), s.span);
  if (all == static_cast<long>(s.slot)) {
    const long head = sys::raw_map(s.origin, kHeaderBytes, PROT_READ | PROT_WRITE, flags, s.fd,
                                   static_cast<long>(s.origin - s.slot));
    if (head == static_cast<long>(s.origin)) return nullptr;
  }
  sys::raw_close(s.fd);
  s.fd = -1;
  return "the kernel refuses the slot's addresses (mmap)";
}

static void write_header(const MemoryState& s) {
  auto* header = reinterpret_cast<SlotHeader*>(s.origin);
  header->abi = abi_version;
  header->rank = s.rank;
  header->size = s.size;
  header->pid = getpid();
  header->shift = static_cast<std::uint32_t>(s.shift);
  header->span = s.span;
  std::atomic_thread_fence(std::memory_order_release);
  header->magic = SlotHeader::kMagic;
}

// A lone rank has nobody to reach; only our own launcher may ask for its space (tests, one-rank runs).
static const char* find_rank(MemoryState& s) {
  Job job;
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(kPage)) return "pages are not of 4 KiB here";
  if (!find_seat(look_up_at_start, nullptr, job))
    return start_environment("NIGH_RANK") != nullptr ? "NIGH_RANK and NIGH_SIZE are not what nigh run -n "
                                                       "gives a rank: numbers, the first the smaller"
                                                     : "this process was not started as a rank of a job";
  if (job.size < 2 && start_environment("NIGH_RANK") == nullptr) return "there is only one rank on this node";
  if (job.size > kMaxRanks) return "there are more than 1024 ranks on this node";
  s.rank = job.rank;
  s.size = job.size;
  s.shift = slot_shift(job.size);
  s.slot = slot_start(job.rank, s.shift);
  s.origin = slot_origin(job.rank, s.shift);
  s.span = std::uint64_t{1} << s.shift;
  return nullptr;
}

static const char* make() {
  MemoryState& s = g_slot.state;
  if (const char* why = find_rank(s)) return why;
  if (const char* why = forbidden(s.span)) return why;
  g_slot.total = sys::raw_total_memory();
  g_slot.nodes = sys::raw_memory_nodes();
  if (const char* why = map_slot(s)) return why;
  pager_start();
  write_header(s);
  return nullptr;
}

Phase start() {
  Phase expected = phase();
  if (expected == Phase::on || expected == Phase::off) return expected;
  expected = Phase::unborn;
  const long me = nigh_raw_gettid();
  if (!g_phase.compare_exchange_strong(expected, Phase::starting)) {
    while (phase() == Phase::starting && g_starter.load() != me) sys::yield_cpu();
    return phase();
  }
  g_starter.store(me);
  MemoryState& s = g_slot.state;
  s.why = make();
  s.on = s.why == nullptr;
  if (s.on) {
    s.why = "";
    fork_start();
    heap_start();
  } else {
    heap_aside();
    s.slot = s.origin = s.span = 0;
  }
  g_phase.store(s.on ? Phase::on : Phase::off, std::memory_order_release);
  return phase();
}

}  // namespace nigh::space
