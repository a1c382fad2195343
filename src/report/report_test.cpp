// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "benchmark/model.hpp"
#include "benchmark/table.hpp"
#include "benchmark/transpose_model.hpp"
#include "machine/load.hpp"
#include "report/page.hpp"
#include "report/page_template.hpp"
#include "report/test_parts.hpp"

namespace nigh::report {
namespace {

benchmark::BenchRecord record(const std::string& subject, double median) {
  benchmark::BenchRecord r;
  r.bench = "nested-stream";
  r.case_name = "2x1 triad libgomp";
  r.subject = subject;
  r.unit = "MB/s";
  r.value = {median, median / 2, median * 2};
  r.samples = 5;
  r.core_state = "near";
  r.placement = {0, 1};
  r.verified = true;
  r.runtime = "libgomp";
  r.teams = "2x1";
  r.result = "triad";
  return r;
}

TEST(Report, ATraceOfImpossiblePesIsRefused) {
  const auto read = trace_from_json(
      R"({"traceEvents":[{"ph":"C","name":"PE 2147483647 busy %","ts":1,"args":{"busy":1}}]})", "x");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "x: there is no PE 2147483647");
  // Times out of order.
  EXPECT_TRUE(trace_from_json(R"({"traceEvents":[{"ph":"C","name":"PE 0 busy %","ts":1e300,"args":{"busy":1}},
      {"ph":"C","name":"PE 0 busy %","ts":1,"args":{"busy":1}}]})",
                              "x"));
}

// The shell has one script and its data, and the data can end neither.
TEST(Report, DataCannotLeaveItsElement) {
  ReportParts all = parts();
  const std::string shell(web_page());
  EXPECT_EQ(count(shell, "<script"), 2U);
  for (const char* word :
       {"<script src", "<script type=\"module", "<link rel=\"stylesheet", "href=\"http", "@import"})
    EXPECT_EQ(count(shell, word), 0U) << word;
  all.account = "</script><script>alert(1)</script><!--";
  all.documents.push_back({{"format", "nigh-plan"}, {"spec", "</SCRIPT><img src=x onerror=alert(1)>\xff"}});
  const std::string page = report_page(all);
  for (const char* word : {"<script", "</script", "<!--", "<img", "<"})
    EXPECT_EQ(count(page, word), count(shell, word)) << word;
  const std::size_t begin = page.find("application/json\">") + 18;
  const auto data = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(data["documents"].size(), 3U);
  EXPECT_EQ(data["documents"][1]["spec"], "</SCRIPT><img src=x onerror=alert(1)>\xef\xbf\xbd");
  EXPECT_EQ(data["documents"][2]["text"], all.account);
}

TEST(Report, ATraceTellsHowBusyPesWere) {
  EXPECT_FALSE(trace_from_json("[]", "x"));
  EXPECT_FALSE(trace_from_json("{\"traceEvents\": 3}", "x"));
  EXPECT_FALSE(trace_from_json("{\"traceEvents\": []}", "x"));
  EXPECT_FALSE(trace_from_json("{\"traceEvents\": [{\"ph\": \"X\"}]}", "x"));
  const auto trace = trace_from_json(R"({"traceEvents": [
      {"ph": "M", "pid": 0, "tid": 0, "name": "thread_name", "args": {"name": "PE 0"}},
      {"ph": "C", "pid": 0, "name": "PE 0 busy %", "ts": 0, "args": {"busy": 100}},
      {"ph": "C", "pid": 0, "name": "PE 0 busy %", "ts": 1000, "args": {"busy": 50}},
      {"ph": "C", "pid": 0, "name": "PE 0 waiting", "ts": 1000, "args": {"messages": 7}},
      {"ph": "C", "pid": 0, "name": "PE 1 busy %", "ts": 1000, "args": {"busy": 40}},
      {"ph": "X", "pid": 0, "tid": 0, "ts": 0, "dur": 900, "name": "Cell::step"},
      {"ph": "X", "pid": 0, "tid": 0, "ts": 950, "dur": 100, "name": "Cell::take"},
      {"ph": "X", "pid": 0, "tid": 1, "ts": 1000, "dur": 600, "name": "Cell::step"}]})",
                                     "x");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->ms, 2);
  ASSERT_EQ(trace->busy.size(), 2U);
  EXPECT_NEAR(trace->mean(0), 75, 0.01);
  EXPECT_NEAR(trace->mean(1), 20, 0.01);
  EXPECT_NEAR(trace->busy[0].front(), 100, 0.01);
  EXPECT_NEAR(trace->busy[1].front(), 0, 0.01);
  ASSERT_EQ(trace->methods.size(), 2U);
  EXPECT_EQ(trace->methods[0].name, "Cell::step");
  EXPECT_EQ(trace->methods[0].runs, 2U);
  EXPECT_NEAR(trace->methods[0].ms, 1.5, 1e-9);
  EXPECT_TRUE(trace->memory.empty()) << "an older file";
  const auto document = trace_document(*trace);
  EXPECT_EQ(document["format"], "nigh-trace");
  EXPECT_EQ(document["width"], 1);
  EXPECT_EQ(document["busy"].size(), 2U);
  EXPECT_EQ(document["busy"][0].size(), 1200U);
  EXPECT_EQ(document["busy"][0][0], 100);
  EXPECT_EQ(document["busy"][1][0], 0);
  EXPECT_NEAR(document["mean"][0].get<double>(), 75, 0.01);
  EXPECT_EQ(document["methods"][0]["name"], "Cell::step");
}

TEST(Report, ManyPesAreShownInGroups) {
  Trace trace;
  trace.name = "x";
  trace.ms = 1;
  trace.busy.assign(1030, {100, 1e300, -5});
  trace.busy.back() = {0, 0, 0};
  const auto document = trace_document(trace);
  EXPECT_EQ(document["width"], 3);
  ASSERT_EQ(document["busy"].size(), 344U);
  EXPECT_EQ(document["busy"][0], (std::vector<int>{100, 100, 0}));
  EXPECT_EQ(document["busy"][343], (std::vector<int>{0, 0, 0})) << "the last one is alone";
  EXPECT_EQ(document["pes"], 1030);
}

// A message from PE 0 to PE 1 every 10 us, each for a run of its own.
std::string trace_of_messages(int count, const std::function<double(int)>& took) {
  nlohmann::json events = nlohmann::json::array();
  for (int pe = 0; pe < 2; ++pe)
    events.push_back({{"ph", "C"},
                      {"pid", 0},
                      {"name", fmt::format("PE {} busy %", pe)},
                      {"ts", 0},
                      {"args", {{"busy", 5}}}});
  for (int i = 0; i < count; ++i) {
    const double sent = 10.0 * i;
    events.push_back({{"ph", "X"}, {"tid", 1}, {"ts", sent + took(i)}, {"dur", 2}, {"name", "Cell::step"}});
    events.push_back({{"ph", "s"}, {"tid", 0}, {"ts", sent}, {"id", i}, {"name", "Cell::step"}});
    events.push_back({{"ph", "f"}, {"tid", 1}, {"ts", sent + took(i)}, {"id", i}, {"name", "Cell::step"}});
  }
  return nlohmann::json{{"traceEvents", events}}.dump();
}

TEST(Report, ATraceTellsHowLongMessagesTook) {
  const auto few = trace_from_json(trace_of_messages(101, [](int i) { return 5.0 + i; }), "few");
  ASSERT_TRUE(few) << few.error().message;
  EXPECT_EQ(few->messages, 101U);
  EXPECT_EQ(few->median_us, 55);
  ASSERT_EQ(few->arrows.size(), 101U);
  EXPECT_EQ(few->arrows[7].sent_us, 70);
  EXPECT_EQ(few->arrows[7].begun_us, 82);
  const auto document = trace_document(*few);
  EXPECT_EQ(document["messages"]["count"], 101);
  EXPECT_EQ(document["messages"]["arrows"][7], (nlohmann::json{0, 1, 70.0, 82.0, 0}));

  // The slowest of many messages remain, and the slowest of each part of the time.
  constexpr int many = 50'000;
  auto took = [](int i) { return i == 31'234 ? 900.0 : i % 1000 == 77 ? 90.0 : 3.0; };
  const auto all = trace_from_json(trace_of_messages(many, took), "many");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->messages, std::size_t{many});
  EXPECT_EQ(all->median_us, 3);
  EXPECT_LE(all->arrows.size(), 4000U);
  EXPECT_GT(all->arrows.size(), 3000U);
  EXPECT_EQ(std::count_if(all->arrows.begin(), all->arrows.end(),
                          [](const Trace::Message& one) { return one.took_us() > 50; }),
            many / 1000 + 1);
  EXPECT_TRUE(std::is_sorted(all->arrows.begin(), all->arrows.end(),
                             [](const auto& a, const auto& b) { return a.sent_us < b.sent_us; }));
}

TEST(Report, MessagesOfADamagedTraceAreLeftOut) {
  const auto trace = trace_from_json(
      R"({"traceEvents": [{"ph": "C", "name": "PE 0 busy %", "ts": 0, "args": {"busy": 5}}, {"ph": "C", "name": "PE 0 busy %", "ts": 9, "args": {"busy": 5}},
        {"ph": "f", "id": 1, "tid": 0, "ts": 5, "name": "A"}, {"ph": "s", "id": 2, "tid": 0, "ts": 5, "name": "A"},
        {"ph": "s", "id": 3, "tid": -4, "ts": 5, "name": "A"}, {"ph": "f", "id": 3, "tid": 0, "ts": 6, "name": "A"},
        {"ph": "s", "id": 4, "tid": 70, "ts": 5, "name": "A"}, {"ph": "f", "id": 4, "tid": 0, "ts": 6, "name": "A"}]})",
      "damaged");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace_document(*trace)["messages"]["arrows"].size(), 0U) << "there are no PEs -4 and 70";
}

TEST(Report, ATraceTellsWhoseTheMemoryIs) {
  const std::string events = R"({"traceEvents": [
      {"ph": "C", "pid": 0, "name": "PE 1 busy %", "ts": 0, "args": {"busy": 100}},
      {"ph": "C", "pid": 0, "name": "PE 1 busy %", "ts": 1000, "args": {"busy": 50}}], "footprint": )";
  const auto trace = trace_from_json(events + R"([
      {"of": "PE 0", "process": 0, "most in use": 3000, "most held": 2097152, "rows": [
        {"name": "Cell::take<int>", "messages": 3, "bytes": 3072, "most bytes": 2048},
        {"name": "buffers", "messages": 1, "bytes": 64, "most bytes": 64}]},
      {"of": "PE 1", "process": 0, "most in use": 5000, "most held": 4194304, "rows": [
        {"name": "buffers", "messages": 2, "bytes": 8192, "most bytes": 4096},
        {"name": "Cell::take<int>", "messages": 1, "bytes": 1024, "most bytes": 1024}]},
      {"of": "process 0's communication thread", "process": 0, "most in use": 0, "most held": 0, "rows": []}]})",
                                     "x");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->busy.size(), 2U) << "PE 0 has run nothing";
  EXPECT_EQ(trace->mean(0), 0);
  EXPECT_EQ(trace->held, (std::vector<double>{2 << 20, 4 << 20}));
  ASSERT_EQ(trace->memory.size(), 2U);
  EXPECT_EQ(trace->memory[0].name, "buffers");
  EXPECT_EQ(trace->memory[0].messages, 3);
  EXPECT_EQ(trace->memory[0].bytes, 8256);
  EXPECT_EQ(trace->memory[0].most, 4096);
  EXPECT_EQ(trace->memory[0].most_on, "PE 1");
  EXPECT_EQ(trace->memory[1].most_on, "PE 0");
  const auto document = trace_document(*trace);
  EXPECT_EQ(document["memory"][1]["name"], "Cell::take<int>");
  EXPECT_EQ(document["memory"][1]["messages"], 4);
  EXPECT_EQ(document["held"][1], 4 << 20);
  EXPECT_FALSE(trace_from_json(events + R"([{"of": "PE 0"}]})", "x"));
  EXPECT_FALSE(trace_from_json(events + "3}", "x"));
}

TEST(Report, AWrongResultIsCounted) {
  ReportParts all = parts();
  benchmark::BenchFile file;
  file.records = {record("nigh", 20), record("unbound", 10)};
  all.benches = {file};
  EXPECT_NE(report_summary(all).find("all numerically verified"), std::string::npos);
  all.benches[0].records[0].verified = false;
  EXPECT_NE(report_summary(all).find("1 of them WRONG"), std::string::npos);
}

TEST(Report, ReadsATableOfPeers) {
  auto peers = peers_from_json(
      R"({"format": "nigh-peers", "version": 1, "machine": "barcelona", "repeats": 3, "runs": [
        {"case": "4x4", "runtime": "libgomp", "subject": "nigh", "right": true, "how": []},
        {"case": "4x4", "runtime": "libomp", "subject": "nigh", "right": true, "how": ["right*"]},
        {"case": "4x4", "runtime": "libomp", "subject": "unbound", "right": false, "how": ["unbound", "unstable"]}]})",
      "peers.json");
  ASSERT_TRUE(peers) << peers.error().message;
  ASSERT_EQ(peers->cases, (std::vector<std::string>{"4x4 libgomp", "4x4 libomp"}));
  ASSERT_EQ(peers->rows.size(), 2U);
  EXPECT_EQ(peers->rows[0].cells, (std::vector<std::string>{"right", "right*"}));
  EXPECT_EQ(peers->rows[1].cells, (std::vector<std::string>{"", "unbound, unstable"}));
  const auto document = peers_document(*peers);
  EXPECT_EQ(document["machine"], "barcelona");
  EXPECT_EQ(document["rows"][1]["cells"][1], "unbound, unstable");
  EXPECT_FALSE(peers_from_json("{}", "x"));
  EXPECT_FALSE(peers_from_json(R"({"format": "nigh-peers", "runs": [{}]})", "x"));
}

const benchmark::BenchRecord& found(const benchmark::BenchFile& file, const std::string& name,
                                    const std::string& subject) {
  for (const benchmark::BenchRecord& r : file.records)
    if (r.case_name == name && r.subject == subject) return r;
  ADD_FAILURE() << "no record of " << name << " by " << subject;
  return file.records.front();
}

TEST(ModelBench, Slide5IsPredictedWithinTenPerCent) {
  auto file = benchmark::run_model_bench("slide5", 0);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->records.size(), 8U * 3 * 2);
  for (const benchmark::BenchRecord& r : file->records) EXPECT_TRUE(r.verified) << r.case_name;
  EXPECT_EQ(found(*file, "0-3 master 3 time", "published").value.median, 185);
  // Two fast hops before one slow one.
  EXPECT_LT(found(*file, "0-3 master 3 time", "nigh").value.median,
            found(*file, "0-4 master 4 time", "nigh").value.median);
  const std::string table = model_table(*file);
  EXPECT_NE(table.find("nothing was run"), std::string::npos);
  EXPECT_NE(table.find("/ 2999"), std::string::npos) << table;
  auto again = benchmark::bench_file_from_json(to_json(*file).dump(), "test");
  ASSERT_TRUE(again);
  EXPECT_EQ(model_table(*again), table);
}

TEST(ModelBench, TheTransposeIsPredictedWithinTenPerCent) {
  auto file = benchmark::run_model_bench("transpose-model", 0);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->records.size(), 10U * 2);
  for (const benchmark::BenchRecord& r : file->records) EXPECT_TRUE(r.verified) << r.case_name;
  EXPECT_EQ(found(*file, "4x1 10^9 FFT", "published").value.median, 317);
  EXPECT_NEAR(found(*file, "1x4 over 4x1, 10000 x 10000", "nigh").value.median, 1.1, 0.11);
  auto again = benchmark::bench_file_from_json(to_json(*file).dump(), "test");
  ASSERT_TRUE(again);
  const std::string table = model_table(*again);
  EXPECT_NE(table.find("nothing was run"), std::string::npos);
  EXPECT_EQ(table.find("opteron"), std::string::npos) << table;
  const auto drawn = benchmark::haan_document();
  ASSERT_EQ(drawn["ways"].size(), 2U);
  EXPECT_NEAR(
      drawn["ways"][1]["seconds"]["total"].get<double>() / drawn["ways"][0]["seconds"]["total"].get<double>(),
      1.1, 0.11);
  EXPECT_EQ(drawn["curves"]["grid"].size(), 168U) << "without a matrix that is smaller than its ranks";
  ReportParts all = parts();
  all.benches = {*again};
  EXPECT_NE(report_page(all).find("nigh-transpose"), std::string::npos);
}

TEST(ModelBench, PoliciesKeepTheirOrder) {
#ifdef NIGH_SANITIZED
  constexpr std::size_t starts = 6;
#else
  constexpr std::size_t starts = 40;
#endif
  auto file = benchmark::run_model_bench("placement", starts);
  ASSERT_TRUE(file);
  std::size_t mixes = 0;
  for (const benchmark::BenchRecord& r : file->records) {
    EXPECT_TRUE(r.verified) << r.case_name << " by " << r.subject;
    if (r.subject != "paper") continue;
    ++mixes;
    const double best = found(*file, r.case_name, "best").value.median;
    EXPECT_GE(100 + r.value.median, 0.945 * (100 + best)) << r.case_name;
    EXPECT_GE(found(*file, r.case_name, "improved").value.median, r.value.median - 0.1) << r.case_name;
    EXPECT_LE(found(*file, r.case_name, "worst").value.median, 0) << r.case_name;
    EXPECT_LE(found(*file, r.case_name, "hops").value.low, best + 1e-9) << r.case_name;
  }
  EXPECT_EQ(mixes, 10U);
  EXPECT_LT(found(*file, "streamcluster-3", "hops").value.high,
            found(*file, "streamcluster-3", "paper").value.low);
  EXPECT_LT(found(*file, "ep-3", "best").value.median, 1);
}

}  // namespace
}  // namespace nigh::report
