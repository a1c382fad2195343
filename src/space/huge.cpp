// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See huge.hpp. One bit per chunk of 2 MiB says that it was dealt with; it is cleared when any of its pages
// is given back, since that splits the huge page. A race on a bit costs one superfluous system call.
#include "space/huge.hpp"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "space/pager.hpp"
#include "space/slot.hpp"
#include "sys/raw_file.hpp"
#include "sys/raw_tmpfs.hpp"
#include "sys/variables.hpp"

namespace nigh::space {

enum class Mode : int { never, lazy, eager, touch };  // as their words

static constinit std::atomic<Mode> g_mode{Mode::never};
static constinit bool g_advise = false;     // shmem_enabled honours MADV_HUGEPAGE
static constinit bool g_collapsing = true;  // of what was touched as small pages
static constinit bool g_never_cheap = false;
static constinit bool g_measuring = true;  // what huge pages cost: where nobody has asked for them
static constinit long g_refused = 0;       // why there is no file that gets huge pages when touched: -errno
static constinit std::atomic<std::int64_t> g_budget{0};
static constinit std::atomic<std::uint64_t> g_done[(std::size_t{1} << kMaxShift) / kHugePage / 64] = {};

// Each collapse makes all CPUs drain their page lists and waits for that. On idle CPUs it takes 0.3 ms a
// chunk; beside a rank that spins, 22 ms a call were seen, and up to 17 s where every CPU has more to do than
// it can (4 ranks beside 6 others on 2 CPUs). So calls are as large as the blocks are, and there is an
// account of time: what a huge page is worth goes in, what calls take goes out, and below zero there are none
// until a four-hundredth of the time that passes has filled it up again. Where pages were not touched it
// begins with a call or two, else below zero: the first call comes after some seconds (HPCC of one second,
// whose transpose took five times as long with one).
constexpr std::size_t kPiece = 32 * kHugePage;  // of one call
constexpr std::int64_t kCredit = 100'000'000;   // ns; at most, and at first where it is asked for
constexpr std::int64_t kEagerCredit = 20'000'000, kLazyCredit = -10'000'000;
constexpr std::int64_t kTimePerCollapse = 400;
constexpr std::int64_t kWorthUntouched = 2'500'000;  // ns a chunk: 512 faults, and TLB misses later
constexpr std::int64_t kWorthTouched = 500'000;      // those of peers
constexpr std::size_t kLargestEager = std::size_t{1} << 30;
static constinit std::atomic<std::int64_t> g_credit{0};
static constinit std::atomic<std::int64_t> g_credited_at{0};

static std::int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// On several nodes the program's first touch places its memory page by page, unless the kernel makes huge
// pages of all that is private, too.
static bool touch_is_as_alone() {
  char word[32];
  sys::raw_huge_setting("enabled", word, sizeof word);
  return g_slot.nodes == 1 || strcmp(word, "always") == 0;
}

long huge_start(std::uint64_t span) {
  char word[32];
  sys::raw_huge_setting("shmem_enabled", word, sizeof word);
  const int wish =
      sys::word_in_variable("NIGH_SPACE_HUGE", {"never", "lazy", "eager", "touch"}, look_up_at_start);
  Mode mode = wish >= 0 ? static_cast<Mode>(wish) : touch_is_as_alone() ? Mode::touch : Mode::lazy;
  if (mode == Mode::never || strcmp(word, "deny") == 0) return -1;
  g_advise = strcmp(word, "advise") == 0 || strcmp(word, "within_size") == 0;
  g_measuring = wish < 0;
  g_collapsing = wish >= 0 || sys::raw_cpus_online() >= g_slot.state.size;
  long fd = -1;
  if (mode == Mode::touch) {
    fd = sys::raw_huge_memory_file(span);
    g_never_cheap = sys::raw_free_pages_leave();
    if (fd < 0) g_refused = fd;
    if (fd < 0) mode = g_slot.nodes == 1 ? Mode::eager : Mode::lazy;
  }
  if (mode != Mode::touch && !g_collapsing) mode = Mode::never;
  g_mode = mode;
  g_credit = wish >= 0 ? kCredit : mode == Mode::eager ? kEagerCredit : kLazyCredit;
  g_credited_at = now();
  return fd;
}

static Mode mode() { return g_mode.load(std::memory_order_relaxed); }

int huge_explain(char* text, std::size_t bytes) {
  if (mode() == Mode::touch)
    return snprintf(text, bytes, "memory: large blocks get huge pages when they are touched: %llu MiB\n",
                    static_cast<unsigned long long>(g_slot.count.asked.load()) * (kHugePage >> 20));
  if (g_refused != 0)
    return snprintf(text, bytes, "memory: no huge pages at first touch: no tmpfs in a user namespace (%s)\n",
                    strerror(static_cast<int>(-g_refused)));
  return 0;
}

static std::size_t chunk_of(std::uintptr_t address) { return (address - g_slot.state.slot) / kHugePage; }
static std::uint64_t bit_of(std::size_t chunk) { return std::uint64_t{1} << (chunk % 64); }
static bool is_done(std::size_t chunk) {
  return (g_done[chunk / 64].load(std::memory_order_relaxed) & bit_of(chunk)) != 0;
}

static void mark_done(std::uintptr_t address) {
  const std::size_t chunk = chunk_of(address);
  g_done[chunk / 64].fetch_or(bit_of(chunk), std::memory_order_relaxed);
}

void huge_opened(std::uintptr_t lo, std::size_t bytes) {
  if (g_advise && bytes >= kHugePage) sys::raw_advise(lo, bytes, MADV_HUGEPAGE);
}

void huge_forget(std::uintptr_t lo, std::size_t bytes) {
  for (std::size_t chunk = chunk_of(lo); chunk <= chunk_of(lo + bytes - 1); ++chunk)
    if (is_done(chunk)) g_done[chunk / 64].fetch_and(~bit_of(chunk), std::memory_order_relaxed);
}

static void credit(std::int64_t ns) {
  const std::int64_t sum = g_credit.load(std::memory_order_relaxed) + ns;
  g_credit.store(sum < kCredit ? sum : kCredit, std::memory_order_relaxed);
}
static bool resting() {
  if (g_credit.load(std::memory_order_relaxed) > 0) return false;
  const std::int64_t time = now();
  const std::int64_t before = g_credited_at.exchange(time, std::memory_order_relaxed);
  credit((time - before) / kTimePerCollapse);
  return g_credit.load(std::memory_order_relaxed) <= 0;
}

// The kernel's refusals: EINVAL, it has no such advice or the mapping is split there; else memory is
// scattered or short. The bits are set in any case: asking again at each transfer would cost more than small
// pages do.
static void collapse_run(std::uintptr_t start, std::uintptr_t end, std::int64_t worth) {
  while (start < end && !resting()) {
    const std::int64_t begun = now();
    const std::size_t bytes = end - start < kPiece ? end - start : kPiece;
    const auto chunks = static_cast<std::int64_t>(bytes / kHugePage);
    const long rc = sys::raw_advise(start, bytes, sys::kCollapse);
    const std::int64_t ended = now();
    if (g_credit.load(std::memory_order_relaxed) == kCredit) g_credited_at = ended;
    credit((rc == 0 ? chunks * worth : 0) - (ended - begun));
    (rc == 0 ? g_slot.count.collapsed : g_slot.count.not_collapsed)
        .fetch_add(static_cast<std::uint64_t>(chunks), std::memory_order_relaxed);
    for (const std::uintptr_t stop = start + bytes; start < stop; start += kHugePage) mark_done(start);
  }
}

struct Chunks {
  std::uintptr_t first, end;
};

// The chunks that the range covers by half at least: what lies beside it in them is populated along.
static Chunks chunks_of(std::uintptr_t lo, std::size_t bytes) {
  constexpr std::uintptr_t half = kHugePage / 2;
  return {.first = (lo + half) & ~(kHugePage - 1), .end = (lo + bytes + half) & ~(kHugePage - 1)};
}

// The first and last chunk may reach beyond what was handed out.
static bool whole(std::uintptr_t start, std::uintptr_t lo, std::size_t bytes) {
  if (start >= lo && start + kHugePage <= lo + bytes) return true;
  return in_slot(start, kHugePage) && start >= g_slot.state.origin && pager_is_ours(start, kHugePage);
}

static bool afford(std::size_t bytes) {
  const auto wanted = static_cast<std::int64_t>(bytes);
  if (g_budget.fetch_sub(wanted, std::memory_order_relaxed) >= wanted) return true;
  const std::int64_t share = static_cast<std::int64_t>(sys::raw_headroom() / 8) / g_slot.state.size;
  g_budget.store(share > wanted ? share - wanted : 0, std::memory_order_relaxed);
  return share >= wanted;
}

// Those that were not dealt with yet. Touching is reading: it makes the page and changes nothing.
static void collapse_chunks(std::uintptr_t lo, std::size_t bytes, bool touch) {
  const std::int64_t worth = touch ? kWorthUntouched : kWorthTouched;
  const Chunks chunks = chunks_of(lo, bytes);
  std::uintptr_t start = chunks.first;
  for (std::uintptr_t at = chunks.first; at < chunks.end; at += kHugePage) {
    if (is_done(chunk_of(at)) || !whole(at, lo, bytes)) {
      collapse_run(start, at, worth);
      start = at + kHugePage;
    } else if (touch) {
      (void)*reinterpret_cast<const volatile char*>(at > lo ? at : lo);
    }
  }
  collapse_run(start, chunks.end, worth);
}

// The first huge page of a block is populated here and timed; the program is about to touch it anyway. After
// an expensive one no huge pages are made for a number of blocks, which doubles each time.
constexpr std::int64_t kDear = 1'000'000;  // ns: small pages would have been 512 times 2 to 4 us
static constinit std::atomic<unsigned> g_rest{0}, g_next_rest{8};

// A host that takes free memory back makes one huge page at hand say little of the next, and those behind the
// first are not timed. There huge pages get at most a hundredth of the CPU time, by an estimate that follows
// the times of the first ones.
constexpr std::int64_t kTimePerTouch = 100;
static constinit std::atomic<std::int64_t> g_estimate{5'000'000}, g_spent{0};  // ns; of a huge page

static bool earned(std::size_t bytes) {
  timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const std::int64_t ns = static_cast<std::int64_t>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
  const std::int64_t price =
      static_cast<std::int64_t>(bytes / kHugePage) * g_estimate.load(std::memory_order_relaxed);
  if (g_spent.load(std::memory_order_relaxed) + price > ns / kTimePerTouch) return false;
  g_spent.fetch_add(price, std::memory_order_relaxed);
  return true;
}

static bool try_one(std::uintptr_t chunk) {
  const std::int64_t begun = now();
  if (sys::raw_advise(chunk, kHugePage, sys::kPopulateWrite) != 0) return true;  // before Linux 5.14
  const std::int64_t took = now() - begun;
  g_estimate.store((3 * g_estimate.load(std::memory_order_relaxed) + took) / 4, std::memory_order_relaxed);
  const unsigned rest = g_next_rest.load(std::memory_order_relaxed);
  if (took < kDear) {
    if (rest > 8) g_next_rest.store(rest / 2, std::memory_order_relaxed);
    return true;
  }
  g_rest.store(rest, std::memory_order_relaxed);
  g_next_rest.store(rest < 1u << 20 ? 2 * rest : rest, std::memory_order_relaxed);
  return false;
}

bool huge_is_cheap() {
  return mode() == Mode::touch && !g_never_cheap && g_rest.load(std::memory_order_relaxed) == 0;
}

// The chunks that lie wholly within: what is beside the block stays as it is.
static void ask_for_touch(std::uintptr_t lo, std::size_t bytes) {
  const std::uintptr_t first = (lo + kHugePage - 1) & ~(kHugePage - 1), end = (lo + bytes) & ~(kHugePage - 1);
  std::size_t missing = 0;
  for (std::uintptr_t at = first; at < end; at += kHugePage) missing += is_done(chunk_of(at)) ? 0 : kHugePage;
  if (missing == 0) return;
  if (const unsigned rest = g_rest.load(std::memory_order_relaxed)) {
    g_rest.store(rest - 1, std::memory_order_relaxed);
    return;
  }
  if (g_measuring && g_never_cheap && !earned(missing)) return;
  if (!afford(missing)) return;
  std::uintptr_t trial = first;
  while (is_done(chunk_of(trial))) trial += kHugePage;
  if (g_measuring) {
    if (sys::raw_advise(trial, kHugePage, MADV_HUGEPAGE) != 0) return;
    mark_done(trial);
    g_slot.count.asked.fetch_add(1, std::memory_order_relaxed);
    missing -= kHugePage;
    if (!try_one(trial)) return;
  }
  if (missing == 0 || sys::raw_advise(first, end - first, MADV_HUGEPAGE) != 0) return;
  g_slot.count.asked.fetch_add(missing / kHugePage, std::memory_order_relaxed);
  for (std::uintptr_t at = first; at < end; at += kHugePage) mark_done(at);
}

void huge_block(std::uintptr_t lo, std::size_t bytes) {
  if (!in_slot(lo, bytes) || g_slot.private_now) return;
  if (mode() == Mode::touch) ask_for_touch(lo, bytes);
  if (mode() != Mode::eager || bytes > kLargestEager) return;
  std::size_t missing = 0;
  const Chunks chunks = chunks_of(lo, bytes);
  for (std::uintptr_t at = chunks.first; at < chunks.end; at += kHugePage)
    if (!is_done(chunk_of(at))) missing += kHugePage;
  if (missing == 0 || resting() || !afford(missing)) return;
  collapse_chunks(lo, bytes, true);
}

void huge_collapse(std::uintptr_t lo, std::size_t bytes) {
  if (mode() == Mode::never || !g_collapsing || bytes < kHugePage / 2) return;
  if (in_slot(lo, bytes) && !g_slot.private_now) collapse_chunks(lo, bytes, false);
}

}  // namespace nigh::space
