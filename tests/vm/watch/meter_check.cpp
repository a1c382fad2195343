// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// meter_check TOUCH LEVEL SECONDS: follows the program `touch` with one meter and compares what it says with
// what is known: every thread's dominant node, and regions touched by exactly the threads of their buffer.
// Prints what was measured. Runs inside an 8-node guest.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "sys/threads.hpp"
#include "watch/meter.hpp"
#include "watch/numa_proc.hpp"

namespace {
using namespace nigh;
using namespace nigh::watch;

struct Truth {
  std::map<int, int> buffer_of;  // tid -> buffer
  std::map<int, std::pair<std::uint64_t, std::uint64_t>> range;
  [[nodiscard]] int buffer_at(std::uint64_t address) const {
    for (const auto& [buffer, where] : range)
      if (address >= where.first && address < where.first + where.second) return buffer;
    return -1;
  }
};

struct Sums {
  std::map<int, std::vector<double>> by_node;                              // tid
  std::map<std::uint64_t, std::pair<int, std::map<int, double>>> regions;  // -> node, tid -> weight
  std::uint64_t samples = 0, lost = 0, unplaced = 0;
  double cost = 0, confidence = 0;
  int readings = 0;

  void add(const Reading& reading) {
    for (const ThreadTraffic& one : reading.threads) {
      auto& sum = by_node[one.tid];
      sum.resize(std::max(sum.size(), one.by_node.size()));
      for (std::size_t n = 0; n < one.by_node.size(); ++n) sum[n] += one.by_node[n];
    }
    for (const RegionTouches& one : reading.regions) {
      auto& [node, weights] = regions[one.region];
      node = one.node;
      for (const auto& [tid, weight] : one.by_thread) weights[tid] += weight;
    }
    samples += reading.samples, lost += reading.lost, unplaced += reading.unplaced;
    cost += reading.cost, confidence = std::max(confidence, reading.confidence), ++readings;
  }
};

Truth read_truth(int from) {
  Truth truth;
  std::string text;
  char buffer[512];
  while (std::count(text.begin(), text.end(), '\n') < 6) {  // two buffers, four threads
    ssize_t got = ::read(from, buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  std::istringstream words(text);
  std::string word;
  std::uint64_t a = 0, b = 0, c = 0;
  while (words >> word >> a >> b) {
    if (word == "thread") truth.buffer_of[static_cast<int>(a)] = static_cast<int>(b);
    if (word == "buffer" && words >> c) truth.range[static_cast<int>(a)] = {b, c};
  }
  return truth;
}

int wrong = 0;
void expect(bool right, const char* what, long where) {
  if (right) return;
  ++wrong;
  std::printf("FAIL: %s (%ld)\n", what, where);
}

void check(const Truth& truth, const Sums& sums, bool regions) {
  for (const auto& [tid, buffer] : truth.buffer_of) {
    auto found = sums.by_node.find(tid);
    if (found == sums.by_node.end()) {
      expect(false, "this thread was not seen", tid);
      continue;
    }
    std::printf("thread %d of buffer %d:", tid, buffer);
    double all = 0;
    for (double one : found->second) all += one, std::printf(" %.0f", one);
    std::printf("\n");
    auto most = std::max_element(found->second.begin(), found->second.end());
    expect(most - found->second.begin() == 4 + buffer && *most > 0.9 * all, "its dominant node is wrong",
           tid);
  }
  std::map<int, std::set<std::uint64_t>> seen;
  for (const auto& [region, what] : sums.regions) {
    int buffer = truth.buffer_at(region << 21);
    if (buffer < 0) continue;
    seen[buffer].insert(region);
    std::printf("region %#lx of buffer %d on node %d:", static_cast<unsigned long>(region), buffer,
                what.first);
    for (const auto& [tid, weight] : what.second) {
      std::printf(" %d:%.0f", tid, weight);
      auto known = truth.buffer_of.find(tid);
      expect(known != truth.buffer_of.end() && known->second == buffer, "a stranger in this region", tid);
    }
    std::printf("\n");
    expect(what.first == 4 + buffer, "the region's node is wrong", what.first);
    expect(what.second.size() == 2, "not both threads were seen in this region",
           static_cast<long>(what.second.size()));
  }
  for (int buffer : {0, 1})
    expect(!regions || seen[buffer].size() == 4, "not all regions of the buffer were seen", buffer);
}

pid_t start(const char* program, const char* mode, int& out) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execl(program, program, mode, nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  out = ends[0];
  return child;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  sys::Os os;
  bool hints = numa_balancing(os);
  Level level = std::strcmp(argv[2], "proc") == 0 ? Level::proc : Level::faults;
  for (const MeterState& state : probe_meters(os))
    std::printf("%-7s %s %s: %s\n", level_name(state.level), state.usable ? "yes" : "no ", state.name.c_str(),
                state.missing.c_str());
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(7, &set);
  ::sched_setaffinity(0, sizeof set, &set);
  int out = -1;
  pid_t child = start(argv[1], hints ? "measure" : "write", out);
  Truth truth = read_truth(out);
  ::close(out);
  expect(truth.buffer_of.size() == 4 && truth.range.size() == 2, "the program did not start", child);
  auto meter = make_meter(level, os);
  std::uint64_t moved = pages_moved_by_kernel(os);
  auto followed = meter->follow({child});
  expect(followed.has_value(), followed ? "" : followed.error().message.c_str(), 0);
  Sums sums;
  std::string note;
  for (double end = sys::now_seconds() + std::atof(argv[3]); sys::now_seconds() < end;) {
    ::usleep(500000);
    auto reading = meter->read();
    expect(reading.has_value(), "a reading failed", 0);
    if (!reading) break;
    sums.add(*reading);
    note = reading->note;
  }
  moved = pages_moved_by_kernel(os) - moved;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  check(truth, sums, level == Level::faults);
  std::printf(
      "%lu samples, %lu lost, %lu unplaced, confidence %.2f, own cost %.4f of an emulated CPU, %lu pages "
      "moved by the "
      "kernel\n",
      static_cast<unsigned long>(sums.samples), static_cast<unsigned long>(sums.lost),
      static_cast<unsigned long>(sums.unplaced), sums.confidence, sums.cost / std::max(1, sums.readings),
      static_cast<unsigned long>(moved));
  std::printf("note: %s\n", note.c_str());
  expect(sums.samples > 1000, "too few samples to say anything", static_cast<long>(sums.samples));
  expect(moved < 100, "the kernel moved pages under the measure-only policy", static_cast<long>(moved));
  return wrong == 0 ? 0 : 1;
}
