// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The plan for nested teams: a pure function from (tree, spec, path of a thread) to a place. Nothing is
// remembered between calls, so the same path gets the same answer in any order, from any thread, in any
// process. (What earlier root threads take is computed once and kept, which changes no answer.)
//
// The sizes in a path are those of the teams that really ran; they win over the spec's. Where a plan needs
// the sibling teams too, they are taken to have the same sizes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/core_tree.hpp"
#include "plan/place.hpp"
#include "plan/spec.hpp"
#include "plan/together.hpp"

namespace nigh {

// One enclosing region: this thread's number in its team.
struct TeamStep {
  int index = 0;
  int size = 1;
};

class NestedPlan {
 public:
  // Threads of one level that are planned at a time; a larger request is an error.
  static constexpr int max_threads = 65536;
  // Root threads whose plans are told apart; later ones start again with the first one's.
  static constexpr int max_roots = 1024;

  NestedPlan(CoreTree tree, TeamSpec spec);
  static Result<NestedPlan> make(const Machine& machine, const CpuSet& mask, std::string_view spec);

  [[nodiscard]] const CoreTree& tree() const { return *tree_; }
  [[nodiscard]] const TeamSpec& spec() const { return spec_; }

  // The places of a team of `threads` opened by the thread at `path` (outermost region first, empty for the
  // initial thread) below root thread `root`. The first place is always the opening thread's own.
  [[nodiscard]] Result<std::vector<Place>> team(int root, std::span<const TeamStep> path, int threads) const;
  // The place of the root thread itself.
  [[nodiscard]] Place start(int root) const;
  // The places of all threads of the spec's innermost level, with the spec's sizes, in order of their paths.
  [[nodiscard]] Result<std::vector<Place>> innermost(int root) const;

 private:
  struct Roots;
  [[nodiscard]] const Occupancy& taken_before(int root) const;
  // `taken` is what earlier root threads take.
  [[nodiscard]] std::vector<Place> open_one(const Occupancy& taken, int level, const Place& parent,
                                            int threads) const;
  [[nodiscard]] std::vector<Place> open_all(int root, const Occupancy& taken, int level,
                                            const std::vector<Place>& parents, int threads) const;
  [[nodiscard]] bool planned_together(int root, int level) const;
  [[nodiscard]] Place start_on(int root, const Occupancy& taken) const;
  void occupy(int root, Occupancy& taken) const;

  std::shared_ptr<const CoreTree> tree_;
  TeamSpec spec_;
  std::shared_ptr<Roots> roots_;
};

// One thread of the whole plan, with what people and files want to know of it.
struct PlannedThread {
  std::vector<int> path;  // its number at each level, outermost first
  int pu = 0;             // OS number
  int core = -1;          // logical number over the machine, -1 if the machine has no cores
  int numa_node = -1;     // OS number, -1 if unknown
  std::string reason;
};

// Every thread of the spec's innermost level, in order of their paths. Fails above NestedPlan::max_threads.
Result<std::vector<PlannedThread>> expand(const NestedPlan& plan, int root);

}  // namespace nigh
