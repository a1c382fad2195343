// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/plan_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/run_record.hpp"
#include "cli/terminal.hpp"
#include "launch/rank_map_words.hpp"
#include "machine/draw.hpp"
#include "plan/core_tree.hpp"
#include "plan/rank_map.hpp"
#include "plan/rank_slots.hpp"
#include "plan/ranks.hpp"
#include "report/rank_record.hpp"
#include "sys/os.hpp"

namespace nigh::cli {
namespace {

constexpr std::size_t nodes_shown = 32;  // more are folded unless --all
constexpr std::uint64_t most_of_record = std::uint64_t{4} << 30;

struct MapPlan {
  Machine machine;
  Traffic traffic;
  RankSlots slots;
  std::vector<CpuSet> shares;  // of the slots of a node
  RankMap in_order, in_turn, best;
  int nodes = 1;
  std::vector<launch::RankPlace> places;  // of each rank
};

Result<Traffic> read_traffic(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    auto traffic = read_rank_record(file);
    if (!traffic) return fail_in("--ranks", traffic.error());
    return traffic;
  }
  auto text = sys::read_file(file, most_of_record);
  if (!text) return fail_in("--ranks", text.error());
  auto traffic = report::parse_rank_traffic(*text);
  if (!traffic) return fail_in("--ranks " + file, traffic.error());
  return traffic;
}

Result<MapPlan> make_rank_map(const RankMapOptions& options, const Machine& machine, const CpuSet& mask) {
  auto traffic = read_traffic(options.file);
  if (!traffic) return tl::unexpected(traffic.error());
  auto tree = CoreTree::cut(machine, mask);
  if (!tree) return tl::unexpected(tree.error());
  const int ranks = traffic->ranks();
  const int nodes = std::min(options.nodes, ranks);
  const int most = options.per_node > 0 ? options.per_node : (ranks + nodes - 1) / nodes;
  if (static_cast<std::int64_t>(most) * nodes < ranks)
    return tl::unexpected(Error{
        Errc::invalid, fmt::format("{} nodes of {} ranks have no room for {} ranks", nodes, most, ranks)});
  MapPlan out;
  out.machine = machine;
  out.nodes = nodes;
  out.shares = rank_shares(*tree, most, RankBinding::compact);
  out.slots = slots_of_nodes(nodes, ranks, options.per_node, levels_of_shares(machine, out.shares));
  out.in_order = map_in_order(*traffic, out.slots);
  out.in_turn = map_in_turn(*traffic, out.slots);
  out.best = map_ranks(*traffic, out.slots);
  out.traffic = *std::move(traffic);
  const std::vector<int>& node = out.slots.levels.front().group;
  const bool bound = most <= tree->pu_count();
  for (const int slot : out.best.slot) {
    const int here = node[static_cast<std::size_t>(slot)];
    const auto first = std::lower_bound(node.begin(), node.end(), here) - node.begin();
    const CpuSet pus = bound ? out.shares[static_cast<std::size_t>(slot - first)] : CpuSet();
    out.places.push_back({here, pus, launch::slot_words(machine, pus)});
  }
  return out;
}

std::string size_words(double bytes) {
  const char* units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) bytes /= 1000, ++unit;
  return unit == 0 ? fmt::format("{:.0f} bytes", bytes)
                   : fmt::format("{:.{}f} {}", bytes,
                                 bytes < 10    ? 2
                                 : bytes < 100 ? 1
                                               : 0,
                                 units[unit]);
}

constexpr const char* level_titles[][2] = {
    {"node", "nodes"}, {"package", "packages"}, {"numa", "NUMA nodes"}, {"l3", "L3 caches"}};
std::string title_of(const std::string& level) {
  for (const auto& [name, title] : level_titles)
    if (level == name) return title;
  return level;
}

struct NamedMap {
  const char* name;
  const RankMap* map;
};
std::vector<NamedMap> maps_of(const MapPlan& plan) {
  return {{"ranks in order", &plan.in_order}, {"ranks in turn", &plan.in_turn}, {"nigh", &plan.best}};
}

std::string verdict(const MapPlan& plan) {
  const RankMap& usual = plan.in_order.cost <= plan.in_turn.cost ? plan.in_order : plan.in_turn;
  const char* name = &usual == &plan.in_order ? "in order" : "in turn";
  if (plan.traffic.total() == 0) return "No rank sends another one anything: all maps are alike.";
  if (!(plan.best.cost < usual.cost * 0.995))
    return fmt::format("Ranks {} are as good: leave the launcher's map as it is.", name);
  const double before = usual.crossed.front(), after = plan.best.crossed.front();
  if (after < before * 0.995)
    return fmt::format("nigh's map sends {:.0f} % less between nodes than ranks {}, {} instead of {}.",
                       100 * (1 - after / before), name, size_words(after), size_words(before));
  return fmt::format(
      "nigh's map sends as much between nodes as ranks {}, and {:.0f} % less within them over the"
      " levels that cost.",
      name, 100 * (1 - (plan.best.cost - after) / (usual.cost - before)));
}

void print_map(const MapPlan& plan, bool all) {
  const std::string name = plan.machine.title.empty() ? plan.machine.name : plan.machine.title;
  fmt::print("{} ranks, {} between them; {} {} of {}, up to {} {} each\n\n", plan.traffic.ranks(),
             size_words(plan.traffic.total()), plan.nodes, plan.nodes == 1 ? "node" : "nodes",
             printable(name), plan.shares.size(), plan.shares.size() == 1 ? "rank" : "ranks");
  fmt::print("{:<16}", "bytes between");
  for (const RankSlots::Level& level : plan.slots.levels) fmt::print("{:>14}", title_of(level.name));
  fmt::print("\n");
  for (const NamedMap& one : maps_of(plan)) {
    fmt::print("{:<16}", one.name);
    for (const double bytes : one.map->crossed) fmt::print("{:>14}", size_words(bytes));
    fmt::print("\n");
  }
  fmt::print("\n{}\n\n", verdict(plan));
  std::vector<std::vector<int>> members(static_cast<std::size_t>(plan.nodes));
  for (std::size_t rank = 0; rank < plan.places.size(); ++rank)
    members[static_cast<std::size_t>(plan.places[rank].node)].push_back(static_cast<int>(rank));
  for (std::size_t node = 0; node < members.size(); ++node) {
    if (!all && node == nodes_shown && members.size() > nodes_shown + 1) {
      fmt::print("... {} more nodes; --all shows them\n", members.size() - node);
      break;
    }
    fmt::print("node {}: ranks {}\n", node, report::rank_list(members[node]));
  }
}

void print_map_document(const MapPlan& plan, const std::vector<std::string>& hosts) {
  nlohmann::ordered_json out = {{"format", "nigh-rank-map"},
                                {"version", 1},
                                {"machine", printable(plan.machine.name)},
                                {"nodes", plan.nodes},
                                {"bytes", plan.traffic.total()},
                                {"verdict", verdict(plan)}};
  auto& levels = out["levels"] = nlohmann::ordered_json::array();
  for (const RankSlots::Level& level : plan.slots.levels)
    levels.push_back({{"name", level.name}, {"cost", level.cost}});
  auto& maps = out["maps"] = nlohmann::ordered_json::array();
  for (const NamedMap& one : maps_of(plan))
    maps.push_back({{"name", one.name}, {"crossed", one.map->crossed}, {"cost", one.map->cost}});
  auto& ranks = out["ranks"] = nlohmann::ordered_json::array();
  for (std::size_t rank = 0; rank < plan.places.size(); ++rank) {
    const launch::RankPlace& place = plan.places[rank];
    nlohmann::ordered_json entry = {
        {"rank", rank}, {"node", place.node}, {"pus", place.pus.to_list()}, {"slot", place.slot}};
    if (!hosts.empty()) entry["host"] = printable(hosts[static_cast<std::size_t>(place.node)]);
    ranks.push_back(std::move(entry));
  }
  std::fputs((out.dump(1) + '\n').c_str(), stdout);
}

}  // namespace

CLI::Option* add_rank_map_options(CLI::App& command, const std::shared_ptr<RankMapOptions>& options) {
  auto* ranks =
      command.add_option("--ranks", options->file,
                         "What ranks send each other, a file or the folder of nigh run --record: maps ranks "
                         "to nodes and PUs");
  command
      .add_option("--ranks-per-node", options->per_node, "Most ranks of a node; default: evenly shared out")
      ->check(CLI::Range(1, report::most_ranks))
      ->needs(ranks);
  command.add_option("--hosts", options->hosts, "Names of the nodes, for --as and --json: a,b,c")
      ->delimiter(',')
      ->needs(ranks);
  return ranks;
}

int run_rank_map(const RankMapOptions& options, const Machine& machine, const CpuSet& mask) {
  auto plan = make_rank_map(options, machine, mask);
  if (!plan) return report_failure("plan", plan.error().message);
  if (!options.hosts.empty() && static_cast<int>(options.hosts.size()) < plan->nodes)
    return report_failure(
        "plan", fmt::format("--hosts names {} nodes, and the map has {}", options.hosts.size(), plan->nodes));
  if (!options.as.empty()) {
    auto lines = write_rank_map(options.as, plan->places, options.hosts);
    if (!lines) return report_failure("plan", "--as: " + lines.error().message);
    std::fputs(lines->c_str(), stdout);
  } else if (options.json) {
    print_map_document(*plan, options.hosts);
  } else {
    print_map(*plan, options.all);
  }
  return 0;
}

}  // namespace nigh::cli
