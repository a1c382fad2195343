// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/ps_view.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "sys/memory_rollup.hpp"
#include "sys/pages.hpp"
#include "sys/task.hpp"

namespace nigh::report {

CpuSet ProcessView::pus() const {
  CpuSet out;
  for (const ThreadView& thread : threads) out |= thread.pus;
  return out;
}

int ProcessView::bound_threads() const {
  return static_cast<int>(std::count_if(threads.begin(), threads.end(),
                                        [](const ThreadView& one) { return one.pus.count() == 1; }));
}

bool ProcessView::is_restricted(const CpuSet& online) const {
  return std::any_of(threads.begin(), threads.end(),
                     [&](const ThreadView& one) { return (one.pus & online).count() < online.count(); });
}

namespace {

std::string folder_of(int pid) { return "/proc/" + std::to_string(pid); }

// The words are divided by zero bytes.
std::string words_of(const sys::Os& os, int pid) {
  std::string text = os.read(folder_of(pid) + "/cmdline").value_or("");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text)
    if (c == '\0') c = ' ';
  return text;
}

// The line "Cpus_allowed_list:" of a status file.
std::optional<CpuSet> allowed(const std::string& status) {
  constexpr std::string_view key = "\nCpus_allowed_list:";
  const std::size_t at = status.find(key);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t from = status.find_first_not_of(" \t", at + key.size());
  if (from == std::string::npos) return std::nullopt;
  auto set = CpuSet::parse(status.substr(from, status.find('\n', from) - from));
  return set ? std::optional(*set) : std::nullopt;
}

std::optional<ThreadView> look_at_thread(const sys::Os& os, int pid, int tid) {
  const auto facts = sys::task_facts(os, pid, tid);
  const auto set = allowed(os.read(folder_of(pid) + "/task/" + std::to_string(tid) + "/status").value_or(""));
  if (!facts || !set) return std::nullopt;
  return ThreadView{tid, facts->name, *set, facts->cpu, facts->cpu_seconds};
}

double resident_megabytes(const sys::Os& os, int pid) {
  const std::string text = os.read(folder_of(pid) + "/statm").value_or("");  // pages: all, resident, ...
  const std::size_t at = text.find(' ');
  long pages = 0;
  if (at != std::string::npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), pages);
  return static_cast<double>(pages) * static_cast<double>(sys::page_bytes()) / 1e6;
}

std::vector<int> numbers(const sys::Os& os) {
  std::vector<int> out;
  for (const std::string& name : os.list("/proc")) {
    int pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) out.push_back(pid);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

CpuSet online_pus(const sys::Os& os) {
  return CpuSet::parse(os.read_line("/sys/devices/system/cpu/online").value_or("")).value_or(CpuSet{});
}

std::vector<ProcessView> processes(const sys::Os& os, const std::vector<int>& pids) {
  std::vector<ProcessView> out;
  for (const int pid : pids.empty() ? numbers(os) : pids) {
    ProcessView process{pid, words_of(os, pid), resident_megabytes(os, pid), {}};
    if (process.command.empty() && pids.empty()) continue;  // kernel threads
    for (const int tid : sys::threads_of(os, pid))
      if (auto thread = look_at_thread(os, pid, tid)) process.threads.push_back(*std::move(thread));
    if (process.threads.empty()) continue;
    if (process.command.empty()) process.command = "[" + process.threads.front().name + "]";
    out.push_back(std::move(process));
  }
  return out;
}

std::optional<MemoryView> memory_of(const sys::Os& os, int pid) {
  const auto text = os.read(folder_of(pid) + "/smaps_rollup");
  if (!text) return std::nullopt;
  const sys::MemoryRollup sum = sys::memory_rollup(text->c_str());
  MemoryView out{sum.resident_mib, sum.huge_mib, {}};
  if (const auto maps = sys::numa_mappings(os, pid))
    for (const sys::NumaMapping& one : *maps)
      for (const auto& [node, pages] : one.by_node)
        out.by_node[node] +=
            static_cast<double>(pages) * static_cast<double>(one.page_bytes) / (1024.0 * 1024.0);
  return out;
}

}  // namespace nigh::report
