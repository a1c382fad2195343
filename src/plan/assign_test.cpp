// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Clusters from what applications do, and the exact search against brute force on random machines.
#include "plan/assign.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>
#include <set>

#include "machine/load.hpp"
#include "plan/test_links.hpp"

namespace nigh {
namespace {

using test::Random;

Application eight_nodes(std::vector<int> nodes, int master, double sharing = 1) {
  std::vector<double> threads(8, 0);
  for (const int node : nodes) threads[static_cast<std::size_t>(node)] = 8;
  Application out =
      Application::with_master({.name = "a", .compute = 1, .megabytes = 1000}, threads, master, sharing);
  out.megabytes = 1000;
  out.accesses = 1e6;
  return out;
}

TEST(Clusters, TheMastersMemoryMakesOneOfAll) {
  const auto clusters = find_clusters({eight_nodes({0, 3, 5}, 3)});
  ASSERT_EQ(clusters.size(), 1U);
  EXPECT_EQ(clusters[0].nodes, (std::vector{0, 3, 5}));
  EXPECT_EQ(clusters[0].megabytes, (std::vector<double>{0, 1000, 0}));
  EXPECT_NEAR(clusters[0].remote, 2e6 / 3, 1);
  EXPECT_NEAR(clusters[0].weight, std::log(2e6 / 3), 1e-9);
  EXPECT_TRUE(clusters[0].adopted.empty());
}

TEST(Clusters, WhoUsesOnlyHisOwnIsAlone) {
  Application application = eight_nodes({0, 3}, 0, 0);
  application.own[0] = {1, 0, 0, 0, 0, 0, 0, 0};
  application.own[3] = {0.05, 0, 0, 0.95, 0, 0, 0, 0};
  const auto clusters = find_clusters({application});
  ASSERT_EQ(clusters.size(), 2U);
  EXPECT_EQ(clusters[0].weight, 0);
  EXPECT_NEAR(clusters[1].remote, 0.05 * 5e5, 1);
  EXPECT_EQ(find_clusters({application}, {.high = 0.04}).size(), 1U);
}

// Two pairs in one program, each on memory of a third node: two clusters, which take that memory along.
TEST(Clusters, MemoryWithoutThreadsIsAdopted) {
  Application application = eight_nodes({0, 1, 4, 5}, 0, 0);
  for (const std::size_t i : {0U, 1U}) application.own[i] = {0, 0, 1, 0, 0, 0, 0, 0};
  for (const std::size_t i : {4U, 5U}) application.own[i] = {0, 0, 0, 0, 0, 0, 0, 1};
  const auto clusters = find_clusters({application});
  ASSERT_EQ(clusters.size(), 2U);
  EXPECT_EQ(clusters[0].nodes, (std::vector{0, 1}));
  EXPECT_EQ(clusters[1].nodes, (std::vector{4, 5}));
  ASSERT_EQ(clusters[1].adopted.size(), 1U);
  EXPECT_EQ(clusters[1].adopted[0], (std::pair{7, std::size_t{0}}));
  EXPECT_EQ(clusters[1].traffic, (std::vector<double>{2.5e5, 0, 2.5e5, 0}));
}

TEST(Applications, MovingTakesEverythingAlong) {
  Application application = eight_nodes({0, 3}, 0, 0.5);
  application.own[3] = {0, 0, 0, 1, 0, 0, 0, 0};
  const std::vector<int> to = {2, 1, 2, 4, 4, 5, 6, 7};
  const Application after = application.moved(to);
  EXPECT_EQ(after.threads, (std::vector<double>{0, 0, 8, 0, 8, 0, 0, 0}));
  EXPECT_EQ(after.shared[2], 1);
  EXPECT_EQ(after.own[2][2], 1);
  EXPECT_EQ(after.own[4][4], 1);
  EXPECT_NEAR(application.migrated(after, to), 1000, 1e-9);
  EXPECT_NEAR(application.resident()[0], 750, 1e-9);
  EXPECT_NEAR(application.locality(), 0.75, 1e-9);
  EXPECT_NEAR(after.locality(), 0.75, 1e-9);
  EXPECT_EQ(application.migrated(application, {0, 1, 2, 3, 4, 5, 6, 7}), 0);
}

// Slide 5: two fast hops before one slow one, when the memory is at the right end.
TEST(Options, TwoHopsAt3741BeatOneAt2999) {
  const Links links = test::links_of("opteron-6272");
  const auto clusters = find_clusters({eight_nodes({0, 1}, 0)});
  const Options options = find_options(links, clusters[0]);
  const auto value = [&](int master, int other) {
    for (const Option& o : options.list)
      if (o.nodes ==
          std::vector<std::uint8_t>{static_cast<std::uint8_t>(master), static_cast<std::uint8_t>(other)})
        return o.value / clusters[0].weight;
    return 0.0;
  };
  EXPECT_NEAR(value(3, 0), 3741, 1e-6);
  EXPECT_NEAR(value(0, 4), 2999, 1e-6);
  EXPECT_EQ(options.list.front().nodes, (std::vector<std::uint8_t>{0, 1}));  // 5598, and nothing moves
}

// Every tuple, asked directly: nothing that is better or cheaper for its nodes is missing.
TEST(Options, KeepWhatBruteForceFinds) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const int nodes = test::in(random, 3, 6);
    const Links links = test::random_links(random, nodes);
    const auto clusters = test::random_clusters(random, nodes, 1);
    const Cluster& cluster = clusters[0];
    const Options options = find_options(links, cluster);
    EXPECT_TRUE(options.complete);
    test::for_each_tuple(
        nodes, cluster.size(), [&](const std::vector<std::uint8_t>& tuple, std::uint64_t mask) {
          const auto [value, cost] = test::worth(links, cluster, tuple);
          const bool covered = std::any_of(options.list.begin(), options.list.end(), [&](const Option& o) {
            return o.mask == mask && o.value >= value * (1 - 1e-9) && o.cost <= cost + 1e-9;
          });
          EXPECT_TRUE(covered) << "seed " << seed;
        });
    for (const Option& option : options.list) {
      const auto [value, cost] = test::worth(links, cluster, option.nodes);
      EXPECT_NEAR(option.value, value, 1e-6 * value);
      EXPECT_NEAR(option.cost, cost, 1e-9);
    }
  }
}

struct Best {
  double value = 0, cost = std::numeric_limits<double>::infinity();
};

// All ways to place all clusters, one tuple after the other.
void all_ways(const Links& links, const std::vector<Cluster>& clusters, std::size_t k, std::uint64_t used,
              double value, double cost, const std::function<void(double, double)>& visit) {
  if (k == clusters.size()) return visit(value, cost);
  test::for_each_tuple(links.nodes(), clusters[k].size(),
                       [&](const std::vector<std::uint8_t>& tuple, std::uint64_t mask) {
                         if ((mask & used) != 0) return;
                         const auto [v, c] = test::worth(links, clusters[k], tuple);
                         all_ways(links, clusters, k + 1, used | mask, value + v, cost + c, visit);
                       });
}

TEST(Assign, IsExact) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const int nodes = test::in(random, 3, 6);
    const Links links = test::random_links(random, nodes);
    const auto clusters = test::random_clusters(random, nodes, test::in(random, 1, 3));
    std::vector<Options> options;
    for (const Cluster& cluster : clusters) options.push_back(find_options(links, cluster));
    Best best;
    all_ways(links, clusters, 0, 0, 0, 0,
             [&](double value, double) { best.value = std::max(best.value, value); });
    all_ways(links, clusters, 0, 0, 0, 0, [&](double value, double cost) {
      if (value >= 0.9 * best.value * (1 - 1e-9)) best.cost = std::min(best.cost, cost);
    });
    const Assignments top = most_valuable(options, nodes, 5), good = cheapest_good(options, nodes);
    ASSERT_FALSE(top.list.empty());
    EXPECT_TRUE(top.exact && good.exact);
    EXPECT_NEAR(top.list[0].value, best.value, 1e-6 * best.value) << "seed " << seed;
    ASSERT_EQ(good.list.size(), 1U);
    EXPECT_NEAR(good.list[0].cost, best.cost, 1e-6) << "seed " << seed;
    EXPECT_GE(good.list[0].value, 0.9 * best.value * (1 - 1e-6));
    for (std::size_t i = 1; i < top.list.size(); ++i) EXPECT_LE(top.list[i].value, top.list[i - 1].value);
  }
}

TEST(Assign, WhatDoesNotFitHasNoAnswer) {
  const Links links = test::links_of("opteron-6272");
  const auto clusters = find_clusters({eight_nodes({0, 1, 2, 3, 4}, 0), eight_nodes({0, 1, 2, 3}, 0)});
  std::vector<Options> options;
  for (const Cluster& cluster : clusters) options.push_back(find_options(links, cluster));
  EXPECT_TRUE(most_valuable(options, 8, 1).list.empty());
  EXPECT_TRUE(cheapest_good(options, 8).list.empty());
}

TEST(Assign, SaysWhenItStoppedEarly) {
  const Links links = test::links_of("opteron-6272");
  const auto clusters = find_clusters({eight_nodes({0, 1, 2}, 0)});
  const Options options = find_options(links, clusters[0], {.most = 10});
  EXPECT_FALSE(options.complete);
  const Assignments found = cheapest_good({options}, 8);
  EXPECT_FALSE(found.exact);
  EXPECT_FALSE(found.list.empty());
}

// The same answer above 16 nodes, where the bound is looser, as brute force finds on a small part of them.
TEST(Assign, IsExactOnManyNodes) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    Random random(seed);
    const Links links = test::random_links(random, 20);
    auto clusters = test::random_clusters(random, 20, 2);
    for (Cluster& cluster : clusters)
      if (cluster.size() > 2) cluster = test::cut(cluster, 2);
    std::vector<Options> options;
    for (const Cluster& cluster : clusters) options.push_back(find_options(links, cluster));
    double best = 0;
    all_ways(links, clusters, 0, 0, 0, 0, [&](double value, double) { best = std::max(best, value); });
    const Assignments top = most_valuable(options, 20, 1);
    ASSERT_FALSE(top.list.empty());
    EXPECT_TRUE(top.exact);
    EXPECT_NEAR(top.list[0].value, best, 1e-6 * best);
  }
}

}  // namespace
}  // namespace nigh
