// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/rank_record.hpp"

#include <gtest/gtest.h>

namespace nigh::report {
namespace {

std::string refusal(std::string_view text) {
  const auto traffic = parse_rank_traffic(text);
  return traffic ? "taken" : traffic.error().message;
}

TEST(RankWords, ReadsMatricesAndDocuments) {
  const auto matrix = parse_rank_traffic("0 10 0\r\n5\t0 1e3\n\n0 0 7\n");
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_EQ(matrix->ranks(), 3);
  EXPECT_EQ(matrix->total(), 1015);  // not what a rank tells itself
  const auto document = parse_rank_traffic(
      R"({"format": "nigh-ranks", "version": 1, "ranks": 4, "traffic": [[0, 3, 12], [3, 0, 1, "more"]]})");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->ranks(), 4);
  EXPECT_EQ(document->total(), 13);
}

TEST(RankWords, RefusesWhatIsNoMatrix) {
  EXPECT_EQ(refusal(" \n"), "it is empty");
  EXPECT_EQ(refusal("0 1\n2\n"), "line 2 has 1 numbers, the first one 2");
  EXPECT_EQ(refusal("0 1\n2 0\n1 1\n"), "line 3: there are more lines than the 2 numbers of the first one");
  EXPECT_EQ(refusal("0 1\n"), "it has 1 lines of 2 numbers: 1 lines are missing");
  for (const char* word : {"-1", "nan", "inf", "1x", "1e999", "0x10"})
    EXPECT_EQ(refusal(std::string("0 ") + word),
              std::string("line 1: '") + word + "' is not a number of bytes");
}

TEST(RankWords, RefusesWhatIsNoDocument) {
  const std::string start = R"({"format": "nigh-ranks", "version": 1, )";
  EXPECT_EQ(refusal("{"), "it is not JSON");
  EXPECT_EQ(refusal(R"({"format": "nigh-plan"})"), "its \"format\" is not \"nigh-ranks\"");
  EXPECT_EQ(refusal(R"({"format": "nigh-ranks", "version": 2})"),
            "its \"version\" is not 1, the only one that this nigh reads");
  for (const char* ranks : {"0", "-1", "70000", "1.5", "\"4\"", "null"})
    EXPECT_EQ(refusal(start + "\"ranks\": " + ranks + R"(, "traffic": []})"),
              "its \"ranks\" is not a number from 1 to 65536");
  EXPECT_EQ(refusal(start + "\"ranks\": 2}"), "it has no list \"traffic\"");
  for (const char* row :
       {"[0, 2, 1]", "[-1, 0, 1]", "[0, 1]", "[0, 1, -5]", "[0, 1, \"5\"]", "7", "[0.5, 1, 1]"})
    EXPECT_EQ(refusal(start + R"("ranks": 2, "traffic": [[0, 1, 3], )" + row + "]}"),
              "entry 1 of \"traffic\" is not [from, to, bytes] with ranks below 2");
}

std::string refusal_of_record(std::string_view text) {
  const auto record = parse_rank_record(text);
  return record ? "taken" : record.error().message;
}

TEST(RankWords, AddsUpTheRecordsOfAllRanks) {
  const std::string start = R"({"format": "nigh-rank", "version": 1, "ranks": 3, )";
  const std::string texts[] = {
      R"("rank": 0, "communicators": [{"name": "x", "point_to_point": [[1, 10, 2]], "get": [[2, 5, 1]]},)"
      R"( {"name": "y", "collective": [[1, 3, 1]]}]})",
      R"("rank": 1, "communicators": [{"name": "x", "put": [[0, 100, 1], [1, 7, 1]]}]})",
      R"("rank": 2, "communicators": []})"};
  std::vector<RankRecord> records;
  for (const std::string& text : texts) {
    auto record = parse_rank_record(start + text);
    ASSERT_TRUE(record) << record.error().message;
    records.push_back(*record);
  }
  const auto traffic = traffic_of_records(records);
  ASSERT_TRUE(traffic);
  EXPECT_EQ(traffic->total(), 118);
  EXPECT_EQ(traffic->of(0)[0].bytes, 113);
  records.pop_back();
  EXPECT_EQ(traffic_of_records(records).error().message,
            "rank 2 of 3 left no record: they ended early, or ran without nigh");
  records.emplace_back().ranks = 2;
  EXPECT_EQ(traffic_of_records(records).error().message, "it holds files of jobs of 3 and of 2 ranks");
  records[0].complete = false;
  EXPECT_EQ(traffic_of_records(records).error().message,
            "the record of rank 0 has gaps: it had no memory left");
}

TEST(RankWords, RefusesWhatIsNoRecord) {
  EXPECT_EQ(refusal_of_record("{\"format\": \"nigh-ra"), "it is not JSON, or was cut short");
  EXPECT_EQ(refusal_of_record(R"({"format": "nigh-rank", "version": 3})"),
            "it is not a record of this nigh (format nigh-rank, versions 1 and 2)");
  const std::string start = R"({"format": "nigh-rank", "version": 1, )";
  for (const char* numbers : {R"("rank": 3, "ranks": 3)", R"("rank": -1, "ranks": 3)", R"("rank": 0)",
                              R"("rank": 0, "ranks": 1e9)"})
    EXPECT_EQ(refusal_of_record(start + numbers + "}"),
              "its \"rank\" and \"ranks\" are not numbers of a job");
  for (const char* row : {"[3, 1, 1]", "[0]", "5", "[0, -1, 1]"})
    EXPECT_EQ(
        refusal_of_record(start + R"("rank": 0, "ranks": 3, "communicators": [{"put": [)" + row + "]}]}"),
        "an entry of \"put\" is not [rank, bytes, messages]");
  EXPECT_EQ(
      refusal_of_record(start + R"("rank": 0, "ranks": 3, "communicators": [{"put": {"MPI_Put": [[0]]}}]})"),
      "an entry of \"put\" is not [rank, bytes, messages]");
}

TEST(RankWords, ReadsWhichFunctionSentAndWhoCarriedIt) {
  const auto record = parse_rank_record(
      R"({"format": "nigh-rank", "version": 2, "rank": 0, "ranks": 2, "package": 16, "communicators": [)"
      R"({"name": "x", "size": 2, "point_to_point": {"MPI_Send": [[1, 10, 2, 8, 1]], "MPI_Isend": [[1, 5, 1, 0, 0]]}, )"
      R"("put": {"MPI_Put": []}}, {"name": "y", "size": 2, "collective": {"MPI_Isend": [[0, 7, 1]]}}]})");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->functions, (std::vector<std::string>{"MPI_Isend", "MPI_Send", "MPI_Put"}));
  ASSERT_EQ(record->sent.size(), 3U);
  const RankRecord::Sent& send = record->sent[1];
  EXPECT_EQ(record->functions[send.function], "MPI_Send");
  EXPECT_EQ((std::vector{send.bytes, send.messages, send.carried_bytes, send.carried_messages}),
            (std::vector<double>{10, 2, 8, 1}));
  EXPECT_EQ(record->sent[2].function, 0U);
  EXPECT_EQ(record->sent[2].carried_bytes, 0);
  EXPECT_EQ(record->package, 16);
  for (const char* wrong : {"-1", "1e9", "\"0\"", "0.5"})
    EXPECT_EQ(parse_rank_record(
                  std::string(R"({"format": "nigh-rank", "version": 2, "rank": 0, "ranks": 2, "package": )") +
                  wrong + "}")
                  ->package,
              -1)
        << wrong;
}

TEST(RankWords, FoldsLists) { EXPECT_EQ(rank_list({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8"); }

}  // namespace
}  // namespace nigh::report
