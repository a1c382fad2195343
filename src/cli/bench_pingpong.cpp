// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/bench_pingpong.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace nigh::cli {

namespace {

constexpr int rounds = 500;            // hand-overs and back in one batch
constexpr int most_batches = 30;       // the least of them counts: anything else that runs only adds time
constexpr double most_seconds = 0.01;  // but for one batch, which other programs may stretch

struct alignas(128) Line {
  std::atomic<int> turn{0};
};

// Waits for its turn, `rounds` times. Gives the core away now and then, should both threads be on one.
void play(Line& line, int self) {
  for (int i = 0; i < rounds; ++i) {
    int spins = 0;
    while (line.turn.load(std::memory_order_acquire) != self)
      if (++spins % 4096 == 0) std::this_thread::yield();
    line.turn.store(1 - self, std::memory_order_release);
  }
}

}  // namespace

std::string core_state_of(double one_way_ns) {
  if (one_way_ns < 0) return "n/a";
  return one_way_ns <= near_below_ns ? "near" : "far";
}

std::string core_state_between(double before_ns, double after_ns) {
  std::string before = core_state_of(before_ns);
  return before == core_state_of(after_ns) ? before : "n/a";
}

PingPong::PingPong(const std::vector<int>& pus)
    : pus_(pus.begin(), pus.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, pus.size()))) {}

double PingPong::measure() {
  if (pus_.size() < 2) return -1;
  double best = -1;
  double started = sys::now_seconds();
  for (int batch = 0; batch < most_batches && sys::now_seconds() - started < most_seconds; ++batch) {
    Line line;
    sys::StartLine together(2);
    double took = 0;
    auto ran = crew_.run(pus_, [&](std::size_t self) {
      together.wait();
      double begin = sys::now_seconds();
      play(line, static_cast<int>(self));
      if (self == 0) took = sys::now_seconds() - begin;
    });
    if (!ran) return -1;
    double one_way = 1e9 * took / (2.0 * rounds);
    if (best < 0 || one_way < best) best = one_way;
  }
  return best;
}

}  // namespace nigh::cli
