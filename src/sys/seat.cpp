// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See seat.hpp.
#include "sys/seat.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "sys/raw_file.hpp"

namespace nigh::sys {
namespace {

struct List {
  char text[4096] = {};
  bool read(const char* root, const char* path) {
    char full[512];
    std::snprintf(full, sizeof full, "%s%s", root, path);
    return raw_read_file(full, text, sizeof text) > 0;
  }
  // Calls f(first, last) for each range of "0-3,8"; stops when it says true.
  template <class F>
  bool any_range(F&& f) const {
    for (const char* at = text; *at >= '0' && *at <= '9';) {
      char* end = nullptr;
      const int first = static_cast<int>(std::strtol(at, &end, 10));
      const int last = *end == '-' ? static_cast<int>(std::strtol(end + 1, &end, 10)) : first;
      if (f(first, last)) return true;
      at = *end == ',' ? end + 1 : end;
    }
    return false;
  }
  [[nodiscard]] bool has(int cpu) const {
    return any_range([cpu](int first, int last) { return cpu >= first && cpu <= last; });
  }
};

struct Cpus {
  const std::uint64_t* bits;
  std::size_t words;
  [[nodiscard]] int first() const {
    for (std::size_t i = 0; i < words; ++i)
      if (bits[i] != 0) return static_cast<int>(i * 64) + std::countr_zero(bits[i]);
    return -1;
  }
  // The first CPU of the list when it holds all of ours, else -1.
  [[nodiscard]] int named_by(const List& list) const {
    for (std::size_t i = 0; i < words; ++i)
      for (std::uint64_t rest = bits[i]; rest != 0; rest &= rest - 1)
        if (!list.has(static_cast<int>(i * 64) + std::countr_zero(rest))) return -1;
    return std::atoi(list.text);
  }
};

int cache_of(const Cpus& cpus, int cpu, const char* root) {
  char path[128];
  List list;
  int best = 0;
  int name = -1;
  for (int index = 0; index < 8; ++index) {
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu, index);
    if (!list.read(root, path)) break;
    const int level = std::atoi(list.text);
    if (level <= best) continue;
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", cpu,
                  index);
    if (!list.read(root, path)) continue;
    best = level;
    name = cpus.named_by(list);
  }
  return name;
}

int socket_of(const Cpus& cpus, int cpu, const char* root) {
  List list;
  for (const char* file : {"package_cpus_list", "core_siblings_list"}) {
    char path[128];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, file);
    if (list.read(root, path)) return cpus.named_by(list);
  }
  return -1;
}

int node_of(const Cpus& cpus, int cpu, const char* root) {
  List nodes;
  if (!nodes.read(root, "/sys/devices/system/node/online")) return -1;
  int name = -1;
  nodes.any_range([&](int first, int last) {
    for (int node = first; node <= last; ++node) {
      char path[128];
      List list;
      std::snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
      if (!list.read(root, path) || !list.has(cpu)) continue;
      name = cpus.named_by(list);
      return true;
    }
    return false;
  });
  return name;
}

}  // namespace

CpuSeat seat_of(const std::uint64_t* bits, std::size_t words, const char* root) {
  const Cpus cpus{bits, words};
  const int first = cpus.first();
  if (first < 0) return {};
  return {cache_of(cpus, first, root), node_of(cpus, first, root), socket_of(cpus, first, root)};
}

}  // namespace nigh::sys
