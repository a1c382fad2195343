// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// nigh_fuzz: drives random inputs through the planner and the parsers and checks every invariant. Each
// input follows from its seed alone; a failure prints the seed and the smallest case found.
#include <atomic>
#include <chrono>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <mutex>
#include <thread>

#include "cases.hpp"

namespace nigh::fuzz {

namespace {
constexpr std::uint64_t block = 4096;  // seeds a worker takes at a time

// True if all is well.
bool run_seed(std::uint64_t seed) {
  Case c = make_case(seed);
  auto parser = broken_parser(seed, *c.machine);
  auto planner = broken_invariant(c);
  if (parser.empty() && planner.empty()) return true;
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  std::fprintf(stderr, "nigh_fuzz: seed %llu breaks an invariant; again: nigh_fuzz --case %llu\n",
               static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed));
  if (!parser.empty()) std::fprintf(stderr, "  parser: %s\n", parser.c_str());
  if (!planner.empty()) {
    Case least = shrink(c);
    std::fprintf(stderr, "  planner: %s\n  %s\n  smallest: %s\n  %s\n", planner.c_str(), describe(c).c_str(),
                 broken_invariant(least).c_str(), describe(least).c_str());
  }
  return false;
}

struct Work {
  std::uint64_t first, count;
  std::atomic<std::uint64_t> next{0};
  std::atomic<int> failures{0};
  bool progress = false;

  void run() {
    for (;;) {
      std::uint64_t begin = next.fetch_add(block);
      if (begin >= count || failures > 4) return;
      for (std::uint64_t i = begin; i < std::min(begin + block, count); ++i)
        if (!run_seed(first + i)) ++failures;
      if (progress && begin % (block * 64) == 0)
        std::fprintf(stderr, "\r%5.1f %%", 100.0 * static_cast<double>(begin) / static_cast<double>(count));
    }
  }
};

int run_all(std::uint64_t first, std::uint64_t count, int jobs, bool progress) {
  auto begin = std::chrono::steady_clock::now();
  Work work{first, count};
  work.progress = progress;
  std::vector<std::thread> workers;
  for (int i = 0; i < jobs; ++i) workers.emplace_back([&] { work.run(); });
  for (auto& worker : workers) worker.join();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%snigh_fuzz: %llu inputs from seed %llu, %d broken, %.1f s\n", progress ? "\r" : "",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(first),
              work.failures.load(), seconds);
  return work.failures == 0 ? 0 : 1;
}
}  // namespace
}  // namespace nigh::fuzz

int main(int argc, char** argv) {
  CLI::App app{"nigh_fuzz: random inputs through the planner and the parsers"};
  std::uint64_t seed = 1, count = 100000, one = 0;
  int jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bool progress = false;
  app.add_option("--seed", seed, "First seed");
  app.add_option("--count", count, "How many inputs");
  app.add_option("--jobs", jobs, "Threads")->check(CLI::Range(1, 256));
  app.add_flag("--progress", progress, "Show how far it is");
  auto* only = app.add_option("--case", one, "Run this seed only and describe its case");
  CLI11_PARSE(app, argc, argv);
  if (only->count() > 0) {
    std::printf("%s\n", nigh::fuzz::describe(nigh::fuzz::make_case(one)).c_str());
    return nigh::fuzz::run_seed(one) ? 0 : 1;
  }
  return nigh::fuzz::run_all(seed, count, jobs, progress);
}
