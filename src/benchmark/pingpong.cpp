// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/pingpong.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace nigh::benchmark {

namespace {

constexpr int rounds = 50;                // there and back, in one stretch: about 5 us
constexpr double enough_seconds = 0.003;  // when near was seen
constexpr double most_seconds = 0.03;     // when not: other programs may have kept the threads apart

constexpr int over = 2;

struct alignas(128) Line {
  std::atomic<int> turn{0};
};

// Waits for its turn; false once the game is over. Gives the core away now and then, should both be on one.
bool wait_for(Line& line, int self) {
  for (int spins = 1;; ++spins) {
    int turn = line.turn.load(std::memory_order_acquire);
    if (turn == self) return true;
    if (turn == over) return false;
    if (spins % 4096 == 0) std::this_thread::yield();
  }
}

void answer(Line& line) {
  while (wait_for(line, 1)) line.turn.store(0, std::memory_order_release);
}

// The least one-way time in ns over all stretches.
double serve(Line& line) {
  double best = 1e9;
  double started = sys::now_seconds();
  for (double now = started; now - started < (1e9 * best <= near_below_ns ? enough_seconds : most_seconds);) {
    for (int i = 0; i < rounds; ++i) {
      wait_for(line, 0);
      line.turn.store(1, std::memory_order_release);
    }
    wait_for(line, 0);
    double after = sys::now_seconds();
    best = std::min(best, (after - now) / (2.0 * rounds));
    now = after;
  }
  line.turn.store(over, std::memory_order_release);
  return 1e9 * best;
}

}  // namespace

std::string core_state_of(double one_way_ns) {
  if (one_way_ns < 0 || one_way_ns > nowhere_above_ns) return "n/a";
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
  Line line;
  sys::StartLine together(2);
  double one_way = -1;
  auto ran = crew_.run(pus_, [&](std::size_t self) {
    together.wait();
    if (self == 0)
      one_way = serve(line);
    else
      answer(line);
  });
  return ran ? one_way : -1;
}

}  // namespace nigh::benchmark
