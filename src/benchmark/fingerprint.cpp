// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/fingerprint.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "benchmark/record.hpp"
#include "machine/load.hpp"

namespace nigh::benchmark {

using nlohmann::ordered_json;

namespace {

// The value of the first "KEY : value" line of /proc/cpuinfo; the keys differ between architectures.
std::string cpu_model(const sys::Os& os) {
  auto text = os.read("/proc/cpuinfo");
  if (!text) return "";
  for (const char* key : {"model name", "Model", "cpu model", "uarch"}) {
    std::size_t at = text->starts_with(key) ? 0 : text->find(std::string("\n") + key);
    if (at == std::string::npos) continue;
    std::size_t colon = text->find(':', at), end = text->find('\n', colon);
    if (colon == std::string::npos) continue;
    std::string value = text->substr(colon + 1, end - colon - 1);
    return value.substr(std::min(value.find_first_not_of(" \t"), value.size()));
  }
  return "";
}

// "always [madvise] never" -> "madvise"
std::string chosen(const std::string& choices) {
  std::size_t open = choices.find('['), close = choices.find(']');
  return open == std::string::npos || close == std::string::npos ? choices
                                                                 : choices.substr(open + 1, close - open - 1);
}

void add_line(ordered_json& out, const char* key, const sys::Os& os, const std::string& path) {
  if (auto line = os.read_line(path); line && !line->empty()) out[key] = chosen(*line);
}

bool is_virtual(const sys::Os& os) {
  auto text = os.read("/proc/cpuinfo");
  return text && text->find(" hypervisor ") != std::string::npos;
}

}  // namespace

double load_average(const sys::Os& os) {
  auto line = os.read_line("/proc/loadavg");
  if (!line) return -1;
  char* end = nullptr;
  double value = std::strtod(line->c_str(), &end);
  return end == line->c_str() ? -1 : value;
}

std::string now_text() {
  auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now));
}

ordered_json fingerprint(const Machine& machine, const CpuSet& mask, const sys::Os& os) {
  ordered_json out = {{"name", machine.name},
                      {"summary", machine.summary()},
                      {"topology", topology_hash(machine)},
                      {"mask", (machine.pus() & mask).to_list()},
                      {"cpu", cpu_model(os)},
                      {"virtual", is_virtual(os)}};
  add_line(out, "kernel", os, "/proc/sys/kernel/osrelease");
  add_line(out, "huge_pages", os, "/sys/kernel/mm/transparent_hugepage/enabled");
  add_line(out, "governor", os, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  add_line(out, "numa_balancing", os, "/proc/sys/kernel/numa_balancing");
  out["started"] = now_text();
  out["load_before"] = load_average(os);
  return out;
}

std::string fingerprint_line(const ordered_json& in) {
  auto text = [&](const char* key) {
    auto found = in.find(key);
    return found != in.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  auto number = [&](const char* key) {
    auto found = in.find(key);
    return found != in.end() && found->is_number() ? found->get<double>() : -1.0;
  };
  bool is_virtual = says(in, "virtual");
  std::string out = fmt::format("{}{}, {}, PUs {}, Linux {}, {}", text("cpu"), is_virtual ? " (virtual)" : "",
                                text("summary"), text("mask"), text("kernel"), text("started"));
  if (number("load_before") >= 0)
    out += fmt::format(", load {:.1f} before and {:.1f} after", number("load_before"),
                       std::max(0.0, number("load_after")));
  return out;
}

}  // namespace nigh::benchmark
