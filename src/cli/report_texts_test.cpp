// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// No text of an input becomes markup. In each string of a file of each format, names of members too, stands a
// hostile word, one after the other, before, behind and instead of what was there: the page is that of a
// harmless word of the same length, with the hostile one escaped in its place.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "cli/bench_model.hpp"
#include "cli/report_page.hpp"
#include "cli/report_steps.hpp"
#include "cli/test_report.hpp"
#include "machine/load.hpp"

namespace nigh::cli {
namespace {

// Both sort to the same place: the first characters decide, and nothing comes between '<' and '='.
const std::string evil = "<script>\"'&{}",
                  harmless = "=script======", evil_escaped = "&lt;script&gt;&quot;&#39;&amp;{}";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Where the strings of a JSON text begin and end.
std::vector<std::pair<std::size_t, std::size_t>> strings_of(const std::string& json) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t at = json.find('"'); at != std::string::npos; at = json.find('"', at)) {
    std::size_t end = at + 1;
    while (json.at(end) != '"') end += json[end] == '\\' ? 2 : 1;
    out.emplace_back(at + 1, end);
    at = end + 1;
  }
  return out;
}

struct Seen {
  int pages = 0, with_the_word = 0;
  std::string fault;  // what was done where a page came out another
};
// `page_of`: of a file's text, or nothing where the file is refused.
Seen hostile_pages(const std::string& file,
                   const std::function<std::optional<std::string>(const std::string&)>& page_of) {
  const std::string in_json = replaced(evil, "\"", "\\\"");
  Seen out;
  for (const auto& [begin, end] : strings_of(file))
    for (const auto& [from, to] : {std::pair(begin, begin), {end, end}, {begin, end}}) {
      const auto hostile = page_of(std::string(file).replace(from, to - from, in_json));
      const auto plain = page_of(std::string(file).replace(from, to - from, harmless));
      if (hostile.has_value() != plain.has_value() ||
          (hostile && replaced(*hostile, evil_escaped, harmless) != *plain))
        out.fault += "at " + std::to_string(from) + ": " + file.substr(begin, end - begin) + "\n";
      out.pages += hostile ? 1 : 0;
      out.with_the_word += hostile && hostile->find(evil_escaped) != std::string::npos ? 1 : 0;
    }
  return out;
}

BenchRecord record(const std::string& bench, const std::string& result, const std::string& subject,
                   double median) {
  BenchRecord r;
  r.bench = bench;
  r.case_name = "2 hosts";
  r.subject = subject;
  r.unit = "MB/s";
  r.value = {median, median / 2, median * 2};
  r.samples = 3;
  r.core_state = "near";
  r.placement = {0, 1};
  r.verified = true;
  r.runtime = "libgomp";
  r.teams = "1x4";
  r.result = result;
  return r;
}

// Files that have sections of their own on the page.
std::vector<BenchFile> kinds_of_files() {
  std::vector<BenchFile> out(1);
  out[0].machine["where"] = "a bed";
  for (const char* bed : {"2 hosts", "4 hosts"})
    for (const double mb : {2.0, 8.0})
      for (const char* subject : {"measured", "predicted"}) {
        BenchRecord r = record(steps_bench, "total", subject, mb);
        r.case_name = bed;
        r.runtime = "three-steps";
        r.size_bytes = static_cast<std::uint64_t>(mb * 1e6);
        out[0].records.push_back(r);
      }
  for (const char* bench : {"transpose-model", "slide5", "placement"}) {
    out.push_back(run_model_bench(bench, 1).value());
    out.back().records.resize(std::min<std::size_t>(out.back().records.size(), 4));
  }
  return out;
}

TEST(ReportTexts, OfBenchFilesStayTexts) {
  const ReportParts rest = parts();
  for (const BenchFile& file : kinds_of_files()) {
    const Seen seen = hostile_pages(to_json(file).dump(), [&](const std::string& text) {
      auto read = bench_file_from_json(text, "test");
      if (!read) return std::optional<std::string>();
      ReportParts all = rest;
      all.benches = {*std::move(read)};
      return std::optional(drawn(all));
    });
    EXPECT_EQ(seen.fault, "") << file.records.front().bench;
    EXPECT_GT(seen.pages, 60) << file.records.front().bench;
    EXPECT_GT(seen.with_the_word, 3) << file.records.front().bench;
  }
}

TEST(ReportTexts, OfTracesStayTexts) {
  const std::string trace =
      R"({"traceEvents":[{"ph":"X","name":"Cell::step","pid":0,"tid":0,"ts":0,"dur":5},
          {"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"PE 0"}},
          {"ph":"C","name":"PE 0 busy %","pid":0,"tid":0,"ts":1,"args":{"busy":50}}],
          "footprint":[{"of":"PE 0","most held":1,"rows":[{"name":"x","messages":1,"bytes":1,"most bytes":1}]}],
          "otherData":{"written by":"nigh chare"}})";
  const Seen seen = hostile_pages(trace, [](const std::string& text) {
    const auto read = trace_from_json(text, "file");
    return read ? std::optional(trace_section({*read}).text()) : std::nullopt;
  });
  EXPECT_EQ(seen.fault, "");
  EXPECT_GE(seen.with_the_word, 8);  // a method, memory, and on which PE
}

TEST(ReportTexts, OfPeersStayTexts) {
  const std::string peers =
      R"({"format": "nigh-peers", "version": 1, "machine": {"name": "barcelona"}, "runs": [
          {"case": "4x4", "runtime": "libgomp", "subject": "nigh", "right": "right*", "how": ["right"]},
          {"case": "4x4", "runtime": "libomp", "subject": "unbound", "right": false, "how": ["unbound", "unstable"]}]})";
  const Seen seen = hostile_pages(peers, [](const std::string& text) {
    const auto read = peers_from_json(text, "file");
    return read ? std::optional(peers_section(*read).text()) : std::nullopt;
  });
  EXPECT_EQ(seen.fault, "");
  EXPECT_GE(seen.with_the_word, 24);
}

TEST(ReportTexts, ThisTestCanFail) {
  const auto as_it_is = [](const std::string& text) { return std::optional("<p>" + text + "</p>"); };
  EXPECT_EQ(count(hostile_pages(R"({"a\"":"b"})", as_it_is).fault, "at "), 6U);
}

// Also what comes from elsewhere: the command line, files of lines, names of files.
TEST(ReportTexts, OfAllThatIsDrawnStayTexts) {
  const auto page_of = [](const std::string& word) {
    ReportParts all = parts();
    all.account = word;
    all.traces = {{word, 1, {{50}}, {{word, 1, 1}}, {1}, {{word, 1, 1, 1, word}}}};
    all.peers = Peers{word, {word}, {{word, {word}}}};
    return drawn(all);
  };
  const std::string page = page_of(evil);
  EXPECT_EQ(count(page, "<script"), 0U);
  EXPECT_GT(count(page, "&lt;script"), 7U);
  EXPECT_TRUE(replaced(page, evil_escaped, harmless) == page_of(harmless));
}

}  // namespace
}  // namespace nigh::cli
