// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The PEs of message-driven programs, from the files of --chare-trace: their load over time, by entry method,
// the memory of messages, and the time that messages took.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "report/page.hpp"

namespace nigh::report {

using nlohmann::json;

namespace {

constexpr std::size_t most_columns = 1200, most_rows = 512, most_cells = 300000, most_names = 200;
constexpr std::size_t most_kept = 20'000'000;  // while a file is read
constexpr std::size_t most_arrows = 4000, arrow_columns = 400;

struct Counter {
  double us = 0, value = 0;
};

// "PE 3 busy %": 3; else -1.
constexpr int most_pe = 1'000'000;

int pe_of(const std::string& name) {
  int pe = -1, end = 0;
  return std::sscanf(name.c_str(), "PE %d busy %%%n", &pe, &end) == 1 && end > 0 ? pe : -1;
}

// Counters hold until the next one; `width` of the last, in us.
std::vector<double> over_time(const std::vector<Counter>& counters, double width, double all,
                              std::size_t columns) {
  std::vector<double> out(columns);
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const double from = counters[i].us, to = i + 1 < counters.size() ? counters[i + 1].us : from + width;
    const double first = from / all * columns;  // of a damaged file it may be anything
    for (auto at = static_cast<std::size_t>(first > 0 ? std::min(first, static_cast<double>(columns)) : 0);
         at < columns; ++at) {
      const double begin = all / static_cast<double>(columns) * static_cast<double>(at),
                   end = begin + all / static_cast<double>(columns);
      if (begin >= to) break;
      out[at] += counters[i].value * std::max(std::min(end, to) - std::max(begin, from), 0.0) / (end - begin);
    }
  }
  return out;
}

void read_footprint(const json& parts, Trace& out) {
  std::map<std::string, Trace::Memory> all;
  for (const json& part : parts) {
    const auto of = part.at("of").get<std::string>();
    if (of.starts_with("PE ")) out.held.push_back(part.at("most held").get<double>());
    for (const json& row : part.at("rows")) {
      Trace::Memory& memory = all[row.at("name").get<std::string>()];
      memory.messages += row.at("messages").get<double>();
      memory.bytes += row.at("bytes").get<double>();
      const double most = row.at("most bytes").get<double>();
      if (most > memory.most) memory.most = most, memory.most_on = of;
    }
  }
  for (auto& [name, memory] : all) {
    memory.name = name;
    out.memory.push_back(memory);
  }
  std::sort(out.memory.begin(), out.memory.end(), [](const Trace::Memory& a, const Trace::Memory& b) {
    return a.most != b.most ? a.most > b.most : a.name < b.name;
  });
}

// Messages as a trace has them: "s" where one is sent, "f" where its run begins, both with its number.
class TraceMessages {
 public:
  void take(const json& event, const std::string& kind) {
    if (all_.size() >= most_kept / 10) return;
    const auto id = event.at("id").get<std::uint64_t>();
    const End end{event.at("tid").get<int>(), event.at("ts").get<double>()};
    if (kind == "s") {
      if (sent_.size() < most_kept / 10) sent_[id] = end;
    } else if (const auto found = sent_.extract(id)) {
      const End& sent = found.mapped();
      auto valid = [](const End& one) { return one.pe >= 0 && one.pe <= most_pe && std::isfinite(one.us); };
      if (valid(sent) && valid(end))
        all_.push_back({sent.pe, end.pe, sent.us, end.us, event.at("name").get<std::string>()});
    }
  }
  void into(Trace& out) {
    out.messages = all_.size();
    if (all_.empty()) return;
    auto faster = [](const Trace::Message& a, const Trace::Message& b) { return a.took_us() < b.took_us(); };
    const auto middle = all_.begin() + static_cast<std::ptrdiff_t>(all_.size() / 2);
    std::nth_element(all_.begin(), middle, all_.end(), faster);
    out.median_us = middle->took_us();
    std::sort(all_.begin(), all_.end(), [](const Trace::Message& a, const Trace::Message& b) {
      return std::tie(a.sent_us, a.begun_us, a.from, a.to) < std::tie(b.sent_us, b.begun_us, b.from, b.to);
    });
    const std::vector<bool> kept = thinned(out.ms * 1e3);
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (kept[i]) out.arrows.push_back(std::move(all_[i]));
  }

 private:
  struct End {
    int pe = 0;
    double us = 0;
  };
  // The slowest of each column of time, then every so many.
  [[nodiscard]] std::vector<bool> thinned(double us) const {
    std::vector<bool> kept(all_.size(), all_.size() <= most_arrows);
    if (all_.size() <= most_arrows) return kept;
    constexpr std::size_t each = most_arrows / 2 / arrow_columns;
    std::vector<std::vector<std::size_t>> columns(arrow_columns);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const double part = std::clamp(all_[i].sent_us / us, 0.0, 1.0) * (arrow_columns - 1);
      columns[static_cast<std::size_t>(part)].push_back(i);
    }
    for (std::vector<std::size_t>& column : columns) {
      const std::size_t count = std::min(each, column.size());
      std::partial_sort(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(count), column.end(),
                        [&](std::size_t a, std::size_t b) { return all_[a].took_us() > all_[b].took_us(); });
      for (std::size_t i = 0; i < count; ++i) kept[column[i]] = true;
    }
    for (std::size_t i = 0; i < most_arrows / 2; ++i) kept[i * all_.size() / (most_arrows / 2)] = true;
    return kept;
  }

  std::unordered_map<std::uint64_t, End> sent_;  // whose runs have not been read
  std::vector<Trace::Message> all_;
};

}  // namespace

Result<Trace> trace_from_json(const std::string& text, const std::string& where) {
  const json in = json::parse(text, nullptr, false);
  if (in.is_discarded() || !in.is_object() || !in.contains("traceEvents"))
    return fail(Errc::invalid, where + " is not a trace of a message-driven program (--chare-trace)");
  try {
    Trace out;
    out.name = where;
    std::map<int, std::vector<Counter>> busy;
    std::map<std::string, Trace::Method> methods;
    TraceMessages messages;
    double end = 0;
    for (const json& event : in.at("traceEvents")) {
      const auto kind = event.at("ph").get<std::string>();
      if (kind == "X") {
        const double took = event.at("dur").get<double>();
        Trace::Method& method = methods[event.at("name").get<std::string>()];
        ++method.runs;
        method.ms += took * 1e-3;
        end = std::max(end, event.at("ts").get<double>() + took);
      } else if (kind == "C") {
        const int pe = pe_of(event.at("name").get<std::string>());
        if (pe < 0) continue;
        if (pe > most_pe) return fail(Errc::invalid, where + ": there is no PE " + std::to_string(pe));
        busy[pe].push_back({event.at("ts").get<double>(), event.at("args").at("busy").get<double>()});
      } else if (kind == "s" || kind == "f") {
        messages.take(event, kind);
      }
    }
    double width = 0;
    for (const auto& [pe, counters] : busy)
      for (std::size_t i = 1; i < counters.size(); ++i)
        width = std::max(width, counters[i].us - counters[i - 1].us);
    for (const auto& [pe, counters] : busy) end = std::max(end, counters.back().us + width);
    if (busy.empty() || !(end > 0)) return fail(Errc::invalid, where + ": no PE has done anything");
    const auto pes = static_cast<std::size_t>(busy.rbegin()->first) + 1;
    const std::size_t columns = std::clamp<std::size_t>(
        std::min(most_cells / std::min(pes, most_rows), most_kept / pes), 1, most_columns);
    for (int pe = 0; pe <= busy.rbegin()->first; ++pe)  // of one that has run nothing there are none
      out.busy.push_back(over_time(busy[pe], width, end, columns));
    if (in.contains("footprint")) read_footprint(in.at("footprint"), out);
    out.ms = end * 1e-3;
    messages.into(out);
    for (auto& [name, method] : methods) {
      method.name = name;
      out.methods.push_back(method);
    }
    std::sort(out.methods.begin(), out.methods.end(),
              [](const Trace::Method& a, const Trace::Method& b) { return a.ms > b.ms; });
    return out;
  } catch (const json::exception& error) { return fail(Errc::invalid, where + ": " + error.what()); }
}

double Trace::mean(std::size_t pe) const {
  double sum = 0;
  for (const double one : busy[pe]) sum += one;
  return sum / static_cast<double>(busy[pe].size());
}

nlohmann::ordered_json trace_document(const Trace& trace) {
  const std::size_t width = (trace.busy.size() + most_rows - 1) / most_rows;
  auto rows = nlohmann::ordered_json::array(), methods = rows, memory = rows, means = rows;
  for (std::size_t first = 0; first < trace.busy.size(); first += width) {
    const std::size_t end = std::min(first + width, trace.busy.size());
    std::vector<int> row;
    for (std::size_t column = 0; column < trace.busy[first].size(); ++column) {
      double sum = 0;
      for (std::size_t pe = first; pe < end; ++pe) sum += std::clamp(trace.busy[pe][column], 0.0, 100.0);
      row.push_back(static_cast<int>(std::lround(sum / static_cast<double>(end - first))));
    }
    rows.push_back(std::move(row));
    double mean = 0;
    for (std::size_t pe = first; pe < end; ++pe) mean += trace.mean(pe) / static_cast<double>(end - first);
    means.push_back(mean);
  }
  for (std::size_t i = 0; i < std::min(trace.methods.size(), most_names); ++i)
    methods.push_back(
        {{"name", trace.methods[i].name}, {"runs", trace.methods[i].runs}, {"ms", trace.methods[i].ms}});
  for (std::size_t i = 0; i < std::min(trace.memory.size(), most_names); ++i)
    memory.push_back({{"name", trace.memory[i].name},
                      {"messages", trace.memory[i].messages},
                      {"bytes", trace.memory[i].bytes},
                      {"most", trace.memory[i].most},
                      {"most_on", trace.memory[i].most_on}});
  auto arrows = nlohmann::ordered_json::array();
  for (const Trace::Message& one : trace.arrows) {
    if (std::max(one.from, one.to) >= static_cast<int>(trace.busy.size())) continue;
    const auto method = std::find_if(trace.methods.begin(), trace.methods.end(),
                                     [&](const Trace::Method& other) { return other.name == one.method; });
    const std::ptrdiff_t number = method - trace.methods.begin();
    arrows.push_back({one.from, one.to, one.sent_us, one.begun_us,
                      number < static_cast<std::ptrdiff_t>(methods.size()) ? number : -1});
  }
  return {{"format", "nigh-trace"},
          {"version", 1},
          {"name", trace.name},
          {"ms", trace.ms},
          {"pes", trace.busy.size()},
          {"width", width},
          {"busy", std::move(rows)},
          {"mean", std::move(means)},
          {"held", trace.held},
          {"methods", std::move(methods)},
          {"memory", std::move(memory)},
          {"messages",
           {{"count", trace.messages}, {"median_us", trace.median_us}, {"arrows", std::move(arrows)}}}};
}

}  // namespace nigh::report
