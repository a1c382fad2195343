// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/mpi_probe.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "machine/json_transfer.hpp"
#include "machine/load.hpp"
#include "machine/probe_copy.hpp"
#include "sys/os.hpp"

namespace nigh {

namespace {
using nlohmann::json;
constexpr int version = 2;

std::vector<MpiPoint> read_points(const json& list) {
  std::vector<MpiPoint> out;
  for (const json& p : list)
    out.push_back({p.at("k").get<int>(), p.at("bytes").get<double>(), p.at("us").get<double>()});
  return out;
}

// The rate of one thread and of a node, as measured; one thread never has more than all.
CopyLevel level(std::uint64_t bytes, int cores, double one, double node) {
  return {bytes, cores, std::min(one, node), node};
}

std::vector<CopyLevel> measured_levels(const json& in) {
  std::vector<CopyLevel> out;
  const auto cache = in.at("cache_bytes").get<std::uint64_t>();
  const auto near = in.at("cache_node").get<double>(), far = in.at("memory_node").get<double>();
  // A cache that is no faster than memory is none (CPUs are shared, or it is another's).
  if (near > far) out.push_back(level(cache, 1, in.at("cache_one").get<double>(), near));
  out.push_back(level(0, 0, in.at("memory_one").get<double>(), far));
  return out;
}

CopyRates read_copying(const json& in, int cores) {
  CopyRates out;
  // A copy is the limit: more is what disturbed the copy.
  out.transpose_powers = std::min(in.at("transpose_powers").get<double>(), 1.0);
  out.transpose_others = std::min(in.at("transpose_others").get<double>(), 1.0);
  out.barrier_us = cores > 1 ? in.at("barrier_us").get<double>() / std::log2(cores) : 0;
  out.message_us = in.at("message_us").get<double>();
  out.source = Source::measured;
  return out;
}

MpiProbe read_report(const json& in, const Machine& machine, const Probe* probe) {
  MpiProbe out;
  out.library = in.at("library").get<std::string>();
  out.nodes = in.at("nodes").get<int>();
  out.ranks = in.at("ranks_per_node").get<int>();
  out.cores = in.at("cores").get<int>();
  out.seconds = in.at("seconds").get<double>();
  out.points = points_of_reorder(read_points(in.at("reorder")), in.at("reorder_nodes").get<int>());
  out.network = fit_network(out.points);
  if (!out.network.empty()) {
    out.network.stream_process_rate = in.at("stream_one").get<double>();
    out.network.stream_node_rate = in.at("stream_node").get<double>();
  }
  out.copying = read_copying(in, out.cores);
  const bool measured = in.contains("memory_node");
  if (measured) {
    out.copying.levels = measured_levels(in);
  } else if (probe != nullptr) {
    out.copying.levels = probed_copy_levels(machine, *probe);
    out.copying_from = "nigh machine --probe on " + probe->date;
    out.notes.push_back("rates of copying are those of " + out.copying_from + ", not measured again");
  }
  if (out.nodes == 1) out.notes.emplace_back("one node: what messages between nodes take is not known");
  if (out.nodes > 1 && out.network.empty())
    out.notes.emplace_back("the times of messages don't grow with their size; nothing could be fitted");
  if (in.at("most_ranks").get<int>() > out.ranks)
    out.notes.push_back(fmt::format("nodes have {} to {} ranks; {} of each took part", out.ranks,
                                    in.at("most_ranks").get<int>(), out.ranks));
  if (out.cores > in.at("cpus").get<int>())
    out.notes.push_back(fmt::format("{} ranks of a node share {} CPUs", out.ranks, in.at("cpus").get<int>()));
  if (measured && in.at("touched").get<double>() < in.at("last_cache").get<double>())
    out.notes.push_back(fmt::format("copying in memory: {:.0f} MB a node, less than the last cache has",
                                    in.at("touched").get<double>() * 1e-6));
  return out;
}

Result<MpiProbe> checked(MpiProbe probe, const std::string& where) {
  for (const auto& ok : {probe.network.validate(), probe.copying.validate()})
    if (!ok) return fail(Errc::invalid, where + ": " + ok.error().message);
  return probe;
}
}  // namespace

Result<MpiProbe> read_mpi_report(const std::string& line, const Machine& machine, const Probe* probe) {
  const json in = json::parse(line, nullptr, false);
  try {
    if (!in.is_object() || in.value("probe", "") != "mpi")
      return fail(Errc::invalid, "the ranks printed no report of what they measured");
    MpiProbe out = read_report(in, machine, probe);
    out.topology = topology_hash(machine);
    out.date = now_text();
    out.cpu = name_of_cpu();
    return checked(std::move(out), "what the ranks measured");
  } catch (const json::exception& error) {
    return fail(Errc::invalid, std::string("the ranks' report can't be read: ") + error.what());
  }
}

std::string mpi_probe_to_json(const MpiProbe& probe) {
  nlohmann::ordered_json out = {
      {"format", "nigh-mpi-probe"}, {"version", version},   {"topology", probe.topology},
      {"date", probe.date},         {"cpu", probe.cpu},     {"library", probe.library},
      {"nodes", probe.nodes},       {"ranks", probe.ranks}, {"cores", probe.cores},
      {"seconds", probe.seconds},   {"notes", probe.notes}};
  if (!probe.copying_from.empty()) out["copying_from"] = probe.copying_from;
  auto& points = out["messages"] = nlohmann::ordered_json::array();
  for (const MpiPoint& p : probe.points) points.push_back({{"k", p.k}, {"bytes", p.bytes}, {"us", p.us}});
  std::string text = out.dump(1);
  Machine machine;
  machine.network = probe.network;
  machine.copying = probe.copying;
  text.erase(text.rfind('\n'));
  return text + transfer_to_json(machine) + "\n}\n";
}

Result<MpiProbe> mpi_probe_from_json(std::string_view text, const std::string& where) {
  const json in = json::parse(text, nullptr, false);
  try {
    if (!in.is_object() || in.value("format", "") != "nigh-mpi-probe" || in.value("version", 0) != version)
      return fail(Errc::invalid, where + " is damaged or of another version; it is ignored");
    MpiProbe out;
    in.at("topology").get_to(out.topology);
    in.at("date").get_to(out.date);
    in.at("cpu").get_to(out.cpu);
    in.at("library").get_to(out.library);
    in.at("nodes").get_to(out.nodes);
    in.at("ranks").get_to(out.ranks);
    in.at("cores").get_to(out.cores);
    in.at("seconds").get_to(out.seconds);
    in.at("notes").get_to(out.notes);
    out.copying_from = in.value("copying_from", "");
    out.points = read_points(in.at("messages"));
    Machine machine;
    if (auto ok = transfer_from_json(in, machine); !ok)
      return fail(Errc::invalid, where + " is damaged (" + ok.error().message + "); it is ignored");
    out.network = machine.network;
    out.copying = machine.copying;
    return checked(std::move(out), where);
  } catch (const json::exception&) { return fail(Errc::invalid, where + " is damaged; it is ignored"); }
}

Result<std::string> mpi_probe_path(const Machine& machine) {
  auto path = probe_path(machine);
  if (!path) return path;
  const std::size_t name = path->rfind('/') + 1;
  return path->substr(0, name) + "mpi-" + path->substr(name);
}

Result<void> store_mpi_probe(const Machine& machine, const MpiProbe& probe) {
  auto path = mpi_probe_path(machine);
  if (!path) return tl::unexpected(path.error());
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(*path).parent_path(), error);
  if (error)
    return fail(Errc::io, fmt::format("can't make the folder of {}: {}", *path, error.message()),
                error.value());
  return sys::write_file(*path, mpi_probe_to_json(probe));
}

Result<MpiProbe> load_mpi_probe(const Machine& machine) {
  auto path = mpi_probe_path(machine);
  if (!path) return fail(Errc::io, path.error().message, ENOENT);
  auto text = sys::read_file(*path);
  if (!text) return tl::unexpected(text.error());
  auto probe = mpi_probe_from_json(*text, *path);
  if (!probe) return probe;
  if (probe->topology != topology_hash(machine) || probe->cpu != name_of_cpu())
    return fail(Errc::invalid, *path + " was measured on another machine; it is ignored");
  return probe;
}

std::string draw_mpi_probe(const MpiProbe& probe) {
  std::string out =
      fmt::format("{}, {} node{} x {} rank{}, measured in {:.2f} s\n", probe.library, probe.nodes,
                  probe.nodes == 1 ? "" : "s", probe.ranks, probe.ranks == 1 ? "" : "s", probe.seconds);
  if (!probe.network.empty()) {
    out += fmt::format("\n{:>14}  {:>10}  {:>12}  {:>10}  {}\n", "messages up to", "latency us",
                       "process MB/s", "node MB/s", "k processes of a node");
    for (const NetworkRange& r : probe.network.ranges)
      out += fmt::format(
          "{:>14}  {:>10.4g}  {:>12.4g}  {:>10.4g}  latency x (1 + {:.3g} (k-1)), rate / (1 + {:.3g} "
          "(k-1)/k)\n",
          r.upto == 0 ? "any" : std::to_string(r.upto), r.latency_us, r.process_rate, r.node_rate,
          r.latency_growth, r.rate_loss);
    out += fmt::format("{:>14}  {:>10}  {:>12.4g}  {:>10.4g}\n", "several at once", "",
                       probe.network.stream_process_rate, probe.network.stream_node_rate);
  }
  out += fmt::format("\n{:>14}  {:>10}  {:>12}\n", "copying", "core MB/s", "node MB/s");
  for (const CopyLevel& l : probe.copying.levels)
    out += fmt::format("{:>14}  {:>10.4g}  {:>12.4g}\n",
                       l.bytes == 0 ? "memory" : fmt::format("{} KiB", l.bytes / 1024), l.core_rate,
                       l.node_rate);
  out += fmt::format(
      "transposing at {:.2f} of copying (powers of two), {:.2f} (others); a barrier {:.3g} us for each "
      "doubling\nof threads; a message on the node {:.3g} us\n",
      probe.copying.transpose_powers, probe.copying.transpose_others, probe.copying.barrier_us,
      probe.copying.message_us);
  for (const std::string& note : probe.notes) out += "- " + note + '\n';
  return out;
}

}  // namespace nigh
