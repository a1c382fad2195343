// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Random machines and clusters for the tests of asymmetric placement, and what they are judged by: every
// tuple of nodes, each asked of the link model directly.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "machine/load.hpp"
#include "plan/application.hpp"

namespace nigh::test {

using Random = std::mt19937;
inline int in(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

inline Links links_of(const char* model) {
  auto machine = load_model(model);
  EXPECT_TRUE(machine);
  auto links = Links::of(*machine);
  EXPECT_TRUE(links);
  return *links;
}

// `nodes` packages of one node; distances of one and two hops, bandwidths of either direction at random.
inline Links random_links(Random& random, int nodes) {
  MachineBuilder b;
  for (int n = 0; n < nodes; ++n) {
    b.open(Kind::package, n);
    b.open(Kind::numa, n, std::uint64_t{1} << 30);
    b.open(Kind::core, 0);
    b.open(Kind::pu, n);
    for (int i = 0; i < 4; ++i) b.close();
  }
  auto machine = b.finish();
  EXPECT_TRUE(machine) << machine.error().message;
  const auto n = static_cast<std::size_t>(nodes);
  machine->slit.assign(n * n, 10);
  machine->bandwidth.value.assign(n * n, 12800);
  machine->bandwidth.source.assign(n * n, Source::measured);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      machine->slit[i * n + j] = i < j ? (in(random, 0, 2) == 0 ? 22 : 16) : machine->slit[j * n + i];
      machine->bandwidth.value[i * n + j] = 100.0 * in(random, 10, 70);
    }
  auto links = Links::of(*machine);
  EXPECT_TRUE(links) << links.error().message;
  return *links;
}

// Applications side by side whose threads fit the nodes: some share all, some a part, some nothing.
inline std::vector<Application> random_applications(Random& random, int nodes, int count) {
  std::vector<Application> out;
  int first = 0;
  for (int a = 0; a < count && first < nodes; ++a) {
    const int size = std::min(in(random, 1, 3), nodes - first);
    std::vector<double> threads(static_cast<std::size_t>(nodes), 0);
    for (int i = 0; i < size; ++i) threads[static_cast<std::size_t>(first + i)] = in(random, 1, 8);
    Application application =
        Application::with_master({.name = "a", .compute = 1, .megabytes = 100.0 * in(random, 0, 50) + 1},
                                 threads, first + in(random, 0, size - 1), in(random, 0, 2) / 2.0);
    application.megabytes = 100.0 * in(random, 1, 40);
    application.accesses = std::pow(10.0, in(random, 2, 7));
    out.push_back(application);
    first += size;
  }
  return out;
}

inline std::vector<Cluster> random_clusters(Random& random, int nodes, int count) {
  return find_clusters(random_applications(random, nodes, count));
}

// The first groups of a cluster alone.
inline Cluster cut(const Cluster& cluster, std::size_t size) {
  Cluster out = cluster;
  out.nodes.resize(size);
  out.threads.resize(size);
  out.megabytes.resize(size);
  out.traffic.clear();
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < size; ++b) out.traffic.push_back(cluster.traffic[a * cluster.size() + b]);
  return out;
}

inline void for_each_tuple(
    int nodes, std::size_t size,
    const std::function<void(const std::vector<std::uint8_t>&, std::uint64_t)>& visit) {
  std::vector<std::uint8_t> tuple;
  const std::function<void(std::uint64_t)> extend = [&](std::uint64_t used) {
    if (tuple.size() == size) return visit(tuple, used);
    for (int node = 0; node < nodes; ++node) {
      const std::uint64_t bit = std::uint64_t{1} << node;
      if ((used & bit) != 0) continue;
      tuple.push_back(static_cast<std::uint8_t>(node));
      extend(used | bit);
      tuple.pop_back();
    }
  };
  extend(0);
}

// Value and cost by their definitions.
inline std::pair<double, double> worth(const Links& links, const Cluster& cluster,
                                       const std::vector<std::uint8_t>& tuple) {
  std::vector<Flow> flows;
  double cost = 0;
  for (std::size_t a = 0; a < tuple.size(); ++a) {
    if (tuple[a] != cluster.nodes[a]) cost += cluster.megabytes[a];
    for (std::size_t b = 0; b < tuple.size(); ++b) {
      const double traffic = cluster.traffic[a * tuple.size() + b];
      if (a != b && traffic > 0) flows.push_back({tuple[a], tuple[b], traffic});
    }
  }
  return {cluster.weight * links.sustained(flows), cost};
}

}  // namespace nigh::test
