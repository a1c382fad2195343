// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Lines are found by their words, not by their place: the file grows with every kernel.
#include "watch/numa_proc.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace nigh::watch {

namespace {
// The number after `key` in `line`; 0 if it is not there.
double number_after(const std::string& line, const char* key) {
  auto at = line.find(key);
  return at == std::string::npos ? 0 : std::strtod(line.c_str() + at + std::string(key).size(), nullptr);
}
// "name      :    12.5"
double number_of(const std::string& line) {
  auto colon = line.find(':');
  return colon == std::string::npos ? 0 : std::strtod(line.c_str() + colon + 1, nullptr);
}
constexpr int most_nodes = 1024;  // the kernel's MAX_NUMNODES
}  // namespace

bool numa_balancing(const sys::Os& os) {
  auto line = os.read_line("/proc/sys/kernel/numa_balancing");
  return line && (std::atoi(line->c_str()) & 1) != 0;
}

std::uint64_t pages_moved_by_kernel(const sys::Os& os) {
  auto text = os.read("/proc/vmstat");
  if (!text) return 0;
  auto at = text->find("numa_pages_migrated ");
  return at == std::string::npos ? 0 : std::strtoull(text->c_str() + at + 20, nullptr, 10);
}

std::optional<ThreadFaults> parse_sched(const std::string& text) {
  ThreadFaults out;
  bool found = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("se.sum_exec_runtime", 0) == 0) out.runtime_ms = number_of(line);
    if (line.rfind("mm->numa_scan_seq", 0) == 0) out.scan_pass = static_cast<long>(number_of(line));
    if (line.rfind("numa_faults node=", 0) != 0) continue;
    int node = std::atoi(line.c_str() + 17);
    if (node < 0 || node >= most_nodes) continue;
    found = true;
    if (out.by_node.size() <= static_cast<std::size_t>(node))
      out.by_node.resize(static_cast<std::size_t>(node) + 1);
    out.by_node[static_cast<std::size_t>(node)] =
        number_after(line, "task_private=") + number_after(line, "task_shared=");
  }
  if (!found) return std::nullopt;
  return out;
}

std::vector<double> fresh_faults(const ThreadFaults& before, const ThreadFaults& now) {
  std::vector<double> out(now.by_node.size(), 0);
  if (now.scan_pass == before.scan_pass || now.runtime_ms <= before.runtime_ms) return out;
  for (std::size_t node = 0; node < out.size(); ++node) {
    double old = node < before.by_node.size() ? before.by_node[node] : 0;
    out[node] = std::max(0.0, now.by_node[node] - old / 2);
  }
  return out;
}

}  // namespace nigh::watch
