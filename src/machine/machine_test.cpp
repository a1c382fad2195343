// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The Machine value: what nests in what, the invariants and their sentences, and the hash of the tree.
#include "machine/machine.hpp"

#include <gtest/gtest.h>

#include "machine/load.hpp"

namespace nigh {
namespace {

// Opens a chain of kinds with one PU inside; numbers are 0.
Result<Machine> chain(std::initializer_list<Kind> kinds) {
  MachineBuilder b;
  for (Kind k : kinds) b.open(k, k == Kind::group || k == Kind::board ? -1 : 0);
  for (std::size_t i = 0; i < kinds.size(); ++i) b.close();
  return b.finish();
}

TEST(Machine, GroupsAndNodesSitWhereTheirCpusAre) {
  EXPECT_TRUE(chain({Kind::package, Kind::numa, Kind::l3, Kind::l2, Kind::core, Kind::pu}));
  EXPECT_TRUE(chain({Kind::numa, Kind::package, Kind::l2, Kind::core, Kind::pu}));
  EXPECT_TRUE(chain({Kind::package, Kind::l3, Kind::numa, Kind::core, Kind::pu}));
  EXPECT_TRUE(chain({Kind::group, Kind::group, Kind::package, Kind::group, Kind::core, Kind::pu}));
  EXPECT_TRUE(chain({Kind::pu}));
}

TEST(Machine, WhatCantNestIsRefusedBySentence) {
  auto in_core = chain({Kind::core, Kind::numa, Kind::pu});
  ASSERT_FALSE(in_core);
  EXPECT_EQ(
      in_core.error().message,
      "numa 0 (object 2) can't be inside a core; from the outside in: machine, group, board, package, die, "
      "numa, l3, l2, core, pu");
  EXPECT_FALSE(chain({Kind::l2, Kind::l3, Kind::pu}));
  EXPECT_FALSE(chain({Kind::numa, Kind::numa, Kind::pu}));  // only a leaf lies in another node
  EXPECT_FALSE(chain({Kind::package, Kind::package, Kind::pu}));
  EXPECT_FALSE(chain({Kind::l3, Kind::group, Kind::package, Kind::pu}));
  auto hollow = chain({Kind::package});
  ASSERT_FALSE(hollow);
  EXPECT_EQ(hollow.error().message,
            "package 0 (object 1) is empty; only a PU or a memory-only NUMA node has nothing inside");
}

TEST(Machine, NumbersNameOneThing) {
  auto twice = [](Kind kind, bool two_packages) {
    MachineBuilder b;
    int pu = 0;
    for (int i = 0; i < 2; ++i) {
      if (two_packages) b.open(Kind::package, i);
      b.open(kind, 0);
      if (kind != Kind::pu) {
        b.open(Kind::pu, pu++);
        b.close();
      }
      b.close();
      if (two_packages) b.close();
    }
    return b.finish();
  };
  EXPECT_EQ(twice(Kind::pu, false).error().message, "pu 0 appears twice");
  EXPECT_EQ(twice(Kind::numa, false).error().message, "numa 0 appears twice");
  EXPECT_EQ(twice(Kind::package, false).error().message, "package 0 appears twice");
  EXPECT_EQ(twice(Kind::core, false).error().message, "core 0 appears twice in its package");
  EXPECT_TRUE(twice(Kind::core, true));
}

TEST(Machine, MatricesMustFitTheNodes) {
  auto m = load_hwloc_synthetic("pack:2 numa:1 core:2 pu:1");
  ASSERT_TRUE(m) << m.error().message;
  m->slit = {10, 20, 20};
  EXPECT_FALSE(m->validate());
  m->slit = {10, 20, 20, 0};
  EXPECT_FALSE(m->validate());
  m->slit.clear();
  m->bandwidth = {{1, 2, 3, 0}, {Source::measured, Source::hmat, Source::guessed, Source::measured}};
  EXPECT_FALSE(m->validate());
  m->bandwidth.source[3] = Source::unknown;
  EXPECT_TRUE(m->validate());
}

TEST(Machine, Queries) {
  auto m = load_model("nehalem-hp");
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(m->node_of_pu(3), 1);
  EXPECT_EQ(m->node_of_pu(10), 0);
  EXPECT_EQ(m->node_of_pu(99), -1);
  int core = m->ancestor_of_pu(10, Kind::core);
  EXPECT_EQ(m->objects[static_cast<std::size_t>(core)].pus, (CpuSet{2, 10}));
  EXPECT_EQ(m->summary(), "2 packages, 2 NUMA nodes, 8 cores, 16 PUs");
}

TEST(TopologyHash, IsOfTheTreeAlone) {
  auto m = load_model("opteron-6272");
  ASSERT_TRUE(m) << m.error().message;
  auto hash = topology_hash(*m);
  EXPECT_EQ(hash, "fab76c2c7892eb6d");  // fixed: stored measurements are found by it
  m->name = "other";
  m->notes.clear();
  m->slit.clear();
  m->bandwidth = {};
  m->objects[static_cast<std::size_t>(m->nodes[0])].bytes =
      123;  // the kernel's figure varies from boot to boot
  EXPECT_EQ(topology_hash(*m), hash);
  auto l3 = static_cast<std::size_t>(m->of_kind(Kind::l3)[0]);
  m->objects[l3].bytes += 1;
  EXPECT_NE(topology_hash(*m), hash);
  std::string all;
  for (const auto& name : model_names()) {
    auto other = topology_hash(*load_model(name));
    EXPECT_EQ(all.find(other), std::string::npos) << name;
    all += other + ' ';
  }
}

}  // namespace
}  // namespace nigh
