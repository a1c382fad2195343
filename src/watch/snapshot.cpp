// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nigh::watch {

namespace {

// One unit's part in nodes and rows.
void add_unit(const Machine& machine, const Unit& unit, Snapshot& out, std::vector<double>& local,
              std::vector<double>& all) {
  const Application& a = unit.application;
  const Placement placement = a.placement();
  const std::vector<double> resident = a.resident();
  double threads = 0;
  for (const double n : a.threads) threads += n;
  Snapshot::Row row;
  row.name = a.program.name;
  row.megabytes = a.megabytes;
  row.locality = a.locality();
  row.traffic = placement.traffic;
  for (std::size_t i = 0; i < a.threads.size(); ++i) {
    out.nodes[i].threads += a.threads[i];
    out.nodes[i].megabytes += resident[i];
    for (double& part : row.traffic[i]) part *= a.threads[i] / threads;
    if (a.threads[i] == 0) continue;
    row.threads +=
        fmt::format("{}{}:{:.3g}", row.threads.empty() ? "" : " ", machine.node_number(i), a.threads[i]);
    const double accesses = std::max(a.accesses, 1.0) * a.threads[i] / threads;
    local[i] += accesses * placement.traffic[i][i];
    all[i] += accesses;
  }
  for (const Cluster& cluster : find_clusters({a})) row.weight = std::max(row.weight, cluster.weight);
  out.units.push_back(std::move(row));
}

void add_links(const Machine& machine, const Links& links, const Sighting& sighting, Snapshot& out) {
  std::vector<Program> programs;
  std::vector<Placement> placements;
  for (const Unit& unit : sighting.units) {
    programs.push_back(unit.application.program);
    placements.push_back(unit.application.placement());
  }
  auto forecast = simulate(links, programs, placements, {.tolerance = 1e-4});
  if (programs.empty() || !forecast) return;
  std::vector<Flow> flows;
  std::vector<double> rates;
  for (std::size_t u = 0; u < programs.size(); ++u) {
    const Forecast& f = (*forecast)[u];
    flows.insert(flows.end(), f.flows.begin(), f.flows.end());
    rates.insert(rates.end(), f.loads.begin(), f.loads.end());
  }
  for (std::size_t i = 0; i < flows.size(); ++i)
    if (flows[i].cpus != flows[i].memory)
      out.nodes[static_cast<std::size_t>(flows[i].memory)].from_others += rates[i];
  for (int to = 0; to < links.nodes(); ++to)
    for (int from = 0; from < links.nodes(); ++from) {
      const double load = to == from ? 0 : links.load(to, from, flows, rates);
      if (load > 0)
        out.links.push_back({machine.node_number(static_cast<std::size_t>(to)),
                             machine.node_number(static_cast<std::size_t>(from)), load,
                             links.assumed(to, from)});
    }
  std::sort(out.links.begin(), out.links.end(), [](const Snapshot::Link& a, const Snapshot::Link& b) {
    if (a.load != b.load) return a.load > b.load;
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
}

std::string bar(double part, int width) {
  const int full = static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * width));
  return std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(width - full), '.');
}

// Control characters of a process's name must not reach a terminal.
std::string clean(const std::string& text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out;
}

// Cut, or broken between words, to the width.
void add_line(std::string& out, const std::string& line, std::size_t columns) {
  out += line.size() <= columns ? line : line.substr(0, columns - 1) + "~";
  out += '\n';
}

void add_wrapped(std::string& out, const std::string& text, std::size_t columns) {
  std::string line = "  ";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, space - at);
    if (line.size() > 4 && line.size() + word.size() > columns) {
      line.pop_back();
      add_line(out, line, columns);
      line = "    ";
    }
    line += word + ' ';
    at = space + 1;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  add_line(out, line, columns);
}

// Names of threads are any bytes; the format is UTF-8. JSON's writer replaces what is none.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  const std::string valid =
      nlohmann::json::parse(
          nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
          .get<std::string>();
  for (const char c : valid)
    out += c == '\\' || c == '"'                ? std::string("\\") + c
           : c == '\n'                          ? std::string("\\n")
           : static_cast<unsigned char>(c) < 32 ? std::string("?")
                                                : std::string(1, c);
  return out + '"';
}

}  // namespace

Snapshot make_snapshot(const Machine& machine, const Links& links, const Sighting& sighting) {
  Snapshot out;
  out.machine = machine.name;
  out.level = sighting.level;
  out.confidence = sighting.confidence;
  const std::size_t n = machine.node_count();
  out.nodes.resize(n);
  for (std::size_t i = 0; i < n; ++i) out.nodes[i].number = machine.node_number(i);
  std::vector<double> local(n, 0), all(n, 0);
  for (const Unit& unit : sighting.units) add_unit(machine, unit, out, local, all);
  for (std::size_t i = 0; i < n; ++i) out.nodes[i].local = all[i] > 0 ? local[i] / all[i] : 0;
  add_links(machine, links, sighting, out);
  return out;
}

std::string to_screen(const Snapshot& s, int columns, bool color) {
  const auto width = static_cast<std::size_t>(std::max(columns, 72));
  const auto title = [&](const std::string& text) { return color ? "\033[1m" + text + "\033[0m" : text; };
  std::string out;
  const std::string head =
      fmt::format("nigh watch: {}{}, {} by {}, {:.0f} s, {}", clean(s.machine),
                  s.predicted ? " (simulated)" : "", s.mode, s.policy, s.elapsed, s.state);
  out += title(head) + "\n";
  add_line(out,
           fmt::format("{} ({}), confidence {:.0f} %; own cost {:.2f} % of a core; {} moves, {} undone",
                       s.meter, level_name(s.level), 100 * s.confidence, 100 * s.cost, s.moves, s.rollbacks),
           width);
  out += "\n" + title("node  threads   memory MB   local") + "\n";
  for (const Snapshot::Node& node : s.nodes)
    add_line(out,
             fmt::format(
                 "{:>4} {:>8.3g} {:>11.0f}   {}", node.number, node.threads, node.megabytes,
                 node.threads > 0 ? fmt::format("{:>3.0f} % {}", 100 * node.local, bar(node.local, 20)) : ""),
             width);
  if (!s.links.empty()) {
    out += "\n" + title("busiest links (memory -> CPUs), predicted load") + "\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(s.links.size(), 6); ++i) {
      const Snapshot::Link& link = s.links[i];
      add_line(out,
               fmt::format("  {:>2} -> {:<2}  {} {:>3.0f} %{}", link.from, link.to, bar(link.load, 20),
                           100 * link.load, link.assumed ? "  (its bandwidth is a guess)" : ""),
               width);
    }
  }
  const int names = static_cast<int>(width) - 58;  // what is left beside the figures, 2 to 74
  out += "\n" +
         title(fmt::format("{:<{}}{:<23}{}", "application", names + 1, "threads by node",
                           "memory MB   local   weight")) +
         "\n";
  for (const Snapshot::Row& row : s.units)
    add_line(out,
             fmt::format("{:<{}.{}} {:<22.22} {:>9.0f}   {:>3.0f} %   {:>6.1f}", clean(row.name), names,
                         names, row.threads, row.megabytes, 100 * row.locality, row.weight),
             width);
  if (s.units.empty()) add_line(out, "  none that accesses memory", width);
  out += "\n" + title("said") + "\n";
  for (std::size_t i = s.said.size() - std::min<std::size_t>(s.said.size(), 4); i < s.said.size(); ++i)
    add_wrapped(out, clean(s.said[i]), width);
  return out;
}

nlohmann::ordered_json to_json(const Snapshot& s) {
  nlohmann::ordered_json out = {
      {"format", "nigh-watch"},
      {"version", 1},
      {"machine", s.machine},
      {"simulated", s.predicted},
      {"elapsed", s.elapsed},
      {"policy", s.policy},
      {"mode", s.mode},
      {"state", s.state},
      {"meter", {{"name", s.meter}, {"level", level_name(s.level)}, {"confidence", s.confidence}}},
      {"own_cost", s.cost},
      {"moves", s.moves},
      {"rollbacks", s.rollbacks}};
  for (const char* list : {"nodes", "links", "applications", "said"})
    out[list] = nlohmann::ordered_json::array();
  for (const Snapshot::Node& n : s.nodes)
    out["nodes"].push_back({{"node", n.number},
                            {"threads", n.threads},
                            {"megabytes", n.megabytes},
                            {"local", n.local},
                            {"mb_per_s_to_others", n.from_others}});
  for (const Snapshot::Link& l : s.links)
    out["links"].push_back({{"from", l.from}, {"to", l.to}, {"load", l.load}, {"assumed", l.assumed}});
  for (const Snapshot::Row& r : s.units)
    out["applications"].push_back({{"name", r.name},
                                   {"threads", r.threads},
                                   {"megabytes", r.megabytes},
                                   {"local", r.locality},
                                   {"weight", r.weight},
                                   {"traffic", r.traffic}});
  for (const std::string& sentence : s.said) out["said"].push_back(sentence);
  return out;
}

std::string to_prometheus(const Snapshot& s) {
  std::string out;
  const auto metric = [&](const char* name, const char* type, const char* help) {
    out += fmt::format("# HELP nigh_{0} {2}\n# TYPE nigh_{0} {1}\n", name, type, help);
  };
  metric("meter_confidence", "gauge", "Confidence in the meter's figures, 0 to 1.");
  out += fmt::format("nigh_meter_confidence{{level=\"{}\"}} {}\n", level_name(s.level), s.confidence);
  metric("own_cost_cores", "gauge", "CPU time that nigh watch itself takes, in cores.");
  out += fmt::format("nigh_own_cost_cores {}\n", s.cost);
  metric("moves_total", "counter", "Decisions that were carried out.");
  out += fmt::format("nigh_moves_total {}\n", s.moves);
  metric("rollbacks_total", "counter", "Decisions that were taken back.");
  out += fmt::format("nigh_rollbacks_total {}\n", s.rollbacks);
  metric("node_threads", "gauge", "Watched threads on a NUMA node.");
  for (const Snapshot::Node& n : s.nodes)
    out += fmt::format("nigh_node_threads{{node=\"{}\"}} {}\n", n.number, n.threads);
  metric("node_local_ratio", "gauge", "Part of the accesses of a node's threads that go to its own memory.");
  for (const Snapshot::Node& n : s.nodes)
    out += fmt::format("nigh_node_local_ratio{{node=\"{}\"}} {}\n", n.number, n.local);
  metric("link_load_ratio", "gauge", "Predicted load of a link, from memory to CPUs, 0 to 1.");
  for (const Snapshot::Link& l : s.links)
    out += fmt::format("nigh_link_load_ratio{{from=\"{}\",to=\"{}\"}} {}\n", l.from, l.to, l.load);
  metric("application_local_ratio", "gauge", "Part of an application's accesses that are local.");
  for (std::size_t i = 0; i < s.units.size(); ++i)
    out += fmt::format("nigh_application_local_ratio{{application={},unit=\"{}\"}} {}\n",
                       quoted(s.units[i].name), i, s.units[i].locality);
  return out;
}

}  // namespace nigh::watch
