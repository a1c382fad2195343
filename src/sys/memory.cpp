// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel's text files are read leniently (a missing line is "not known", never an error), while a call
// that fails says so. mbind is a raw system call: libnuma would be a dependency for one line.
#include "sys/memory.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "sys/pages.hpp"

namespace nigh::sys {

namespace {
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr int mpol_bind = 2;  // linux/mempolicy.h

// The number after "KEY" in lines such as "Node 0 MemFree:  123 kB" or "inactive_file 123".
std::uint64_t number_after(const std::string& text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    bool starts_a_word = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n';
    if (starts_a_word) return std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
  }
  return 0;
}

std::uint64_t kib_after(const std::string& text, std::string_view key) {
  return number_after(text, key) << 10;
}

// The memory that one cgroup still allows: limit - usage, where page cache that can be dropped does not count
// as used.
std::uint64_t cgroup_room(const Os& os, const std::string& limit_file, const std::string& usage_file,
                          const std::string& stat_file, std::string_view cache_key) {
  auto limit = os.read_line(limit_file);
  auto usage = os.read_line(usage_file);
  if (!limit || !usage || limit->empty() || *limit == "max") return unlimited;
  std::uint64_t most = std::strtoull(limit->c_str(), nullptr, 10);
  std::uint64_t used = std::strtoull(usage->c_str(), nullptr, 10);
  std::uint64_t cache = number_after(os.read(stat_file).value_or(""), cache_key);
  used -= std::min(used, cache);
  return most > used ? most - used : 0;
}

// The least room over a cgroup and all above it. In a container the path of /proc/self/cgroup may be the
// host's, then only the top (which is our own cgroup there) is found.
std::uint64_t room_along(const Os& os, const std::string& mount, std::string path, bool v2) {
  std::uint64_t room = unlimited;
  while (true) {
    std::string dir = mount + (path == "/" ? "" : path) + "/";
    room = std::min(room, v2 ? cgroup_room(os, dir + "memory.max", dir + "memory.current",
                                           dir + "memory.stat", "inactive_file ")
                             : cgroup_room(os, dir + "memory.limit_in_bytes", dir + "memory.usage_in_bytes",
                                           dir + "memory.stat", "total_inactive_file "));
    if (path.empty() || path == "/") return room;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}
}  // namespace

std::vector<NodeMemory> node_memory(const Os& os) {
  const std::string base = "/sys/devices/system/node";
  std::vector<NodeMemory> nodes;
  CpuSet online = CpuSet::parse(os.read_line(base + "/online").value_or("")).value_or(CpuSet{});
  for (int node : online.members()) {
    std::string text = os.read(base + "/node" + std::to_string(node) + "/meminfo").value_or("");
    std::uint64_t total = kib_after(text, "MemTotal:");
    if (total > 0)
      nodes.push_back({node, total, kib_after(text, "MemFree:") + kib_after(text, "Inactive(file):")});
  }
  if (!nodes.empty()) return nodes;
  std::string text = os.read("/proc/meminfo").value_or("");
  return {{0, kib_after(text, "MemTotal:"), kib_after(text, "MemAvailable:")}};
}

std::uint64_t kernel_reserve(const Os& os, int node) {
  std::istringstream lines(os.read("/proc/zoneinfo").value_or(""));
  const std::string ours = "Node " + std::to_string(node) + ",";
  std::uint64_t pages = 0;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("Node ", 0) == 0) inside = line.rfind(ours, 0) == 0;
    std::size_t word = line.find_first_not_of(' ');
    // "high:" with a colon is that of the CPUs' lists.
    if (inside && word != std::string::npos && line.compare(word, 5, "high ") == 0)
      pages += std::strtoull(line.c_str() + word + 5, nullptr, 10);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t memory_headroom(const Os& os) {
  std::uint64_t room = kib_after(os.read("/proc/meminfo").value_or(""), "MemAvailable:");
  std::istringstream lines(os.read("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (controllers == ",,")
      room = std::min(room, room_along(os, "/sys/fs/cgroup", path, true));
    else if (controllers.find(",memory,") != std::string::npos)
      room = std::min(room, room_along(os, "/sys/fs/cgroup/memory", path, false));
  }
  return room;
}

CpuSet allowed_nodes(const Os& os) {
  std::string text = os.read("/proc/self/status").value_or("");
  const std::string key = "Mems_allowed_list:";
  std::size_t at = text.find(key);
  if (at == std::string::npos) return {};
  std::string list = text.substr(at + key.size(), text.find('\n', at) - at - key.size());
  list.erase(std::remove(list.begin(), list.end(), '\t'), list.end());
  return CpuSet::parse(list).value_or(CpuSet{});
}

std::vector<CacheLevel> caches_of(const Os& os, int cpu) {
  const std::string base = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache";
  std::vector<CacheLevel> caches;
  for (const std::string& name : os.list(base)) {
    if (name.rfind("index", 0) != 0) continue;
    std::string dir = base + "/" + name + "/";
    if (os.read_line(dir + "type").value_or("") == "Instruction") continue;
    std::string size = os.read_line(dir + "size").value_or("");
    char* unit = nullptr;
    std::uint64_t bytes = std::strtoull(size.c_str(), &unit, 10);
    bytes <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
    int level = std::atoi(os.read_line(dir + "level").value_or("").c_str());
    CpuSet shared = CpuSet::parse(os.read_line(dir + "shared_cpu_list").value_or("")).value_or(CpuSet{});
    if (bytes > 0 && level > 0) caches.push_back({level, bytes, shared});
  }
  std::sort(caches.begin(), caches.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  return caches;
}

std::string Placement::to_text() const {
  std::string text;
  for (auto [node, count] : pages)
    text += (text.empty() ? "" : ", ") + std::to_string(count) +
            (text.empty() ? " pages on node " : " on node ") + std::to_string(node);
  if (absent > 0) text += (text.empty() ? "" : ", ") + std::to_string(absent) + " not there";
  return text.empty() ? "no pages" : text;
}

Result<Placement> placement(const void* data, std::size_t bytes, std::size_t most) {
  auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t count = std::min(std::max<std::size_t>(bytes / page, 1), std::max<std::size_t>(most, 1));
  std::size_t stride = bytes / page / count;
  std::vector<std::uint64_t> pages(count);
  std::vector<int> status(count);
  for (std::size_t i = 0; i < count; ++i)
    pages[i] = reinterpret_cast<std::uintptr_t>(data) + i * std::max<std::size_t>(stride, 1) * page;
  if (auto asked = query_pages(0, pages, status); !asked) return tl::unexpected(asked.error());
  Placement found;
  for (int node : status) node >= 0 ? ++found.pages[node] : ++found.absent;
  return found;
}

Result<Placement> placement_from_maps(const Os& os, const void* data) {
  auto text = os.read("/proc/self/numa_maps");
  if (!text) return tl::unexpected(text.error());
  auto address = reinterpret_cast<std::uintptr_t>(data);
  std::istringstream lines(*text);
  std::string line, ours;
  while (std::getline(lines, line) && std::strtoull(line.c_str(), nullptr, 16) <= address) ours = line;
  Placement found;
  std::istringstream words(ours);
  for (std::string word; words >> word;)
    if (word.size() > 2 && word[0] == 'N' && std::isdigit(static_cast<unsigned char>(word[1])) != 0 &&
        word.find('=') != std::string::npos)
      found.pages[std::atoi(word.c_str() + 1)] +=
          std::strtoull(word.c_str() + word.find('=') + 1, nullptr, 10);
  return found;
}

std::uint64_t huge_bytes(const Os& os, const void* data, std::size_t bytes) {
  auto first = reinterpret_cast<std::uintptr_t>(data);
  std::istringstream lines(os.read("/proc/self/smaps").value_or(""));
  std::uint64_t sum = 0;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    char* dash = nullptr;
    std::uint64_t low = std::strtoull(line.c_str(), &dash, 16);
    if (*dash == '-' && dash != line.c_str()) {
      std::uint64_t high = std::strtoull(dash + 1, nullptr, 16);
      inside = low < first + bytes && high > first;
    } else if (inside) {
      sum += kib_after(line, "AnonHugePages:") + kib_after(line, "Private_Hugetlb:");
    }
  }
  return std::min<std::uint64_t>(sum, bytes);
}

Result<Buffer> Buffer::map(std::size_t bytes) {
  Buffer buffer;
  std::size_t mapped = bytes + huge_page;
  void* at =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    return fail(Errc::io, "can't map " + std::to_string(bytes >> 20) + " MiB: " + std::strerror(errno),
                errno);
  auto aligned = (reinterpret_cast<std::uintptr_t>(at) + huge_page - 1) / huge_page * huge_page;
  buffer.mapping_ = at;
  buffer.mapped_ = mapped;
  buffer.data_ = reinterpret_cast<std::byte*>(aligned);
  buffer.bytes_ = bytes;
  ::madvise(buffer.data_, bytes, MADV_HUGEPAGE);  // a wish; huge_bytes() tells what came of it
  return buffer;
}

Result<void> Buffer::bind(int node) {
  const CpuSet nodes{node};
  // The kernel reads maxnode - 1 bits.
  if (::syscall(SYS_mbind, data_, bytes_, mpol_bind, nodes.words().data(), nodes.words().size() * 64 + 1,
                0) == 0)
    return {};
  int error = errno;
  Errc code = error == EPERM ? Errc::permission : error == ENOSYS ? Errc::unsupported : Errc::io;
  return fail(code, "can't bind memory to NUMA node " + std::to_string(node) + ": " + std::strerror(error),
              error);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_);
}

}  // namespace nigh::sys
