// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The maps that the strategies are defined by, machine by machine.
#include "plan/nested.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "plan/test_machines.hpp"
#include "plan/test_maps.hpp"

namespace nigh {
namespace {

using test::map_of;
using test::plan_for;
using test::pus_of;

TEST(FourByFour, OneLevel) {
  auto machine = test::four_by_four();
  EXPECT_EQ(map_of(machine, "4,compact"), "0 1 2 3");
  EXPECT_EQ(map_of(machine, "4,scatter"), "0 4 8 12");
  EXPECT_EQ(map_of(machine, "1,scatter"), "0");
  EXPECT_EQ(map_of(machine, "8,scatter"), "0 2 4 6 8 10 12 14");
  EXPECT_EQ(map_of(machine, "3,scatter"), "0 8 12");  // whole packages: two, one, one
  EXPECT_EQ(map_of(machine, "5,scatter"), "0 2 4 8 12");
  EXPECT_EQ(map_of(machine, "20,scatter"), "0 0 1 2 3 4 4 5 6 7 8 8 9 10 11 12 12 13 14 15");
}

TEST(FourByFour, TheSlides) {
  auto machine = test::four_by_four();
  EXPECT_EQ(map_of(machine, "4,scatter,4,subscatter"), "0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15");
  EXPECT_EQ(map_of(machine, "4,scatter,4,subcompact"), "0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15");
  EXPECT_EQ(map_of(machine, "4,scatter,4,scatter"), "0 5 10 15 | 4 9 14 3 | 8 13 2 7 | 12 1 6 11");
  EXPECT_EQ(map_of(machine, "4,scatter,2,subcompact"), "0 1 | 4 5 | 8 9 | 12 13");
  EXPECT_EQ(map_of(machine, "4,scatter,2,subscatter"), "0 2 | 4 6 | 8 10 | 12 14");
}

TEST(FourByFour, CompactReservesWhatEachThreadStandsFor) {
  auto machine = test::four_by_four();
  EXPECT_EQ(map_of(machine, "4,compact,4,subcompact"), "0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15");
  EXPECT_EQ(map_of(machine, "2,compact,2,subcompact"), "0 1 | 2 3");
  EXPECT_EQ(map_of(machine, "4,compact,3,subcompact"), "0 1 2 | 4 5 6 | 8 9 10 | 12 13 14");
}

TEST(FourByFour, OtherShapes) {
  auto machine = test::four_by_four();
  EXPECT_EQ(map_of(machine, "2,scatter,4,subscatter"), "0 2 4 6 | 8 10 12 14");
  EXPECT_EQ(map_of(machine, "2,scatter,8,subcompact"), "0 1 2 3 4 5 6 7 | 8 9 10 11 12 13 14 15");
  EXPECT_EQ(map_of(machine, "2,scatter,8,subscatter"), "0 1 2 3 4 5 6 7 | 8 9 10 11 12 13 14 15");
  EXPECT_EQ(map_of(machine, "2,compact,8,subcompact"), "0 1 2 3 4 5 6 7 | 8 9 10 11 12 13 14 15");
  // three teams over four packages: whole packages, so two teams of five share four cores
  EXPECT_EQ(map_of(machine, "3,scatter,5,subcompact"), "0 1 2 3 4 | 8 8 9 10 11 | 12 12 13 14 15");
  EXPECT_EQ(map_of(machine, "3,compact,5,subcompact"), "0 1 2 3 4 | 5 6 7 8 9 | 10 11 12 13 14");
  EXPECT_EQ(map_of(machine, "3,scatter,5,compact"), "0 1 2 3 4 | 8 9 10 11 5 | 12 13 14 15 6");
}

TEST(FourByFour, ThreeLevels) {
  auto machine = test::four_by_four();
  EXPECT_EQ(map_of(machine, "2,scatter,2,subscatter,4,subcompact"),
            "0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15");
  EXPECT_EQ(map_of(machine, "4,scatter,2,subscatter,2,subcompact"),
            "0 1 | 2 3 | 4 5 | 6 7 | 8 9 | 10 11 | 12 13 | 14 15");
  EXPECT_EQ(map_of(machine, "2,scatter,2,scatter,4,subcompact"),
            "0 1 2 3 | 12 13 14 15 | 8 9 10 11 | 4 5 6 7");
  EXPECT_EQ(map_of(machine, "2,scatter,2,subscatter,4,scatter"),
            "0 5 10 15 | 4 9 14 3 | 8 13 2 7 | 12 1 6 11");
}

TEST(FourByFour, AMaskWithHoles) {
  auto machine = test::four_by_four();
  const char* mask = "0-5,8,12-15";
  EXPECT_EQ(map_of(machine, "4,scatter", mask), "0 4 8 12");
  // package 2 has one core left: a team of two does not go there, nor does any team straddle packages
  EXPECT_EQ(map_of(machine, "4,scatter,2,subcompact", mask), "0 1 | 2 3 | 4 5 | 12 13");
  EXPECT_EQ(map_of(machine, "4,compact,2,subcompact", mask), "0 1 | 2 3 | 4 5 | 12 13");
  EXPECT_EQ(map_of(machine, "11,scatter", mask), "0 1 2 3 4 5 8 12 13 14 15");
}

TEST(Nehalem, FirstSiblingsFirst) {
  auto sun = test::nehalem_sun(), hp = test::nehalem_hp();
  EXPECT_EQ(map_of(sun, "4,compact"), "0 1 2 3");
  EXPECT_EQ(map_of(hp, "4,compact"), "0 2 4 6");
  EXPECT_EQ(map_of(sun, "4,scatter"), "0 2 4 6");
  EXPECT_EQ(map_of(hp, "4,scatter"), "0 4 1 5");
  EXPECT_EQ(map_of(sun, "2,scatter,4,subcompact"), "0 1 2 3 | 4 5 6 7");
  EXPECT_EQ(map_of(hp, "2,scatter,4,subcompact"), "0 2 4 6 | 1 3 5 7");
}

TEST(Nehalem, SecondSiblingsWhenThereAreMoreThreadsThanCores) {
  auto sun = test::nehalem_sun(), hp = test::nehalem_hp();
  EXPECT_EQ(map_of(sun, "2,scatter,8,subcompact"), "0 8 1 9 2 10 3 11 | 4 12 5 13 6 14 7 15");
  EXPECT_EQ(map_of(hp, "2,scatter,8,subcompact"), "0 8 2 10 4 12 6 14 | 1 9 3 11 5 13 7 15");
  EXPECT_EQ(map_of(sun, "12,compact"), "0 8 1 2 10 3 4 12 5 6 14 7");
  EXPECT_EQ(map_of(sun, "8,scatter,2,subcompact"), "0 8 | 1 9 | 2 10 | 3 11 | 4 12 | 5 13 | 6 14 | 7 15");
  EXPECT_EQ(map_of(sun, "16,scatter"), "0 8 1 9 2 10 3 11 4 12 5 13 6 14 7 15");
}

TEST(Tigerton, PairsThatShareACacheStayTogether) {
  auto machine = test::tigerton();
  EXPECT_EQ(map_of(machine, "4,scatter"), "0 4 8 12");
  EXPECT_EQ(map_of(machine, "8,scatter"), "0 2 4 6 8 10 12 14");
  EXPECT_EQ(map_of(machine, "4,scatter,2,subcompact"), "0 1 | 4 5 | 8 9 | 12 13");
  EXPECT_EQ(map_of(machine, "4,scatter,2,subscatter"), "0 2 | 4 6 | 8 10 | 12 14");
  EXPECT_EQ(map_of(machine, "3,compact,2,subcompact"), "0 1 | 2 3 | 4 5");
}

TEST(ScaleMp, OneTeamABoard) {
  auto machine = test::scalemp();
  std::string boards, teams;
  for (int b = 0; b < 13; ++b) {
    boards += (b == 0 ? "" : " ") + std::to_string(b * 8);
    teams += b == 0 ? "" : " | ";
    for (int t = 0; t < 4; ++t) teams += (t == 0 ? "" : " ") + std::to_string(b * 8 + t * 2);
  }
  EXPECT_EQ(map_of(machine, "13,scatter"), boards);
  EXPECT_EQ(map_of(machine, "13,scatter,4,subscatter"), teams);
  // six teams over thirteen boards: three boards for the first, two for the others
  EXPECT_EQ(map_of(machine, "6,scatter"), "0 24 40 56 72 88");
}

TEST(Uneven, LoadDecidesWhoGetsMore) {
  auto machine = test::uneven({8, 2, 2});
  EXPECT_EQ(map_of(machine, "3,scatter"), "0 8 10");
  EXPECT_EQ(map_of(machine, "6,scatter"), "0 2 4 6 8 10");
  // the small packages would be loaded twice over by a team of four, a third of the big one less
  EXPECT_EQ(map_of(machine, "3,scatter,4,subcompact"), "0 0 1 2 | 3 3 4 5 | 6 6 7 7");
  EXPECT_EQ(map_of(test::uneven({4, 1, 2, 4}), "3,scatter,3,subcompact"), "0 1 2 | 4 5 6 | 7 8 9");
}

TEST(Smt, AnInnerTeamUsesItsMastersSiblings) {
  auto machine = test::smt(1, 1, 4);  // one core, four PUs
  EXPECT_EQ(map_of(machine, "2,compact,2,subcompact"), "0 1 | 2 3");
  EXPECT_EQ(map_of(machine, "2,scatter,2,scatter"), "0 1 | 2 3");
  EXPECT_EQ(map_of(machine, "2,scatter"), "0 1");
}

TEST(BarePus, ArePlannedLikeCores) {
  auto machine = test::bare_pus();
  EXPECT_EQ(map_of(machine, "2,scatter,2,subcompact"), "0 1 | 2 3");
  auto threads = *expand(plan_for(machine, "2,scatter"), 0);
  EXPECT_EQ(threads[1].pu, 2);
  EXPECT_EQ(threads[1].core, -1);
  EXPECT_EQ(threads[1].numa_node, 1);
}

TEST(ActualSizes, WinOverTheSpec) {
  auto plan = plan_for(test::four_by_four(), "4,scatter,4,subcompact");
  EXPECT_EQ(pus_of(plan, *plan.team(0, {}, 2)), "0 8");
  std::vector<TeamStep> path{{1, 2}};
  EXPECT_EQ(pus_of(plan, *plan.team(0, path, 3)), "8 9 10");
  EXPECT_EQ(pus_of(plan, *plan.team(0, path, 1)), "8");
}

TEST(BeyondTheSpec, LevelsAreSubcompact) {
  auto plan = plan_for(test::four_by_four(), "4,scatter");
  std::vector<TeamStep> path{{2, 4}};
  EXPECT_EQ(pus_of(plan, *plan.team(0, path, 4)), "8 9 10 11");
  path.push_back({1, 2});
  EXPECT_EQ(pus_of(plan, *plan.team(0, path, 2)), "9 9");
}

TEST(Requests, OutOfRangeAreErrors) {
  auto plan = plan_for(test::four_by_four(), "4,scatter,4,scatter");
  std::vector<TeamStep> outside{{4, 4}}, none{{0, 0}}, wide{{0, 65536}};
  EXPECT_EQ(plan.team(0, outside, 2).error().message, "there is no thread 4 in a team of 4");
  EXPECT_FALSE(plan.team(0, none, 2));
  EXPECT_FALSE(plan.team(-1, {}, 2));
  EXPECT_FALSE(plan.team(0, {}, 0));
  EXPECT_FALSE(plan.team(0, {}, 65537));
  EXPECT_EQ(plan.team(0, wide, 2).error().message,
            "the plan has more than 65536 threads on one level; use smaller team sizes");
  EXPECT_FALSE(plan.team(0, std::vector<TeamStep>(256, TeamStep{0, 1}), 2));
  EXPECT_FALSE(expand(plan_for(test::four_by_four(), "65536,scatter,2,subcompact"), 0));
}

TEST(Reasons, NameTheRule) {
  auto reasons = [](const Machine& machine, const char* spec) {
    std::vector<std::string> out;
    auto threads = *expand(plan_for(machine, spec), 0);
    for (const auto& thread : threads) out.push_back(thread.reason);
    return out;
  };
  auto plain = reasons(test::four_by_four(), "4,scatter,2,subcompact");
  EXPECT_EQ(plain[0], "the initial thread stays on the first core of the mask");
  EXPECT_EQ(plain[1], "subcompact: number 2 of 2 by nearness to its master");
  EXPECT_EQ(plain[4], "keeps its parent's core (scatter over 4 packages: part 3 of 4)");
  EXPECT_EQ(reasons(test::four_by_four(), "4,scatter")[2], "scatter over 4 packages: part 3 of 4");
  EXPECT_EQ(reasons(test::nehalem_sun(), "2,scatter,8,subcompact")[3],
            "subcompact: number 4 of 8 by nearness to its master; second SMT thread: 8 threads on 4 cores");
  EXPECT_EQ(reasons(test::four_by_four(), "3,scatter,5,subcompact")[6],
            "subcompact: number 2 of 5 by nearness to its master; shares its PU: 5 threads on 4 PUs");
  EXPECT_EQ(reasons(test::four_by_four(), "4,scatter,4,scatter")[6],
            "scatter of all teams over the machine: part 4 of 4");
  EXPECT_EQ(reasons(test::four_by_four(), "2,scatter,2,compact")[1],
            "compact of all teams: the least loaded core nearest to its master");
  EXPECT_EQ(reasons(test::four_by_four(), "2,scatter,1,subcompact")[1],
            "keeps its parent's core (scatter over 4 packages: part 2 of 2)");
}

// A team of 256 on 512 PUs, planned with its siblings where the strategy needs them.
TEST(Speed, OneTeamTakesUnderAMillisecond) {
  auto machine = test::smt(4, 64, 2);
  for (const char* spec : {"256,scatter", "256,compact", "16,scatter,16,subscatter", "16,scatter,16,scatter",
                           "16,scatter,16,compact"}) {
    auto plan = plan_for(machine, spec);
    const auto& levels = plan.spec().levels;
    std::vector<TeamStep> path;
    if (levels.size() > 1) path.push_back({7, levels[0].size});
    auto best = std::chrono::nanoseconds::max();
    for (int i = 0; i < 20; ++i) {
      auto begin = std::chrono::steady_clock::now();
      auto places = *plan.team(0, path, levels.back().size);
      best = std::min(best, std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin));
      ASSERT_EQ(places.size(), static_cast<std::size_t>(levels.back().size));
    }
    RecordProperty(spec, static_cast<int>(best.count() / 1000));
    std::printf("  %-28s %6.1f us\n", spec, static_cast<double>(best.count()) / 1e3);
#if defined(__OPTIMIZE__) && !defined(NIGH_SANITIZED)
    EXPECT_LT(best, std::chrono::milliseconds(1)) << spec;
#endif
  }
}

}  // namespace
}  // namespace nigh
