// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The speed of moved pages: ours against the kernel's migrate_pages(2), interleaved in one run on the same
// running application. Medians of the same number of rounds; in a guest without real CPUs of its own, figures
// say what each way costs in the kernel, nothing about a machine.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "movers_checks.hpp"
#include "sys/pages.hpp"

namespace movers {

using namespace nigh;

namespace {
constexpr std::size_t bytes = std::size_t{32} << 20;
constexpr int rounds = 5;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// migrate_pages(2): the peer.
void migrate_all(int pid, int from, int to) {
  const CpuSet source{from}, target{to};
  const std::size_t words = std::max(source.words().size(), target.words().size());
  std::vector<std::uint64_t> old_nodes = source.words(), new_nodes = target.words();
  old_nodes.resize(words);
  new_nodes.resize(words);
  const long left = ::syscall(SYS_migrate_pages, pid, words * 64 + 1, old_nodes.data(), new_nodes.data());
  check(left == 0, "migrate_pages: %ld", left);
}

struct Way {
  std::string name;
  std::function<double(int from, int to)> move;  // GB/s, whole wall clock
  std::vector<double> found;
};

double whole_rate(double since) { return static_cast<double>(bytes) / (now() - since) / 1e9; }

void table(bool works) {
  AppOptions options;
  options.bytes = bytes;
  options.private_passes = works;
  App app(options);
  auto freezer = sys::Freezer::start();
  std::vector<double> in_calls;
  auto ours = [&](bool frozen, int threads) {
    return [&, frozen, threads](int, int to) {
      watch::MoveOptions how;
      how.freezer = frozen ? &*freezer : nullptr;
      how.threads = threads;
      how.pause_rest = 0;
      how.call_rest = 0;
      double since = now();
      auto moved = watch::move_pages(sys::Os(), buffer_to(app, to, bytes), how);
      double rate = whole_rate(since);
      if (moved && !frozen) in_calls.push_back(moved->gb_per_second());
      check(moved && moved->moved == bytes / 4096, "not all moved: %s",
            moved ? moved->sentence().c_str() : "error");
      return rate;
    };
  };
  std::vector<Way> ways;
  ways.push_back({"migrate_pages",
                  [&](int from, int to) {
                    double since = now();
                    migrate_all(app.pid(), from, to);
                    return whole_rate(since);
                  },
                  {}});
  ways.push_back({"live", ours(false, 1), {}});
  ways.push_back({"frozen, 1 thread", ours(true, 1), {}});
  ways.push_back({"frozen, 2 threads", ours(true, 2), {}});
  ways.push_back({"frozen, 4 threads", ours(true, 4), {}});
  int at = 0;
  for (int round = 0; round < rounds; ++round)
    for (Way& way : ways) {
      int to = at == 2 ? 3 : 2;
      double rate = way.move(at, to);
      if (check(app.pages_by_node()[to] == bytes / 4096, "%s left pages behind", way.name.c_str()))
        way.found.push_back(rate);
      at = to;
    }
  for (Way& way : ways)
    if (!way.found.empty())
      std::printf("throughput, application %s: %-18s %.3f GB/s (%.3f to %.3f), %.2f of migrate_pages\n",
                  works ? "working" : "idle", way.name.c_str(), median(way.found),
                  *std::min_element(way.found.begin(), way.found.end()),
                  *std::max_element(way.found.begin(), way.found.end()),
                  median(way.found) / median(ways[0].found));
  // Pausing is what makes it fast where the application keeps the CPUs busy; else moving is copying, whoever
  // calls.
  double best = 0;
  for (const Way& way : ways)
    if (way.name.rfind("frozen", 0) == 0 && !way.found.empty()) best = std::max(best, median(way.found));
  check(!works || best >= 2 * median(ways[0].found), "frozen is not twice as fast as migrate_pages");
  std::printf("throughput, live, in the move_pages calls alone: %.3f GB/s\n", median(in_calls));
  app.ends_right();
}
}  // namespace

void throughput() {
  table(false);
  table(true);
}

namespace {
void batches(bool works) {
  AppOptions options;
  options.bytes = bytes;
  options.private_passes = works;
  App app(options);
  std::vector<std::uint64_t> pages;
  for (std::uint64_t at = 0; at < bytes; at += 4096) pages.push_back(app.shared().address + at);
  std::vector<int> status(pages.size());
  int at = 0;
  for (std::size_t batch : {64U, 512U, 2048U, 8192U}) {
    if (works && batch < 512) continue;  // 40 s
    std::vector<double> rates;
    for (int round = 0; round < 3; ++round) {
      int to = at == 2 ? 3 : 2;
      double since = now();
      for (std::size_t i = 0; i < pages.size(); i += batch) {
        std::size_t count = std::min(batch, pages.size() - i);
        (void)sys::move_pages_to(app.pid(), {pages.data() + i, count}, to, {status.data() + i, count});
      }
      rates.push_back(whole_rate(since));
      at = to;
    }
    std::printf("batches of %5zu pages, application %s: %.3f GB/s\n", batch, works ? "working" : "idle",
                median(rates));
  }
}
}  // namespace

void batch_sizes() {
  batches(false);
  batches(true);
}

}  // namespace movers
