// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A Probe for people. Every figure stands with its range; what was not measured is a dash, never a zero.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "machine/probe.hpp"

namespace nigh {

namespace {
using probe::Figure;
using probe::Mix;

std::string number(double value) {
  return value >= 100  ? fmt::format("{:.0f}", value)
         : value >= 10 ? fmt::format("{:.1f}", value)
                       : fmt::format("{:.2f}", value);
}

std::string ranged(const Figure& f) {
  if (!f.known()) return "-";
  return fmt::format("{} [{}..{}]", number(f.median), number(f.low), number(f.high));
}

std::string bytes(std::uint64_t count) {
  if (count >= (std::uint64_t{1} << 20))
    return fmt::format("{:.4g} MiB", static_cast<double>(count) / 1048576.0);
  return fmt::format("{:.4g} KiB", static_cast<double>(count) / 1024.0);
}

std::string row(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line = " ";
  for (std::size_t i = 0; i < cells.size(); ++i)
    line +=
        i == 0 ? fmt::format(" {:<{}}", cells[i], widths[i]) : fmt::format("  {:>{}}", cells[i], widths[i]);
  return line + "\n";
}

std::string table(const std::string& title, const std::vector<std::vector<std::string>>& rows) {
  if (rows.size() < 2) return "";
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const auto& cells : rows)
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  std::string out = title + "\n";
  for (const auto& cells : rows) out += row(cells, widths);
  return out + "\n";
}

// Rows: node whose CPUs access; columns: node with the memory. With many nodes the range shrinks to its
// width.
template <class Find>
std::string matrix(const Probe& p, const std::string& title, const Find& find, int width) {
  std::vector<std::vector<std::string>> rows{{"from\\to"}};
  bool narrow = static_cast<int>(p.nodes.size()) * 24 + 10 > width;
  for (const auto& to : p.nodes) rows[0].push_back(std::to_string(to.node));
  bool any = false;
  for (const auto& from : p.nodes) {
    if (from.pus.empty()) continue;
    std::vector<std::string> cells{std::to_string(from.node)};
    for (const auto& to : p.nodes) {
      Figure f = find(from.node, to.node);
      any = any || f.known();
      cells.push_back(!narrow || !f.known()
                          ? ranged(f)
                          : fmt::format("{}~{:.0f}%", number(f.median), probe::spread(f) * 100));
    }
    rows.push_back(cells);
  }
  if (!any) return "";
  return table(title + (narrow ? ", median ~ (high - low) / median" : ", median [low..high]"), rows);
}

std::string draw_links(const Probe& p, int width) {
  std::string out;
  for (auto [mix, name] : {std::pair{Mix::read, "Read bandwidth"},
                           {Mix::two_to_one, "2 reads : 1 write"},
                           {Mix::one_to_one, "1 read : 1 write"}})
    out += matrix(
        p, fmt::format("{} (MB/s, all threads of a node that gain)", name),
        [&, mix = mix](int from, int to) {
          const auto* b = p.find(from, to, mix);
          return b != nullptr ? b->mb_per_s : Figure{};
        },
        width);
  for (bool loaded : {false, true})
    out += matrix(
        p, loaded ? "Latency with the node's other threads streaming there (ns)" : "Idle latency (ns)",
        [&](int from, int to) {
          const auto* l = p.find_latency(from, to, loaded);
          return l != nullptr ? l->ns : Figure{};
        },
        width);
  return out;
}

std::string draw_scaling(const Probe& p) {
  std::vector<std::vector<std::string>> rows{{"link", "knee", "threads: MB/s"}};
  for (const auto& s : p.scaling) {
    std::string curve;
    for (const auto& point : s.points)
      curve +=
          fmt::format("{}{}: {}", curve.empty() ? "" : "  ", point.threads, number(point.mb_per_s.median));
    rows.push_back({fmt::format("{}->{}", s.from, s.to), std::to_string(s.knee), curve});
  }
  return table("Read bandwidth over threads", rows);
}

// Next to what each link gives alone, since that is what sharing costs.
std::string draw_together(const Probe& p) {
  std::string out;
  for (const auto& t : p.together) {
    std::string links;
    for (const auto& b : t.links) {
      const auto* alone = p.find(b.from, b.to, Mix::read);
      links += fmt::format("{}{}->{} {}", links.empty() ? "" : ", ", b.from, b.to, number(b.mb_per_s.median));
      if (alone != nullptr)
        links += fmt::format(" ({:.0f}% of alone)", 100 * b.mb_per_s.median / alone->mb_per_s.median);
    }
    out += fmt::format("  {}: {} MB/s in all: {}\n", t.name, ranged(t.total), links);
  }
  return out.empty() ? out : "At the same time (read, MB/s)\n" + out + "\n";
}

std::string draw_sizes(const Probe& p) {
  std::vector<std::vector<std::string>> rows{{"working set", "held by", "latency ns", "read MB/s"}};
  for (const auto& s : p.sizes) rows.push_back({bytes(s.bytes), s.level, ranged(s.ns), ranged(s.mb_per_s)});
  return table("Caches: one thread", rows);
}

std::string draw_cores(const Probe& p) {
  if (p.core_pairs.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"PUs", "ns one way"}};
  auto order = p.core_pairs;
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.ns.median < b.ns.median; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order.size() > 16 && i >= 8 && i < order.size() - 8) continue;
    if (order.size() > 16 && i == order.size() - 8)
      rows.push_back({fmt::format("({} more)", order.size() - 16), ""});
    rows.push_back({fmt::format("{} - {}", order[i].a, order[i].b), ranged(order[i].ns)});
  }
  return table("Core to core: a cache line handed over, nearest first", rows);
}

std::string draw_memory(const Probe& p) {
  std::vector<std::vector<std::string>> rows{
      {"node", "PUs", "last cache", "a thread's buffer", "chase", "huge pages"}};
  for (const auto& n : p.nodes)
    rows.push_back({std::to_string(n.node), n.pus.empty() ? "-" : n.pus.to_list(), bytes(n.llc_bytes),
                    n.slice_bytes > 0 ? bytes(n.slice_bytes) : "-",
                    n.chase_bytes > 0 ? bytes(n.chase_bytes) : "-",
                    n.total_bytes > 0 ? fmt::format("{:.0f}%", 100.0 * static_cast<double>(n.huge_bytes) /
                                                                   static_cast<double>(n.total_bytes))
                                      : "-"});
  return table("Measured with", rows);
}
}  // namespace

std::string draw_probe(const Probe& p, int width) {
  std::string out =
      fmt::format("Measured on {}: {}, Linux {}, PUs {}, {} vectors, {}, {:.1f} s\n\n", p.date, p.cpu,
                  p.kernel, p.pus.to_list(), p.vectors, p.quick ? "--quick" : "full", p.seconds);
  out += draw_memory(p) + draw_links(p, width) + draw_scaling(p) + draw_together(p) + draw_sizes(p) +
         draw_cores(p);
  if (!p.contradictions.empty()) {
    out += "Where the firmware's tables are contradicted\n";
    for (const auto& sentence : p.contradictions) out += "  " + sentence + "\n";
    out += "\n";
  }
  if (!p.notes.empty()) out += "Notes\n";
  for (const auto& note : p.notes) out += "  " + note + "\n";
  return out;
}

}  // namespace nigh
