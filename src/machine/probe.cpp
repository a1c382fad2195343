// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From a machine to a stored Probe and back. The key is a hash of the topology, and the CPU's name is
// compared too: a home directory may be shared by machines of the same shape but not of the same speed.
#include "machine/probe.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "machine/load.hpp"
#include "machine/probe_lab.hpp"
#include "machine/probe_run.hpp"
#include "sys/os.hpp"
#include "sys/run_folder.hpp"
#include "sys/threads.hpp"

namespace nigh {

namespace {
constexpr std::uint64_t quick_memory = std::uint64_t{4} << 30;  // of one node, unless its caches are larger

// "model name" of /proc/cpuinfo; Arm has none there, its implementer and part are as good.
std::string cpu_model(const sys::Os& os) {
  std::string text = os.read("/proc/cpuinfo").value_or("");
  auto value = [&](const std::string& key) -> std::string {
    std::size_t at = text.find(key);
    if (at == std::string::npos) return "";
    std::size_t colon = text.find(':', at), end = text.find('\n', at);
    if (colon == std::string::npos || colon >= end) return "";
    std::size_t begin = std::min(text.find_first_not_of(" \t", colon + 1), end);
    return text.substr(begin, end - begin);
  };
  std::string name = value("model name");
  if (!name.empty()) return name;
  return fmt::format("implementer {} part {}", value("CPU implementer"), value("CPU part"));
}

int index_of_node(const Machine& machine, int os_index) {
  for (std::size_t i = 0; i < machine.nodes.size(); ++i)
    if (machine.objects[static_cast<std::size_t>(machine.nodes[i])].os_index == os_index)
      return static_cast<int>(i);
  return -1;
}

void set_measured(const Machine& machine, LinkMatrix& matrix, int from, int to, double value) {
  std::size_t n = machine.node_count();
  int i = index_of_node(machine, from), j = index_of_node(machine, to);
  if (i < 0 || j < 0) return;
  if (matrix.empty()) matrix = {std::vector<double>(n * n, 0), std::vector<Source>(n * n, Source::unknown)};
  std::size_t at = static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j);
  matrix.value[at] = value;
  matrix.source[at] = Source::measured;
}
}  // namespace

std::string name_of_cpu() { return cpu_model(sys::Os()); }
std::string now_text() {
  std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

const Probe::Bandwidth* Probe::find(int from, int to, probe::Mix mix) const {
  for (const Bandwidth& b : bandwidth)
    if (b.from == from && b.to == to && b.mix == mix) return &b;
  return nullptr;
}

const Probe::Latency* Probe::find_latency(int from, int to, bool loaded) const {
  for (const Latency& l : latency)
    if (l.from == from && l.to == to && (l.streams > 0) == loaded) return &l;
  return nullptr;
}

Result<Probe> run_probe(const Machine& machine, const ProbeOptions& options) {
  double started = sys::now_seconds();
  sys::Os os;
  probe::Pace pace = options.quick ? probe::quick_pace() : probe::full_pace();
  auto resources = probe::read_resources(os);
  if (!resources) return tl::unexpected(resources.error());
  std::uint64_t llc = resources->caches.empty() ? 0 : resources->caches.back().bytes;
  auto layout = probe::lay_out(machine, *resources, options.nodes,
                               options.quick ? std::max(quick_memory, 8 * llc) : ~std::uint64_t{0});
  if (!layout) return tl::unexpected(layout.error());
  if (options.progress) options.progress("taking memory", 0, pace.budget / 2);
  auto lab = probe::open_lab(*layout, os, pace.budget / 10, options.cancel);
  if (!lab) return tl::unexpected(lab.error());
  auto result = probe::measure(**lab, *layout, pace, options, started);
  if (!result) return result;
  result->topology = topology_hash(machine);
  result->date = now_text();
  result->kernel = os.read_line("/proc/sys/kernel/osrelease").value_or("unknown");
  result->cpu = cpu_model(os);
  probe::cross_check(*result, machine);
  return result;
}

Result<std::string> probe_path(const Machine& machine) {
  auto base = sys::user_folder("XDG_CACHE_HOME", "/.cache", "what was measured");
  return base ? *base + "/nigh/probe-" + topology_hash(machine) + ".json" : base;
}

Result<void> store_probe(const Machine& machine, const Probe& probe) {
  auto path = probe_path(machine);
  if (!path) return tl::unexpected(path.error());
  if (auto old = load_probe(machine);
      old && (old->nodes.size() > probe.nodes.size() || !probe.pus.contains(old->pus)))
    return fail(Errc::invalid,
                fmt::format("{} covers more ({} nodes, PUs {}), so it was kept; delete it to replace it",
                            *path, old->nodes.size(), old->pus.to_list()));
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(*path).parent_path(), error);
  if (error)
    return fail(Errc::io, fmt::format("can't make the folder of {}: {}", *path, error.message()),
                error.value());
  return sys::write_file(*path, probe_to_json(probe));
}

Result<Probe> load_probe(const Machine& machine) {
  auto path = probe_path(machine);
  if (!path) return fail(Errc::io, path.error().message, ENOENT);
  auto text = sys::read_file(*path);
  if (!text) return tl::unexpected(text.error());
  auto probe = probe_from_json(*text, *path);
  if (!probe) return probe;
  if (probe->topology != topology_hash(machine))
    return fail(Errc::invalid, *path + " is of a machine with another topology; it is ignored");
  for (const Probe::Node& node : probe->nodes)
    if (index_of_node(machine, node.node) < 0)
      return fail(Errc::invalid, fmt::format("{} is of another machine (it has a node {}); it is ignored",
                                             *path, node.node));
  if (std::string cpu = cpu_model(sys::Os()); probe->cpu != cpu)
    return fail(Errc::invalid, fmt::format("{} was measured on another CPU ({}, this is {}); it is ignored",
                                           *path, probe->cpu, cpu));
  return probe;
}

void apply_probe(Machine& machine, const Probe& probe) {
  for (const Probe::Bandwidth& b : probe.bandwidth)
    if (b.mix == probe::Mix::read) set_measured(machine, machine.bandwidth, b.from, b.to, b.mb_per_s.median);
  for (const Probe::Latency& l : probe.latency)
    if (l.streams == 0) set_measured(machine, machine.latency, l.from, l.to, l.ns.median);
  machine.notes.push_back(
      fmt::format("bandwidths and latencies were measured on {} (nigh machine --probe{}, PUs {})", probe.date,
                  probe.quick ? " --quick" : "", probe.pus.to_list()));
}

void apply_stored_probe(Machine& machine) {
  auto probe = load_probe(machine);
  if (probe)
    apply_probe(machine, *probe);
  else if (probe.error().sys_errno != ENOENT)
    machine.notes.push_back(probe.error().message);
}

}  // namespace nigh
