// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/rank_map_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace nigh::launch {
namespace {

using MapJson = nlohmann::json;

constexpr const char* letters_of_slots = "0123456789:;,-*";
constexpr const char* letters_of_hosts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";

// The text at `key` if it is one of these letters only, and of at least one.
std::optional<std::string> text_of(const MapJson& entry, const char* key, const char* letters) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_string()) return std::nullopt;
  std::string text = found->get<std::string>();
  if (text.empty() || text.find_first_not_of(letters) != std::string::npos) return std::nullopt;
  return text;
}

Error wrong_entry(std::size_t number, const char* what) {
  return Error{Errc::invalid, fmt::format("entry {} of its \"ranks\" {}", number, what)};
}

// An option by which the user places ranks; "" if there is none.
std::string placing_option(Launcher launcher, const std::vector<std::string>& words) {
  const LauncherNames& names = names_of(launcher);
  for (const LauncherOption& option : launcher_options(launcher, words)) {
    const bool threads = option.name == "c" || option.name == "cpus-per-task";  // srun's, of a rank
    const bool fixes = among(names.fix, option.name) && !threads;
    const bool lists = launcher != Launcher::open_mpi &&  // whose rankfiles need the hosts named
                       (among(names.files, option.name) || among(names.hosts, option.name));
    const bool binds = launcher == Launcher::open_mpi && among(names.bind, option.name);
    if (fixes || lists || binds) return words[option.at];
  }
  return "";
}

Launcher launcher_of_way(MapWay way) {
  switch (way) {
    case MapWay::rankfile:
    case MapWay::map_by_rankfile: return Launcher::open_mpi;
    case MapWay::hostfile: return Launcher::slurm;
    default: return Launcher::hydra;
  }
}

// A node whose ranks are not consecutive; -1: there is none.
int node_apart(const std::vector<RankPlace>& places) {
  std::set<int> before;
  for (std::size_t rank = 1; rank < places.size(); ++rank) {
    if (places[rank].node == places[rank - 1].node) continue;
    before.insert(places[rank - 1].node);
    if (before.contains(places[rank].node)) return places[rank].node;
  }
  return -1;
}

std::vector<std::string> rankmap_words(const std::vector<RankPlace>& places,
                                       const std::vector<std::string>& hosts) {
  std::string names, nodes;
  for (const std::string& host : hosts) names += (names.empty() ? "" : ",") + host;
  for (const RankPlace& place : places) nodes += fmt::format("{}{}", nodes.empty() ? "" : ",", place.node);
  return {"-hosts", names, "-rankmap", nodes};
}

Result<std::vector<std::string>> words_of_way(MapWay way, const WrittenMap& map, const std::string& file) {
  using Words = std::vector<std::string>;
  const bool hydra = launcher_of_way(way) == Launcher::hydra;
  if (hydra && map.hosts.empty()) return Words();  // all on this node
  switch (way) {
    case MapWay::rankfile: return Words{"--rankfile", file};
    case MapWay::map_by_rankfile: return Words{"--map-by", "rankfile:file=" + file};
    case MapWay::hostfile: return Words{"--distribution=arbitrary"};
    case MapWay::rankmap: return rankmap_words(map.places, map.hosts);
    case MapWay::hosts: break;
  }
  if (const int node = node_apart(map.places); node >= 0)
    return fail(Errc::unsupported, fmt::format("the ranks of host {} are not consecutive: started by this "
                                               "mpiexec, MPICH takes them for ranks of "
                                               "several nodes; that of MPICH 5 has -rankmap",
                                               map.hosts[static_cast<std::size_t>(node)]));
  return Words{"-f", file};
}

}  // namespace

std::string slot_words(const Machine& machine, const CpuSet& pus) {
  const std::vector<int> packages = machine.of_kind(Kind::package), cores = machine.of_kind(Kind::core);
  std::map<int, CpuSet> chosen;
  std::map<int, int> next;  // logical number of the next core of each package
  for (const int core : cores) {
    const CpuSet& own = machine.objects[static_cast<std::size_t>(core)].pus;
    int package = 0;
    for (std::size_t p = 0; p < packages.size(); ++p)
      if (own.intersects(machine.objects[static_cast<std::size_t>(packages[p])].pus))
        package = static_cast<int>(p);
    const int number = next[package]++;
    if (own.intersects(pus)) chosen[package].set(number);
  }
  std::string out;
  for (const auto& [package, numbers] : chosen)
    out += fmt::format("{}{}:{}", out.empty() ? "" : ";", package, numbers.to_list());
  return out.empty() ? "0:*" : out;
}

Result<std::string> write_rank_map(std::string_view form, const std::vector<RankPlace>& places,
                                   const std::vector<std::string>& hosts) {
  std::size_t nodes = 0;
  for (const RankPlace& place : places) nodes = std::max(nodes, static_cast<std::size_t>(place.node) + 1);
  if (hosts.empty() && nodes > 1)
    return fail(Errc::invalid, fmt::format("{} nodes have no names: say them with --hosts", nodes));
  if (!hosts.empty() && hosts.size() < nodes)
    return fail(Errc::invalid,
                fmt::format("--hosts names {} nodes, and the map has {}", hosts.size(), nodes));
  if (form == "rankmap")
    return fmt::format(
        "{}\n",
        fmt::join(rankmap_words(places, hosts.empty() ? std::vector<std::string>{"localhost"} : hosts), " "));
  std::string out;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const RankPlace& place = places[rank];
    const std::string host = hosts.empty() ? "localhost" : hosts[static_cast<std::size_t>(place.node)];
    out += form == "hosts" ? host + '\n' : fmt::format("rank {}={} slot={}\n", rank, host, place.slot);
  }
  return out;
}

Result<WrittenMap> parse_rank_map(std::string_view text) {
  const MapJson root = MapJson::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object() || root.value("format", MapJson()) != "nigh-rank-map" ||
      root.value("version", MapJson()) != 1)
    return fail(Errc::invalid, "it is not a map of ranks (nigh plan --ranks ... --json, version 1)");
  const auto ranks = root.find("ranks");
  if (ranks == root.end() || !ranks->is_array() || ranks->empty())
    return fail(Errc::invalid, "it has no list \"ranks\"");
  WrittenMap out;
  std::map<int, std::string> hosts;
  for (const MapJson& entry : *ranks) {
    const std::size_t number = out.places.size();
    if (!entry.is_object() || entry.value("rank", MapJson()) != number)
      return tl::unexpected(wrong_entry(number, "is of another rank"));
    const MapJson node = entry.value("node", MapJson());
    const auto slot = text_of(entry, "slot", letters_of_slots);
    const auto host = text_of(entry, "host", letters_of_hosts);
    if (!node.is_number_integer() || node.get<std::int64_t>() < 0 ||
        node.get<std::int64_t>() >= static_cast<std::int64_t>(ranks->size()))
      return tl::unexpected(wrong_entry(number, "has no \"node\""));
    if (!slot) return tl::unexpected(wrong_entry(number, "has no \"slot\" such as 0:0-3"));
    if (entry.contains("host") && !host)
      return tl::unexpected(wrong_entry(number, "has a \"host\" that is no name"));
    out.places.push_back({node.get<int>(), {}, *slot});
    if (host) hosts[out.places.back().node] = *host;
  }
  for (const RankPlace& place : out.places)
    if (!hosts.empty() && !hosts.contains(place.node))
      return fail(Errc::invalid, fmt::format("its node {} has no \"host\"", place.node));
  for (const auto& [node, host] : hosts) {
    out.hosts.resize(static_cast<std::size_t>(node) + 1);
    out.hosts.back() = host;
  }
  return out;
}

const char* form_of(MapWay way) {
  switch (way) {
    case MapWay::rankfile:
    case MapWay::map_by_rankfile: return "rankfile";
    case MapWay::rankmap: return "rankmap";
    default: return "hosts";
  }
}

Result<std::vector<std::string>> words_with_map(MapWay way, const std::vector<std::string>& words,
                                                const WrittenMap& map, const std::string& file) {
  const Launcher launcher = launcher_of_way(way);
  if (const std::string option = placing_option(launcher, words); !option.empty())
    return fail(Errc::invalid, fmt::format("'{}' places the ranks already; leave one of them out", option));
  if (std::find(words.begin(), words.end(), ":") != words.end())
    return fail(Errc::invalid, "the command starts several programs; a map is of one");
  const int asked = ranks_of(launcher, words), ranks = static_cast<int>(map.places.size());
  if (asked != 0 && asked != ranks)
    return fail(Errc::invalid,
                fmt::format("it is a map of {} ranks, and the command starts {}", ranks, asked));
  auto added = words_of_way(way, map, file);
  if (!added) return added;
  if (asked == 0) added->insert(added->end(), {"-n", std::to_string(ranks)});
  std::vector<std::string> out = words;
  out.insert(out.begin() + 1, added->begin(), added->end());
  return out;
}

}  // namespace nigh::launch
