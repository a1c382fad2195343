// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Faults of real machines. After each fault the application goes on, its results are right, and the report
// says what did not move and why.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "movers_checks.hpp"
#include "sys/cgroup.hpp"
#include "sys/memory.hpp"
#include "sys/pages.hpp"
#include "watch/move_threads.hpp"
#include "watch/page_calls.hpp"

namespace movers {

using namespace nigh;
using watch::Cause;

namespace {
std::uint64_t failed_by(const watch::MoveReport& report, Cause cause) {
  return report.failed[static_cast<std::size_t>(cause)];
}

std::uint64_t free_on(int node) {
  for (const sys::NodeMemory& one : sys::node_memory(sys::Os()))
    if (one.node == node) return one.free;
  return 0;
}

// Takes a node's memory until only so much is left of it.
std::optional<sys::Buffer> leave_free(int node, std::uint64_t left) {
  std::uint64_t bytes = free_on(node);
  if (bytes <= left) return std::nullopt;
  auto hog = sys::Buffer::map(bytes - left);
  if (!hog || !hog->bind(node)) return std::nullopt;
  std::memset(hog->data(), 1, hog->bytes());
  return std::move(*hog);
}

void say(const char* name, const Result<watch::MoveReport>& moved) {
  std::printf("%s: %s\n", name, moved ? moved->sentence().c_str() : moved.error().message.c_str());
  if (moved) check(moved->adds_up(), "%s: pages are not each counted once", name);
}

// A mover in a process of its own that freezes the application for 2 s at most and is then ended by `signal`.
void mover_dies(const App& app, int signal, double within) {
  int ready[2];
  if (!check(::pipe(ready) == 0, "no pipe")) return;
  pid_t mover = ::fork();
  if (mover == 0) {
    auto freezer = sys::Freezer::start();
    auto frozen = freezer->freeze(sys::Os(), {app.id()}, 2);
    char byte = frozen ? static_cast<char>(frozen->by == sys::FreezeBy::cgroup ? 'c' : 's') : 'x';
    (void)!::write(ready[1], &byte, 1);
    watch::MoveReport report;
    std::vector<std::uint64_t> pages;
    for (std::uint64_t at = 0; at < (std::uint64_t{16} << 20); at += 4096)
      pages.push_back(app.shared().address + at);
    for (int node = 1;; node = node % 7 + 1) watch::move_slice({app.pid(), node, 4096, false}, pages, report);
  }
  char byte = 0;
  check(::read(ready[0], &byte, 1) == 1 && byte != 'x', "it was not frozen");
  nap(0.1);
  std::uint64_t passes = app.total_passes();
  nap(0.2);
  check(app.total_passes() == passes, "it is not frozen");
  double since = now();
  ::kill(mover, signal);
  check(app.goes_on(10), "it stays frozen");
  double took = now() - since;
  std::printf("by %s: it went on %.3f s after signal %d\n", byte == 'c' ? "cgroup" : "signals", took, signal);
  check(took < within, "it went on after %.3f s only", took);
  ::kill(mover, SIGKILL);
  ::waitpid(mover, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}
}  // namespace

void target_full() {
  App app({});
  auto hog = leave_free(3, sys::kernel_reserve(sys::Os(), 3) + (std::uint64_t{6} << 20));
  check(hog.has_value(), "node 3 could not be filled");
  auto moved = watch::move_pages(sys::Os(), buffer_to(app, 3, std::size_t{16} << 20));
  say("full", moved);
  if (moved)
    check(moved->held_back > 0 && moved->moved > 0 && moved->failures() == 0,
          "not held back before the node was full: %lu MiB stay free",
          static_cast<unsigned long>(free_on(3) >> 20));
  check(app.goes_on(5), "it does not go on");
  app.ends_right();
}

void full_without_asking() {
  AppOptions options;
  options.bytes = std::size_t{32} << 20;
  App app(options);
  auto hog = leave_free(3, sys::kernel_reserve(sys::Os(), 3) + (std::uint64_t{1} << 20));
  std::vector<std::uint64_t> pages;
  for (std::uint64_t at = 0; at < options.bytes; at += 4096) pages.push_back(app.shared().address + at);
  watch::MoveReport report;
  bool good = watch::move_slice({app.pid(), 3, 4096, false}, pages, report);
  say("full, unasked", report);
  check(!good && failed_by(report, Cause::no_memory) > 0 && report.moved > 0, "the kernel found room");
  auto where = app.pages_by_node();
  check(where[3] == report.moved, "%zu pages are on node 3, not %lu", where[3],
        static_cast<unsigned long>(report.moved));
  app.ends_right();
}

void pinned_pages() {
  AppOptions options;
  options.pinned_every = 64;
  App app(options);
  auto pinned = static_cast<std::uint64_t>(app.shared().pinned);
  check(pinned == options.bytes / 4096 / 64, "%lu pages could be pinned", static_cast<unsigned long>(pinned));
  auto freezer = sys::Freezer::start();
  for (bool frozen : {false, true}) {
    watch::MoveOptions how;
    how.freezer = frozen ? &*freezer : nullptr;
    auto moved = watch::move_pages(sys::Os(), buffer_to(app, frozen ? 5 : 2, options.bytes), how);
    say(frozen ? "pinned, frozen" : "pinned, live", moved);
    if (moved)
      check(failed_by(*moved, Cause::busy) == pinned && moved->failures() == pinned &&
                moved->moved == moved->asked - pinned,
            "not just the pinned pages stayed");
  }
  check(app.pages_by_node()[0] == pinned, "the pinned pages are not on node 0 still");
  app.ends_right();
}

void exits_meanwhile() {
  for (bool frozen : {false, true}) {
    App app({});
    auto freezer = sys::Freezer::start();
    std::thread killer([&] { nap(0.4), app.kill_now(); });
    watch::MoveOptions how;
    how.freezer = frozen ? &*freezer : nullptr;
    how.call_seconds = 0.005;
    how.call_rest = 1;
    Result<watch::MoveReport> moved = watch::MoveReport{};
    for (int node = 1; moved && !moved->stopped; node = node % 7 + 1)
      moved = watch::move_pages(sys::Os(), buffer_to(app, node, std::size_t{16} << 20), how);
    killer.join();
    say("exits", moved);
    if (!moved)
      check(moved.error().sys_errno != 0 && !sys::lives(sys::Os(), app.id()), "an error without its cause");
  }
}

void killed_in_a_pause() {
  App app({});
  mover_dies(app, SIGKILL, 1);
  app.ends_right();
}

void killed_with_a_cgroup() {
  App app({});
  ::mkdir("/sys/fs/cgroup/frozen-job", 0755);
  sys::Cgroup group{"/sys/fs/cgroup/frozen-job"};
  auto entered = group.set(sys::Os(), "cgroup.procs", std::to_string(app.pid()));
  check(entered.has_value(), "%s", entered ? "" : entered.error().message.c_str());
  check(sys::Freezer::group_file(sys::Os(), {app.id()}) == group.folder + "/cgroup.freeze",
        "the cgroup is not found");
  mover_dies(app, SIGKILL, 1);
  check(group.get(sys::Os(), "cgroup.freeze") == "0", "the cgroup is still frozen");
  app.ends_right();
}

void stopped_in_a_pause() {
  App app({});
  mover_dies(app, SIGSTOP, 3);  // nobody thaws but the supervisor's limit of 2 s
  app.ends_right();
}

void clock_jumps() {
  App app({});
  auto freezer = sys::Freezer::start();
  for (long days : {-400L, 400L}) {
    timespec wall{};
    ::clock_gettime(CLOCK_REALTIME, &wall);
    check(freezer->freeze(sys::Os(), {app.id()}, 0.5).has_value(), "it was not frozen");
    double since = now();
    wall.tv_sec += days * 86400;
    check(::clock_settime(CLOCK_REALTIME, &wall) == 0, "the clock can't be set");
    check(app.goes_on(5), "it stays frozen");
    double took = now() - since;
    check(took > 0.2 && took < 2, "the limit of 0.5 s took %.3f s", took);
    auto thawed = freezer->thaw();
    check(thawed && thawed->expired, "nothing says that the limit came first");
  }
  app.ends_right();
}

// This guest's kernel refuses to take memory off-line (EIO even for a movable block), so: the PUs of a node.
void node_offline() {
  App app({});
  sys::Os os;
  CpuSet all = *sys::affinity(app.pid()), node7 = watch::pus_of_node(os, 7);
  auto journal = journal_of(app);
  auto bound = watch::bind_threads(os, {app.id()}, node7, journal);
  check(bound && bound->bound == 5, "not bound to node 7");
  check(sys::write_in_place("/sys/devices/system/cpu/cpu7/online", "0").has_value(),
        "PU 7 can't go off-line");
  check(app.goes_on(10), "it does not go on without the PUs it was bound to");
  check(watch::pus_of_node(os, 7).empty(), "node 7 has PUs still");
  App other({});
  auto refused = watch::bind_threads(os, {other.id()}, node7, journal);
  check(refused && refused->refused == 5 && refused->bound == 0,
        "threads were bound to PUs that are not there");
  std::printf("offline: %s\n", refused ? refused->sentence().c_str() : "");
  auto undone = watch::undo_all(os, journal_folder());
  for (int tid : sys::threads_of(os, app.pid()))
    check(sys::affinity(tid).value_or(CpuSet{}).count() == 7,
          "thread %d stays bound to a PU that is not there", tid);
  check(undone.restored == 5 && undone.sentences.empty(), "%d masks put back, \"%s\"", undone.restored,
        undone.sentences.empty() ? "" : undone.sentences.front().c_str());
  check(sys::write_in_place("/sys/devices/system/cpu/cpu7/online", "1").has_value(), "PU 7 can't come back");
  app.ends_right();
  other.ends_right();
  for (int tid : sys::threads_of(os, app.pid()))
    check(sys::affinity(tid).value_or(all) == all, "thread %d", tid);
}

// A node number that no machine has: what the kernel says of a node without memory, too (ENODEV).
void node_missing() {
  App app({});
  auto moved = watch::move_pages(sys::Os(), buffer_to(app, 60, std::size_t{16} << 20));
  say("missing", moved);
  if (moved)
    check(moved->moved == 0 && moved->held_back == (std::uint64_t{16} << 20),
          "moved to a node that is not there");
  check(app.pages_by_node()[0] == 4096, "pages left node 0");
  app.ends_right();
}

}  // namespace movers
