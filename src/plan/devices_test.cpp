// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// GPUs of recorded nodes, against the maps of LLNL's mpibind for the same nodes (its test suite, where a
// rank's share is that of its tasks), and against all ways for small ones.
#include "plan/devices.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "machine/load.hpp"
#include "plan/core_tree.hpp"
#include "plan/ranks.hpp"

namespace nigh {
namespace {

std::string gpus_of_ranks(const Machine& machine, int ranks) {
  const auto tree = CoreTree::cut(machine, machine.pus());
  std::string out;
  bool first = true;
  for (const auto& gpus : share_devices(machine, devices_of(machine, Device::Type::gpu),
                                        rank_shares(*tree, ranks, RankBinding::compact))) {
    out += std::exchange(first, false) ? "" : ";";
    for (std::size_t i = 0; i < gpus.size(); ++i) out += (i == 0 ? "" : ",") + std::to_string(gpus[i]);
  }
  return out;
}

Machine recorded(const char* name) {
  auto machine = load_machine(std::string(NIGH_SOURCE_DIR "/tests/machines/") + name + ".xml");
  EXPECT_TRUE(machine) << machine.error().message;
  return machine ? *machine : Machine();
}

TEST(Devices, AreThoseOfMpibindOnLassen) {
  const Machine lassen = recorded("gpus-power9");
  EXPECT_EQ(gpus_of_ranks(lassen, 1), "0,1,2,3");
  EXPECT_EQ(gpus_of_ranks(lassen, 2), "0,1;2,3");
  EXPECT_EQ(gpus_of_ranks(lassen, 4), "0;1;2;3");
  EXPECT_EQ(gpus_of_ranks(lassen, 40),
            "0;0;0;0;0;0;0;0;0;0;1;1;1;1;1;1;1;1;1;1;2;2;2;2;2;2;2;2;2;2;3;3;3;3;3;3;3;3;3;3");
}

TEST(Devices, AreNearTheirCacheOnTioga) {
  const Machine tioga = recorded("gpus-by-ccd");
  EXPECT_EQ(gpus_of_ranks(tioga, 8), "4;5;2;3;6;7;0;1");
  EXPECT_EQ(gpus_of_ranks(tioga, 4), "4,5;2,3;6,7;0,1");
  EXPECT_EQ(gpus_of_ranks(tioga, 16), "4;4;5;5;2;2;3;3;6;6;7;7;0;0;1;1");
}

TEST(Devices, AreNoneWhereThereAreNone) {
  const auto machine = load_machine("synthetic:pack:2 core:2 pu:1");
  ASSERT_TRUE(machine);
  EXPECT_EQ(gpus_of_ranks(*machine, 3), ";;");
}

// The sum of distances of the best of all even ways, for a few ranks and devices.
double far_away(const Machine& machine, const std::vector<std::vector<int>>& lists,
                const std::vector<CpuSet>& shares) {
  double out = 0;
  for (std::size_t rank = 0; rank < lists.size(); ++rank)
    for (const int gpu : lists[rank])
      out += machine.devices[static_cast<std::size_t>(gpu)].pus.intersects(shares[rank]) ? 0 : 1;
  return out;
}

TEST(Devices, AreAsNearAsInTheBestWay) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    auto machine = load_machine("synthetic:pack:4 core:4 pu:1");
    ASSERT_TRUE(machine);
    const int gpus = 1 + static_cast<int>(random() % 5), ranks = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < gpus; ++i) {
      const int package = static_cast<int>(random() % 4);
      Device& device = machine->devices.emplace_back();
      device.bus = std::to_string(i);
      device.pus = CpuSet::range(4 * package, 4 * package + 3);
    }
    const auto tree = CoreTree::cut(*machine, machine->pus());
    const std::vector<CpuSet> shares = rank_shares(*tree, ranks, RankBinding::compact);
    const std::vector<int> devices = devices_of(*machine, Device::Type::gpu);
    const double ours = far_away(*machine, share_devices(*machine, devices, shares), shares);
    const bool by_rank = ranks <= gpus;
    const int items = by_rank ? gpus : ranks, bins = by_rank ? ranks : gpus;
    double best = 1e9;
    std::vector<int> bin(static_cast<std::size_t>(items), 0);
    const auto next = [&] {
      for (int& one : bin)
        if (++one < bins)
          return true;
        else
          one = 0;
      return false;
    };
    do {
      std::vector<int> load(static_cast<std::size_t>(bins), 0);
      for (const int one : bin) ++load[static_cast<std::size_t>(one)];
      if (*std::max_element(load.begin(), load.end()) - *std::min_element(load.begin(), load.end()) > 1)
        continue;
      std::vector<std::vector<int>> lists(static_cast<std::size_t>(ranks));
      for (std::size_t item = 0; item < bin.size(); ++item)
        lists[by_rank ? static_cast<std::size_t>(bin[item]) : item].push_back(by_rank ? static_cast<int>(item)
                                                                                      : bin[item]);
      best = std::min(best, far_away(*machine, lists, shares));
    } while (next());
    EXPECT_LE(ours, best) << "trial " << trial << ": " << ranks << " ranks, " << gpus << " GPUs";
  }
}

}  // namespace
}  // namespace nigh
