// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See fork.hpp. By handlers of pthread_atfork, since daemon(), forkpty() and others call fork within libc.
// They are registered with the first malloc, before anybody's: ours then run last before the fork and first
// in the child. Before them libc itself writes only to memory that it has allocated, which is not in the slot
// (heap.cpp). jemalloc's locks are held until the child has its copy, so that the copy is of a heap at rest.
//
// The parent learns of the child's end, whichever it was, by the end of a pipe.
#include "space/fork.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "space/heap.hpp"
#include "space/huge.hpp"
#include "space/pager.hpp"
#include "space/say.hpp"
#include "space/slot.hpp"
#include "sys/raw_file.hpp"

extern "C" int __register_atfork(void (*before)(), void (*after)(), void (*child)(), void* dso);
extern "C" void* __dso_handle;

namespace nigh::space {

static constinit Lock g_one_fork;
static constinit int g_pipe[2] = {-1, -1};
static constinit std::uint64_t g_begin = 0;

// The progress of the child, for a parent that could not make a pipe; in a page that both see.
enum : std::uint32_t { kNothing, kBegun, kCopied };
static constinit std::atomic<std::uint32_t>* g_progress = nullptr;

static std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000 + static_cast<std::uint64_t>(now.tv_nsec);
}

static bool shared_now() { return g_slot.state.on && !g_slot.private_now; }

static void open_pipe() {
  g_pipe[0] = g_pipe[1] = -1;
  nigh_raw_syscall3(SYS_pipe2, reinterpret_cast<long>(g_pipe), O_CLOEXEC, 0);
}

// Returns when the child has closed its end.
static void wait_for_child() {
  if (g_pipe[1] >= 0) {
    sys::raw_close(g_pipe[1]);
    char byte = 0;
    while (nigh_raw_syscall3(SYS_read, g_pipe[0], reinterpret_cast<long>(&byte), 1) == -EINTR) {}
    sys::raw_close(g_pipe[0]);
    return;
  }
  // No descriptor was left for a pipe. A child that does not even begin was not born.
  for (int i = 0; i < 20 && g_progress->load(std::memory_order_acquire) == kNothing; ++i)
    sys::futex_wait(g_progress, kNothing, 10'000'000);
  for (int i = 0; i < 3000 && g_progress->load(std::memory_order_acquire) == kBegun; ++i)
    sys::futex_wait(g_progress, kBegun, 10'000'000);
}

static void tell_parent() {
  g_progress->store(kCopied, std::memory_order_release);
  sys::futex_wake_all(g_progress);
  if (g_pipe[1] < 0) return;
  sys::raw_close(g_pipe[1]);
  sys::raw_close(g_pipe[0]);
}

struct Span {
  std::uintptr_t lo, hi;
};

// The next touched bytes at or after `at`, by the descriptor or, where it is gone, page by page.
static Span next_data(const sys::RawMapping& map, std::uintptr_t at, bool by_file) {
  if (by_file) {
    const std::uint64_t base = map.lo - map.offset;
    const long data = sys::raw_seek_data(g_slot.state.fd, at - base);
    if (data < 0 || static_cast<std::uint64_t>(data) >= map.hi - base) return {.lo = map.hi, .hi = map.hi};
    const auto hole =
        static_cast<std::uint64_t>(sys::raw_seek_hole(g_slot.state.fd, static_cast<std::uint64_t>(data)));
    return {.lo = base + static_cast<std::uint64_t>(data), .hi = hole < map.hi - base ? base + hole : map.hi};
  }
  static constinit unsigned char resident[1 << 14] = {};
  while (at < map.hi) {
    const std::size_t most = sizeof resident * kPage;
    const std::size_t bytes = map.hi - at < most ? map.hi - at : most;
    if (sys::raw_resident(at, bytes, resident) != 0) return {.lo = at, .hi = at + bytes};
    std::size_t first = 0, last = 0;
    while (first < bytes / kPage && (resident[first] & 1) == 0) ++first;
    for (last = first; last < bytes / kPage && (resident[last] & 1) != 0;) ++last;
    if (first < last) return {.lo = at + first * kPage, .hi = at + last * kPage};
    at += bytes;
  }
  return {.lo = map.hi, .hi = map.hi};
}

// Huge pages for what fills them; elsewhere one touched page must not become 2 MiB.
static void prefer_huge(std::uintptr_t lo, std::uintptr_t hi) {
  const std::uintptr_t first = (lo + kHugePage - 1) & ~(kHugePage - 1), end = hi & ~(kHugePage - 1);
  if (first < end) sys::raw_advise(first, end - first, MADV_HUGEPAGE);
}

// By the descriptor, so that the old mapping's pages need not be faulted in.
static void copy_span(const sys::RawMapping& map, const Span& data, std::uintptr_t to, bool by_file) {
  const std::uint64_t base = map.lo - map.offset;
  std::uintptr_t at = data.lo;
  while (by_file && at < data.hi) {
    const long got = sys::raw_read_at(g_slot.state.fd, reinterpret_cast<void*>(to), data.hi - at, at - base);
    if (got <= 0) break;
    at += static_cast<std::uintptr_t>(got);
    to += static_cast<std::uintptr_t>(got);
  }
  __builtin_memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(at), data.hi - at);
}

static void copy_pages(const sys::RawMapping& map, std::uintptr_t to, bool by_file) {
  for (std::uintptr_t at = map.lo; at < map.hi;) {
    const Span data = next_data(map, at, by_file);
    const std::uintptr_t target = to + (data.lo - map.lo);
    prefer_huge(target, target + (data.hi - data.lo));
    copy_span(map, data, target, by_file);
    at = data.hi;
  }
}

// One mapping of our memfd, in the slot or static data: private, with the same bytes, at the same place.
static bool make_private(const sys::RawMapping& map, bool by_file) {
  const std::size_t bytes = map.hi - map.lo;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long aside = sys::raw_map(0, bytes + 2 * kHugePage, kOpen, flags, -1, 0);
  if (sys::is_error(aside)) return false;
  // The same offset within 2 MiB, so that page tables move whole.
  auto to = static_cast<std::uintptr_t>(aside);
  to += (map.lo - to) & (kHugePage - 1);
  if ((map.prot & PROT_READ) == 0) sys::raw_protect(map.lo, bytes, PROT_READ);
  copy_pages(map, to, by_file);
  const long at = sys::raw_remap(to, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, map.lo);
  const auto rest = static_cast<std::uintptr_t>(aside);
  sys::raw_unmap(rest, to - rest);
  sys::raw_unmap(to + bytes, rest + bytes + 2 * kHugePage - (to + bytes));
  if (sys::is_error(at)) return false;
  if (map.prot != kOpen) sys::raw_protect(map.lo, bytes, map.prot);
  return true;
}

static constinit sys::RawMapping g_found[512];
constexpr int kFound = static_cast<int>(sizeof g_found / sizeof *g_found);

static int find_in_maps() {
  int found = 0;
  sys::RawLines lines("/proc/self/maps");
  if (!lines.ok()) return -1;
  sys::RawMapping map;
  while (const char* line = lines.next()) {
    if (found == kFound) break;
    if (!sys::parse_mapping(line, map) || !map.shared || map.inode != g_slot.file.inode) continue;
    if (map.major == g_slot.file.major && map.minor == g_slot.file.minor) g_found[found++] = map;
  }
  return found;
}

// Without the kernel's list (no descriptor left): by our own, which does not know the protections.
static bool make_used_private() {
  const MemoryState& s = g_slot.state;
  const SlotHeader* header = own_header();
  bool good = true;
  auto take = [&](std::uintptr_t lo, std::uintptr_t hi, std::uint64_t offset) {
    sys::RawMapping map;
    map.lo = lo;
    map.hi = hi;
    map.offset = offset;
    map.prot = kOpen;
    if (lo < hi && good) good = make_private(map, false);
  };
  for (std::uint32_t i = 0; i < header->alias_count; ++i)
    take(header->aliases[i].lo, header->aliases[i].hi, header->aliases[i].offset);
  const Ranges& holes = pager_holes();
  std::uintptr_t at = s.origin;
  for (std::size_t i = 0, hole = 0; i <= pager_free().count(); ++i) {
    const std::uintptr_t end = i < pager_free().count() ? pager_free().at(i).lo : s.slot + s.span;
    for (; hole < holes.count() && holes.at(hole).lo < end; ++hole) {
      take(at, holes.at(hole).lo, at - s.slot);
      at = holes.at(hole).hi;
    }
    take(at, end, at - s.slot);
    if (i < pager_free().count()) at = pager_free().at(i).hi;
  }
  return good;
}

// In rounds, since the list may have more than there is room for. A round costs 0.3 to 0.5 ms in an MPI
// program (hundreds of mappings), so none is made only to find nothing: what was found is private then.
static bool make_all_private(bool by_file) {
  for (int round = 0; round < 1000; ++round) {
    const int found = find_in_maps();
    if (found < 0) return make_used_private();
    for (int i = 0; i < found; ++i)
      if (!make_private(g_found[i], by_file)) return false;
    if (found < kFound) return true;
  }
  return false;
}

static void say_and_end() {
  say("the child of a fork can't have a copy of its parent's memory; it ends");
  nigh_raw_syscall3(SYS_exit_group, 127, 0, 0);
}

// Never lets the child run on memory that it shares with its parent.
static void become_private() {
  g_progress->store(kBegun, std::memory_order_release);
  const bool by_file = fd_is_ours();
  if (!make_all_private(by_file)) say_and_end();
  if (by_file) sys::raw_close(g_slot.state.fd);
  g_slot.private_now = true;
  g_slot.state.on = false;
  g_slot.state.fd = -1;
  g_slot.state.why = "this is the child of a fork";
  for (auto& word : g_slot.peers) word.store(0, std::memory_order_relaxed);
  tell_parent();
}

static void prepare() {
  g_progress->store(kNothing, std::memory_order_relaxed);
  open_pipe();
  g_begin = now_ns();
}

static void finish() {
  wait_for_child();
  g_slot.count.forks.fetch_add(1, std::memory_order_relaxed);
  g_slot.count.fork_ns.fetch_add(now_ns() - g_begin, std::memory_order_relaxed);
}

// In the child of a child the kernel's own copy serves; the locks are to be held all the same.
static void before() {
  g_one_fork.lock();
  heap_before_fork();
  pager_before_fork();
  if (shared_now()) prepare();
}

static void after() {
  if (shared_now()) finish();
  pager_after_fork();
  heap_after_fork();
  g_one_fork.unlock();
}

static void in_child() {
  const bool first = shared_now();
  if (first) become_private();
  pager_in_child();
  g_one_fork.reset();
  heap_in_child();
  if (first && g_slot.listener.forked != nullptr) g_slot.listener.forked(g_slot.listener.self);
}

void fork_start() {
  const long page = sys::raw_map(0, kPage, kOpen, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  static constinit std::atomic<std::uint32_t> alone{kNothing};  // then the parent waits for its limit at most
  g_progress = sys::is_error(page) ? &alone : reinterpret_cast<std::atomic<std::uint32_t>*>(page);
  __register_atfork(before, after, in_child, __dso_handle);
}

}  // namespace nigh::space

// The fork that runs no handlers, for signal handlers; its child may not use the heap but must not write to
// the parent's either.
extern "C" __attribute__((visibility("default"))) pid_t _Fork() noexcept {
  using namespace nigh::space;  // NOLINT(google-build-using-namespace)
  using Call = pid_t (*)();
  static constinit std::atomic<Call> next{nullptr};
  Call call = next.load(std::memory_order_relaxed);
  if (call == nullptr) {
    call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "_Fork"));
    next.store(call, std::memory_order_relaxed);
  }
  if (call == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  if (!shared_now()) return call();
  g_one_fork.lock();
  prepare();
  const pid_t child = call();
  if (child == 0) {
    become_private();
    g_one_fork.reset();
    pager_in_child();
  } else {
    finish();
    g_one_fork.unlock();
  }
  return child;
}
