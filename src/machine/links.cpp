// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

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

// A link carries what the best pair gets over it alone, a controller what its best reader does.
void Links::find_capacities() {
  capacity_ = pair_;
  capacity_.insert(capacity_.end(), pair_.size(), 0.0);
  capacity_.insert(capacity_.end(), static_cast<std::size_t>(nodes_), 0.0);
  for (int i = 0; i < nodes_; ++i)
    for (int j = 0; j < nodes_; ++j) {
      const std::vector<int>& way = path(i, j);
      std::vector<std::size_t> used = {at(i, j)};
      for (std::size_t k = 1; k < way.size(); ++k) used.push_back(pair_.size() + at(way[k], way[k - 1]));
      used.push_back(2 * pair_.size() + static_cast<std::size_t>(j));
      for (const std::size_t r : used) capacity_[r] = std::max(capacity_[r], alone(i, j));
      first_.push_back(static_cast<std::uint32_t>(resources_.size()));
      for (const std::size_t r : used) resources_.push_back(static_cast<std::uint32_t>(r));
    }
  first_.push_back(static_cast<std::uint32_t>(resources_.size()));
}

// Progressive filling: all rise together; whoever meets his demand or a full resource stays where he is.
std::vector<double> Links::share(const std::vector<Flow>& flows) const {
  std::vector<double> rate(flows.size(), 0.0);
  std::vector<double> left = capacity_;
  std::vector<bool> rising(flows.size(), true);
  for (std::size_t i = 0; i < flows.size(); ++i) rising[i] = flows[i].demand > 0;
  for (;;) {
    std::vector<int> users(left.size(), 0);
    for (std::size_t i = 0; i < flows.size(); ++i)
      for (const std::size_t r : resources(flows[i])) users[r] += rising[i] ? 1 : 0;
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
      const std::span<const std::uint32_t> uses = resources(flows[i]);
      if (rate[i] < flows[i].demand * (1 - 1e-12) && std::none_of(uses.begin(), uses.end(), full)) continue;
      rising[i] = false;
      stopped = true;
    }
    NIGH_CHECK(stopped);
  }
}

double Links::sustained(const std::vector<Flow>& flows, std::vector<double>& scratch) const {
  scratch.resize(capacity_.size(), 0.0);  // the load of each place; all 0 again at the end
  double sum = 0;
  for (const Flow& flow : flows) {
    sum += flow.demand;
    for (const std::size_t r : resources(flow)) scratch[r] += flow.demand;
  }
  double pace = std::numeric_limits<double>::infinity();
  for (const Flow& flow : flows)
    for (const std::size_t r : resources(flow)) {
      if (capacity_[r] < pace * scratch[r]) pace = capacity_[r] / scratch[r];  // divides seldom
      scratch[r] = 0;
    }
  return sum > 0 ? pace * sum : 0;
}

// Loads only grow by a layer, so the narrowest place is the one before or among those that it changes.
void Pile::add(const std::vector<Flow>& flows) {
  Layer layer = {changes_.size(), layers_.back().pace, layers_.back().sum};
  for (const Flow& flow : flows) {
    layer.sum += flow.demand;
    for (const std::uint32_t r : links_.resources(flow)) {
      changes_.push_back({r, load_[r]});
      load_[r] += flow.demand;
    }
  }
  for (std::size_t i = layer.first; i < changes_.size(); ++i) {
    const std::uint32_t r = changes_[i].resource;
    if (links_.capacity_[r] < layer.pace * load_[r]) layer.pace = links_.capacity_[r] / load_[r];
  }
  layers_.push_back(layer);
}

void Pile::take_off() {
  for (; changes_.size() > layers_.back().first; changes_.pop_back())
    load_[changes_.back().resource] = changes_.back().before;
  layers_.pop_back();
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

Company::Company(const Links& links, const std::vector<Flow>& flows) {
  highest_.assign(flows.size(), std::numeric_limits<double>::infinity());
  std::vector<std::size_t> ends(links.capacity_.size() + 1, 0);  // of each resource's users, moved up by one
  for (std::size_t i = 0; i < flows.size(); ++i)
    for (const std::size_t r : links.resources(flows[i])) {
      ++ends[r + 1];
      highest_[i] = std::min(highest_[i], links.capacity_[r]);
    }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  users_.resize(ends.back());
  for (std::size_t r = 0; r + 1 < ends.size(); ++r)
    if (ends[r + 1] > ends[r] + 1) shared_.push_back({links.capacity_[r], ends[r], ends[r + 1]});
  for (std::size_t i = 0; i < flows.size(); ++i)
    for (const std::size_t r : links.resources(flows[i])) users_[ends[r]++] = i;
}

void Company::rates(const std::vector<double>& loads, std::vector<double>& rates) const {
  rates = highest_;
  std::vector<std::size_t> order;
  for (const Place& place : shared_) {
    order.assign(users_.begin() + static_cast<std::ptrdiff_t>(place.first),
                 users_.begin() + static_cast<std::ptrdiff_t>(place.last));
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return loads[a] < loads[b]; });
    for (const std::size_t me : order) {
      double left = place.capacity;
      std::size_t others = order.size() - 1;
      for (const std::size_t i : order) {
        if (i == me) continue;
        if (loads[i] * static_cast<double>(others + 1) >= left) break;  // wants its full share, as I do
        left -= loads[i];
        --others;
      }
      rates[me] = std::min(rates[me], left / static_cast<double>(others + 1));
    }
  }
}

}  // namespace nigh
