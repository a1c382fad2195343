// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What the model says of the guest, as the driver wrote it down (one fact a line), and the small frame in
// which the checks report. The checks speak to the kernel directly, without nigh's own libraries: they prove
// the ground that the other tests stand on.
//
//     cpu 3 node 0 package 0 siblings 3,11        node 2 cpus 4 distances 16 16 10 22
//     latency 0 1 140.5                           bandwidth 0 1 9000
#pragma once

#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

struct Cpu {
  int node = -1;
  int package = -1;
  std::string siblings;
};

struct NodeFacts {
  int cpus = 0;
  std::vector<int> distances;
};

struct Expect {
  std::map<int, Cpu> cpus;
  std::map<int, NodeFacts> nodes;
  std::map<std::pair<int, int>, double> latency;    // ns, (initiator, target)
  std::map<std::pair<int, int>, double> bandwidth;  // MB/s

  [[nodiscard]] int first_cpu_of(int node) const {
    for (const auto& [number, cpu] : cpus)
      if (cpu.node == node) return number;
    return -1;
  }
};

inline Expect read_expect(const char* path) {
  Expect expect;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string kind, word;
    int number = 0;
    in >> kind >> number;
    if (kind == "cpu") {
      Cpu& cpu = expect.cpus[number];
      in >> word >> cpu.node >> word >> cpu.package >> word >> cpu.siblings;
    } else if (kind == "node") {
      NodeFacts& node = expect.nodes[number];
      in >> word >> node.cpus >> word;
      for (int distance = 0; in >> distance;) node.distances.push_back(distance);
    } else if (kind == "latency" || kind == "bandwidth") {
      int target = 0;
      double value = 0;
      in >> target >> value;
      (kind == "latency" ? expect.latency : expect.bandwidth)[{number, target}] = value;
    }
  }
  return expect;
}

// Counts what failed; says each check once.
class Report {
 public:
  [[gnu::format(printf, 4, 5)]] bool check(const char* name, bool good, const char* format, ...) {
    if (good) return true;
    std::printf("FAIL %s: ", name);
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
    std::printf("\n");
    ++failed_;
    return false;
  }
  void done(const char* name, int before) const {
    if (failed_ == before) std::printf("ok %s\n", name);
  }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  int failed_ = 0;
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void check_topology(const Expect& expect, Report& report);
void check_hmat(const Expect& expect, Report& report);
void check_affinity(const Expect& expect, Report& report);
void check_memory(const Expect& expect, Report& report);
void check_proc(const Expect& expect, Report& report);
