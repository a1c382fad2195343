// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/mpi_probe.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>

#include "machine/load.hpp"
#include "machine/probe_copy.hpp"
#include "sys/os.hpp"

namespace nigh {
namespace {

const char* const report =
    R"({"probe":"mpi","library":"Some MPI 1.0","ranks":8,"nodes":2,"ranks_per_node":4,"most_ranks":4,"cores":4,"cpus":4,
"seconds":0.9,"reorder_nodes":2,"reorder":[{"k":1,"bytes":8,"us":5},{"k":1,"bytes":100000,"us":105},{"k":1,"bytes":1000000,"us":1005},
{"k":4,"bytes":8,"us":35},{"k":4,"bytes":100000,"us":1035},{"k":4,"bytes":1000000,"us":10035}],"stream_one":1200,
"stream_node":2000,"message_us":0.5,"barrier_us":3,"cache_bytes":1048576,"cache_one":30000,"cache_node":120000,
"touched":67108864,"last_cache":33554432,"memory_one":9000,"memory_node":20000,"transpose_powers":0.8,
"transpose_others":0.6})";

Machine some_machine() { return *load_model("barcelona"); }

std::string with(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), now);
}

TEST(MpiProbe, OfAReport) {
  auto probe = read_mpi_report(report, some_machine());
  ASSERT_TRUE(probe.has_value()) << probe.error().message;
  ASSERT_EQ(probe->network.ranges.size(), 1U);
  EXPECT_NEAR(probe->network.ranges[0].latency_us, 5, 0.01);
  EXPECT_NEAR(probe->network.ranges[0].process_rate, 1000, 1);
  EXPECT_NEAR(probe->network.ranges[0].node_rate, 2000, 2);
  EXPECT_DOUBLE_EQ(probe->network.stream_process_rate, 1200);
  EXPECT_DOUBLE_EQ(probe->copying.barrier_us, 1.5);  // of two doublings
  EXPECT_EQ(probe->copying.levels.size(), 2U);
  EXPECT_TRUE(probe->notes.empty());
  EXPECT_NE(draw_mpi_probe(*probe).find("Some MPI 1.0, 2 nodes x 4 ranks"), std::string::npos);
}

TEST(MpiProbe, OneNodeSaysSo) {
  const std::string text = with(report, R"("nodes":2)", R"("nodes":1)");
  const std::size_t from = text.find("[{"), to = text.find("}]");
  auto probe = read_mpi_report(text.substr(0, from + 1) + text.substr(to + 1), some_machine());
  ASSERT_TRUE(probe.has_value()) << probe.error().message;
  EXPECT_TRUE(probe->network.empty());
  ASSERT_EQ(probe->notes.size(), 1U);
  EXPECT_NE(probe->notes[0].find("one node"), std::string::npos);
}

TEST(MpiProbe, CopyingThatIsKnownIsNotMeasuredAgain) {
  const Machine machine = some_machine();
  const auto figure = [](double value) { return probe::Figure{value, value, value, 5, 0}; };
  Probe known;
  known.date = "some day";
  known.nodes.push_back({.node = 0, .pus = machine.objects[static_cast<std::size_t>(machine.nodes[0])].pus});
  known.bandwidth.push_back({0, 0, 4, probe::Mix::one_to_one, figure(7000)});
  known.sizes = {{1 << 17, "L2", figure(4), figure(40000)}, {1 << 28, "memory", figure(90), figure(6000)}};
  std::string text = report;
  const std::size_t from = text.find("\"cache_bytes\""), to = text.find("\"transpose_powers\"");
  text.erase(from, to - from);
  auto probe = read_mpi_report(text, machine, &known);
  ASSERT_TRUE(probe.has_value()) << probe.error().message;
  ASSERT_EQ(probe->copying.levels.size(), 2U);  // no L3: it was not measured
  EXPECT_EQ(probe->copying.levels[0].core_rate, 40000);
  EXPECT_EQ(probe->copying.levels[1], (CopyLevel{0, 0, 6000, 7000}));
  EXPECT_EQ(probe->copying.transpose_powers, 0.8);  // which the ranks did measure
  ASSERT_EQ(probe->notes.size(), 1U);
  EXPECT_NE(probe->notes[0].find("those of nigh machine --probe on some day"), std::string::npos);
  EXPECT_EQ(mpi_probe_from_json(mpi_probe_to_json(*probe), "file")->copying_from, probe->copying_from);
  // Measured figures count; and without a probe there is no copy rate.
  EXPECT_EQ(read_mpi_report(report, machine, &known)->copying.levels[1].node_rate, 20000);
  EXPECT_FALSE(read_mpi_report(text, machine).has_value());
  known.bandwidth.clear();
  EXPECT_TRUE(probed_copy_levels(machine, known).empty());
}

TEST(MpiProbe, WhatIsNoReport) {
  for (const std::string text : {"", "{}", "[]", R"({"probe":"mpi"})", "hello"})
    EXPECT_FALSE(read_mpi_report(text, some_machine()).has_value()) << text;
  EXPECT_FALSE(read_mpi_report(with(report, R"("memory_node":20000)", R"("memory_node":-1)"), some_machine())
                   .has_value());
}

TEST(MpiProbe, IsTheSameAfterItsFile) {
  const MpiProbe probe = *read_mpi_report(report, some_machine());
  auto again = mpi_probe_from_json(mpi_probe_to_json(probe), "file");
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->network, probe.network);
  EXPECT_EQ(again->copying, probe.copying);
  EXPECT_EQ(again->points, probe.points);
  EXPECT_EQ(again->library, probe.library);
  EXPECT_EQ(again->cores, 4);
}

TEST(MpiProbe, StoredAndFoundOfTheSameMachineOnly) {
  char folder[] = "/tmp/nigh-mpi-probe-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  setenv("XDG_CACHE_HOME", folder, 1);
  const Machine machine = some_machine();
  auto none = load_mpi_probe(machine);
  EXPECT_EQ(none.error().sys_errno, ENOENT);
  MpiProbe probe = *read_mpi_report(report, machine);
  ASSERT_TRUE(store_mpi_probe(machine, probe).has_value());
  EXPECT_TRUE(load_mpi_probe(machine).has_value());
  probe.cpu = "another";
  ASSERT_TRUE(store_mpi_probe(machine, probe).has_value());
  EXPECT_FALSE(load_mpi_probe(machine).has_value());
  ASSERT_TRUE(sys::write_file(*mpi_probe_path(machine), "{}").has_value());
  EXPECT_NE(load_mpi_probe(machine).error().message.find("damaged"), std::string::npos);
  for (const char* text : {"[]", "{\"format\": []}", "{\"format\": \"nigh-mpi-probe\", \"version\": \"2\"}"})
    EXPECT_FALSE(mpi_probe_from_json(text, "a file")) << text;
  unsetenv("XDG_CACHE_HOME");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace nigh
