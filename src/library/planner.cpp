// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// libnigh.so: the C interface of the planner (nigh/plan.h). Wiring only; it is a room of its own since the
// default mask and machine come from the OS, which the planner itself must not ask. Runs inside users'
// processes: no exception leaves it, whatever happens becomes a NULL or -1 and one sentence.
#include "nigh/plan.h"

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "machine/load.hpp"
#include "plan/nested.hpp"
#include "plan/ranks.hpp"
#include "sys/os.hpp"

#define NIGH_EXPORT extern "C" __attribute__((visibility("default")))

struct nigh_planner {
  nigh::NestedPlan plan;
};

namespace {
using nigh::CpuSet;
using nigh::Errc;
using nigh::Result;

constexpr const char* no_memory = "there is not enough memory to plan";

void tell(char* err, std::size_t size, const char* message) noexcept {
  if (err != nullptr && size > 0) std::snprintf(err, size, "%s", message);
}

Result<CpuSet> usable_cpus(const int* cpus, int count) {
  if (cpus == nullptr) return nigh::sys::affinity();
  if (count < 0) return nigh::fail(Errc::invalid, "the number of CPUs is negative");
  CpuSet set;
  for (int i = 0; i < count; ++i) {
    if (cpus[i] < 0 || cpus[i] > CpuSet::max_cpu)
      return nigh::fail(Errc::invalid, "there is no CPU " + std::to_string(cpus[i]));
    set.set(cpus[i]);
  }
  return set;
}

Result<nigh::NestedPlan> make_plan(const char* spec, const int* cpus, int ncpus, const char* machine) {
  if (spec == nullptr) return nigh::fail(Errc::invalid, "no team spec was given");
  if (auto parsed = nigh::TeamSpec::parse(spec); !parsed)  // before anything slow
    return tl::unexpected(parsed.error());
  auto mask = usable_cpus(cpus, ncpus);
  if (!mask) return tl::unexpected(mask.error());
  auto loaded = machine == nullptr ? nigh::load_this_machine() : nigh::load_machine(machine);
  if (!loaded) return tl::unexpected(loaded.error());
  return nigh::NestedPlan::make(*loaded, *mask, spec);
}

std::optional<std::vector<nigh::TeamStep>> path_of(int depth, const int* index, const int* size) {
  if (depth < 0 || (depth > 0 && (index == nullptr || size == nullptr))) return std::nullopt;
  std::vector<nigh::TeamStep> path;
  for (int level = 0; level < depth; ++level) path.push_back({index[level], size[level]});
  return path;
}

int plan_team(const nigh::NestedPlan& plan, int root, const std::vector<nigh::TeamStep>& path, int n,
              nigh_place* out) {
  auto places = plan.team(root, path, n);
  if (!places) return -1;
  for (const auto& place : *places) {
    const auto& leaf = plan.tree().leaf(place.leaf);
    *out++ = {nigh::pu_of(plan.tree(), place), leaf.core, leaf.node};
  }
  return 0;
}
}  // namespace

NIGH_EXPORT int nigh_plan_abi(void) { return NIGH_PLAN_ABI; }

NIGH_EXPORT nigh_planner* nigh_planner_new(const char* spec, const int* cpus, int ncpus, const char* machine,
                                           char* err, size_t errsize) {
  tell(err, errsize, "");
  try {
    auto plan = make_plan(spec, cpus, ncpus, machine);
    if (plan) return new nigh_planner{*std::move(plan)};
    tell(err, errsize, plan.error().message.c_str());
  } catch (const std::bad_alloc&) { tell(err, errsize, no_memory); } catch (const std::exception& problem) {
    tell(err, errsize, problem.what());
  } catch (...) { tell(err, errsize, "the planner failed"); }
  return nullptr;
}

NIGH_EXPORT void nigh_planner_free(nigh_planner* planner) { delete planner; }

NIGH_EXPORT int nigh_planner_levels(const nigh_planner* planner) {
  return planner == nullptr ? 0 : static_cast<int>(planner->plan.spec().levels.size());
}

NIGH_EXPORT int nigh_planner_size(const nigh_planner* planner, int level) {
  if (level < 1 || level > nigh_planner_levels(planner)) return 0;
  return planner->plan.spec().levels[static_cast<std::size_t>(level - 1)].size;
}

NIGH_EXPORT int nigh_rank_share(const int* cpus, int ncpus, const char* machine, int rank, int ranks,
                                int* out) {
  if (out == nullptr || rank < 0 || rank >= ranks) return -1;
  try {
    auto mask = usable_cpus(cpus, ncpus);
    auto loaded = machine == nullptr ? nigh::load_this_machine() : nigh::load_machine(machine);
    if (!mask || !loaded) return -1;
    auto tree = nigh::CoreTree::cut(*loaded, *mask);
    if (!tree) return -1;
    auto shares = nigh::rank_shares(*tree, ranks, nigh::RankBinding::compact);
    int count = 0;
    for (int pu : shares[static_cast<std::size_t>(rank)].members()) out[count++] = pu;
    return count;
  } catch (...) { return -1; }
}

NIGH_EXPORT int nigh_planner_team(const nigh_planner* planner, int root, int depth, const int* index,
                                  const int* size, int n, nigh_place* out) {
  if (planner == nullptr || out == nullptr) return -1;
  try {
    auto path = path_of(depth, index, size);
    return path ? plan_team(planner->plan, root, *path, n, out) : -1;
  } catch (...) {  // no memory
    return -1;
  }
}
