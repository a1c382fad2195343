// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/snapshot.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "machine/load.hpp"
#include "plan/programs.hpp"
#include "watch/simulated.hpp"

namespace nigh::watch {
namespace {

Snapshot example() {
  const Machine machine = *load_model("opteron-6272");
  const Links links = *Links::of(machine);
  SimulatedWorld world(links,
                       {*known_application("streamcluster", {0, 5}, 8), *known_application("ep", {2}, 8)});
  Snapshot out = make_snapshot(machine, links, world.sighting());
  out.meter = "simulator";
  out.policy = "paper";
  out.mode = "advising";
  out.state = "watching";
  out.cost = 0.0012;
  out.said = {"one", std::string(200, 'x') + " and words after that " + std::string(90, 'y'),
              "\033[31mred\n"};
  return out;
}

TEST(Snapshot, SaysWhatIsWhere) {
  const Snapshot s = example();
  EXPECT_EQ(s.nodes[0].threads, 8);
  EXPECT_EQ(s.nodes[2].threads, 8);
  EXPECT_NEAR(s.nodes[0].local, 1, 1e-9);
  EXPECT_NEAR(s.nodes[5].local, 0, 1e-9);
  EXPECT_GT(s.nodes[0].from_others, 1000);
  ASSERT_FALSE(s.links.empty());
  EXPECT_EQ(s.links[0].from, 0);  // over two hops, so the first leaves node 0
  for (const Snapshot::Link& link : s.links) EXPECT_LE(link.load, 1 + 1e-6);
  EXPECT_EQ(s.units[0].threads, "0:8 5:8");
  EXPECT_NEAR(s.units[0].locality, 0.5, 1e-9);
}

TEST(Snapshot, FitsEightyColumns) {
  for (const int columns : {72, 80, 132}) {
    std::istringstream lines(to_screen(example(), columns));
    std::string line;
    int count = 0;
    for (; std::getline(lines, line); ++count)
      EXPECT_LE(line.size(), static_cast<std::size_t>(columns)) << line;
    EXPECT_GT(count, 15);
  }
  const std::string screen = to_screen(example());
  EXPECT_EQ(screen.find('\033'), std::string::npos);  // what processes are called can't reach the terminal
  EXPECT_NE(screen.find("own cost 0.12 % of a core"), std::string::npos) << screen;
  EXPECT_NE(screen.find("(pmu), confidence 100 %"), std::string::npos) << screen;
}

TEST(Snapshot, IsTheSameInEveryForm) {
  const Snapshot s = example();
  const auto json = to_json(s);
  EXPECT_EQ(json["applications"][0]["name"], "streamcluster");
  EXPECT_EQ(json["meter"]["level"], "pmu");
  EXPECT_EQ(json["nodes"].size(), 8U);
  const std::string metrics = to_prometheus(s);
  EXPECT_NE(metrics.find("nigh_node_threads{node=\"5\"} 8\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("nigh_application_local_ratio{application=\"streamcluster\",unit=\"0\"} 0.5\n"),
            std::string::npos);
  // Each line is a comment, or a name, labels and a number.
  std::istringstream lines(metrics);
  std::string line;
  while (std::getline(lines, line)) EXPECT_TRUE(line[0] == '#' || line.rfind("nigh_", 0) == 0) << line;
}

TEST(Snapshot, ShowsNothingGracefully) {
  const Machine machine = *load_model("opteron-6272");
  const Snapshot s = make_snapshot(machine, *Links::of(machine), {});
  EXPECT_NE(to_screen(s).find("none that accesses memory"), std::string::npos);
  EXPECT_TRUE(to_json(s)["links"].empty());
}

// Programs name their threads as they like.
TEST(Snapshot, NamesAreUtf8InEveryForm) {
  Snapshot out;
  Snapshot::Row row;
  row.name = "a\xff\"\\\n\x1b[31m\xc3\xa9";
  out.units.push_back(row);
  EXPECT_NE(to_prometheus(out).find("application=\"a\xef\xbf\xbd\\\"\\\\\\n?[31m\xc3\xa9\""),
            std::string::npos)
      << to_prometheus(out);
}

}  // namespace
}  // namespace nigh::watch
