// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The machine as the guest's kernel shows it: CPUs, nodes and distances in /sys, and the whole HMAT, of which
// /sys keeps only the best row: the directional matrix has to be read from the table itself.
#include <cmath>
#include <cstdint>

#include "expect.hpp"

namespace {

std::string without_newline(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::vector<int> cpu_list(const std::string& text) {
  std::vector<int> numbers;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    const std::size_t dash = part.find('-');
    const int first = std::stoi(part);
    const int last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (int i = first; i <= last; ++i) numbers.push_back(i);
  }
  return numbers;
}

template <typename T>
T at(const std::string& table, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= table.size())
    table.copy(reinterpret_cast<char*>(&value), sizeof value, offset);
  return value;
}

// One latency (0) or bandwidth (3) structure at `offset`: (initiator, target) -> value in ps or MB/s.
std::map<std::pair<int, int>, double> read_matrix(const std::string& table, std::size_t offset) {
  const auto initiators = at<std::uint32_t>(table, offset + 12);
  const auto targets = at<std::uint32_t>(table, offset + 16);
  const auto unit = static_cast<double>(at<std::uint64_t>(table, offset + 24));
  const std::size_t names = offset + 32;
  const std::size_t entries = names + 4UL * (initiators + targets);
  std::map<std::pair<int, int>, double> found;
  for (std::uint32_t i = 0; i < initiators; ++i)
    for (std::uint32_t j = 0; j < targets; ++j) {
      const auto entry = at<std::uint16_t>(table, entries + 2UL * (i * targets + j));
      const int from = static_cast<int>(at<std::uint32_t>(table, names + 4UL * i));
      const int to = static_cast<int>(at<std::uint32_t>(table, names + 4UL * (initiators + j)));
      if (entry != 0) found[{from, to}] = entry * unit;
    }
  return found;
}

void compare(const char* name, const std::map<std::pair<int, int>, double>& got,
             const std::map<std::pair<int, int>, double>& wanted, double scale, Report& report) {
  report.check(name, got.size() == wanted.size(), "%zu entries, the model has %zu", got.size(),
               wanted.size());
  for (const auto& [pair, value] : wanted) {
    const auto found = got.find(pair);
    const double seen = found == got.end() ? -1 : found->second / scale;
    report.check(name, std::abs(seen - value) <= value * 0.001, "%d -> %d is %g, the model says %g",
                 pair.first, pair.second, seen, value);
  }
}

}  // namespace

void check_topology(const Expect& expect, Report& report) {
  const int before = report.failed();
  const std::string root = "/sys/devices/system/";
  const std::size_t online = cpu_list(slurp(root + "cpu/online")).size();
  report.check("topology", online == expect.cpus.size(), "%zu CPUs, not %zu", online, expect.cpus.size());
  for (const auto& [number, cpu] : expect.cpus) {
    const std::string folder = root + "cpu/cpu" + std::to_string(number) + "/topology/";
    const std::string package = without_newline(slurp(folder + "physical_package_id"));
    report.check("topology", package == std::to_string(cpu.package), "CPU %d is in package %s, not %d",
                 number, package.c_str(), cpu.package);
    const std::vector<int> siblings = cpu_list(slurp(folder + "thread_siblings_list"));
    report.check("topology", siblings == cpu_list(cpu.siblings), "CPU %d has other siblings than %s", number,
                 cpu.siblings.c_str());
  }
  for (const auto& [number, node] : expect.nodes) {
    const std::string folder = root + "node/node" + std::to_string(number) + "/";
    const std::string list = without_newline(slurp(folder + "cpulist"));
    const std::vector<int> cpus = list.empty() ? std::vector<int>{} : cpu_list(list);
    report.check("topology", static_cast<int>(cpus.size()) == node.cpus, "node %d has %zu CPUs, not %d",
                 number, cpus.size(), node.cpus);
    for (int cpu : cpus)
      report.check("topology", expect.cpus.count(cpu) && expect.cpus.at(cpu).node == number,
                   "CPU %d is on node %d", cpu, number);
    std::istringstream in(slurp(folder + "distance"));
    std::vector<int> distances;
    for (int distance = 0; in >> distance;) distances.push_back(distance);
    report.check("distances", distances == node.distances, "node %d's row differs", number);
  }
  report.done("topology", before);
}

void check_hmat(const Expect& expect, Report& report) {
  const int before = report.failed();
  const std::string table = slurp("/sys/firmware/acpi/tables/HMAT");
  std::map<std::pair<int, int>, double> latency, bandwidth;
  for (std::size_t offset = 40; offset + 8 <= table.size();) {
    const auto length = at<std::uint32_t>(table, offset + 4);
    if (!report.check("hmat", length >= 8, "a structure of %u bytes at %zu", length, offset)) return;
    const int kind = at<std::uint8_t>(table, offset + 9);
    if (at<std::uint16_t>(table, offset) == 1) (kind == 0 ? latency : bandwidth) = read_matrix(table, offset);
    offset += length;
  }
  compare("hmat latency", latency, expect.latency, 1000.0, report);
  compare("hmat bandwidth", bandwidth, expect.bandwidth, 1.0, report);
  report.done(expect.latency.empty() && expect.bandwidth.empty() ? "hmat (none)" : "hmat", before);
}
