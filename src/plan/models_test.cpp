// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The shipped models give the maps of the slides that show them.
#include <gtest/gtest.h>

#include "machine/load.hpp"
#include "plan/test_machines.hpp"
#include "plan/test_maps.hpp"

namespace nigh {
namespace {

struct Expected {
  const char* model;
  const char* spec;
  const char* map;
};

class ShippedModel : public testing::TestWithParam<Expected> {};

TEST_P(ShippedModel, IsPlannedAsTheSlidesShow) {
  auto machine = load_model(GetParam().model);
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(test::map_of(*machine, GetParam().spec), GetParam().map);
}

constexpr const char* in_place = "0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15";
constexpr const char* apart = "0 5 10 15 | 4 9 14 3 | 8 13 2 7 | 12 1 6 11";

INSTANTIATE_TEST_SUITE_P(
    Maps, ShippedModel,
    testing::Values(
        Expected{"barcelona", "4,compact", "0 1 2 3"}, Expected{"barcelona", "4,scatter", "0 4 8 12"},
        Expected{"barcelona", "4,scatter,4,subscatter", in_place},
        Expected{"barcelona", "4,scatter,4,scatter", apart}, Expected{"tigerton", "4,compact", "0 1 2 3"},
        Expected{"tigerton", "4,scatter", "0 4 8 12"}, Expected{"tigerton", "4,scatter,4,scatter", apart},
        Expected{"tigerton", "4,scatter,4,subcompact", in_place},
        Expected{"nehalem-sun", "4,compact", "0 1 2 3"}, Expected{"nehalem-hp", "4,compact", "0 2 4 6"},
        Expected{"nehalem-sun", "4,scatter", "0 2 4 6"}, Expected{"nehalem-hp", "4,scatter", "0 4 1 5"},
        Expected{"nehalem-sun", "2,scatter,4,subcompact", "0 1 2 3 | 4 5 6 7"},
        Expected{"nehalem-hp", "2,scatter,4,subcompact", "0 2 4 6 | 1 3 5 7"},
        Expected{"nehalem-sun", "2,scatter,8,subcompact", "0 8 1 9 2 10 3 11 | 4 12 5 13 6 14 7 15"},
        Expected{"nehalem-hp", "2,scatter,8,subcompact", "0 8 2 10 4 12 6 14 | 1 9 3 11 5 13 7 15"},
        Expected{"scalemp", "13,scatter", "0 8 16 24 32 40 48 56 64 72 80 88 96"}),
    [](const auto& info) {
      std::string name = std::string(info.param.model) + '_' + info.param.spec;
      for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      return name;
    });

// One thread a core fills every shipped machine and never doubles a PU.
TEST(ShippedModels, ScatterOverAllCoresUsesEachOnce) {
  for (const auto& name : model_names()) {
    auto machine = *load_model(name);
    int cores = machine.count(Kind::core);
    auto threads = *expand(test::plan_for(machine, std::to_string(cores) + ",scatter"), 0);
    CpuSet used;
    for (const auto& thread : threads) used.set(thread.pu);
    EXPECT_EQ(used.count(), cores) << name;
  }
}

}  // namespace
}  // namespace nigh
