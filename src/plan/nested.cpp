// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Walking a path down the levels. While a deeper level has to be planned together with its siblings, all
// threads of a level are carried along; after the last such level only the one path is followed.
#include "plan/nested.hpp"

#include <deque>
#include <mutex>

#include "plan/split.hpp"

namespace nigh {

struct NestedPlan::Roots {
  std::mutex mutex;
  std::deque<Occupancy> before;  // before[r]: what roots 0 .. r-1 take (a deque: references stay good)
};

namespace {
constexpr std::size_t max_depth = 255;

Result<void> check_request(std::span<const TeamStep> path, int threads) {
  if (path.size() > max_depth) return fail(Errc::invalid, "regions are nested too deep to be planned");
  if (threads < 1 || threads > TeamSpec::max_size)
    return fail(Errc::invalid, "a team of " + std::to_string(threads) +
                                   " threads can't be planned; from 1 to " +
                                   std::to_string(TeamSpec::max_size) + " are possible");
  for (const auto& step : path)
    if (step.size < 1 || step.size > TeamSpec::max_size || step.index < 0 || step.index >= step.size)
      return fail(Errc::invalid, "there is no thread " + std::to_string(step.index) + " in a team of " +
                                     std::to_string(step.size));
  return {};
}

Error too_many() {
  return {Errc::invalid, "the plan has more than " + std::to_string(NestedPlan::max_threads) +
                             " threads on one level; use smaller team sizes"};
}

std::vector<Place> slice(std::vector<Place> places, std::size_t first, std::size_t count) {
  if (first == 0 && count == places.size()) return places;
  auto begin = std::make_move_iterator(places.begin() + static_cast<std::ptrdiff_t>(first));
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}
}  // namespace

NestedPlan::NestedPlan(CoreTree tree, TeamSpec spec)
    : tree_(std::make_shared<const CoreTree>(std::move(tree))),
      spec_(std::move(spec)),
      roots_(std::make_shared<Roots>()) {
  roots_->before.push_back(nobody(*tree_));
}

Result<NestedPlan> NestedPlan::make(const Machine& machine, const CpuSet& mask, std::string_view spec) {
  auto parsed = TeamSpec::parse(spec);
  if (!parsed) return tl::unexpected(parsed.error());
  auto tree = CoreTree::cut(machine, mask);
  if (!tree) return tl::unexpected(tree.error());
  return NestedPlan(std::move(*tree), std::move(*parsed));
}

bool NestedPlan::planned_together(int root, int level) const {
  return level == 1 ? root > 0 : !is_sub(spec_.strategy(level));
}

const Occupancy& NestedPlan::taken_before(int root) const {
  const std::lock_guard lock(roots_->mutex);
  auto& before = roots_->before;
  while (static_cast<int>(before.size()) <= root) {
    Occupancy taken = before.back();
    occupy(static_cast<int>(before.size()) - 1, taken);
    before.push_back(std::move(taken));
  }
  return before[static_cast<std::size_t>(root)];
}

Place NestedPlan::start_on(int root, const Occupancy& taken) const {
  if (root > 0) return start_beside(*tree_, taken);
  Place place;
  place.territory = {tree_->by_distance(0), 0, tree_->leaf(0).ranks()};
  return place;
}

Place NestedPlan::start(int root) const {
  root %= max_roots;
  return start_on(root, taken_before(root));
}

std::vector<Place> NestedPlan::open_one(const Occupancy& taken, int level, const Place& parent,
                                        int threads) const {
  return plan_team(Domain(*tree_, parent.territory, taken), spec_.strategy(level), parent, threads,
                   spec_.weight(level, tree_->pu_count()));
}

std::vector<Place> NestedPlan::open_all(int root, const Occupancy& taken, int level,
                                        const std::vector<Place>& parents, int threads) const {
  if (planned_together(root, level))
    return plan_together(*tree_, spec_.strategy(level), parents, threads,
                         spec_.weight(level, tree_->pu_count()), taken);
  std::vector<Place> all;
  for (const auto& parent : parents)
    for (auto& place : open_one(taken, level, parent, threads)) all.push_back(std::move(place));
  return all;
}

// Adds the seats of the root's whole plan; of a plan beyond the limit, those of as many levels as fit.
void NestedPlan::occupy(int root, Occupancy& taken) const {
  const Occupancy before = taken;
  std::vector<Place> places{start_on(root, before)};
  for (int level = 1; level <= static_cast<int>(spec_.levels.size()); ++level) {
    int size = spec_.levels[static_cast<std::size_t>(level - 1)].size;
    if (places.size() * static_cast<std::size_t>(size) > max_threads) break;
    places = open_all(root, before, level, places, size);
  }
  for (const auto& place : places)
    ++taken[static_cast<std::size_t>(place.leaf)][static_cast<std::size_t>(place.rank)];
}

Result<std::vector<Place>> NestedPlan::team(int root, std::span<const TeamStep> path, int threads) const {
  if (root < 0) return fail(Errc::invalid, "there is no root thread " + std::to_string(root));
  if (auto ok = check_request(path, threads); !ok) return tl::unexpected(ok.error());
  root %= max_roots;
  const Occupancy& taken = taken_before(root);
  int deepest = static_cast<int>(path.size()) + 1;
  int last_together = deepest;
  while (last_together > 0 && !planned_together(root, last_together)) --last_together;
  std::vector<Place> places{start_on(root, taken)};
  std::size_t mine = 0;  // which of `places` is on the path
  for (int level = 1;; ++level) {
    int size = level == deepest ? threads : path[static_cast<std::size_t>(level - 1)].size;
    auto wide = static_cast<std::size_t>(size);
    if (level <= last_together) {
      if (places.size() * wide > max_threads) return tl::unexpected(too_many());
      places = open_all(root, taken, level, places, size);
      mine *= wide;
    } else {
      places = open_one(taken, level, places[mine], size);
      mine = 0;
    }
    if (level == deepest) return slice(std::move(places), mine, wide);
    mine += static_cast<std::size_t>(path[static_cast<std::size_t>(level - 1)].index);
  }
}

Result<std::vector<Place>> NestedPlan::innermost(int root) const {
  root %= max_roots;
  const Occupancy& taken = taken_before(root);
  if (spec_.threads(max_threads + 1) > max_threads) return tl::unexpected(too_many());
  std::vector<Place> places{start_on(root, taken)};
  for (int level = 1; level <= static_cast<int>(spec_.levels.size()); ++level)
    places = open_all(root, taken, level, places, spec_.levels[static_cast<std::size_t>(level - 1)].size);
  return places;
}

Result<std::vector<PlannedThread>> expand(const NestedPlan& plan, int root) {
  auto places = plan.innermost(root);
  if (!places) return tl::unexpected(places.error());
  const CoreTree& tree = plan.tree();
  const auto& levels = plan.spec().levels;
  std::vector<PlannedThread> threads;
  std::vector<int> path(levels.size(), 0);
  for (const auto& place : *places) {
    const Leaf& leaf = tree.leaf(place.leaf);
    threads.push_back({path, pu_of(tree, place), leaf.core, leaf.node, reason(tree, place)});
    for (std::size_t i = path.size(); i-- > 0;) {  // the next path, counting up from the innermost level
      if (++path[i] < levels[i].size) break;
      path[i] = 0;
    }
  }
  return threads;
}

}  // namespace nigh
