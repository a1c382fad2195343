// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The names that programs call. Under MPI, blocks smaller than `least` are libc's, since no message of theirs
// is long enough to go in one copy, and so are others of sites that send nothing (sites.hpp): they cost what
// they cost without us. Elsewhere the fast path is two compares that always go the same way: large blocks
// leave it (huge pages), and so do calls that come from libc itself. Those get libc's own heap, because libc
// writes to what it has allocated (the locks of streams, other threads' thread-specific data) in the child of
// a fork before any handler runs, when the slot is still shared with the parent. Who owns a block is told by
// its address: the slot or the overflow range is jemalloc's, all else is libc's.
#include "space/heap.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "space/huge.hpp"
#include "space/libc_heap.hpp"
#include "space/pager.hpp"
#include "space/sites.hpp"
#include "space/slot.hpp"
#include "space/trim.hpp"
#include "sys/loaded_file.hpp"
#include "sys/raw_file.hpp"
#include "sys/variables.hpp"

#define NIGH_ENTRY __attribute__((visibility("default")))

extern "C" {
// jemalloc under other names (see CMakeLists.txt).
void* nigh_je_malloc(size_t);
void* nigh_je_calloc(size_t, size_t);
void* nigh_je_realloc(void*, size_t);
void nigh_je_free(void*);
void* nigh_je_mallocx(size_t, int);
void* nigh_je_rallocx(void*, size_t, int);
void nigh_je_dallocx(void*, int);
int nigh_je_mallctlnametomib(const char*, size_t*, size_t*);
int nigh_je_mallctlbymib(const size_t*, size_t, void*, size_t*, void*, size_t);
void* nigh_je_memalign(size_t, size_t);
int nigh_je_posix_memalign(void**, size_t, size_t);
size_t nigh_je_malloc_usable_size(void*);
int nigh_je_mallctl(const char*, void*, size_t*, void*, size_t);
// oversize_threshold 0: large blocks come from the caller's arena like all others. zero_realloc as glibc.
const char* nigh_je_malloc_conf =
    "oversize_threshold:0,retain:true,tcache_max:262144,dirty_decay_ms:10000,muzzy_"
    "decay_ms:0,"
    "zero_realloc:free,abort_conf:false";
// An option that 5.3.0 shows but does not read from its configuration. Off, blocks of 16 KiB and more begin
// on a page, not at a random line of one, so that those of ranks that allocate alike correspond
// (nigh_remote_address). Where it is missing, they do not.
extern bool je_opt_cache_oblivious __attribute__((weak));
// 5.3.0 makes arena 0 before it looks at oversize_threshold, and with the default of 8 MiB: each free of so
// much then gives all pages back at once, and the next block is faulted in anew. Where it is missing, so it
// is.
extern size_t je_oversize_threshold __attribute__((weak));
}

namespace nigh::space {

// The words that the fast paths read, in one cache line.
struct alignas(64) Hot {
  std::atomic<std::size_t> quick = 0;  // blocks below it are libc's, and nothing has to be known of the call
  std::size_t least = 0;               // blocks below it are libc's
  std::size_t limit = 0;               // blocks below it take the fast path; 0: there is no heap yet
  bool learns = false;                 // none does
  std::atomic<bool> patched = false;   // libc's own mmap ends in ours
  std::uintptr_t libc = 0, libc_bytes = 0;
  std::uintptr_t slot = 0, span = 0;
};
static constinit Hot g_hot;
static constinit thread_local unsigned t_private_blocks __attribute__((tls_model("initial-exec"))) = 0;

constexpr std::size_t kLarge = kHugePage;
// Free memory in one piece from here on goes back at once, as glibc's heap trims its top.
constexpr std::size_t kKeptFree = std::size_t{64} << 20;

static void find_libc() {
  const auto within = reinterpret_cast<std::uintptr_t>(&__libc_malloc);
  sys::RawLines lines("/proc/self/maps");
  while (const char* line = lines.next()) {
    sys::RawMapping map;
    if (!sys::parse_mapping(line, map) || within < map.lo || within >= map.hi) continue;
    g_hot.libc = map.lo;
    g_hot.libc_bytes = map.hi - map.lo;
  }
}

void heap_start() {
  find_libc();
  if (&je_opt_cache_oblivious != nullptr) je_opt_cache_oblivious = false;
  if (&je_oversize_threshold != nullptr) je_oversize_threshold = kKeptFree;
  g_hot.slot = g_slot.state.slot;
  g_hot.span = g_slot.state.span;
  const int wish = sys::word_in_variable("NIGH_SPACE_SHARE", {"sent", "all"}, look_up_at_start);
  sites_start(wish == 0 || (wish < 0 && least_shared != nullptr));
  g_hot.learns = sites_learn();
  if (g_hot.learns) g_hot.least = least_shared != nullptr ? least_shared() : Space::one_copy_bytes;
  g_hot.quick.store(g_hot.least, std::memory_order_relaxed);
  g_hot.limit = kLarge;
}

// Every call is libc's, by the first compare.
void heap_aside() {
  g_hot.least = SIZE_MAX;
  g_hot.quick.store(SIZE_MAX, std::memory_order_relaxed);
}

// Every call is slow, since it must be known that libc is in it.
void heap_watch_libc() { g_hot.quick.store(0, std::memory_order_relaxed); }

static inline bool owned(const void* data) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  if (at - g_hot.slot < g_hot.span) return true;
  return at - kOverflowFirst < kOverflowEnd - kOverflowFirst && g_hot.span != 0;
}
static inline bool from_libc(std::uintptr_t caller) { return caller - g_hot.libc < g_hot.libc_bytes; }
// For blocks of our heap: made now if it is not yet.
static bool ours_for(std::size_t bytes, std::uintptr_t caller) {
  if (g_hot.limit == 0 && start() != Phase::on) return false;
  return g_hot.limit != 0 && bytes >= g_hot.least && !from_libc(caller);
}

// jemalloc's blocks of up to 8 bytes begin at multiples of 8, libc's of any size at 16, and that is relied
// on: UCX rounds what it registers down to 16, and MPICH frees the address that it gets back.
static constexpr std::size_t rounded(std::size_t bytes) { return bytes <= 8 ? 16 : bytes; }

// --- blocks on trial ---
//
// They have an arena of their own and pass by the threads' caches: a trial that fails leaves nothing behind.
// Its pages go back a little later, as the next trial may have them: a call whose sizes shrink is tried with
// one size after the other (HPL's panels: 1500 faults, a twentieth of its time).

// The flags of jemalloc's API (MALLOCX_TCACHE_NONE, MALLOCX_ZERO, MALLOCX_ARENA).
constexpr int kUncached = 1 << 8, kZeroed = 0x40, kArenaShift = 20;
constexpr std::size_t kMostZeroed = std::size_t{256} << 20;  // by writing
// glibc's malloc never uses larger blocks twice: they are mapped anew, and only what is touched costs
// anything (mallopt(3), M_MMAP_THRESHOLD).
constexpr std::size_t kMostReused = std::size_t{32} << 20;
constexpr int kNoArena = 0, kMakingArena = -1;
static constinit std::atomic<int> g_trial_flags{kNoArena};
constexpr std::int64_t kTrialKeptMs = 100;
static constinit std::atomic<std::int64_t> g_trial_freed_ms{0};  // 0: nothing is kept
static constinit std::size_t g_trial_purge[3] = {};              // its number for mallctlbymib

static std::int64_t coarse_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

static int make_trial_arena() {
  unsigned arena = 0;
  std::size_t bytes = sizeof arena, mib[3], length = 3;
  if (nigh_je_mallctl("arenas.create", &arena, &bytes, nullptr, 0) != 0) return kNoArena;
  if (nigh_je_mallctlnametomib("arena.0.dirty_decay_ms", mib, &length) != 0) return kNoArena;
  if (nigh_je_mallctlnametomib("arena.0.purge", g_trial_purge, &length) != 0) return kNoArena;
  mib[1] = g_trial_purge[1] = arena;
  ssize_t by_us = -1;
  if (nigh_je_mallctlbymib(mib, length, nullptr, nullptr, &by_us, sizeof by_us) != 0) return kNoArena;
  return static_cast<int>((arena + 1) << kArenaShift) | kUncached;
}

// Looked at whenever a block of a message's size is made.
__attribute__((noinline)) static void return_trials() {
  std::int64_t freed = g_trial_freed_ms.load(std::memory_order_relaxed);
  if (coarse_ms() - freed < kTrialKeptMs || g_trial_flags.load(std::memory_order_acquire) <= 0) return;
  if (g_trial_freed_ms.compare_exchange_strong(freed, 0, std::memory_order_relaxed))
    nigh_je_mallctlbymib(g_trial_purge, 3, nullptr, nullptr, nullptr, 0);
}

static int trial_flags() {
  int flags = g_trial_flags.load(std::memory_order_relaxed);
  if (flags == kNoArena && g_trial_flags.compare_exchange_strong(flags, kMakingArena)) {
    flags = make_trial_arena();
    g_trial_flags.store(flags == kNoArena ? kMakingArena : flags, std::memory_order_release);
  }
  return flags > 0 ? flags : 0;  // 0: a thread's arena will do
}

static int trial_flags(std::size_t align) { return trial_flags() | __builtin_ctzll(align); }

// True: the block belongs in our heap. `site` stays empty where nothing is learned.
static bool wanted(std::size_t bytes, std::uintptr_t caller, Site& site, bool resized = false) {
  if (!ours_for(bytes, caller)) return false;
  if (g_trial_freed_ms.load(std::memory_order_relaxed) != 0) return_trials();
  site = site_of(caller, bytes, resized);
  return site.is_shared();
}

// True: `data` is of a site that sends, and more than its messages are worth. It was given back.
static bool too_dear(void* data, std::size_t bytes, Site& site) {
  if (data == nullptr || site_affords(site, reinterpret_cast<std::uintptr_t>(data), bytes)) return false;
  nigh_je_dallocx(data, kUncached);
  site = Site{site.id(), Site::is_denied};
  return true;
}

static void* prepare(void* data, std::size_t bytes, Site site) {
  const auto lo = reinterpret_cast<std::uintptr_t>(data);
  if (data != nullptr && bytes >= kLeastIdle && g_hot.learns) trim_for_ours(lo, bytes);
  if (data != nullptr && bytes >= kLarge) huge_block(lo, bytes);
  if (data != nullptr) site_made(site, lo, bytes);
  return data;
}
// A block of libc's. Every eighth is enough to find out that a site which sends nothing begins to: each note
// is a cache line that the program would not touch.
static void* noted(void* data, std::size_t bytes, Site site) {
  if (bytes >= kLeastIdle && g_hot.learns) trim_for_libcs(bytes);
  if (site.how() == Site::is_private && ++t_private_blocks % 8 != 0) return data;
  if (data != nullptr) site_made(site, reinterpret_cast<std::uintptr_t>(data), bytes);
  return data;
}

// glibc keeps as much of a heap's top as the largest block that it has freed suggests (mallopt(3),
// M_MMAP_THRESHOLD). It did not see ours: without them it returned the top after every free and faulted it in
// again (Elk: 955 instead of 80 calls of brk, 140 000 faults instead of 29 000). So each new largest one is
// shown to it, untouched.
static void show_to_libc(std::size_t bytes) {
  constexpr std::size_t least = std::size_t{128} << 10, most = std::size_t{32} << 20;
  static constinit std::atomic<std::size_t> largest{least};
  std::size_t before = largest.load(std::memory_order_relaxed);
  if (bytes <= before || bytes > most) return;
  if (!largest.compare_exchange_strong(before, bytes, std::memory_order_relaxed)) return;
  const int saved = errno;
  __libc_free(libc_malloc(bytes));
  errno = saved;
}

static void forget_block(void* data) {
  const auto lo = reinterpret_cast<std::uintptr_t>(data);
  const std::size_t bytes = nigh_je_malloc_usable_size(data);
  const bool was_tried = site_on_trial(lo), idle = site_freed(lo, bytes);
  show_to_libc(bytes);
  if (bytes >= kLeastIdle) trim_note(static_cast<std::int64_t>(bytes));
  if (idle)
    nigh_je_dallocx(data, kUncached);
  else
    nigh_je_free(data);
  if (was_tried) g_trial_freed_ms.store(coarse_ms(), std::memory_order_relaxed);
}

__attribute__((noinline)) static void* malloc_slowly(std::size_t bytes, std::uintptr_t caller,
                                                     bool resized = false) {
  Site site;
  if (!wanted(bytes, caller, site, resized)) return noted(libc_malloc(bytes), bytes, site);
  void* data = site.how() == Site::on_trial ? nigh_je_mallocx(rounded(bytes), trial_flags())
                                            : nigh_je_malloc(rounded(bytes));
  if (data == nullptr) errno = ENOMEM;
  if (too_dear(data, bytes, site)) return noted(libc_malloc(bytes), bytes, site);
  return prepare(data, bytes, site);
}

// Reused memory is zeroed by writing, not by giving it back and faulting it in again; blocks that are too
// large to be populated are the exception.
__attribute__((noinline)) static void* calloc_slowly(std::size_t count, std::size_t each,
                                                     std::uintptr_t caller) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, each, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  Site site;
  if (!wanted(bytes, caller, site)) return noted(libc_calloc(count, each), bytes, site);
  // Asked first: pages that are given back here would be zeroed by writing for the next block.
  if (!site_affords(site, 0, 0)) return noted(libc_calloc(count, each), bytes, {site.id(), Site::is_denied});
  t_zeroing = bytes <= kMostZeroed;
  void* data = site.how() == Site::on_trial ? nigh_je_mallocx(rounded(bytes), trial_flags() | kZeroed)
                                            : nigh_je_calloc(1, rounded(bytes));
  t_zeroing = false;
  if (data == nullptr) errno = ENOMEM;
  if (too_dear(data, bytes, site)) return noted(libc_calloc(count, each), bytes, site);
  return prepare(data, bytes, site);
}

// glibc rounds odd alignments up.
static void* aligned(std::size_t align, std::size_t bytes, std::uintptr_t caller) {
  Site site;
  if (!wanted(bytes, caller, site)) return noted(libc_memalign(align, bytes), bytes, site);
  std::size_t power = 16;
  while (power < align && power << 1 != 0) power <<= 1;
  void* data = site.how() == Site::on_trial && bytes != 0 ? nigh_je_mallocx(bytes, trial_flags(power))
                                                          : nigh_je_memalign(power, bytes);
  if (data == nullptr) errno = ENOMEM;
  if (too_dear(data, bytes, site)) return noted(libc_memalign(align, bytes), bytes, site);
  return prepare(data, bytes, site);
}

void* slot_block(std::size_t bytes, std::size_t align, bool zeroed) {
  if (!g_slot.state.on || bytes == 0) return nullptr;
  const bool fresh = bytes > kMostReused;
  t_zeroing = zeroed && !fresh;
  const int flags = (zeroed || fresh ? kZeroed : 0) | __builtin_ctzll(align < 16 ? 16 : align);
  void* data = nigh_je_mallocx(bytes, flags);
  t_zeroing = false;
  if (data == nullptr) return nullptr;
  const auto lo = reinterpret_cast<std::uintptr_t>(data);
  if (lo < g_slot.state.slot || lo + bytes > g_slot.state.slot + g_slot.state.span) {
    nigh_je_free(data);  // private: of no use here
    return nullptr;
  }
  if (bytes >= kLarge) huge_block(lo, bytes);
  return data;
}

// The function of the library that our __libc_malloc is bound to: an allocator that the program preloads
// after us may define both functions, or only this one.
using Usable = size_t (*)(void*);
static constinit std::atomic<Usable> g_libc_usable{nullptr};
void heap_ready() {
  const char* path = sys::loaded_file(reinterpret_cast<void*>(&__libc_malloc)).path;
  void* library = path != nullptr ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (library != nullptr) g_libc_usable = reinterpret_cast<Usable>(dlsym(library, "malloc_usable_size"));
  libc_heap_ready();
}
static size_t libc_usable(void* data) {
  Usable call = g_libc_usable.load(std::memory_order_relaxed);
  if (call == nullptr) call = reinterpret_cast<Usable>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return call != nullptr ? call(data) : 0;
}

// A block on trial that grows or shrinks is judged anew, as the size that it gets.
static void* resized_on_trial(void* data, std::size_t bytes, std::uintptr_t caller) {
  const std::size_t before = nigh_je_malloc_usable_size(data);
  void* moved = malloc_slowly(bytes, caller, true);
  if (moved == nullptr) return nullptr;
  memcpy(moved, data, before < bytes ? before : bytes);
  forget_block(data);
  return moved;
}

static void* resized_ours(void* data, std::size_t bytes, std::uintptr_t caller) {
  if (g_hot.learns && bytes != 0 && site_on_trial(reinterpret_cast<std::uintptr_t>(data)))
    return resized_on_trial(data, bytes, caller);
  const std::size_t before = g_hot.learns ? nigh_je_malloc_usable_size(data) : 0;
  if (bytes == 0) site_freed(reinterpret_cast<std::uintptr_t>(data), before);
  void* moved = nigh_je_realloc(data, bytes == 0 ? 0 : rounded(bytes));
  if (moved == nullptr) return nullptr;
  const auto from = reinterpret_cast<std::uintptr_t>(data), to = reinterpret_cast<std::uintptr_t>(moved);
  if (before != 0) site_moved(from, before, to, bytes);
  if (bytes >= kLarge) huge_block(to, bytes);
  return moved;
}

// A block that outgrows libc's heap moves to ours.
static void* resized(void* data, std::size_t bytes, std::uintptr_t caller) {
  if (data == nullptr) return malloc_slowly(bytes, caller);
  if (owned(data)) return resized_ours(data, bytes, caller);
  Site site;
  if (!g_hot.learns || g_libc_usable.load(std::memory_order_relaxed) == nullptr ||
      !wanted(bytes, caller, site, true))
    return noted(libc_realloc(data, bytes), bytes, site);
  const std::size_t before = libc_usable(data);
  void* fresh = site.how() == Site::on_trial ? nigh_je_mallocx(rounded(bytes), trial_flags())
                                             : nigh_je_malloc(rounded(bytes));
  if (too_dear(fresh, bytes, site)) return noted(libc_realloc(data, bytes), bytes, site);
  void* moved = prepare(fresh, bytes, site);
  if (moved == nullptr) return nullptr;
  memcpy(moved, data, before < bytes ? before : bytes);
  libc_free(data);
  return moved;
}

}  // namespace nigh::space

using namespace nigh::space;  // NOLINT(google-build-using-namespace)
namespace sys = nigh::sys;

#define NIGH_CALLER reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

extern "C" {

NIGH_ENTRY void* malloc(size_t bytes) {
  const std::uintptr_t caller = NIGH_CALLER;
  if (bytes < g_hot.quick.load(std::memory_order_relaxed)) return __libc_malloc(bytes);
  if (__builtin_expect(bytes < g_hot.limit && !g_hot.learns && !from_libc(caller), 1))
    return nigh_je_malloc(rounded(bytes));
  return malloc_slowly(bytes, caller);
}

NIGH_ENTRY void free(void* data) {
  if (!owned(data)) {
    if (g_hot.quick.load(std::memory_order_relaxed) != 0)
      __libc_free(data);
    else
      libc_free(data);
  } else if (g_hot.learns)
    forget_block(data);
  else
    nigh_je_free(data);
}

NIGH_ENTRY void* calloc(size_t count, size_t each) {
  const std::uintptr_t caller = NIGH_CALLER;
  size_t bytes = 0;
  const std::size_t quick = g_hot.quick.load(std::memory_order_relaxed);
  if (count < quick && each < quick && count * each < quick) return __libc_calloc(count, each);
  // Below 8 KiB jemalloc zeroes by writing anyhow.
  if (__builtin_expect(!__builtin_mul_overflow(count, each, &bytes) && bytes < g_hot.limit >> 8, 1) &&
      __builtin_expect(!g_hot.learns && !from_libc(caller), 1))
    return nigh_je_calloc(1, rounded(bytes));
  return calloc_slowly(count, each, caller);
}

NIGH_ENTRY void* realloc(void* data, size_t bytes) { return resized(data, bytes, NIGH_CALLER); }

NIGH_ENTRY void* reallocarray(void* data, size_t count, size_t each) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, each, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return resized(data, bytes, NIGH_CALLER);
}

NIGH_ENTRY int posix_memalign(void** out, size_t align, size_t bytes) {
  if (align % sizeof(void*) != 0 || align == 0 || (align & (align - 1)) != 0) return EINVAL;
  const int saved = errno;
  void* data = aligned(align, bytes, NIGH_CALLER);
  errno = saved;
  if (data == nullptr) return ENOMEM;
  *out = data;
  return 0;
}

NIGH_ENTRY void* aligned_alloc(size_t align, size_t bytes) { return aligned(align, bytes, NIGH_CALLER); }
NIGH_ENTRY void* memalign(size_t align, size_t bytes) { return aligned(align, bytes, NIGH_CALLER); }
NIGH_ENTRY void* valloc(size_t bytes) { return aligned(kPage, bytes, NIGH_CALLER); }
NIGH_ENTRY void* pvalloc(size_t bytes) {
  if (bytes > SIZE_MAX - kPage) {
    errno = ENOMEM;
    return nullptr;
  }
  return aligned(kPage, (bytes + kPage - 1) & ~(kPage - 1), NIGH_CALLER);
}

NIGH_ENTRY size_t malloc_usable_size(void* data) {
  if (data == nullptr) return 0;
  return owned(data) ? nigh_je_malloc_usable_size(data) : libc_usable(data);
}
}
