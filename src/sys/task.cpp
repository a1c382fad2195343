// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Parsers of /proc's text. Names in it may hold anything (spaces, newlines, brackets), so what is looked for
// is found from a mark that they can't fake: the last ')' of stat, the fixed words at the start of a maps
// line.
#include "sys/task.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

namespace nigh::sys {

namespace {
std::string folder(int pid) { return "/proc/" + std::to_string(pid); }

std::vector<int> numbers_in(const Os& os, const std::string& where) {
  std::vector<int> out;
  for (const std::string& name : os.list(where))
    if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0)
      out.push_back(std::atoi(name.c_str()));
  std::sort(out.begin(), out.end());
  return out;
}
}  // namespace

double ticks_per_second() {
  static const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ticks > 0 ? ticks : 100;
}

Result<TaskFacts> parse_task(const std::string& stat) {
  std::size_t open = stat.find('('), close = stat.rfind(')');
  TaskFacts out;
  if (open != std::string::npos && close != std::string::npos && open < close) {
    out.id = std::atoi(stat.c_str());
    out.name = stat.substr(open + 1, close - open - 1);
    std::istringstream words(stat.substr(close + 1));
    std::string word;
    for (int field = 3; words >> word; ++field) {  // numbered as in proc(5)
      if (field == 3) out.state = word[0];
      if (field == 4) out.parent = std::atoi(word.c_str());
      if (field == 14 || field == 15)
        out.cpu_seconds += std::strtod(word.c_str(), nullptr) / ticks_per_second();
      if (field == 20) out.threads = std::atol(word.c_str());
      if (field == 22) out.start = std::strtoull(word.c_str(), nullptr, 10);
      if (field == 39) out.cpu = std::atoi(word.c_str());
    }
  }
  if (out.id <= 0 || out.start == 0)
    return fail(Errc::invalid, "a stat file of /proc can't be read: \"" + stat.substr(0, 60) + "\"");
  return out;
}

Result<TaskFacts> task_facts(const Os& os, int pid, int tid) {
  std::string where = folder(pid) + (tid > 0 ? "/task/" + std::to_string(tid) : "") + "/stat";
  auto text = os.read(where);
  if (!text) return tl::unexpected(text.error());
  return parse_task(*text);
}

std::vector<int> threads_of(const Os& os, int pid) { return numbers_in(os, folder(pid) + "/task"); }

std::vector<int> descendants_of(const Os& os, int pid) {
  constexpr std::size_t most = 65536;
  std::vector<int> found = {pid};
  for (std::size_t at = 0; at < found.size() && found.size() < most; ++at)
    for (int tid : threads_of(os, found[at])) {
      std::istringstream words(
          os.read(folder(found[at]) + "/task/" + std::to_string(tid) + "/children").value_or(""));
      for (int child = 0; words >> child;)
        if (std::find(found.begin(), found.end(), child) == found.end()) found.push_back(child);
    }
  found.erase(found.begin());
  return found;
}

Result<ProcessId> process_id(const Os& os, int pid) {
  auto facts = task_facts(os, pid);
  if (!facts) return fail(Errc::io, "there is no process " + std::to_string(pid), facts.error().sys_errno);
  return ProcessId{pid, facts->start};
}

bool lives(const Os& os, const ProcessId& who) {
  auto facts = task_facts(os, who.pid);
  if (!facts || facts->start != who.start) return false;
  // A program whose main thread has left is shown as a zombie while others of its threads go on.
  return (facts->state != 'Z' && facts->state != 'X') || facts->threads > 1;
}

Result<std::vector<Mapping>> mappings(const Os& os, int pid) {
  auto text = os.read(folder(pid) + "/maps");
  if (!text) return tl::unexpected(text.error());
  std::vector<Mapping> out;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    Mapping one;
    char rights[8] = {};
    int name = 0;
    unsigned long first = 0, last = 0, inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %*x %*x:%*x %lu %n", &first, &last, rights, &inode, &name) <
            4 ||
        first >= last)
      continue;
    one.first = first, one.last = last, one.inode = inode;
    one.writable = rights[1] == 'w';
    one.shared = rights[3] == 's';
    if (name > 0) one.name = line.substr(static_cast<std::size_t>(name));
    out.push_back(std::move(one));
  }
  return out;
}

namespace {
// One line of numa_maps; none: it can't be read.
std::optional<NumaMapping> numa_mapping(const std::string& line) {
  constexpr long most_nodes = 65536;
  NumaMapping one;
  std::istringstream words(line);
  std::string word;
  char* end = nullptr;
  if (!(words >> word >> one.policy)) return std::nullopt;
  one.first = std::strtoull(word.c_str(), &end, 16);
  if (*end != '\0') return std::nullopt;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    const std::uint64_t number = std::strtoull(word.c_str() + equals + 1, nullptr, 10);
    if (word.rfind("kernelpagesize_kB=", 0) == 0 && number > 0) one.page_bytes = number << 10;
    if (word[0] != 'N' || std::isdigit(static_cast<unsigned char>(word[1])) == 0) continue;
    const long node = std::strtol(word.c_str() + 1, &end, 10);
    if (*end == '=' && node < most_nodes) one.by_node[static_cast<int>(node)] += number;
  }
  return one;
}
}  // namespace

Result<std::vector<NumaMapping>> numa_mappings(const Os& os, int pid) {
  auto text = os.read(folder(pid) + "/numa_maps");
  if (!text) {
    if (os.exists(folder(pid)) && !os.exists("/proc/self/numa_maps"))
      return fail(Errc::unsupported, "this kernel has no /proc/PID/numa_maps (it was built without NUMA)");
    return tl::unexpected(text.error());
  }
  std::vector<NumaMapping> out;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);)
    if (auto one = numa_mapping(line)) out.push_back(*std::move(one));
  return out;
}

}  // namespace nigh::sys
