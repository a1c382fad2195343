// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/documents.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "machine/load.hpp"
#include "report/page_template.hpp"

namespace nigh::report {
namespace {

std::string refusal_of_document(const std::string& text) {
  const auto document = page_document(text, "x.json");
  return document ? "taken" : document.error().message;
}

TEST(PageDocuments, AreThoseThatHaveAView) {
  EXPECT_EQ(
      refusal_of_document(R"({"format": "nigh-compare", "version": 1, "subjects": [], "time_ratio": {}})"),
      "taken");
  EXPECT_EQ(refusal_of_document(machine_to_json(*load_model("barcelona"))), "taken");
  EXPECT_EQ(refusal_of_document(
                R"({"format": "nigh-bench", "version": 1, "machine": {}, "records": [], "absent": []})"),
            "taken");
  EXPECT_EQ(refusal_of_document(R"({"format": "nigh-mpi-account", "functions": {}})"), "taken");
  EXPECT_EQ(refusal_of_document(R"({"format": "nigh-mpi-account", "functions": 1})"),
            "x.json: its \"functions\" is not an object");
  EXPECT_EQ(refusal_of_document("{\"format\": \"nigh-com"),
            "x.json is not what a command of nigh writes with --json");
  EXPECT_EQ(refusal_of_document(R"({"format": "nigh-ps", "processes": [)" + std::string(1000000, '[') +
                                std::string(1000000, ']') + "]}"),
            "x.json is not what a command of nigh writes with --json: it is nested too deeply");
  EXPECT_EQ(refusal_of_document("[]"), "x.json is not what a command of nigh writes with --json");
  EXPECT_EQ(refusal_of_document(R"({"format": "nigh-doctor", "version": 1, "findings": []})"),
            "x.json is of the format nigh-doctor, for which the page has no view");
  EXPECT_EQ(refusal_of_document(R"({"format": "nigh-ps", "version": 2, "processes": []})"),
            "x.json is of another version than this nigh reads");
  EXPECT_EQ(refusal_of_document(R"({"format": "nigh-ps", "version": 1, "processes": {}})"),
            "x.json: its \"processes\" is not a list");
  EXPECT_EQ(refusal_of_document(R"({"format": "nigh-compare", "version": 1, "subjects": []})"),
            "x.json: its \"time_ratio\" is not an object");
}

TEST(PageDocuments, LinesOfWatchAreOneLog) {
  const std::string event = R"({"elapsed": 1.5, "kind": "decision", "sentence": "to node 3", "moves": []})";
  for (const std::string& text : {event, event + "\n", event + "\n" + event.substr(0, 20)}) {
    const auto log = page_document(text, "watch.log");
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_EQ((*log)["format"], "nigh-watch-log");
    EXPECT_EQ((*log)["events"].size(), 1U);
    EXPECT_EQ((*log)["events"][0]["kind"], "decision");
  }
  EXPECT_EQ(refusal_of_document(event + "\n{}\n" + event), "x.json: line 2 is no event of nigh watch");
  EXPECT_EQ(refusal_of_document(event + "\n" + std::string(1000000, '[') + "\n"),
            "x.json is not what a command of nigh writes with --json: it is nested too deeply");
  std::string many;
  for (int i = 0; i < 5003; ++i)
    many += fmt::format(R"({{"elapsed": {}, "kind": "advice", "sentence": ""}})", i) + "\n";
  const auto latest = page_document(many, "x.json");
  ASSERT_TRUE(latest);
  EXPECT_EQ((*latest)["events"].size(), 5000U);
  EXPECT_EQ((*latest)["events"][4999]["elapsed"], 5002);
}

RankRecord record_of(int rank, int ranks, std::vector<RankRecord::Sent> sent) {
  RankRecord record;
  record.rank = rank;
  record.ranks = ranks;
  record.host = rank < 2 ? "a" : "b";
  record.communicators = {{"x", 3}, {"y", 2}};
  record.sent = std::move(sent);
  return record;
}

TEST(PageDocuments, APageIsItsDocuments) {
  const nlohmann::ordered_json live = {{"format", "nigh-live"},
                                       {"of", "run"},
                                       {"title", "</script><app>"},
                                       {"events", nlohmann::json::array()},
                                       {"time", {1, 2}},
                                       {"series", nlohmann::json::object()},
                                       {"moved", nlohmann::json::object()}};
  nlohmann::ordered_json plan = {
      {"format", "nigh-plan"}, {"version", 1}, {"threads", nlohmann::json::array()}, {"file", "plan.json"}};
  const auto documents =
      page_documents(web_page_with({{"format", "nigh-page"}, {"documents", {live, plan}}}), "x");
  ASSERT_TRUE(documents) << documents.error().message;
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ((*documents)[0], live);
  EXPECT_EQ((*documents)[1], plan);

  const auto refused = [](const nlohmann::ordered_json& data) {
    const auto read = page_documents(web_page_with(data), "kept.html");
    return read ? std::string() : read.error().message;
  };
  EXPECT_NE(refused(nullptr).find("kept.html is a page without data"), std::string::npos);
  EXPECT_NE(refused({{"documents", {{{"format", "nigh-live"}}}}}).find("its \"events\" is not a list"),
            std::string::npos);
  EXPECT_NE(refused({{"documents", {5}}}), "");
  EXPECT_FALSE(page_documents(std::string(web_page().substr(0, 300)), "x")) << "cut off";
}

TEST(PageDocuments, RecordsOfRanksBecomeOneMatrix) {
  const auto document = traffic_document({record_of(0, 3, {{1, 0, 0, 100, 2}, {1, 1, 1, 5, 1}}),
                                          record_of(2, 3, {{0, 0, 0, 7, 1}, {0, 0, 0, 3, 1}})},
                                         "record");
  EXPECT_EQ(document["width"], 1);
  EXPECT_EQ(document["hosts"], (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(document["missing"], (std::vector<int>{1}));
  EXPECT_EQ(document["communicators"].size(), 2U);
  EXPECT_EQ(document["entries"].dump(), "[[0,1,0,0,100.0,2.0],[0,1,1,1,5.0,1.0],[2,0,0,0,10.0,2.0]]");
  EXPECT_TRUE(page_document(document.dump(), "x"));
}

TEST(PageDocuments, FunctionsAndWhoCarriedStay) {
  RankRecord first = record_of(0, 2, {{1, 0, 0, 100, 2, 0, 80, 1}, {1, 0, 0, 5, 1, 1}});
  first.functions = {"MPI_Send", "MPI_Isend"};
  first.package = 8;
  RankRecord second = record_of(1, 2, {{0, 0, 0, 7, 1, 0, 7, 1}});
  second.functions = {"MPI_Isend"};
  const auto document = traffic_document({first, second}, "record");
  EXPECT_EQ(document["functions"], (std::vector<std::string>{"MPI_Send", "MPI_Isend"}));
  EXPECT_EQ(document["packages"], (std::vector<int>{8, -1}));
  EXPECT_EQ(document["entries"].dump(),
            "[[0,1,0,0,100.0,2.0,0,80.0,1.0],[0,1,0,0,5.0,1.0,1,0.0,0.0],[1,0,0,0,7.0,1.0,1,7.0,1.0]]");
}

// A matrix of 2000 ranks that all talk to each other: as many rows as a page shows, and no byte lost.
TEST(PageDocuments, ManyRanksAreShownInGroups) {
  constexpr int ranks = 2000;
  std::vector<RankRecord> records;
  for (int rank = 0; rank < ranks; ++rank) {
    records.push_back(record_of(rank, ranks, {}));
    for (int to = 0; to < ranks; to += 3) records.back().sent.push_back({to, 0, 0, 1, 1});
  }
  const auto document = traffic_document(records, "record");
  EXPECT_EQ(document["width"], 4);
  double bytes = 0;
  for (const auto& entry : document["entries"]) bytes += entry[4].get<double>();
  EXPECT_EQ(bytes, ranks * 667.0);
  EXPECT_LE(document["entries"].size(), 300000U);
}

TEST(PageDocuments, ManyCommunicatorsBecomeOthers) {
  RankRecord record = record_of(0, 2, {});
  record.communicators.clear();
  for (std::uint32_t i = 0; i < 60; ++i) {
    record.communicators.push_back({fmt::format("c{}", i), 2});
    record.sent.push_back({1, i, 0, 1, 1});
  }
  const auto document = traffic_document({record}, "record");
  ASSERT_EQ(document["communicators"].size(), 24U);
  EXPECT_EQ(document["communicators"][23]["name"], "others");
  EXPECT_EQ(document["entries"].back().dump(), "[0,1,23,0,37.0,37.0]");
}

}  // namespace
}  // namespace nigh::report
