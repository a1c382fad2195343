// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/carry.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nigh::watch {

namespace {

constexpr int region_bits = 21;

// Regions that may lie where `parts` says: as many as possible stay, the others fill what is missing.
// Afterwards every node has its part of the weight to within the heaviest region.
class Distribution {
 public:
  Distribution(const std::vector<const UnitRegion*>& regions, const std::vector<double>& parts)
      : regions_(regions), target_(regions.size(), parts.size()), overfilled_by_(parts.size(), 0) {
    double all = 0;
    for (const UnitRegion* region : regions) {
      all += region->weight;
      heaviest_ = std::max(heaviest_, region->weight);
    }
    for (const double part : parts) room_.push_back(part * all);
    keep();
    fill();
    even();
  }

  void moves_into(std::vector<RegionMove>& out) const {
    for (std::size_t i = 0; i < regions_.size(); ++i)
      if (target_[i] != home(i))
        out.push_back({regions_[i]->region, regions_[i]->node, static_cast<int>(target_[i])});
  }

 private:
  [[nodiscard]] std::size_t home(std::size_t i) const { return static_cast<std::size_t>(regions_[i]->node); }

  void put(std::size_t i, std::size_t node) {
    room_[node] -= regions_[i]->weight;
    target_[i] = node;
    if (room_[node] < 0) overfilled_by_[node] = i;
  }

  void keep() {
    for (std::size_t i = 0; i < regions_.size(); ++i)
      if (room_[home(i)] >= regions_[i]->weight / 2) put(i, home(i));
  }

  void fill() {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      if (target_[i] < room_.size()) continue;
      const auto most = std::max_element(room_.begin(), room_.end());
      // Equal room: stays. None at all: the parts sum to less than 1, and what is left over stays.
      const bool stays = room_[home(i)] >= *most || *most <= 0;
      put(i, stays ? home(i) : static_cast<std::size_t>(most - room_.begin()));
    }
  }

  // Many nodes that have a little too much leave another short of several regions: each gives it one.
  void even() {
    for (std::size_t n = 0; n < room_.size(); ++n) {
      const auto [least, most] = std::minmax_element(room_.begin(), room_.end());
      if (*most <= heaviest_ || *least >= 0) break;
      const std::size_t i = overfilled_by_[static_cast<std::size_t>(least - room_.begin())];
      *least += regions_[i]->weight;
      put(i, static_cast<std::size_t>(most - room_.begin()));
    }
  }

  const std::vector<const UnitRegion*>& regions_;
  std::vector<double> room_;
  std::vector<std::size_t> target_;         // the number of nodes: not placed yet
  std::vector<std::size_t> overfilled_by_;  // the last region of a node with less than no room
  double heaviest_ = 0;
};

// Neighbours become one range.
std::vector<AddressRange> ranges_of(std::vector<std::uint64_t> regions) {
  std::sort(regions.begin(), regions.end());
  std::vector<AddressRange> out;
  for (const std::uint64_t region : regions) {
    if (!out.empty() && out.back().last == region << region_bits)
      out.back().last = (region + 1) << region_bits;
    else
      out.push_back({region << region_bits, (region + 1) << region_bits});
  }
  return out;
}

}  // namespace

std::vector<RegionMove> regions_to_move(const Watched& unit, const Action& action) {
  std::vector<RegionMove> out;
  // By user: those of several nodes (-1), then each node's own. A node's threads are, by now or soon, on
  // to[].
  for (int user = -1; user < static_cast<int>(action.to.size()); ++user) {
    std::vector<const UnitRegion*> regions;
    for (const UnitRegion& region : unit.regions)
      if (region.user == user) regions.push_back(&region);
    if (regions.empty()) continue;
    const std::vector<double>& parts =
        user < 0 ? action.after.shared
                 : action.after.own[static_cast<std::size_t>(action.to[static_cast<std::size_t>(user)])];
    Distribution(regions, parts).moves_into(out);
  }
  return out;
}

Migrator::Migrator(const sys::Os& os, const Machine& machine, std::string journals, sys::Freezer* freezer,
                   const std::atomic<bool>* stop)
    : os_(os), machine_(machine), journals_(std::move(journals)), freezer_(freezer), stop_(stop) {}

Carried Migrator::carry(const Action& action, const Watched& unit) {
  switch (action.kind) {
    case Action::Kind::threads: return move_threads(action, unit);
    case Action::Kind::pages:
      if (action.how == Pages::lazy) {
        lazy_[action.unit] = action;
        return {false,
                0,
                {"moved", unit.unit.application.program.name + ": its pages follow as they are touched"},
                {},
                {}};
      }
      return move_memory(action, unit);
    case Action::Kind::all_pages: lazy_.erase(action.unit); return move_memory(action, unit);
    case Action::Kind::restore: {
      lazy_.erase(action.unit);
      Carried threads = move_threads(action, unit), pages = move_memory(action, unit);
      threads.failed = threads.failed && pages.failed;
      threads.megabytes = pages.megabytes;
      threads.policies_behind = pages.policies_behind;
      threads.event.sentence += "; " + pages.event.sentence;
      return threads;
    }
  }
  return {};
}

// Threads that do little just now would be left behind: of a process that is one unit, all go, each from the
// node where it ran last.
std::vector<std::pair<int, int>> Migrator::threads_to_move(const Watched& unit) const {
  std::map<int, int> out(unit.threads.begin(), unit.threads.end());
  for (const int tid : unit.whole ? sys::threads_of(os_, unit.pid) : std::vector<int>()) {
    if (out.count(tid) != 0) continue;
    const auto facts = sys::task_facts(os_, unit.pid, tid);
    if (const int node = facts ? machine_.node_of_pu(facts->cpu) : -1; node >= 0) out[tid] = node;
  }
  return {out.begin(), out.end()};
}

Carried Migrator::move_threads(const Action& action, const Watched& unit) {
  Carried out;
  const std::string& name = unit.unit.application.program.name;
  const sys::ProcessId process = {unit.pid, unit.start};
  auto journal = Journal::open(journals_, process);
  if (!journal) return {true, 0, {"failed", name + ": " + journal.error().message}, {}, {}};
  std::map<int, std::set<int>> by_target;
  for (const auto& [tid, node] : threads_to_move(unit)) {
    by_target[action.to[static_cast<std::size_t>(node)]].insert(tid);
    out.threads[tid] = action.to[static_cast<std::size_t>(node)];
  }
  ThreadReport sum;
  std::string trouble;
  for (const auto& [target, tids] : by_target) {
    const CpuSet pus = pus_of_node(os_, number(target));
    auto report = bind_threads(os_, {process}, pus, *journal, {.descendants = false, .only = tids});
    if (!report) {
      trouble = report.error().message;
      continue;
    }
    sum.bound += report->bound;
    sum.already += report->already;
    sum.gone += report->gone;
    sum.refused += report->refused;
    if (sum.refusal.empty()) sum.refusal = report->refusal;
  }
  out.failed = sum.bound + sum.already == 0;
  if (out.failed) out.threads.clear();
  nlohmann::ordered_json places = nlohmann::ordered_json::array();
  for (const auto& [tid, node] : out.threads) places.push_back({{"tid", tid}, {"node", number(node)}});
  out.event = {
      out.failed ? "failed" : "moved",
      name + ": " + (trouble.empty() ? sum.sentence() : trouble),
      {{"threads", unit.threads.size()}, {"bound", sum.bound}, {"refused", sum.refused}, {"places", places}}};
  return out;
}

MoveOptions Migrator::options_for(const Action& action) {
  MoveOptions out;
  if (action.how == Pages::frozen) out.freezer = freezer_;
  out.stop = stop_;
  return out;
}

Carried Migrator::move_memory(const Action& action, const Watched& unit) {
  const std::string& name = unit.unit.application.program.name;
  const sys::ProcessId process = {unit.pid, unit.start};
  MoveOptions options = options_for(action);
  std::optional<Journal> journal;
  if (options.freezer != nullptr) {
    auto opened = Journal::open(journals_, process);
    if (!opened) return {true, 0, {"failed", name + ": " + opened.error().message}, {}, {}};
    journal = *std::move(opened);
    options.journal = &*journal;
  }
  MoveReport sum;
  std::string trouble;
  const auto move = [&](const PagePlan& plan) {
    auto report = watch::move_pages(os_, plan, options);
    if (report)
      sum.add(*report);
    else if (trouble.empty())
      trouble = report.error().message;
  };
  // Nodes that the unit leaves for good: all that its process has there, also what no sample fell on.
  PagePlan whole;
  whole.process = process;
  const std::vector<double> before = action.before.resident(), after = action.after.resident();
  for (std::size_t n = 0; unit.whole && n < before.size(); ++n)
    if (const int to = action.to[n]; to != static_cast<int>(n) && before[n] > 0 && after[n] == 0 &&
                                     after[static_cast<std::size_t>(to)] > 0)
      whole.nodes[number(static_cast<int>(n))] = number(to);
  if (!whole.nodes.empty()) move(whole);
  std::map<int, std::vector<std::uint64_t>> by_target;
  for (const RegionMove& move : regions_to_move(unit, action))
    if (whole.nodes.count(number(move.from)) == 0 || whole.nodes.at(number(move.from)) != number(move.to))
      by_target[move.to].push_back(move.region);
  for (const auto& [target, regions] : by_target) {
    PagePlan plan;
    plan.process = process;
    plan.everything_to = number(target);
    plan.ranges = ranges_of(regions);
    move(plan);
  }
  Carried out;
  for (std::size_t n = 0; sum.other_policy > 0 && n < after.size(); ++n)
    if (after[n] > 0) out.policies_behind.set(number(static_cast<int>(n)));
  out.megabytes = static_cast<double>(sum.bytes) / 1e6;
  out.failed = sum.moved + sum.already == 0 && (!trouble.empty() || sum.failures() > 0);
  nlohmann::ordered_json failures = nlohmann::ordered_json::object();
  for (std::size_t c = 0; c < causes; ++c)
    if (sum.failed[c] > 0) failures[cause_name(static_cast<Cause>(c))] = sum.failed[c];
  out.event = {out.failed ? "failed" : "moved",
               name + ": " + (trouble.empty() ? sum.sentence() : trouble),
               {{"pages", sum.moved},
                {"megabytes", out.megabytes},
                {"gb_per_s", sum.gb_per_second()},
                {"paused", sum.paused},
                {"failures", failures}}};
  return out;
}

double Migrator::follow(const Reading& reading, const std::vector<Watched>& units) {
  double megabytes = 0;
  for (const Watched& unit : units) {
    const auto action = lazy_.find(unit.unit.id);
    if (action == lazy_.end()) continue;
    std::map<std::uint64_t, int> goal;
    for (const RegionMove& move : regions_to_move(unit, action->second)) goal[move.region] = move.to;
    std::vector<Touch> touches;
    for (const RegionTouches& seen : reading.regions)
      if (const auto to = goal.find(seen.region); seen.pid == unit.pid && to != goal.end())
        touches.push_back({seen.region << region_bits, number(to->second)});
    if (touches.empty()) continue;
    auto report = move_touched(os_, {unit.pid, unit.start}, touches, options_for(action->second));
    if (report) megabytes += static_cast<double>(report->bytes) / 1e6;
  }
  return megabytes;
}

}  // namespace nigh::watch
