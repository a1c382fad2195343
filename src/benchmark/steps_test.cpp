// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The steps of the transpose on ranks of a launcher: lines of the program's, predictions beside them, and
// launchers (shell scripts) that fail in each way there is.
#include "benchmark/steps.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "benchmark/nodes.hpp"
#include "launch/ranks_run.hpp"
#include "sys/os.hpp"

namespace nigh::benchmark {
namespace {

std::string line_of(const std::string& method, double seconds, const char* verified = "true") {
  return R"({"steps":"transpose","rows":1000,"columns":600,"nodes":2,"ranks":2,"threads":2,"method":")" +
         method + R"(","passes":7,"verified":)" + verified +
         R"(,"low":0.01,"high":0.09,"seconds":{"local_reorder":)" + (method == "one-pass" ? "0" : "0.001") +
         R"(,"on_node":0,"between_nodes":0.02,"local_transpose":0.003,"total":)" + std::to_string(seconds) +
         "}}";
}

Result<TransposeSteps> always(const TransposeDemand& demand, const TransposeWay& way) {
  EXPECT_EQ(demand.rows, 1000U);
  EXPECT_EQ(demand.columns, 600U);
  EXPECT_EQ(demand.nodes, 2);
  EXPECT_EQ(demand.cores, 4);
  EXPECT_EQ(way.ranks, 2);
  TransposeSteps out;
  out.local_reorder = 0.002;
  out.between_nodes = way.method == TransposeMethod::one_pass ? 0.01 : 0.04;
  return out;
}

const BenchRecord* find(const BenchFile& file, const char* subject, const char* method, const char* step) {
  for (const BenchRecord& r : file.records)
    if (r.subject == subject && r.runtime == method && r.result == step) return &r;
  return nullptr;
}

TEST(BenchSteps, MeasuredBesidePredicted) {
  auto file = steps_of_lines({line_of("three-steps", 0.03), line_of("one-pass", 0.02)}, always);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const BenchRecord* total = find(*file, "measured", "three-steps", "total");
  ASSERT_NE(total, nullptr);
  EXPECT_DOUBLE_EQ(total->value.median, 30);
  EXPECT_DOUBLE_EQ(total->value.low, 10);
  EXPECT_DOUBLE_EQ(total->value.high, 90);
  EXPECT_EQ(total->samples, 7);
  EXPECT_EQ(total->teams, "2x2");
  EXPECT_EQ(total->shape, "1000x600");
  EXPECT_EQ(total->case_name, "2 nodes x 4 cores");
  EXPECT_DOUBLE_EQ(find(*file, "predicted", "three-steps", "total")->value.median, 42);
  EXPECT_DOUBLE_EQ(find(*file, "predicted", "one-pass", "between_nodes")->value.median, 10);
  EXPECT_EQ(find(*file, "measured", "one-pass", "local_reorder"), nullptr);  // it is not timed
  const std::string table = steps_table(*file);
  EXPECT_NE(table.find("2 nodes x 4 cores, 2x2 ranks x threads"), std::string::npos) << table;
  EXPECT_NE(table.find("+40.0 %"), std::string::npos) << table;
  // A file that was written and read holds the same.
  auto again = bench_file_from_json(to_json(*file).dump(), "file");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(steps_table(*again), table);
}

TEST(BenchSteps, WhatIsWrongIsSaid) {
  auto wrong = steps_of_lines({line_of("three-steps", 0.03, "false")}, always);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_FALSE(wrong->records.front().verified);
  EXPECT_FALSE(steps_of_lines({}, always).has_value());
  EXPECT_FALSE(steps_of_lines({R"({"steps":"transpose"})"}, always).has_value());
  EXPECT_FALSE(steps_of_lines({"{"}, always).has_value());
  auto refused = steps_of_lines({line_of("three-steps", 0.03)}, [](const auto&, const auto&) {
    return Result<TransposeSteps>(fail(Errc::invalid, "no figures"));
  });
  EXPECT_EQ(refused.error().message, "no figures");
}

// A launcher that does what it is told, and the program it starts.
class Launched : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/nigh-launched-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    script("mpi-steps-openmpi", "true");
    setenv("NIGH_BENCH_DIR", name, 1);
  }
  void TearDown() override {
    unsetenv("NIGH_BENCH_DIR");
    std::filesystem::remove_all(folder_);
  }
  std::string script(const std::string& name, const std::string& words) {
    std::string path = folder_ + "/" + name;
    EXPECT_TRUE(sys::write_file(path, "#!/bin/sh\n" + words + "\n").has_value());
    EXPECT_EQ(chmod(path.c_str(), 0755), 0);
    return path;
  }
  std::string says(const std::string& words, std::size_t lines = 1) {
    const std::string launcher = script("openmpi-launcher", words);
    auto ran = launch::run_on_ranks({.launcher = {launcher},
                                     .library = "",
                                     .program = "mpi-steps",
                                     .words = {"600x300"},
                                     .lead = "{\"steps\"",
                                     .lines = lines,
                                     .timeout_seconds = 1});
    return ran ? ran->front() : ran.error().message;
  }
  std::string folder_;
};

TEST_F(Launched, LinesAmongOtherWords) {
  EXPECT_EQ(says("echo welcome; echo '[0] {\"steps\":1}'"), "{\"steps\":1}");
  EXPECT_EQ(says("echo '{\"steps\":1,' \"\\\"$2\\\"}\""), "{\"steps\":1, \"600x300\"}");
}

TEST_F(Launched, EachFailureIsASentence) {
  EXPECT_NE(says("echo '{\"steps\":1}'; echo '{\"steps\":2}'").find("2 jobs of one rank"), std::string::npos);
  EXPECT_NE(says("echo 'MPI_ABORT'; echo 'steps: no memory' >&2; exit 3").find("status 3: steps: no memory"),
            std::string::npos);
  EXPECT_NE(says("echo '{\"steps\":1}'", 2).find("ended with status 0"), std::string::npos);
  EXPECT_NE(says("sleep 60").find("did not end in 1 s"), std::string::npos);
  const auto message = [](const std::vector<std::string>& launcher, const std::string& library) {
    StepsRequest request;
    request.sizes = {"600x300"};
    request.launcher = launcher;
    request.library = library;
    auto ran = run_transpose_steps(request);
    return ran ? "" : ran.error().message;
  };
  EXPECT_NE(message({}, "").find("words that start ranks are missing"), std::string::npos);
  EXPECT_NE(message({"true"}, "").find("does not say which MPI library"), std::string::npos);
  EXPECT_NE(message({"/no/such"}, "openmpi").find("there is no launcher"), std::string::npos);
  EXPECT_NE(message({"true"}, "mpich").find("was not built"), std::string::npos);
  StepsRequest request;
  request.launcher = {"true"};
  for (const char* size : {"5", "0x5", "5x", "axb", "5x5x5", "99999999x1", "-1x5"}) {
    request.sizes = {size};
    EXPECT_NE(run_transpose_steps(request).error().message.find("--size takes matrices"), std::string::npos)
        << size;
  }
}

TEST(Nodes, SubjectsHaveTheLaunchersWords) {
  const std::vector<std::string> words = {"mpirun", "-n", "16", "--host", "a:8,b:8"};
  const auto subjects = nodes_subjects("openmpi", words, "/x/nigh");
  ASSERT_EQ(subjects.size(), 3U);
  EXPECT_EQ(subjects[0].name, "nigh");
  EXPECT_EQ(subjects[0].prefix, (std::vector<std::string>{"/x/nigh", "run", "--quiet", "--only", "mpi", "--",
                                                          "mpirun", "-n", "16", "--host", "a:8,b:8"}));
  EXPECT_EQ(subjects[1].name, "library");
  EXPECT_EQ(subjects[1].prefix, words);
  EXPECT_FALSE(subjects[1].environment.contains("OMPI_MCA_coll_han_priority"));
  EXPECT_EQ(subjects[2].prefix, words);
  EXPECT_TRUE(subjects[2].environment.contains("OMPI_MCA_coll_han_priority"));
  EXPECT_EQ(nodes_subjects("mpich", words, "/x/nigh").size(), 2U);
}

}  // namespace
}  // namespace nigh::benchmark
