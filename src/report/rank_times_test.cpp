// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/rank_times.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "report/documents.hpp"
#include "report/rank_record.hpp"

namespace nigh::report {
namespace {

RankRecord record_of(int rank, int ranks, double started, double seconds, std::vector<float> barrier) {
  RankRecord out;
  out.rank = rank;
  out.ranks = ranks;
  out.host = rank < 2 ? "a" : "b";
  out.program = "app";
  out.times.started = started;
  out.times.seconds = seconds;
  out.times.interval_seconds = 1;
  out.times.user_seconds = 2.0 + rank;
  out.times.peak_mib = 10.0 * (rank + 1);
  const double sum = std::accumulate(barrier.begin(), barrier.end(), 0.0) / 1e6;
  out.times.functions.push_back({"MPI_Barrier", 3, sum, sum / 2, std::move(barrier)});
  return out;
}

TEST(RankTimes, StandOnOneAxis) {
  // Rank 1 starts a second later; rank 2 left no record.
  const auto document = rank_times_document(
      {record_of(0, 3, 1000, 4, {1e6F, 0, 5e5F, 0}), record_of(1, 3, 1001, 2, {25e4F, 1e6F})}, "x");
  EXPECT_EQ(document["seconds"], 4.0);
  EXPECT_EQ(document["told"], 2);
  EXPECT_EQ(document["width"], 1);
  EXPECT_EQ(document["in_mpi"].dump(), "[[100,0,50,0],[0,25,100,0],[0,0,0,0]]");
  EXPECT_FALSE(document.contains("most_in_mpi"));
  EXPECT_EQ(document["functions"][0]["percent"].dump(), "[50,13,75,0]");  // of the ranks that are there
  EXPECT_EQ(document["functions"][0]["calls"], 6.0);
  EXPECT_EQ(document["functions"][0]["longest_rank"], 0);
  EXPECT_EQ(document["rows"][1]["user_seconds"], 3.0);
  EXPECT_EQ(document["rows"][1]["mpi_seconds"], 1.25);
  EXPECT_TRUE(page_document(document.dump(), "x"));
}

TEST(RankTimes, HaveCpuTimeOfAllThreads) {
  auto first = record_of(0, 2, 1000, 4, {0, 1e6F, 1e6F, 0});
  EXPECT_FALSE(rank_times_document({first}, "x").contains("cpu"));
  first.times.cpu_microseconds = {4e6F, 2e6F, 1e6F, 0};  // four threads, two, one, none
  const auto document = rank_times_document({first, record_of(1, 2, 1000, 4, {})}, "x");
  EXPECT_EQ(document["cpu"].dump(), "[[400,200,100,0],[0,0,0,0]]");
  EXPECT_FALSE(rank_times_from({{"cpu_microseconds", {1, -1}}}));
}

TEST(RankTimes, AreCountersForPerfetto) {
  EXPECT_EQ(perfetto_counters({RankRecord{}}), "");
  auto last = record_of(10, 11, 1001, 2, {25e4F, 25e4F});
  last.times.cpu_microseconds = {4e6F, 5e5F};
  last.host = "\"<b>\xff";
  const auto text = perfetto_counters({last, record_of(0, 11, 1000, 2.5, {1e6F, 0, 5e5F})});
  const auto events = nlohmann::json::parse(text)["traceEvents"];
  std::map<std::string, std::string> counters;  // name: "pid: ts=value ..."
  std::map<int, std::string> hosts;
  for (const auto& event : events) {
    if (event["ph"] == "M") {
      hosts[event["pid"]] = event["args"]["name"];
      continue;
    }
    EXPECT_EQ(event["ph"], "C");
    std::string& to = counters[event["name"]];
    if (to.empty()) to = fmt::format("{}:", event["pid"].get<int>());
    to += fmt::format(" {}={}", event["ts"].get<double>(), event["args"]["%"].get<double>());
  }
  EXPECT_EQ(hosts, (std::map<int, std::string>{{1, "a"}, {2, "\"<b>\ufffd"}}));
  EXPECT_EQ(counters, (std::map<std::string, std::string>{
                          // The last interval has half a second of the run, all of it in MPI.
                          {"rank 00 in MPI", "1: 0=100 1000000=0 2000000=100 2500000=0"},
                          {"rank 00 MPI_Barrier", "1: 0=100 1000000=0 2000000=100 2500000=0"},
                          // A value that stays is not written again.
                          {"rank 10 in MPI", "2: 1000000=25 3000000=0"},
                          {"rank 10 MPI_Barrier", "2: 1000000=25 3000000=0"},
                          {"rank 10 CPU", "2: 1000000=400 2000000=50 3000000=0"}}));
}

TEST(RankTimes, OfManyRanksAreBoundedForPerfetto) {
  std::vector<RankRecord> records;
  std::vector<float> every(512);
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = i % 2 == 0 ? 1e6F : 0;
  for (int rank = 0; rank < 4096; ++rank) records.push_back(record_of(rank, 4096, 1000, 512, every));
  const auto text = perfetto_counters(records);
  EXPECT_LT(text.size(), 220'000'000U);
  EXPECT_NE(text.find(R"("name":"rank 4095 in MPI","pid":2,"ts":0.0,"args":{"%":66.7})"), std::string::npos);
}

// However a rank's intervals lie on the axis: no time is lost.
TEST(RankTimes, KeepTheirSum) {
  for (const double interval : {0.001, 0.0037, 0.25, 3.0}) {
    std::vector<RankRecord> records;
    double sum = 0;
    for (int rank = 0; rank < 5; ++rank) {
      records.push_back(record_of(rank, 5, 1e9 + 0.0137 * rank, 500 * interval, {}));
      auto& times = records.back().times;
      times.interval_seconds = interval * (rank % 2 + 1);
      auto& parts = times.functions[0].microseconds;
      for (int i = 0; i < 500 / (rank % 2 + 1); ++i) {
        parts.push_back(static_cast<float>(interval * 1e6 * (i % 7) / 7));
        sum += static_cast<double>(parts.back()) / 1e6;
      }
    }
    const auto document = rank_times_document(records, "x");
    double told = 0;
    for (const auto& row : document["in_mpi"])
      for (const auto& one : row) told += one.get<double>();
    const auto columns = static_cast<double>(document["in_mpi"][0].size());
    EXPECT_NEAR(told / 100 * document["seconds"].get<double>() / columns, sum, 0.02 * sum) << interval;
  }
}

TEST(RankTimes, OfManyRanksKeepTheExtremes) {
  std::vector<RankRecord> records;
  for (int rank = 0; rank < 4096; ++rank)
    records.push_back(record_of(rank, 4096, 0, 2, {rank == 77 ? 1e6F : 0, 1e5F}));
  const auto document = rank_times_document(records, "x");
  EXPECT_EQ(document["width"], 16);
  ASSERT_EQ(document["in_mpi"].size(), 256U);
  EXPECT_EQ(document["in_mpi"][4].dump(), "[6,10]");
  EXPECT_EQ(document["most_in_mpi"][4].dump(), "[100,10]");
  EXPECT_EQ(document["rows"][4]["peak_mib"], 800.0);
  EXPECT_EQ(document["rows"][0]["host"], "several");
  EXPECT_LT(document.dump().size(), 200'000U);
}

TEST(RankTimes, OlderRecordsHaveNone) {
  RankRecord record;
  record.ranks = 1;
  EXPECT_TRUE(rank_times_document({record}, "x").is_null());
}

TEST(RankTimes, AreReadFromRecords) {
  const std::string head = R"({"format": "nigh-rank", "version": 1, "rank": 0, "ranks": 2, "program": "lmp")";
  const auto record = parse_rank_record(
      head + R"(, "started": 5, "seconds": 2, "interval_seconds": 1, "minor_faults": 7, "functions":
             {"MPI_Send": {"calls": 2, "seconds": 0.5, "longest_seconds": 0.4, "microseconds": [500000, 0]}}})");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->program, "lmp");
  EXPECT_EQ(record->times.minor_faults, 7);
  ASSERT_EQ(record->times.functions.size(), 1U);
  EXPECT_EQ(record->times.functions[0].microseconds.size(), 2U);
  for (const char* bad :
       {R"("seconds": "2")", R"("seconds": -1)", R"("seconds": 1e300)", R"("functions": [])",
        R"("functions": {"MPI_Send": 3})", R"("functions": {"MPI_Send": {"microseconds": 3}})",
        R"("functions": {"MPI_Send": {"microseconds": [-1]}})",
        R"("functions": {"MPI_Send": {"microseconds": [1e300]}})"}) {
    const auto refused = parse_rank_record(fmt::format("{}, {}}}", head, bad));
    ASSERT_FALSE(refused) << bad;
    EXPECT_NE(refused.error().message.find("is not what nigh run --record writes"), std::string::npos)
        << refused.error().message;
  }
}

}  // namespace
}  // namespace nigh::report
