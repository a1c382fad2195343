// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks over time for Perfetto (https://ui.perfetto.dev), in the Trace Event Format: a host is a process, and
// what its ranks did are counters of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "report/rank_record.hpp"
#include "report/rank_times.hpp"

namespace nigh::report {
namespace {

constexpr std::size_t most_functions_shown = 6;  // of a rank, with a counter of their own
constexpr std::size_t most_values = 2'000'000;   // an event each, of 100 bytes

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class CounterEvents {
 public:
  CounterEvents(double start, std::size_t together) : start_(start), together_(together) {}

  void name_process(int pid, const std::string& name) {
    next();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", pid, quoted(name));
  }

  // `microseconds` of each interval, as % of it, and 0 at the rank's end. A counter holds until the next one.
  void counter(int pid, const std::string& name, const RankTimes& times,
               const std::vector<float>& microseconds) {
    const std::string whole = quoted(name);
    const double from = (times.started - start_) * 1e6, width = times.interval_seconds * 1e6,
                 end = from + times.seconds * 1e6;
    double last = -1;
    auto add = [&](double us, double percent) {
      percent = std::round(percent * 10) / 10;
      if (percent == last) return;
      last = percent;
      next();
      fmt::format_to(std::back_inserter(text_),
                     R"({{"ph":"C","name":{},"pid":{},"ts":{:.1f},"args":{{"%":{:.1f}}}}})", whole, pid, us,
                     percent);
    };
    for (std::size_t i = 0; i < microseconds.size(); i += together_) {
      const std::size_t until = std::min(i + together_, microseconds.size());
      double sum = 0;
      for (std::size_t j = i; j < until; ++j) sum += static_cast<double>(microseconds[j]);
      const double begin = from + static_cast<double>(i) * width,
                   length = std::min(from + static_cast<double>(until) * width, end) - begin;
      if (length <= 0) break;
      add(begin, 100 * sum / length);
    }
    add(end, 0);
  }

  [[nodiscard]] std::string whole() const { return "{\"traceEvents\":[\n" + text_ + "\n]}\n"; }

 private:
  void next() {
    if (!text_.empty()) text_ += ",\n";
  }
  double start_;
  std::size_t together_;  // intervals in one value
  std::string text_;
};

std::vector<float> in_all(const RankTimes& times) {
  std::vector<float> out;
  for (const RankTimes::Function& one : times.functions) {
    out.resize(std::max(out.size(), one.microseconds.size()));
    for (std::size_t i = 0; i < one.microseconds.size(); ++i) out[i] += one.microseconds[i];
  }
  return out;
}

std::vector<const RankTimes::Function*> longest(const RankTimes& times) {
  std::vector<const RankTimes::Function*> out;
  for (const RankTimes::Function& one : times.functions)
    if (one.seconds > 0) out.push_back(&one);
  std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) {
    return std::tuple(-a->seconds, a->name) < std::tuple(-b->seconds, b->name);
  });
  if (out.size() > most_functions_shown) out.resize(most_functions_shown);
  return out;
}

}  // namespace

std::string perfetto_counters(const std::vector<RankRecord>& records) {
  std::vector<const RankRecord*> ranks;
  double start = 0;
  std::size_t values = 0;
  for (const RankRecord& record : records) {
    if (record.times.seconds <= 0 || record.times.interval_seconds <= 0) continue;
    start = ranks.empty() ? record.times.started : std::min(start, record.times.started);
    ranks.push_back(&record);
    values += record.times.cpu_microseconds.size() + in_all(record.times).size();
    for (const auto* one : longest(record.times)) values += one->microseconds.size();
  }
  if (ranks.empty()) return "";
  std::sort(ranks.begin(), ranks.end(), [](const auto* a, const auto* b) { return a->rank < b->rank; });

  CounterEvents events(start, values / most_values + 1);
  std::map<std::string, int> pids;
  const auto digits = fmt::formatted_size("{}", std::max(0, ranks.front()->ranks - 1));
  for (const RankRecord* record : ranks) {
    const auto [host, first] = pids.try_emplace(record->host, static_cast<int>(pids.size()) + 1);
    const int pid = host->second;
    if (first) events.name_process(pid, record->host);
    const RankTimes& times = record->times;
    // Perfetto sorts counters by name.
    auto counter = [&](const std::string& what, const std::vector<float>& microseconds) {
      events.counter(pid, fmt::format("rank {:0{}} {}", record->rank, digits, what), times, microseconds);
    };
    counter("in MPI", in_all(times));
    if (!times.cpu_microseconds.empty()) counter("CPU", times.cpu_microseconds);
    for (const auto* one : longest(times)) counter(one->name, one->microseconds);
  }
  return events.whole();
}

}  // namespace nigh::report
