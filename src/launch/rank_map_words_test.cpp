// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/rank_map_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <sstream>
#include <utility>

#include "machine/load.hpp"

namespace nigh::launch {
namespace {

TEST(RankMapWords, WritesRankfilesAndHosts) {
  const auto machine = load_machine("synthetic:pack:2 core:2 pu:2");
  ASSERT_TRUE(machine);
  std::vector<RankPlace> places;
  for (const auto& [node, pus] : {std::pair{1, "0-3"}, {0, "6-7"}, {0, "2-5"}, {1, ""}}) {
    const CpuSet set = *pus ? *CpuSet::parse(pus) : CpuSet();
    places.push_back({node, set, slot_words(*machine, set)});
  }
  EXPECT_EQ(*write_rank_map("rankfile", places, {"a", "b"}),
            "rank 0=b slot=0:0-1\nrank 1=a slot=1:1\nrank 2=a slot=0:1;1:0\nrank 3=b slot=0:*\n");
  EXPECT_EQ(*write_rank_map("rankfile", {places[1]}, {}), "rank 0=localhost slot=1:1\n");
  EXPECT_EQ(*write_rank_map("hosts", places, {"a", "b"}), "b\na\na\nb\n");
  EXPECT_EQ(*write_rank_map("rankmap", places, {"a", "b"}), "-hosts a,b -rankmap 1,0,0,1\n");
  EXPECT_EQ(write_rank_map("hosts", places, {}).error().message,
            "2 nodes have no names: say them with --hosts");
  EXPECT_EQ(write_rank_map("rankfile", places, {"a"}).error().message,
            "--hosts names 1 nodes, and the map has 2");
}

constexpr const char* map_start = R"({"format": "nigh-rank-map", "version": 1, "ranks": [)";
std::string refusal_of_map(const std::string& entries) {
  const auto map = parse_rank_map(map_start + entries + "]}");
  return map ? "taken" : map.error().message;
}

TEST(RankMapWords, ReadsWhatPlanWrites) {
  const auto map = parse_rank_map(
      std::string(map_start) +
      R"({"rank": 0, "node": 1, "pus": "0", "slot": "0:0", "host": "b"}, {"rank": 1, "node": 0, "slot": "1:0-3;2:*", "host": "a-1.x"}]})");
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(*write_rank_map("rankfile", map->places, map->hosts),
            "rank 0=b slot=0:0\nrank 1=a-1.x slot=1:0-3;2:*\n");
  EXPECT_EQ(refusal_of_map(R"({"rank": 0, "node": 0, "slot": "0:0"})"), "taken");
  EXPECT_EQ(parse_rank_map("{}").error().message,
            "it is not a map of ranks (nigh plan --ranks ... --json, version 1)");
  EXPECT_EQ(refusal_of_map(""), "it has no list \"ranks\"");
  EXPECT_EQ(refusal_of_map(R"({"rank": 1, "node": 0, "slot": "0:0"})"),
            "entry 0 of its \"ranks\" is of another rank");
  for (const char* node : {"-1", "1", "\"a\"", "1e30"})
    EXPECT_EQ(refusal_of_map(std::string(R"({"rank": 0, "slot": "0:0", "node": )") + node + "}"),
              "entry 0 of its \"ranks\" has no \"node\"");
  for (const char* slot : {"3", R"("")", R"("0:0\nrank 1=x")"})
    EXPECT_EQ(refusal_of_map(std::string(R"({"rank": 0, "node": 0, "slot": )") + slot + "}"),
              "entry 0 of its \"ranks\" has no \"slot\" such as 0:0-3");
  EXPECT_EQ(refusal_of_map(R"({"rank": 0, "node": 0, "slot": "0:0", "host": "a b"})"),
            "entry 0 of its \"ranks\" has a \"host\" that is no name");
  EXPECT_EQ(
      refusal_of_map(
          R"({"rank": 0, "node": 0, "slot": "0:0", "host": "a"}, {"rank": 1, "node": 1, "slot": "0:0"})"),
      "its node 1 has no \"host\"");
}

// Ranks 0 to 3 on nodes a, b, b, a, or on a, a, b, b.
std::string mapped(MapWay way, const std::string& text, bool apart = false) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  WrittenMap map;
  for (const int node : apart ? std::vector{0, 1, 1, 0} : std::vector{0, 0, 1, 1})
    map.places.push_back({node, {}, "0:0"});
  map.hosts = {"a", "b"};
  const auto made = words_with_map(way, words, map, "FILE");
  return made ? fmt::format("{}", fmt::join(*made, " ")) : made.error().message;
}

TEST(RankMapWords, GoIntoTheLaunchersWords) {
  EXPECT_EQ(mapped(MapWay::rankfile, "mpirun ./app -n 3"), "mpirun --rankfile FILE -n 4 ./app -n 3");
  EXPECT_EQ(mapped(MapWay::map_by_rankfile, "mpirun -np 4 --host a,b ./app"),
            "mpirun --map-by rankfile:file=FILE -np 4 --host a,b ./app");
  EXPECT_EQ(mapped(MapWay::hosts, "mpiexec -n 4 ./app"), "mpiexec -f FILE -n 4 ./app");
  EXPECT_EQ(mapped(MapWay::rankmap, "mpiexec ./app", true), "mpiexec -hosts a,b -rankmap 0,1,1,0 -n 4 ./app");
  EXPECT_EQ(mapped(MapWay::hostfile, "srun -N2 -c4 ./app"),
            "srun --distribution=arbitrary -n 4 -N2 -c4 ./app");
  EXPECT_EQ(words_with_map(MapWay::rankmap, {"mpiexec", "./app"}, {{{0, {}, "0:0"}}, {}}, "FILE")->size(),
            4u);  // here: -n 1
}

TEST(RankMapWords, RefuseWhatContradicts) {
  EXPECT_EQ(mapped(MapWay::rankfile, "mpirun -n 5 ./app"),
            "it is a map of 4 ranks, and the command starts 5");
  EXPECT_EQ(mapped(MapWay::rankfile, "mpirun -n 2 ./app : -n 2 ./b"),
            "the command starts several programs; a map is of one");
  EXPECT_EQ(mapped(MapWay::hosts, "mpiexec ./app", true),
            "the ranks of host a are not consecutive: started by this mpiexec, MPICH takes them for ranks of "
            "several nodes; that of MPICH 5 has -rankmap");
  for (const auto& [way, words] : {std::pair{MapWay::rankfile, "mpirun --map-by node ./app"},
                                   {MapWay::map_by_rankfile, "mpirun --bind-to core ./app"},
                                   {MapWay::hosts, "mpiexec -hosts a,b ./app"},
                                   {MapWay::rankmap, "mpiexec -ppn 2 ./app"},
                                   {MapWay::hostfile, "srun -m block ./app"},
                                   {MapWay::hostfile, "srun -w a,b ./app"}})
    EXPECT_NE(mapped(way, words).find("places the ranks already; leave one of them out"), std::string::npos)
        << words;
}

}  // namespace
}  // namespace nigh::launch
