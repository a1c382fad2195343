// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace nigh {

namespace {

// The threads of one program on one node.
struct Group {
  std::size_t program = 0;
  int node = 0;
  double threads = 0;
  std::size_t first = 0, last = 0;  // its flows in State::flows
};

// Everything at once: a flow's load is what it moves on average, idle times included.
struct State {
  std::vector<Group> groups;
  std::vector<Flow> flows;
  std::vector<double> part;     // of a flow's group's bytes
  std::vector<double> load;     // MB/s, mean
  std::vector<double> rate;     // MB/s while it moves
  std::vector<double> seconds;  // of each program
};

Result<void> check(const Links& links, const Program& program, const Placement& placement) {
  const auto nodes = static_cast<std::size_t>(links.nodes());
  if (placement.threads.size() != nodes || placement.traffic.size() != nodes)
    return fail(Errc::invalid, fmt::format("{}: its placement is for {} nodes, the machine has {}",
                                           program.name, placement.threads.size(), nodes));
  double threads = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    if (!(placement.threads[i] >= 0) || !std::isfinite(placement.threads[i]))
      return fail(Errc::invalid,
                  fmt::format("{}: {} threads on node {}", program.name, placement.threads[i], i));
    threads += placement.threads[i];
    if (placement.threads[i] == 0) continue;
    double sum = 0;
    for (const double part : placement.traffic[i]) sum += part >= 0 ? part : -2;
    if (placement.traffic[i].size() != nodes || std::abs(sum - 1) > 1e-6)
      return fail(Errc::invalid,
                  fmt::format("{}: the traffic of node {} is spread over {} nodes and sums up to {}, not 1",
                              program.name, i, placement.traffic[i].size(), sum));
  }
  if (!(threads > 0)) return fail(Errc::invalid, fmt::format("{}: it has no thread anywhere", program.name));
  if (!(program.units > 0) || !(program.compute >= 0) || !(program.megabytes >= 0) ||
      program.compute + program.megabytes <= 0)
    return fail(
        Errc::invalid,
        fmt::format("{}: it needs work to do: units above 0, and time or bytes for each", program.name));
  return {};
}

State set_up(const std::vector<Program>& programs, const std::vector<Placement>& placements) {
  State state;
  for (std::size_t p = 0; p < programs.size(); ++p)
    for (std::size_t node = 0; node < placements[p].threads.size(); ++node) {
      const double threads = placements[p].threads[node];
      if (threads == 0) continue;
      const std::size_t first = state.flows.size();
      for (std::size_t memory = 0; memory < placements[p].traffic[node].size(); ++memory) {
        const double part = placements[p].traffic[node][memory];
        if (part == 0 || programs[p].megabytes == 0) continue;
        state.flows.push_back({.cpus = static_cast<int>(node), .memory = static_cast<int>(memory)});
        state.part.push_back(part);
      }
      state.groups.push_back({p, static_cast<int>(node), threads, first, state.flows.size()});
    }
  state.load.assign(state.flows.size(), 0);
  state.rate.assign(state.flows.size(), 0);
  state.seconds.assign(programs.size(), 0);
  return state;
}

// Seconds that the threads of a group need for a unit: accesses to several nodes follow each other.
double unit_time(const State& state, const Group& group, const Program& program) {
  double time = program.compute;
  for (std::size_t i = group.first; i < group.last; ++i)
    time += group.threads * program.megabytes * state.part[i] / state.rate[i];
  return time;
}

// The run time of all its units, from the times of its groups: the slowest's, or the sum of all.
double run_time(const State& state, std::size_t p, const Program& program) {
  double slowest = 0, threads = 0, pace = 0;
  for (const Group& group : state.groups) {
    if (group.program != p) continue;
    const double time = unit_time(state, group, program);
    slowest = std::max(slowest, time);
    threads += group.threads;
    pace += group.threads / time;
  }
  return program.units * (program.barriers ? slowest : threads / pace);
}

// Means move half the way: full steps may swing between two states. Returns the largest relative change.
double adjust(State& state, const std::vector<Program>& programs) {
  double change = 0;
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const double before = state.seconds[p];
    state.seconds[p] = run_time(state, p, programs[p]);
    change = std::max(change, std::abs(state.seconds[p] - before) / state.seconds[p]);
  }
  for (const Group& group : state.groups) {
    const Program& program = programs[group.program];
    const double unit =
        program.barriers ? state.seconds[group.program] / program.units : unit_time(state, group, program);
    for (std::size_t i = group.first; i < group.last; ++i) {
      const double mean = group.threads * program.megabytes * state.part[i] / unit;
      change = std::max(change, std::abs(mean - state.load[i]) / std::max(mean, 1e-9));
      state.load[i] = (state.load[i] + mean) / 2;
    }
  }
  return change;
}

Forecast forecast(const Links& links, const State& state, std::size_t p, const Program& program,
                  const SimulationOptions& options) {
  constexpr double line = 64e-6;  // MB
  Forecast out;
  out.seconds = state.seconds[p];
  double bytes = 0, waited = 0;
  for (const Group& group : state.groups)
    for (std::size_t i = group.first; group.program == p && i < group.last; ++i) {
      const Flow& flow = state.flows[i];
      const double moved = group.threads * state.part[i];
      bytes += moved;
      out.remote += flow.cpus != flow.memory ? moved : 0;
      out.far += links.hops(flow.cpus, flow.memory) > 1 ? moved : 0;
      waited +=
          moved * (options.idle_latency + group.threads * program.outstanding * line / state.rate[i] * 1e9);
      out.bandwidth += state.load[i];
      out.assumed = out.assumed || links.assumed(flow.cpus, flow.memory);
      out.flows.push_back(flow);
      out.rates.push_back(state.rate[i]);
      out.loads.push_back(state.load[i]);
    }
  if (bytes > 0) {
    out.remote /= bytes;
    out.far /= bytes;
    out.latency = waited / bytes;
  }
  return out;
}

}  // namespace

Placement Placement::uniform(std::vector<double> threads, const std::vector<double>& pages) {
  Placement placement;
  placement.traffic.assign(threads.size(), pages);
  placement.threads = std::move(threads);
  return placement;
}

Result<std::vector<Forecast>> simulate(const Links& links, const std::vector<Program>& programs,
                                       const std::vector<Placement>& placements,
                                       const SimulationOptions& options) {
  if (programs.size() != placements.size())
    return fail(Errc::invalid,
                fmt::format("{} programs and {} placements", programs.size(), placements.size()));
  for (std::size_t p = 0; p < programs.size(); ++p)
    if (auto fits = check(links, programs[p], placements[p]); !fits)
      return tl::unexpected<Error>(fits.error());
  State state = set_up(programs, placements);
  const Company company(links, state.flows);
  for (int round = 0; round < options.most_rounds; ++round) {
    company.rates(state.load, state.rate);
    if (adjust(state, programs) < options.tolerance) break;
  }
  std::vector<Forecast> out;
  for (std::size_t p = 0; p < programs.size(); ++p)
    out.push_back(forecast(links, state, p, programs[p], options));
  return out;
}

}  // namespace nigh
