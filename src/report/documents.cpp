// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>

#include "benchmark/record.hpp"
#include "machine/draw.hpp"
#include "machine/load.hpp"
#include "report/page_template.hpp"

namespace nigh::report {
namespace {

using Document = nlohmann::ordered_json;

// Formats with a view, and the members without which there is nothing to draw.
struct PageFormat {
  const char* name;
  std::vector<const char*> lists, objects;
};
const std::vector<PageFormat>& page_formats() {
  static const std::vector<PageFormat> formats = {
      {"nigh-compare", {"subjects"}, {"time_ratio"}},
      {"nigh-programs", {"records"}, {}},
      {"nigh-tune", {"stages"}, {}},
      {"nigh-mpi-account", {}, {"functions"}},
      {"nigh-plan", {"threads"}, {}},
      {"nigh-ps", {"processes"}, {}},
      {"nigh-watch", {"nodes", "links", "applications"}, {"meter"}},
      {"nigh-transpose", {"ways"}, {}},
      {"nigh-rank-map", {"maps", "levels", "ranks"}, {}},
      {"nigh-rank-times", {"in_mpi", "functions", "rows"}, {}},
      {"nigh-traffic", {"entries", "communicators", "ways"}, {}},
      {"nigh-trace", {"busy", "mean", "held", "methods", "memory"}, {}},
      {"nigh-peers-table", {"cases", "rows"}, {}},
      {"nigh-account-text", {}, {}},
      {"nigh-watch-log", {"events"}, {}},
      {"nigh-live", {"events", "time"}, {"series", "moved"}}};
  return formats;
}

Result<Document> checked_document(Document document, const std::string& where) {
  const std::string format = document["format"].get<std::string>();
  for (const PageFormat& one : page_formats()) {
    if (format != one.name) continue;
    for (const char* key : one.lists)
      if (!document.contains(key) || !document[key].is_array())
        return fail(Errc::invalid, fmt::format("{}: its \"{}\" is not a list", where, key));
    for (const char* key : one.objects)
      if (!document.contains(key) || !document[key].is_object())
        return fail(Errc::invalid, fmt::format("{}: its \"{}\" is not an object", where, key));
    return document;
  }
  return fail(Errc::unsupported,
              fmt::format("{} is of the format {}, for which the page has no view", where, format));
}

constexpr int most_depth = 64;

// A reader can choose from so many communicators.
constexpr std::size_t most_communicators = 24;
constexpr std::size_t most_entries = 300000;

class TrafficSum {
 public:
  TrafficSum(const std::vector<RankRecord>& records, int width) : width_(width) {
    for (const RankRecord& record : records) add(record);
  }
  [[nodiscard]] std::size_t entries() const { return sums_.size(); }
  [[nodiscard]] Document communicators() const {
    Document out = Document::array();
    for (const RankRecord::Communicator& one : communicators_)
      out.push_back({{"name", one.name}, {"size", one.size}});
    return out;
  }
  [[nodiscard]] Document rows() const {
    Document out = Document::array();
    for (const auto& [key, sum] : sums_) {
      out.push_back({key[0], key[1], key[2], key[3], sum.bytes, sum.messages});
      if (functions_.empty()) continue;
      out.back().push_back(key[4]);
      out.back().push_back(sum.carried_bytes);
      out.back().push_back(sum.carried_messages);
    }
    return out;
  }
  // Empty where records do not say them.
  [[nodiscard]] const std::vector<std::string>& functions() const { return functions_; }

 private:
  struct Sum {
    double bytes = 0, messages = 0, carried_bytes = 0, carried_messages = 0;
  };

  void add(const RankRecord& record) {
    std::vector<int> numbers, functions;
    for (const RankRecord::Communicator& one : record.communicators) numbers.push_back(number_of(one));
    for (const std::string& one : record.functions) functions.push_back(number_of(one));
    for (const RankRecord::Sent& sent : record.sent) {
      const int function =
          sent.function < functions.size() ? functions[static_cast<std::size_t>(sent.function)] : -1;
      Sum& sum = sums_[{record.rank / width_, sent.to / width_, numbers[sent.communicator],
                        static_cast<int>(sent.way), function}];
      sum.bytes += sent.bytes;
      sum.messages += sent.messages;
      sum.carried_bytes += sent.carried_bytes;
      sum.carried_messages += sent.carried_messages;
    }
  }

  // Ranks know their communicators by name and size only.
  int number_of(const RankRecord::Communicator& wanted) {
    const auto found = std::find(communicators_.begin(), communicators_.end(), wanted);
    if (found != communicators_.end()) return static_cast<int>(found - communicators_.begin());
    if (communicators_.size() < most_communicators) {
      communicators_.push_back(wanted);
    } else {
      communicators_.back() = {"others", 0};
    }
    return static_cast<int>(communicators_.size()) - 1;
  }

  int number_of(const std::string& function) {
    const auto found = std::find(functions_.begin(), functions_.end(), function);
    const auto number = static_cast<int>(found - functions_.begin());
    if (found == functions_.end()) functions_.push_back(function);
    return number;
  }

  int width_;
  std::vector<RankRecord::Communicator> communicators_;
  std::vector<std::string> functions_;
  std::map<std::array<int, 5>, Sum> sums_;  // by from, to, communicator, way, function
};

constexpr std::size_t most_events = 5000;

bool is_event(const Document& line) {
  return line.is_object() && line.contains("kind") && line["kind"].is_string() && line.contains("sentence") &&
         line["sentence"].is_string() && line.contains("elapsed") && line["elapsed"].is_number();
}

// Parsed, unless it is nested too deeply: a document is written again by calls as deep as it is. Discarded:
// it is no JSON.
Result<Document> parsed(const std::string& text, const std::string& where) {
  bool deep = false;
  Document document = Document::parse(
      text,
      [&](int depth, Document::parse_event_t, Document&) { return !(deep = deep || depth > most_depth); },
      false);
  if (deep)
    return fail(Errc::invalid,
                where + " is not what a command of nigh writes with --json: it is nested too deeply");
  return document;
}

// The lines of nigh watch --log, the latest of them; the last one may have been cut off. Nothing: it is no
// log.
Result<std::optional<Document>> watch_log(const std::string& text, const std::string& where) {
  std::deque<Document> events;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    auto line = parsed(text.substr(at, end - at), where);
    if (!line) return tl::unexpected(line.error());
    at = end == std::string::npos ? text.size() : end + 1;
    ++number;
    if (!is_event(*line)) {
      if (number == 1) return std::nullopt;
      if (end == std::string::npos) break;
      return fail(Errc::invalid, fmt::format("{}: line {} is no event of nigh watch", where, number));
    }
    events.push_back(*std::move(line));
    if (events.size() > most_events) events.pop_front();
  }
  if (events.empty()) return std::nullopt;
  return Document{{"format", "nigh-watch-log"}, {"version", 1}, {"events", events}};
}

}  // namespace

Result<Document> page_document(const std::string& text, const std::string& where) {
  auto read = parsed(text, where);
  if (!read) return read;
  Document document = *std::move(read);
  if (document.is_discarded() || is_event(document)) {
    auto log = watch_log(text, where);
    if (!log) return tl::unexpected(log.error());
    if (*log) return **std::move(log);
  }
  if (document.is_discarded() || !document.is_object() || !document.contains("format") ||
      !document["format"].is_string())
    return fail(Errc::invalid, where + " is not what a command of nigh writes with --json");
  if (document.contains("version") && document["version"] != 1)
    return fail(Errc::unsupported, where + " is of another version than this nigh reads");
  if (document["format"] == "nigh-bench") {
    auto file = benchmark::bench_file_from_json(text, where);
    if (!file) return tl::unexpected(file.error());
    return to_json(*file);
  }
  if (document["format"] == "nigh-machine") {
    auto machine = machine_from_json(text, where);
    if (!machine) return tl::unexpected(machine.error());
    return machine_document(*machine);
  }
  return checked_document(std::move(document), where);
}

Result<std::vector<Document>> page_documents(const std::string& text, const std::string& where) {
  std::vector<Document> out;
  const std::string_view data = web_page_data(text);
  if (data.empty()) {
    auto document = page_document(text, where);
    if (!document) return tl::unexpected(document.error());
    out.push_back(*std::move(document));
    return out;
  }
  auto page = parsed(std::string(data), where);
  if (!page) return tl::unexpected(page.error());
  if (page->is_discarded() || !page->is_object() || !page->contains("documents") ||
      !(*page)["documents"].is_array())
    return fail(Errc::invalid, where + " is a page without data: keep it while it is shown, or name files");
  for (const Document& one : (*page)["documents"]) {
    auto document = page_document(one.dump(), where);
    if (!document) return tl::unexpected(document.error());
    // Names of files stay.
    if (one.contains("file") && one["file"].is_string()) (*document)["file"] = one["file"];
    out.push_back(*std::move(document));
  }
  return out;
}

Document machine_document(const Machine& machine) { return Document::parse(machine_to_json(machine)); }

Document plan_document(const Machine& machine, const CpuSet& mask, const std::string& spec, int root,
                       const std::vector<PlannedThread>& threads) {
  Document out = {{"format", "nigh-plan"}, {"version", 1},           {"machine", printable(machine.name)},
                  {"spec", spec},          {"mask", mask.to_list()}, {"root", root}};
  auto& list = out["threads"] = Document::array();
  for (const PlannedThread& t : threads)
    list.push_back(
        {{"path", t.path}, {"pu", t.pu}, {"core", t.core}, {"numa_node", t.numa_node}, {"reason", t.reason}});
  return out;
}

Document traffic_document(const std::vector<RankRecord>& records, const std::string& name) {
  const int ranks = records.front().ranks;
  int width = (ranks + 511) / 512;
  while (width < ranks && TrafficSum(records, width).entries() > most_entries) width *= 2;
  const TrafficSum sum(records, width);
  std::vector<std::string> hosts(static_cast<std::size_t>(ranks));
  std::vector<int> packages(static_cast<std::size_t>(ranks), -1);
  std::vector<bool> there(static_cast<std::size_t>(ranks), false);
  for (const RankRecord& record : records) {
    hosts[static_cast<std::size_t>(record.rank)] = record.host;
    packages[static_cast<std::size_t>(record.rank)] = record.package;
    there[static_cast<std::size_t>(record.rank)] = record.complete;
  }
  Document missing = Document::array();
  for (int rank = 0; rank < ranks; ++rank)
    if (!there[static_cast<std::size_t>(rank)]) missing.push_back(rank);
  Document ways = Document::array();
  for (const char* way : record_ways) ways.push_back(way);
  return {{"format", "nigh-traffic"},
          {"version", 1},
          {"name", name},
          {"ranks", ranks},
          {"width", width},
          {"hosts", hosts},
          {"packages", packages},
          {"communicators", sum.communicators()},
          {"ways", ways},
          {"functions", sum.functions()},
          {"entries", sum.rows()},
          {"missing", missing}};
}

}  // namespace nigh::report
