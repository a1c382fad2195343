// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Moving goes well: every page is where it was sent, the program computes the same, and undo puts back the
// rest.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "movers_checks.hpp"
#include "sys/cgroup.hpp"
#include "sys/pages.hpp"
#include "sys/run_folder.hpp"
#include "watch/move_cost.hpp"
#include "watch/move_threads.hpp"

namespace movers {

using namespace nigh;

const std::vector<Check>& checks() {
  static const std::vector<Check> all = {
      {"live", moved_live},
      {"frozen", moved_frozen},
      {"lazy", moved_lazily},
      {"huge", huge_pages},
      {"policy", policy_is_told},
      {"threads", threads_and_undo},
      {"cpuset", cpuset_and_undo},
      {"calibrate", calibration},
      {"full", target_full},
      {"full-unasked", full_without_asking},
      {"pinned", pinned_pages},
      {"exits", exits_meanwhile},
      {"killed", killed_in_a_pause},
      {"killed-cgroup", killed_with_a_cgroup},
      {"stopped", stopped_in_a_pause},
      {"clock", clock_jumps},
      {"offline", node_offline},
      {"missing", node_missing},
      {"throughput", throughput},
      {"batches", batch_sizes},
  };
  return all;
}

watch::PagePlan buffer_to(const App& app, int to, std::size_t bytes) {
  return {app.id(), {}, to, {{app.shared().address, app.shared().address + bytes}}};
}

std::string journal_folder() {
  auto folder = sys::run_folder("watch");
  check(folder.has_value(), "no run folder: %s", folder ? "" : folder.error().message.c_str());
  return folder.value_or("/tmp");
}

watch::Journal journal_of(const App& app) { return *watch::Journal::open(journal_folder(), app.id()); }

bool all_on(const App& app, int node) {
  auto pages = app.pages_by_node();
  bool right = pages.size() == 1 && pages.begin()->first == node;
  std::string text;
  for (auto [where, count] : pages) text += " " + std::to_string(count) + " on " + std::to_string(where);
  check(right, "pages are not all on node %d:%s", node, text.c_str());
  auto maps = sys::numa_mappings(sys::Os(), app.pid());
  bool found = false;
  for (const sys::NumaMapping& one : maps.value_or(std::vector<sys::NumaMapping>{})) {
    auto here = one.by_node.find(node);
    std::size_t wanted = pages.empty() ? 0 : pages.begin()->second;
    found = found || (here != one.by_node.end() && one.by_node.size() == 1 && here->second >= wanted);
  }
  return check(found, "numa_maps does not show the buffer on node %d", node) && right;
}

namespace {
void report(const char* name, const Result<watch::MoveReport>& moved) {
  std::printf("%s: %s\n", name, moved ? moved->sentence().c_str() : moved.error().message.c_str());
  if (!check(moved.has_value(), "%s failed", name)) return;
  check(moved->adds_up(), "%s: pages are not each counted once", name);
}
}  // namespace

void moved_live() {
  AppOptions options;
  App app(options);
  check(app.goes_on(5), "no pass before the move");
  check(app.pages_by_node().count(0) == 1, "the buffer is not on node 0 at first");
  watch::MoveOptions how;
  how.call_seconds = 0.02;
  auto moved = watch::move_pages(sys::Os(), buffer_to(app, 3, options.bytes), how);
  report("live", moved);
  if (moved)
    check(moved->moved == options.bytes / 4096 && moved->failures() == 0, "not every page moved at once");
  all_on(app, 3);
  auto again = watch::move_pages(sys::Os(), buffer_to(app, 3, options.bytes), how);
  if (again) check(again->asked == 0, "pages that are there already were moved again");
  app.ends_right();
}

void moved_frozen() {
  AppOptions options;
  options.bytes = std::size_t{32} << 20;
  App app(options);
  check(app.goes_on(5), "no pass before the move");
  auto freezer = sys::Freezer::start();
  auto journal = journal_of(app);
  watch::MoveOptions how;
  how.freezer = &*freezer;
  how.journal = &journal;
  how.threads = 3;
  // All its memory, by a map of nodes: stacks and libraries' data, too.
  auto moved = watch::move_pages(sys::Os(), {app.id(), {{0, 5}, {1, 5}}, -1, {}}, how);
  report("frozen", moved);
  if (moved)
    check(moved->pauses > 0 && moved->longest_pause < 0.6, "pauses: %d, longest %.3f s", moved->pauses,
          moved->longest_pause);
  check(app.goes_on(5), "it does not go on after the pause");
  all_on(app, 5);
  check(journal.record().frozen.empty(), "the journal still calls it frozen");
  app.ends_right();
}

void moved_lazily() {
  AppOptions options;
  App app(options);
  constexpr std::uint64_t region = std::uint64_t{2} << 20;
  std::uint64_t at = app.shared().address;
  std::vector<watch::Touch> touches = {
      {at + 5000, 2}, {at + 9000, 2}, {at + 100, 6}, {at + 3 * region + 7, 6}};
  auto moved = watch::move_touched(sys::Os(), app.id(), touches);
  report("lazy", moved);
  auto pages = app.pages_by_node();
  check(pages[2] == 512 && pages[6] == 512 && pages[0] == options.bytes / 4096 - 1024,
        "lazy: %zu on 2, %zu on 6, %zu on 0", pages[2], pages[6], pages[0]);
  app.ends_right();
}

void huge_pages() {
  AppOptions options;
  options.huge = true;
  App app(options);
  auto moved = watch::move_pages(sys::Os(), buffer_to(app, 4, options.bytes));
  report("huge", moved);
  if (moved)
    check(moved->asked == options.bytes >> 21, "%lu pages asked: huge ones are not asked for once each",
          static_cast<unsigned long>(moved->asked));
  all_on(app, 4);
  auto freezer = sys::Freezer::start();
  watch::MoveOptions how;
  how.freezer = &*freezer;
  report("huge, frozen", watch::move_pages(sys::Os(), buffer_to(app, 1, options.bytes), how));
  all_on(app, 1);
  app.ends_right();
}

void policy_is_told() {
  AppOptions options;
  options.bind = true;
  App app(options);
  auto moved = watch::move_pages(sys::Os(), buffer_to(app, 2, options.bytes));
  report("policy", moved);
  if (moved)
    check(moved->other_policy == 1, "%lu mappings, not 1, keep a policy",
          static_cast<unsigned long>(moved->other_policy));
  all_on(app, 2);
  app.ends_right();
}

void threads_and_undo() {
  App app({});
  auto journal = journal_of(app);
  CpuSet before = *sys::affinity(app.pid());
  CpuSet node2 = watch::pus_of_node(sys::Os(), 2);
  auto bound = watch::bind_threads(sys::Os(), {app.id()}, node2, journal);
  std::printf("threads: %s\n", bound ? bound->sentence().c_str() : bound.error().message.c_str());
  for (int tid : sys::threads_of(sys::Os(), app.pid()))
    check(sys::affinity(tid).value_or(CpuSet{}) == node2, "thread %d is not on node 2", tid);
  check(app.goes_on(5), "it does not go on");
  auto undone = watch::undo_all(sys::Os(), journal_folder());
  check(undone.restored == 5 && undone.sentences.empty(), "%d masks put back", undone.restored);
  for (int tid : sys::threads_of(sys::Os(), app.pid()))
    check(sys::affinity(tid).value_or(CpuSet{}) == before, "thread %d has not its old mask", tid);
  app.ends_right();
}

void cpuset_and_undo() {
  AppOptions options;
  options.bind = true;
  App app(options);
  check(sys::write_in_place("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset").has_value(),
        "no cpuset controller");
  ::mkdir("/sys/fs/cgroup/job", 0755);
  sys::Cgroup group{"/sys/fs/cgroup/job"};
  check(group.set(sys::Os(), "cgroup.procs", std::to_string(app.pid())).has_value(),
        "the cgroup takes no process");
  auto journal = journal_of(app);
  auto moved =
      watch::move_cpuset(sys::Os(), {app.id()}, watch::pus_of_node(sys::Os(), 3), CpuSet{3}, journal);
  check(moved.has_value(), "%s", moved ? "" : moved.error().message.c_str());
  for (double since = now(); app.pages_by_node().count(0) != 0 && now() - since < 10;) nap(0.05);
  all_on(app, 3);
  bool follows = false;
  for (const auto& one : sys::numa_mappings(sys::Os(), app.pid()).value_or(std::vector<sys::NumaMapping>{}))
    follows = follows || one.policy == "bind:3";
  check(follows, "the memory policy bind:0 did not become bind:3");
  auto undone = watch::undo_all(sys::Os(), journal_folder());
  check(undone.restored >= 2 && undone.sentences.empty(), "%d put back; %s", undone.restored,
        undone.sentences.empty() ? "" : undone.sentences.front().c_str());
  // A cpuset with processes can't be made empty again; what the parent has is the same.
  check(group.get(sys::Os(), "cpuset.mems.effective") == "0-7" &&
            group.get(sys::Os(), "cpuset.cpus.effective") == "0-7",
        "the cpuset has not its old extent");
  app.ends_right();
}

void calibration() {
  auto cost = watch::calibrate(sys::Os());
  if (!check(cost.has_value(), "%s", cost ? "" : cost.error().message.c_str())) return;
  std::printf("calibrate: %s\n", cost->sentence().c_str());
  check(cost->base_gb_s > 0 && cost->seconds_for(1000000000, false) > 0, "no rate");
}

}  // namespace movers
