// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The links as tables, each figure with a letter for where it comes from: a plan is only as certain as these.
// A matrix too wide for the terminal is told by relation instead (in the node, in the package, ...), with
// what stands out from its relation named one by one.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "machine/draw_model.hpp"

namespace nigh {

namespace {
constexpr std::size_t max_exceptions = 8;

struct Table {
  std::string title;
  std::function<double(std::size_t)> value;
  std::function<Source(std::size_t)> source;
  std::function<std::string(double)> text;
};

std::string mark(Source source) {
  switch (source) {
    case Source::measured: return "m";
    case Source::hmat: return "h";
    case Source::slit: return "s";
    case Source::datasheet: return "d";
    case Source::guessed: return "g";
    case Source::fitted: return "f";
    case Source::unknown: break;
  }
  return "";
}

std::string word(Source source) {
  if (source == Source::datasheet) return "data sheet";
  if (source == Source::hmat) return "HMAT";
  if (source == Source::slit) return "from SLIT";
  return source_name(source);
}

const Object& node(const Machine& m, std::size_t i) {
  return m.objects[static_cast<std::size_t>(m.nodes[i])];
}

std::vector<Source> sources_in(const Table& table, std::size_t n) {
  std::vector<Source> out;
  for (Source s :
       {Source::measured, Source::hmat, Source::slit, Source::datasheet, Source::guessed, Source::fitted})
    for (std::size_t i = 0; i < n * n; ++i)
      if (table.source(i) == s) {
        out.push_back(s);
        break;
      }
  return out;
}

std::string legend(const std::vector<Source>& sources, bool marks) {
  if (sources.size() == 1) return word(sources[0]);
  std::string out;
  for (Source s : sources) out += (out.empty() ? "" : ", ") + (marks ? mark(s) + " " : "") + word(s);
  return out;
}

std::string right(const std::string& text, int columns) {
  int pad = columns - display_width(text);
  return std::string(static_cast<std::size_t>(std::max(0, pad)), ' ') + text;
}

// The whole matrix; "" when it is wider than `width`.
std::string full_table(const Machine& m, const Table& table, int width) {
  std::size_t n = m.node_count();
  auto sources = sources_in(table, n);
  bool marks = sources.size() > 1;
  int columns = 2;
  for (std::size_t i = 0; i < n * n; ++i)
    if (table.source(i) != Source::unknown)
      columns = std::max(columns, display_width(table.text(table.value(i))));
  for (std::size_t i = 0; i < n; ++i)
    columns = std::max(columns, static_cast<int>(std::to_string(node(m, i).os_index).size()));
  int cell = columns + (marks ? 3 : 2);
  if (6 + static_cast<int>(n) * cell > width) return "";
  std::string out = "  node";
  for (std::size_t j = 0; j < n; ++j)
    out += right(std::to_string(node(m, j).os_index), columns + 2) + (marks ? " " : "");
  while (out.back() == ' ') out.pop_back();
  out += '\n';
  for (std::size_t i = 0; i < n; ++i) {
    out += right(std::to_string(node(m, i).os_index), 6);
    for (std::size_t j = 0; j < n; ++j) {
      Source s = table.source(i * n + j);
      bool known = s != Source::unknown;
      out += right(known ? table.text(table.value(i * n + j)) : "·", columns + 2);
      if (marks) out += known ? mark(s) : " ";
    }
    while (out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

// The nearness of two nodes: the innermost kind of object around both.
std::string relation(const Machine& m, std::size_t a, std::size_t b) {
  if (a == b) return "in the node";
  std::vector<int> around;
  for (int i = m.nodes[a]; i >= 0; i = m.objects[static_cast<std::size_t>(i)].parent) around.push_back(i);
  for (int i = m.nodes[b]; i > 0; i = m.objects[static_cast<std::size_t>(i)].parent)
    if (std::find(around.begin(), around.end(), i) != around.end())
      return fmt::format("in the {}", kind_name(m.objects[static_cast<std::size_t>(i)].kind));
  return "elsewhere";
}

struct Related {
  std::vector<std::size_t> known;  // matrix positions
  std::size_t unknown = 0;
};

std::string related_line(const Table& table, const std::string& name, const Related& group, std::size_t n,
                         const Machine& m) {
  std::string out = fmt::format("  {:<16}", name);
  if (group.known.empty()) return out + fmt::format("unknown ({} links)\n", group.unknown);
  std::vector<double> values;
  for (auto i : group.known) values.push_back(table.value(i));
  std::sort(values.begin(), values.end());
  double usual = values[values.size() / 2];
  out += fmt::format("{:>9}", table.text(usual));
  if (values.front() < values.back())
    out += fmt::format("  from {} to {}", table.text(values.front()), table.text(values.back()));
  out += fmt::format("  ({} links{})\n", values.size(),
                     group.unknown > 0 ? fmt::format(", {} unknown", group.unknown) : "");
  std::vector<std::size_t> odd;
  for (auto i : group.known)
    if (table.value(i) < usual / 1.5 || table.value(i) > usual * 1.5) odd.push_back(i);
  if (odd.size() <= max_exceptions)
    for (auto i : odd)
      out += fmt::format("    {} to {}: {}\n", node(m, i / n).os_index, node(m, i % n).os_index,
                         table.text(table.value(i)));
  return out;
}

std::string by_relation(const Machine& m, const Table& table) {
  std::size_t n = m.node_count();
  std::vector<std::string> order;
  std::map<std::string, Related> groups;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      auto name = relation(m, i, j);
      if (groups.find(name) == groups.end()) order.push_back(name);
      auto& group = groups[name];
      if (table.source(i * n + j) == Source::unknown)
        ++group.unknown;
      else
        group.known.push_back(i * n + j);
    }
  std::string out;
  for (const auto& name : order) out += related_line(table, name, groups[name], n, m);
  return out;
}

std::string draw_table(const Machine& m, const Table& table, int width) {
  auto sources = sources_in(table, m.node_count());
  if (sources.empty()) return "";
  if (m.node_count() == 1)
    return fmt::format("{}: {} ({})\n", table.title, table.text(table.value(0)), legend(sources, false));
  std::string body = full_table(m, table, width);
  bool full = !body.empty();
  if (!full) body = by_relation(m, table);
  return table.title + '\n' + (full ? "" : "  median by relation\n") + body + "  " + legend(sources, full) +
         '\n';
}

std::string plain(double v) {
  return v < 100 && v != static_cast<int>(v) ? fmt::format("{:.1f}", v) : fmt::format("{:.0f}", v);
}
std::string gigabytes(double v) { return fmt::format("{:.1f}", v / 1000); }

std::string link_table(const Machine& m, const LinkMatrix& matrix, const std::string& title,
                       std::string (*text)(double), int width) {
  if (matrix.empty()) return "";
  return draw_table(m,
                    Table{title, [&](std::size_t i) { return matrix.value[i]; },
                          [&](std::size_t i) { return matrix.source[i]; }, text},
                    width);
}

std::string slit_table(const Machine& m, int width) {
  if (m.node_count() < 2 || m.slit.empty()) return "";
  std::size_t n = m.node_count();
  std::string out = "SLIT distance (local: 10)\n";
  Table table{"", [&](std::size_t i) { return m.slit[i]; }, [](std::size_t) { return Source::slit; }, plain};
  std::string body = n == 0 ? "" : full_table(m, table, width);
  return out + (body.empty() ? "  median by relation\n" + by_relation(m, table) : body);
}
}  // namespace

std::string draw_matrices(const Machine& machine, int width) {
  const auto& b = machine.bandwidth;
  bool large = !b.empty() && *std::max_element(b.value.begin(), b.value.end()) >= 20000;
  const std::string axes =
      machine.node_count() == 1 ? "" : " (row: node that accesses, column: node whose memory it is)";
  std::vector<std::string> tables = {
      slit_table(machine, width),
      link_table(machine, b, (large ? "bandwidth, GB/s" : "bandwidth, MB/s") + axes,
                 large ? gigabytes : plain, width),
      link_table(machine, machine.latency, "latency, ns" + axes, plain, width)};
  std::string out;
  for (const auto& table : tables)
    if (!table.empty()) out += (out.empty() ? "" : "\n") + table;
  return out;
}

}  // namespace nigh
