// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "openmp/automatic.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "nigh/plan.h"
#include "openmp/cures.hpp"
#include "openmp/planner.hpp"
#include "openmp/session.hpp"
#include "sys/raw_text.hpp"

namespace nigh::preload {

constexpr long kDelay = 250'000'000;        // ns
constexpr unsigned kMovesAtOnce = 64;       // of one thread, that often in a second ..
constexpr long kOneSecond = 1'000'000'000;  // .. means that team sizes alternate
constexpr int kHighDescriptor = 100;        // programs count on the low ones
constexpr const char* kClaims[] = {"/dev/shm/nigh-bound-pus", "/tmp/nigh-bound-pus"};

static constinit struct {
  bool wanted;
  bool off;                   // nobody is to be bound at all
  bool always;                // also where all PUs are alike
  bool alike;                 // they are
  std::atomic<bool> waiting;  // the plan in force binds nobody yet
  long began;                 // ns of the coarse clock
  std::atomic<const char*> reason;
  Plan unbound;  // in force once a reason was found
  int file;      // + 1: of the claims
  dev_t device;  // its identity
  ino_t inode;
  Mask claimed;  // under the lock
} g_automatic{};

static long coarse_time() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return time.tv_sec * kOneSecond + time.tv_nsec;
}

bool teams_are_off() { return g_automatic.off; }
bool automatic_wanted() { return g_automatic.wanted && !automatic_reason(); }
const char* automatic_reason() { return g_automatic.reason.load(std::memory_order_acquire); }
bool automatic_needless() { return g_automatic.alike; }

void automatic_begin(const char* wish, bool user_binds) {
  g_automatic.off = wish && sys::raw_equal(wish, off_spec);
  g_automatic.always = wish && sys::raw_equal(wish, always_spec);
  g_automatic.wanted = g_automatic.always || (wish && sys::raw_equal(wish, automatic_spec));
  g_automatic.unbound.automatic = true;
  g_automatic.unbound.levels = kMaxDepth;
  g_automatic.unbound.spec = const_cast<char*>(automatic_spec);
  if (g_automatic.wanted && user_binds)
    g_automatic.reason.store("the user's variables bind the threads", std::memory_order_relaxed);
}

static void give_up_claims();

static void use_unbound() {
  g_automatic.waiting.store(false);
  Plan* plan = g.plan.load(std::memory_order_acquire);
  if (plan && plan->automatic) g.plan.store(&g_automatic.unbound, std::memory_order_release);
  give_up_claims();
}

void automatic_off(const char* reason, ...) {
  if (!g_automatic.wanted || automatic_reason()) return;
  char text[256];
  va_list args;
  va_start(args, reason);
  vsnprintf(text, sizeof text, reason, args);
  va_end(args);
  const char* none = nullptr;
  char* copy = strdup(text);
  if (copy && !g_automatic.reason.compare_exchange_strong(none, copy)) free(copy);
  use_unbound();
}

void automatic_forget() {
  if (!g_automatic.wanted) return;
  memset(&g_automatic.claimed, 0, sizeof g_automatic.claimed);
  g_automatic.file = 0;
  const char* none = nullptr;
  g_automatic.reason.compare_exchange_strong(none, "a forked process shares the PUs of its parent");
  use_unbound();
}

// ---- when -----------------------------------------------------------------------------------------
// First touch decides which node memory comes from, so on several nodes the first region counts.
static bool read_line(const char* path, char* text, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t n = read(file, text, size - 1);
  close(file);
  if (n <= 0) return false;
  text[n] = '\0';
  if (char* end = strchr(text, '\n')) *end = '\0';
  return true;
}

static bool has_several_nodes() {
  char text[256];
  return read_line("/sys/devices/system/node/has_memory", text, sizeof text) && strpbrk(text, ",-");
}

// True if one cache serves all PUs of the process; also where nothing is known of caches.
static bool has_one_cache() {
  int first = 0;
  while (first < kMaskCpus - 1 && !home().has(first)) first++;
  char path[128], text[4096], widest[4096] = "";
  long level = 0;
  for (int index = 0; index < 8; index++) {
    const auto read = [&](const char* name) {
      snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", first, index, name);
      return read_line(path, text, sizeof text);
    };
    if (!read("level") || atol(text) < level) continue;
    level = atol(text);
    if (read("shared_cpu_list")) memcpy(widest, text, sizeof widest);
  }
  if (!*widest) return true;
  Mask shared;
  if (!read_cpus(widest, shared)) return true;
  for (size_t i = 0; i < sizeof shared.word / sizeof *shared.word; i++)
    if (home().word[i] & ~shared.word[i]) return false;
  return true;
}

static void bind_from_now() {
  char err[512] = "";
  g_automatic.waiting.store(false);
  if (set_spec(automatic_spec, err, sizeof err)) automatic_off("%s", err);
}

bool automatic_start() {
  if (!automatic_wanted()) return false;
  if (has_several_nodes()) {
    bind_from_now();
    return true;
  }
  g_automatic.alike = !g_automatic.always && has_one_cache();
  if (g_automatic.alike) return false;
  static constinit Plan waiting{};
  waiting.automatic = true;
  waiting.levels = kMaxDepth;
  waiting.spec = const_cast<char*>(automatic_spec);
  g_automatic.began = coarse_time();
  g_automatic.waiting.store(true);
  g.plan.store(&waiting, std::memory_order_release);
  return true;
}

bool automatic_waits() { return g_automatic.waiting.load(std::memory_order_relaxed); }

void automatic_tick() {
  if (!g_automatic.waiting.load(std::memory_order_relaxed)) return;
  // omp_set_nesting_info may have brought a spec meanwhile.
  if (const Plan* plan = g.plan.load(std::memory_order_acquire); !plan || !plan->automatic)
    return g_automatic.waiting.store(false);
  const long time = coarse_time();
  if (time - g_automatic.began >= kDelay && g_automatic.waiting.exchange(false)) return bind_from_now();
  // Regions that take long are looked at one by one, and the next ones may take longer than those before.
  const bool often = time - t.looked < kDelay / 16;
  t.looked = time;
  t.period = often ? std::min(2 * t.period, 8U) : 1;
  t.look = t.period;
}

// ---- whose PUs ------------------------------------------------------------------------------------
// Everybody on the node may lock bytes of the file; nobody reads or writes it.
static int open_claims(const char* path) {
  const int how = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int file = open(path, how);
  if (file < 0 && errno == ENOENT) {
    file = open(path, how | O_CREAT | O_EXCL, 0666);
    if (file >= 0 && fchmod(file, 0666)) {}  // a umask may have narrowed it; others then stay unbound
    if (file < 0 && errno == EEXIST) file = open(path, how);
  }
  struct stat facts;
  if (file >= 0 && (fstat(file, &facts) || !S_ISREG(facts.st_mode))) {
    close(file);
    file = -1;
  }
  return file;
}

// The program may have closed what it does not know, and have a file of its own under the number now.
static bool is_ours(int file) {
  struct stat facts;
  return file >= 0 && !fstat(file, &facts) && facts.st_dev == g_automatic.device &&
         facts.st_ino == g_automatic.inode;
}

static int claims() {
  if (g_automatic.file) return is_ours(g_automatic.file - 1) ? g_automatic.file - 1 : -1;
  for (const char* path : kClaims) {
    const int low = open_claims(path);
    struct stat facts;
    if (low < 0 || fstat(low, &facts)) continue;
    g_automatic.device = facts.st_dev;
    g_automatic.inode = facts.st_ino;
    // Before the first lock: closing any descriptor of the file gives all of them up.
    const int high = fcntl(low, F_DUPFD_CLOEXEC, kHighDescriptor);
    if (high >= 0) close(low);
    g_automatic.file = (high >= 0 ? high : low) + 1;
    return g_automatic.file - 1;
  }
  return -1;
}

static void give_up_claims() {
  struct flock all{};
  all.l_type = F_UNLCK;
  all.l_whence = SEEK_SET;
  if (g_automatic.file && is_ours(g_automatic.file - 1)) fcntl(g_automatic.file - 1, F_SETLK, &all);
}

static bool claim(int pu) {
  if (g_automatic.claimed.has(pu)) return true;
  const int file = claims();
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = pu;
  lock.l_len = 1;
  if (file < 0) {
    automatic_off(
        "no file in /dev/shm or /tmp tells which PUs other programs bind, or the program closed it");
    return false;
  }
  if (fcntl(file, F_SETLK, &lock)) {
    struct flock theirs = lock;
    const bool known = !fcntl(file, F_GETLK, &theirs) && theirs.l_type != F_UNLCK && theirs.l_pid > 0;
    if (known)
      automatic_off("process %d has bound threads to PU %d", static_cast<int>(theirs.l_pid), pu);
    else
      automatic_off("another program has bound threads to PU %d", pu);
    return false;
  }
  g_automatic.claimed.add(pu);
  return true;
}

// ---- where ----------------------------------------------------------------------------------------
static bool one_thread_a_core(const nigh_place* places, unsigned size) {
  for (unsigned i = 1; i < size; i++)
    for (unsigned k = 0; k < i; k++)
      if (places[i].pu == places[k].pu || (places[i].core >= 0 && places[i].core == places[k].core))
        return false;
  return true;
}

// A smaller team than the one that was placed first keeps that one's seats, as far as each of its threads
// still has a core of its own: the same threads serve both, and would move each time.
static bool ask_stable(Node* parent, unsigned size, nigh_place* places) {
  Plan& plan = *parent->plan;
  if (parent->depth > 0) return ask_planner(parent, size, places);
  if (!plan.width) plan.width = size;
  if (size >= plan.width) return ask_planner(parent, size, places);
  auto* wide = static_cast<nigh_place*>(calloc(plan.width, sizeof(nigh_place)));
  const bool kept = wide && ask_planner(parent, plan.width, wide) && one_thread_a_core(wide, size);
  if (kept) memcpy(places, wide, size * sizeof(nigh_place));
  free(wide);
  return kept || ask_planner(parent, size, places);
}

static bool is_first_root(const Node* node) {
  while (node->parent) node = node->parent;
  return root_number(node) == 0;
}

bool automatic_places(Node* parent, unsigned size, nigh_place* places) {
  const Plan& plan = *parent->plan;
  if (!plan.planner || !is_first_root(parent)) return false;
  const int pus = plan.mask.count();
  if (threads_with(parent, size) > static_cast<unsigned long>(pus)) {
    automatic_off("%lu threads for %d PU%s", threads_with(parent, size), pus, pus == 1 ? "" : "s");
    return false;
  }
  if (!ask_stable(parent, size, places)) return false;
  for (unsigned i = 0; i < size; i++)
    if (places[i].pu < 0 || !claim(places[i].pu)) return false;
  return true;
}

int unplaced_automatically(const Plan& plan, const Node* parent) {
  return &plan == &g_automatic.unbound || parent->place > kKeep ? kFree : kKeep;
}

void automatic_moved() {
  if (++t.moves % kMovesAtOnce) return;
  const long time = coarse_time(), before = t.moves_counted;
  t.moves_counted = time;
  if (before && time - before < kOneSecond)
    automatic_off("team sizes alternate, so threads would move often");
}

}  // namespace nigh::preload
