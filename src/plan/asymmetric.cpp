// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/asymmetric.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/assignment.hpp"

namespace nigh {

namespace {

// Private pages to their threads' nodes, shared ones over the nodes by the threads on them.
Replaced memory_to_threads(const std::vector<Application>& applications) {
  Replaced out = unmoved(applications);
  for (Application& application : out.after) {
    const double all = std::accumulate(application.threads.begin(), application.threads.end(), 0.0);
    for (std::size_t i = 0; i < application.threads.size(); ++i) {
      application.shared[i] = application.threads[i] / all;
      std::fill(application.own[i].begin(), application.own[i].end(), 0);
      application.own[i][i] = application.threads[i] > 0 ? 1 : 0;
    }
  }
  return out;
}

// Fewest hops between the nodes of each application (as sum over pairs of its clusters' groups), then the
// fewest pages, then the lowest numbers.
Replaced fewest_hops(const Links& links, const std::vector<Application>& applications, Field field,
                     const AssignLimits& limits, Decision& decision) {
  for (Options& options : field.options) {
    for (Option& option : options.list) {
      int hops = 0;
      for (const std::uint8_t a : option.nodes)
        for (const std::uint8_t b : option.nodes) hops += links.hops(a, b);
      option.value = -hops;
    }
    std::sort(options.list.begin(), options.list.end(), [](const Option& a, const Option& b) {
      if (a.value != b.value) return a.value > b.value;
      return a.cost != b.cost ? a.cost < b.cost : a.nodes < b.nodes;
    });
  }
  AssignLimits best_only = limits;
  best_only.keep = 1;
  const Assignments found = cheapest_good(field.options, links.nodes(), best_only);
  decision.exact = found.exact;
  return found.list.empty() ? unmoved(applications)
                            : replaced(applications, field.clusters, field.options, found.list.front());
}

double geometric_gain(const std::vector<Forecast>& now, const std::vector<Forecast>& then) {
  double sum = 0;
  for (std::size_t a = 0; a < now.size(); ++a) sum += std::log(now[a].seconds / then[a].seconds);
  return std::exp(sum / static_cast<double>(now.size())) - 1;
}

bool same(const Replaced& a, const Replaced& b) {
  for (std::size_t i = 0; i < a.after.size(); ++i)
    if (a.to[i] != b.to[i] || a.after[i].shared != b.after[i].shared || a.after[i].own != b.after[i].own)
      return false;
  return true;
}

Decision finish(const Links& links, const std::vector<Application>& applications, Replaced state,
                Decision decision, const std::vector<int>& numbers) {
  const bool still = same(state, unmoved(applications));
  decision.megabytes = migrations(applications, state);
  decision.now = forecasts(links, applications);
  decision.then = still ? decision.now : forecasts(links, state.after);
  if (still) {
    decision.apply = false;
    if (decision.reason.empty()) decision.reason = "everything is where it should be: nothing to move";
  } else {
    decision.reason = fmt::format("{}; predicted {:+.0f} % speed{}{}", told(applications, state, numbers),
                                  100 * geometric_gain(decision.now, decision.then),
                                  decision.reason.empty() ? "" : "; ", decision.reason);
  }
  decision.after = std::move(state.after);
  decision.to = std::move(state.to);
  return decision;
}

}  // namespace

const char* policy_name(Policy policy) {
  switch (policy) {
    case Policy::paper: return "paper";
    case Policy::improved: return "improved";
    case Policy::hops: return "hops";
    case Policy::memory_only: return "memory-only";
  }
  return "paper";
}

Result<Policy> policy_from_name(std::string_view name) {
  for (const Policy policy : {Policy::paper, Policy::improved, Policy::hops, Policy::memory_only})
    if (name == policy_name(policy)) return policy;
  return fail(Errc::invalid,
              fmt::format("there is no policy '{}'; there are paper, improved, hops, memory-only", name));
}

PolicyOptions fitted_to(const Machine& machine, PolicyOptions options) {
  options.numbers.clear();
  options.slots.assign(machine.node_count(), 0);
  for (std::size_t i = 0; i < machine.node_count(); ++i) options.numbers.push_back(machine.node_number(i));
  const Kind kind = machine.count(Kind::core) > 0 ? Kind::core : Kind::pu;
  for (const int core : machine.of_kind(kind))
    if (const int node = machine.node_of_pu(machine.objects[index_of(core)].pus.first()); node >= 0)
      options.slots[index_of(node)] += 1;
  return options;
}

bool considered(const Application& application, const PolicyOptions& options) {
  if (options.consider_all) return true;
  if (application.accesses_per_us > 0 && application.accesses_per_us < options.least_accesses_per_us)
    return false;
  return application.locality() < options.most_locality || application.imbalance() > options.least_imbalance;
}

bool full_migration_due(double seconds, double old) { return seconds >= 2 && old > 0.9; }

Replaced unmoved(const std::vector<Application>& applications) {
  Replaced out = {applications, {}};
  for (const Application& application : applications) {
    std::vector<int> to(application.threads.size());
    std::iota(to.begin(), to.end(), 0);
    out.to.push_back(std::move(to));
  }
  return out;
}

Replaced replaced(const std::vector<Application>& applications, const std::vector<Cluster>& clusters,
                  const std::vector<Options>& options, const Assignment& assignment) {
  Replaced out = unmoved(applications);
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    const Cluster& cluster = clusters[c];
    const Option& option = options[c].list[assignment.chosen[c]];
    std::vector<int>& to = out.to[cluster.application];
    for (std::size_t g = 0; g < cluster.size(); ++g) to[index_of(cluster.nodes[g])] = option.nodes[g];
    for (const auto& [memory, group] : cluster.adopted) to[index_of(memory)] = option.nodes[group];
  }
  for (std::size_t a = 0; a < applications.size(); ++a) out.after[a] = applications[a].moved(out.to[a]);
  return out;
}

std::vector<Forecast> forecasts(const Links& links, const std::vector<Application>& applications,
                                double tolerance) {
  std::vector<Program> programs;
  std::vector<Placement> placements;
  for (const Application& application : applications) {
    programs.push_back(application.program);
    placements.push_back(application.placement());
  }
  auto out = simulate(links, programs, placements, {.most_rounds = 200, .tolerance = tolerance});
  NIGH_CHECK(out.has_value());
  return *std::move(out);
}

std::vector<double> migrations(const std::vector<Application>& before, const Replaced& state) {
  std::vector<double> out;
  for (std::size_t a = 0; a < before.size(); ++a)
    out.push_back(before[a].migrated(state.after[a], state.to[a]));
  return out;
}

Field field_of(const Links& links, const std::vector<Application>& applications,
               const PolicyOptions& options) {
  Field field;
  OptionLimits limits;
  for (const Application& application : applications)
    for (std::size_t i = 0; i < application.threads.size(); ++i)
      if (!application.movable && application.threads[i] > 0) limits.allowed &= ~(std::uint64_t{1} << i);
  for (Cluster& cluster : find_clusters(applications, options.clusters)) {
    const Application& application = applications[cluster.application];
    if (!application.movable) continue;
    // Not a reason to move anything, but no obstacle either: it makes room if that is cheap.
    if (!considered(application, options)) cluster.weight = 0;
    field.options.push_back(find_options(links, cluster, limits));
    field.clusters.push_back(std::move(cluster));
  }
  return field;
}

double value_of(const Links& links, const Field& field, const Replaced& state) {
  double sum = 0;
  for (const Cluster& cluster : field.clusters) {
    std::vector<Flow> flows;
    const std::vector<int>& to = state.to[cluster.application];
    for (std::size_t a = 0; a < cluster.size(); ++a)
      for (std::size_t b = 0; b < cluster.size(); ++b)
        if (a != b && cluster.traffic[a * cluster.size() + b] > 0)
          flows.push_back({to[index_of(cluster.nodes[a])], to[index_of(cluster.nodes[b])],
                           cluster.traffic[a * cluster.size() + b]});
    sum += cluster.weight * links.sustained(flows);
  }
  return sum;
}

std::string told(const std::vector<Application>& before, const Replaced& state,
                 const std::vector<int>& numbers) {
  const auto number = [&](std::size_t node) {
    return node < numbers.size() ? numbers[node] : static_cast<int>(node);
  };
  const std::vector<double> moved = migrations(before, state);
  std::string out;
  for (std::size_t a = 0; a < before.size(); ++a) {
    std::vector<int> from, to;
    for (std::size_t i = 0; i < before[a].threads.size(); ++i)
      if (before[a].threads[i] > 0) {
        from.push_back(number(i));
        to.push_back(number(index_of(state.to[a][i])));
      }
    const std::string threads =
        from == to ? std::string()
                   : fmt::format("threads of nodes {} to {}", fmt::join(from, ","), fmt::join(to, ","));
    const std::string pages = moved[a] > 0.05 ? fmt::format("{:.1f} MB of pages", moved[a]) : "";
    out += fmt::format("{}{}: {}{}{}", out.empty() ? "" : "; ", before[a].program.name, threads,
                       threads.empty() || pages.empty() ? "" : ", ",
                       threads.empty() && pages.empty() ? "stays" : pages);
  }
  return out;
}

Replaced paper_choice(const Links& links, const std::vector<Application>& applications,
                      const PolicyOptions& options, const Field& field, Decision& decision) {
  Replaced here = unmoved(applications);
  decision.value_now = decision.value = decision.value_best = value_of(links, field, here);
  if (std::none_of(field.clusters.begin(), field.clusters.end(),
                   [](const Cluster& cluster) { return cluster.weight > 0; })) {
    decision.reason = "no application asks for much and is placed badly: nothing to move";
    return here;
  }
  const Assignments best = most_valuable(field.options, links.nodes(), 1, options.assign);
  const Assignments good = cheapest_good(field.options, links.nodes(), options.assign);
  if (good.list.empty()) {
    decision.reason = "the clusters need more nodes than there are: nothing to move";
    return here;
  }
  decision.exact = good.exact;
  decision.value_best = best.list.front().value;
  decision.value = good.list.front().value;
  return replaced(applications, field.clusters, field.options, good.list.front());
}

namespace {

// The 5 % rule: every application that moves has to have run long enough for what it costs.
bool affordable(const std::vector<Application>& applications, const Replaced& state,
                const PolicyOptions& options, std::string& reason) {
  const std::vector<double> megabytes = migrations(applications, state);
  for (std::size_t a = 0; a < applications.size(); ++a) {
    const double seconds = megabytes[a] / 1000 * options.seconds_per_gb;
    if (seconds <= options.most_of_run * applications[a].running) continue;
    reason = fmt::format(
        "not applied: moving {} would take {:.2g} s, more than {:.0f} % of the {:.3g} s it has run",
        applications[a].program.name, seconds, 100 * options.most_of_run, applications[a].running);
    return false;
  }
  return true;
}

}  // namespace

Result<Decision> decide(Policy policy, const Links& links, const std::vector<Application>& applications,
                        const PolicyOptions& options) {
  if (links.nodes() > 64)
    return fail(Errc::unsupported,
                fmt::format("{} NUMA nodes; asymmetric placement is for up to 64", links.nodes()));
  for (const Application& application : applications)
    if (auto good = application.check(links); !good) return tl::unexpected<Error>(good.error());
  Decision decision;
  if (applications.empty()) {
    decision.reason = "no application is watched: nothing to move";
    return decision;
  }
  decision.apply = true;
  if (policy == Policy::memory_only)
    return finish(links, applications, memory_to_threads(applications), decision, options.numbers);
  if (policy == Policy::improved)
    return finish(links, applications, improved_choice(links, applications, options, decision), decision,
                  options.numbers);
  const Field field = field_of(links, applications, options);
  if (policy == Policy::hops)
    return finish(links, applications, fewest_hops(links, applications, field, options.assign, decision),
                  decision, options.numbers);
  Replaced choice = paper_choice(links, applications, options, field, decision);
  decision.apply = affordable(applications, choice, options, decision.reason);
  return finish(links, applications, std::move(choice), decision, options.numbers);
}

}  // namespace nigh
