// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// meter_counted SECONDS PROGRAM [ARGUMENT...]: starts a program that says when it is ready, follows it with
// the meter of page faults, and prints what the readings of SECONDS add up to, by thread: "thread TID CPU
// SAMPLES..." with the samples of each node's memory. The same interval lies between access_count's markers.
// Runs in a guest.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "../plugin/marker.h"
#include "sys/threads.hpp"
#include "watch/meter.hpp"
#include "watch/numa_proc.hpp"

namespace {
using namespace nigh;
using namespace nigh::watch;

struct Sums {
  std::map<int, ThreadTraffic> by_thread;  // tid
  std::uint64_t samples = 0, lost = 0, unplaced = 0;
  double confidence = 0;

  void add(const Reading& reading) {
    for (const ThreadTraffic& one : reading.threads) {
      ThreadTraffic& sum = by_thread[one.tid];
      sum.cpu = one.cpu;
      sum.by_node.resize(std::max(sum.by_node.size(), one.by_node.size()));
      for (std::size_t n = 0; n < one.by_node.size(); ++n) sum.by_node[n] += one.by_node[n];
    }
    samples += reading.samples, lost += reading.lost, unplaced += reading.unplaced;
    confidence = std::max(confidence, reading.confidence);
  }

  void print() const {
    for (const auto& [tid, sum] : by_thread) {
      std::printf("thread %d %d", tid, sum.cpu);
      for (double one : sum.by_node) std::printf(" %.0f", one);
      std::printf("\n");
    }
    std::printf("%lu samples, %lu lost, %lu unplaced, confidence %.2f", static_cast<unsigned long>(samples),
                static_cast<unsigned long>(lost), static_cast<unsigned long>(unplaced), confidence);
  }
};

// Starts the program and returns when it has said its first word.
pid_t start(char** arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execv(arguments[0], arguments);
    ::_exit(127);
  }
  ::close(ends[1]);
  char word = 0;
  bool ready = ::read(ends[0], &word, 1) == 1;
  ::close(ends[0]);
  return ready ? child : -1;
}

Result<Sums> follow(pid_t child, double seconds) {
  auto meter = make_meter(Level::faults, sys::Os());
  if (auto followed = meter->follow({child}); !followed) return tl::unexpected(followed.error());
  Sums sums;
  marker_begin();
  for (double end = sys::now_seconds() + seconds; sys::now_seconds() < end;) {
    ::usleep(500000);
    auto reading = meter->read();
    if (!reading) return tl::unexpected(reading.error());
    sums.add(*reading);
  }
  marker_end();
  return sums;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);  // where no thread of the program runs: node 0
  ::sched_setaffinity(0, sizeof set, &set);
  pid_t child = start(argv + 2);
  if (child < 0) return 2;
  std::uint64_t moved = pages_moved_by_kernel(sys::Os());
  auto sums = follow(child, std::atof(argv[1]));
  moved = pages_moved_by_kernel(sys::Os()) - moved;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (!sums) {
    std::fprintf(stderr, "meter_counted: %s\n", sums.error().message.c_str());
    return 1;
  }
  sums->print();
  std::printf(", %lu pages moved by the kernel\n", static_cast<unsigned long>(moved));
  return 0;
}
