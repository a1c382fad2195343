// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Plans as short strings for tests: PU numbers in order of the paths, " | " between the innermost teams.
#pragma once

#include <string>
#include <vector>

#include "plan/nested.hpp"

namespace nigh::test {

inline NestedPlan plan_for(const Machine& machine, const std::string& spec, const std::string& mask = "") {
  auto plan = NestedPlan::make(machine, mask.empty() ? machine.pus() : *CpuSet::parse(mask), spec);
  NIGH_CHECK(plan.has_value());
  return *std::move(plan);
}

inline std::string pus_of(const NestedPlan& plan, const std::vector<Place>& places) {
  std::string out;
  for (const auto& place : places)
    out += (out.empty() ? "" : " ") + std::to_string(pu_of(plan.tree(), place));
  return out;
}

// The whole plan, taken twice: from expand(), and team by team; "DIFFERENT" should the two not agree.
inline std::string map_of(const NestedPlan& plan, int root = 0) {
  auto threads = *expand(plan, root);
  int size = plan.spec().levels.back().size;
  std::string whole, by_team;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    bool opens_team = i % static_cast<std::size_t>(size) == 0;
    whole += (i == 0 ? "" : opens_team ? " | " : " ") + std::to_string(threads[i].pu);
    if (!opens_team) continue;
    std::vector<TeamStep> path;
    for (std::size_t level = 0; level + 1 < threads[i].path.size(); ++level)
      path.push_back({threads[i].path[level], plan.spec().levels[level].size});
    by_team += (i == 0 ? "" : " | ") + pus_of(plan, *plan.team(root, path, size));
  }
  return whole == by_team ? whole : "DIFFERENT: " + whole + " <> " + by_team;
}

inline std::string map_of(const Machine& machine, const std::string& spec, const std::string& mask = "") {
  return map_of(plan_for(machine, spec, mask));
}

}  // namespace nigh::test
