// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace nigh {

namespace {

// The rank of each distance of the SLIT among all others than a node's own: 1 for the smallest, and so on. At
// most `nodes - 1` of them can be hops of a route; firmware that lists more has invented them.
int rank_of(int distance, const std::set<int>& distances) {
  return 1 + static_cast<int>(std::distance(distances.begin(), distances.find(distance)));
}

}  // namespace

Result<Links> Links::of(const Machine& machine) {
  Links links;
  links.nodes_ = static_cast<int>(machine.node_count());
  const std::size_t entries = machine.node_count() * machine.node_count();
  if (machine.bandwidth.value.size() != entries)
    return fail(
        Errc::unsupported,
        fmt::format(
            "{}: the bandwidth between its {} NUMA nodes is not known; measure it by nigh machine --probe",
            machine.name.empty() ? "this machine" : machine.name, machine.node_count()));
  for (std::size_t i = 0; i < entries; ++i) {
    const Source source = machine.bandwidth.source[i];
    if (!(machine.bandwidth.value[i] > 0))
      return fail(Errc::unsupported, fmt::format("{}: the bandwidth from node {} to the memory of node {} is "
                                                 "not known; measure it by nigh machine --probe",
                                                 machine.name.empty() ? "this machine" : machine.name,
                                                 i / machine.node_count(), i % machine.node_count()));
    links.pair_.push_back(machine.bandwidth.value[i]);
    links.assumed_.push_back(
        source == Source::guessed || source == Source::slit || source == Source::unknown ? 1 : 0);
  }
  links.find_paths(machine);
  links.find_capacities();
  return links;
}

// Nodes at the smallest distance are neighbours. Of the others, whoever has a neighbour that is nearer to the
// goal goes by the one over which the narrowest link is widest; where there is none (distances that no routes
// can have), the pair is taken to have a link of its own.
void Links::find_paths(const Machine& machine) {
  paths_.assign(pair_.size(), {});
  std::set<int> distances;
  for (int i = 0; i < nodes_; ++i)
    for (int j = 0; j < nodes_; ++j)
      if (i != j && !machine.slit.empty()) distances.insert(machine.slit[at(i, j)]);
  const auto steps = [&](int i, int j) {
    return machine.slit.empty() ? 1 : rank_of(machine.slit[at(i, j)], distances);
  };
  const int most = std::max<int>(1, static_cast<int>(distances.size()));
  for (int far = 0; far <= most; ++far)
    for (int i = 0; i < nodes_; ++i)
      for (int j = 0; j < nodes_; ++j) {
        if ((i == j ? 0 : steps(i, j)) != far) continue;
        std::vector<int>& path = paths_[at(i, j)];
        path = {j, i};
        if (far == 0) path = {i};
        double widest = 0;
        for (int k = 0; far > 1 && k < nodes_; ++k) {
          if (k == i || k == j || steps(k, j) != 1 || steps(i, k) != far - 1) continue;
          const double width = std::min(alone(k, j), alone(i, k));
          if (width <= widest) continue;
          widest = width;
          path = paths_[at(i, k)];
          path.insert(path.begin(), j);
        }
      }
}

std::vector<std::size_t> Links::resources(const Flow& flow) const {
  const std::vector<int>& way = path(flow.cpus, flow.memory);
  std::vector<std::size_t> used = {at(flow.cpus, flow.memory)};
  for (std::size_t i = 1; i < way.size(); ++i) used.push_back(pair_.size() + at(way[i], way[i - 1]));
  used.push_back(2 * pair_.size() + static_cast<std::size_t>(flow.memory));
  return used;
}

// A link carries what the best pair gets over it alone, a controller what its best reader does.
void Links::find_capacities() {
  capacity_ = pair_;
  capacity_.insert(capacity_.end(), pair_.size(), 0.0);
  capacity_.insert(capacity_.end(), static_cast<std::size_t>(nodes_), 0.0);
  for (int i = 0; i < nodes_; ++i)
    for (int j = 0; j < nodes_; ++j)
      for (const std::size_t r : resources({.cpus = i, .memory = j}))
        capacity_[r] = std::max(capacity_[r], alone(i, j));
}

// Progressive filling: all rise together; whoever meets his demand or a full resource stays where he is.
std::vector<double> Links::share(const std::vector<Flow>& flows) const {
  std::vector<double> rate(flows.size(), 0.0);
  std::vector<double> left = capacity_;
  std::vector<std::vector<std::size_t>> uses;
  for (const Flow& flow : flows) uses.push_back(resources(flow));
  std::vector<bool> rising(flows.size(), true);
  for (std::size_t i = 0; i < flows.size(); ++i) rising[i] = flows[i].demand > 0;
  for (;;) {
    std::vector<int> users(left.size(), 0);
    for (std::size_t i = 0; i < flows.size(); ++i)
      for (const std::size_t r : uses[i]) users[r] += rising[i] ? 1 : 0;
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < left.size(); ++r)
      if (users[r] > 0) step = std::min(step, left[r] / users[r]);
    for (std::size_t i = 0; i < flows.size(); ++i)
      if (rising[i]) step = std::min(step, flows[i].demand - rate[i]);
    if (step == std::numeric_limits<double>::infinity()) return rate;  // nobody rises any more
    for (std::size_t r = 0; r < left.size(); ++r) left[r] -= step * users[r];
    const auto full = [&](std::size_t r) { return left[r] <= 1e-9 * capacity_[r]; };
    bool stopped = false;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (!rising[i]) continue;
      rate[i] += step;
      if (rate[i] < flows[i].demand * (1 - 1e-12) && std::none_of(uses[i].begin(), uses[i].end(), full))
        continue;
      rising[i] = false;
      stopped = true;
    }
    NIGH_CHECK(stopped);
  }
}

double Links::set_bandwidth(const std::vector<int>& set) const {
  std::vector<Flow> flows;
  for (const int i : set)
    for (const int j : set)
      if (i != j || set.size() == 1) flows.push_back({.cpus = i, .memory = j});
  double sum = 0;
  for (const double rate : share(flows)) sum += rate;
  return sum;
}

double Links::load(int to, int from, const std::vector<Flow>& flows, const std::vector<double>& rates) const {
  double used = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const std::vector<int>& way = path(flows[i].cpus, flows[i].memory);
    for (std::size_t k = 1; k < way.size(); ++k)
      if (way[k] == to && way[k - 1] == from) used += rates[i];
  }
  const double capacity = capacity_[pair_.size() + at(to, from)];
  return capacity > 0 ? used / capacity : 0;
}

}  // namespace nigh
