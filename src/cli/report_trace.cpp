// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What the PEs of message-driven programs did, from the files that --chare-trace wrote: how busy each was
// over time, as a strip, which entry methods took it, and which the memory of messages.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/report_page.hpp"

namespace nigh::cli {

using nlohmann::json;

namespace {

constexpr std::size_t columns = 240, most_methods = 8;

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
std::vector<double> over_time(const std::vector<Counter>& counters, double width, double all) {
  std::vector<double> out(columns);
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const double from = counters[i].us, to = i + 1 < counters.size() ? counters[i + 1].us : from + width;
    const double first = from / all * columns;  // of a damaged file it may be anything
    for (auto at = static_cast<std::size_t>(first > 0 ? std::min<double>(first, columns) : 0); at < columns;
         ++at) {
      const double begin = all / columns * static_cast<double>(at), end = begin + all / columns;
      if (begin >= to) break;
      out[at] += counters[i].value * std::max(std::min(end, to) - std::max(begin, from), 0.0) / (end - begin);
    }
  }
  return out;
}

Markup strip(const std::vector<double>& busy, const std::string& label) {
  Markup out = markup(
      "<svg class=\"strip\" viewBox=\"0 0 {} 12\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{}\">",
      columns, label);
  for (std::size_t i = 0; i < busy.size(); ++i)
    if (busy[i] >= 0.5)
      out += markup("<rect x=\"{}\" y=\"0\" width=\"1\" height=\"12\" fill-opacity=\"{:.2f}\"/>", i,
                    std::min(busy[i], 100.0) / 100);
  return out + "</svg>";
}

std::string kib(double bytes) {
  return bytes < 1 << 20 ? fmt::format("{:.1f} KiB", bytes / 1024)
                         : fmt::format("{:.1f} MiB", bytes / (1 << 20));
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

Markup memory_table(const Trace& trace) {
  Markup out(
      "<table><tr><th>Memory of messages, for</th><th>how many</th><th>in all</th><th>most at once on one "
      "PE</th></tr>");
  for (std::size_t i = 0; i < std::min(trace.memory.size(), most_methods); ++i) {
    const Trace::Memory& row = trace.memory[i];
    out += markup("<tr><td><code>{}</code></td><td>{:.0f}</td><td>{}</td><td>{}, {}</td></tr>", row.name,
                  row.messages, kib(row.bytes), kib(row.most), row.most_on);
  }
  return out + "</table>\n";
}

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
      }
    }
    double width = 0;
    for (const auto& [pe, counters] : busy)
      for (std::size_t i = 1; i < counters.size(); ++i)
        width = std::max(width, counters[i].us - counters[i - 1].us);
    for (const auto& [pe, counters] : busy) end = std::max(end, counters.back().us + width);
    if (busy.empty() || !(end > 0)) return fail(Errc::invalid, where + ": no PE has done anything");
    for (int pe = 0; pe <= busy.rbegin()->first; ++pe)  // of one that has run nothing there are none
      out.busy.push_back(over_time(busy[pe], width, end));
    if (in.contains("footprint")) read_footprint(in.at("footprint"), out);
    out.ms = end * 1e-3;
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

Markup trace_section(const std::vector<Trace>& traces) {
  Markup out(
      "<h1 id=\"title\">Message-driven programs, over time</h1>\n<p>How busy each PE was from the beginning "
      "of "
      "a job to its end: the darker, the more. What is pale on one PE and dark on another is what "
      "<code>balance()</code> can even out.</p>\n");
  for (const Trace& trace : traces) {
    out += markup("<h2>{}, {:.1f} ms</h2>\n<table>", trace.name, trace.ms);
    for (std::size_t pe = 0; pe < trace.busy.size(); ++pe) {
      out += markup("<tr><th>PE {}</th><td class=\"wide\">{}</td><td>{:.0f} %</td>", pe,
                    strip(trace.busy[pe], fmt::format("PE {} over time", pe)), trace.mean(pe));
      if (pe < trace.held.size()) out += markup("<td>{} held</td>", kib(trace.held[pe]));
      out += "</tr>";
    }
    out += "</table>\n";
    if (!trace.memory.empty()) out += memory_table(trace);
    if (trace.methods.empty()) continue;
    out += "<table><tr><th>Entry method</th><th>runs of a microsecond or more</th><th>ms in all</th></tr>";
    for (std::size_t i = 0; i < std::min(trace.methods.size(), most_methods); ++i)
      out += markup("<tr><td><code>{}</code></td><td>{}</td><td>{:.1f}</td></tr>", trace.methods[i].name,
                    trace.methods[i].runs, trace.methods[i].ms);
    out += "</table>\n";
  }
  return out;
}

}  // namespace nigh::cli
