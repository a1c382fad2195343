// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives between processes: forked ranks over one anonymous shared mapping, so that the room can be
// measured without any other. Prints microseconds a call, median [quartile .. quartile] of batches, the
// one-way latency of a line before and after each batch, and leaves out batches during which the state of the
// cores changed. Usage: message_collective_bench [ranks] [kind or "all"] [batches]
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "message/collective.hpp"

namespace {

using namespace nigh;           // NOLINT
using namespace nigh::message;  // NOLINT

constexpr std::size_t slot_bytes = std::size_t{256} << 20, colour = 0x211000;
constexpr int most_ranks = 64, most_batches = 512;

struct alignas(128) Shared {
  struct alignas(128) Line {
    atomic<std::uint64_t> word = 0;
  };
  Line meet[most_ranks], line[2];
  struct {
    atomic<void*> roots[static_cast<int>(space::Root::count)];
    atomic<Cells*> cells;
    double times[most_batches];
  } rank[most_ranks];
};

class Arena final : public space::Space {
 public:
  Arena(unsigned char* memory, int rank, int size) {
    rank_ = rank;
    size_ = size;
    shared = reinterpret_cast<Shared*>(memory);
    unsigned char* slot = memory + slot_bytes * static_cast<std::size_t>(rank + 1);
    next_ = slot + colour * static_cast<std::size_t>(rank);
    first_ = reinterpret_cast<std::uintptr_t>(slot);
    span_ = slot_bytes;
  }
  void* alloc(std::size_t bytes, std::size_t align) override {
    const auto at = (reinterpret_cast<std::uintptr_t>(next_) + align - 1) / align * align;
    next_ = reinterpret_cast<unsigned char*>(at) + bytes;
    return reinterpret_cast<void*>(at);
  }
  void release(void*) override {}
  void publish(space::Root root, void* data) override {
    shared->rank[rank_].roots[static_cast<int>(root)].store(data, std::memory_order_release);
  }
  [[nodiscard]] void* root(int rank, space::Root root) const override {
    return shared->rank[rank].roots[static_cast<int>(root)].load(std::memory_order_acquire);
  }
  [[nodiscard]] bool reachable(int) const override { return true; }
  [[nodiscard]] bool all_reachable(const int*, int) const override { return true; }
  [[nodiscard]] bool alive(int) const override { return true; }
  [[nodiscard]] void* remote(int, const void*) const override { return nullptr; }
  Shared* shared;

 private:
  [[nodiscard]] void* global_slow(const void*, std::size_t) const override { return nullptr; }
  unsigned char* next_;
};

double now() { return static_cast<double>(now_ns()) * 1e-9; }

struct Lab {
  Arena& arena;
  std::uint64_t met = 0, laps = 0;

  void meet() {
    ++met;
    arena.shared->meet[arena.rank()].word.store(met, std::memory_order_release);
    for (int r = 0; r < arena.size(); ++r)
      for (int looks = 0; arena.shared->meet[r].word.load(std::memory_order_acquire) < met; ++looks)
        if (looks > 10000) sched_yield();
  }
  // One-way nanoseconds of a cache line between ranks 0 and 1.
  double line() {
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      const double start = now();
      for (int lap = 0; lap < 60; ++lap) {
        ++laps;
        auto &a = arena.shared->line[0].word, &b = arena.shared->line[1].word;
        if (arena.rank() == 0) {
          a.store(laps, std::memory_order_release);
          while (b.load(std::memory_order_acquire) < laps) {}
        } else if (arena.rank() == 1) {
          while (a.load(std::memory_order_acquire) < laps) {}
          b.store(laps, std::memory_order_release);
        }
      }
      best = std::min(best, (now() - start) / 120 * 1e9);
    }
    return best;
  }
};

void touch_write(unsigned char* data, std::size_t bytes, unsigned value) {
  std::memset(data, static_cast<int>(value), bytes);
}
std::uint64_t touch_read(const unsigned char* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= bytes; i += 64) {
    std::uint64_t word;
    std::memcpy(&word, data + i, 8);
    sum += word;
  }
  return sum;
}

struct Case {
  const char* name;
  Kind kind;
  bool rewrite;
};
constexpr Case cases[] = {{"barrier", Kind::barrier, false},
                          {"bcast", Kind::bcast, false},
                          {"reduce", Kind::reduce, false},
                          {"allreduce", Kind::allreduce, false},
                          {"alltoall", Kind::alltoall, false},
                          {"allgather", Kind::allgather, false},
                          {"bcast-rewritten", Kind::bcast, true},
                          {"reduce-rewritten", Kind::reduce, true},
                          {"allreduce-rewritten", Kind::allreduce, true},
                          {"alltoall-rewritten", Kind::alltoall, true}};

volatile std::uint64_t sink;

void measure(Lab& lab, Group& group, const Case& what, std::size_t bytes, int batches, unsigned char* send,
             unsigned char* receive) {
  const int me = lab.arena.rank(), ranks = lab.arena.size();
  const int calls =
      static_cast<int>(std::clamp<std::size_t>((std::size_t{4} << 20) / (bytes + 1024), 4, 4000)) & ~1;
  double lines[most_batches];
  for (int batch = 0; batch < batches; ++batch) {
    const double before = lab.line();
    lab.meet();
    const double start = now();
    for (int call = 0; call < calls; ++call) {
      const int root = call % ranks;
      if (what.rewrite)
        touch_write(what.kind == Kind::bcast ? receive : send, bytes, static_cast<unsigned>(call));
      group.run({.kind = what.kind,
                 .send = what.kind == Kind::bcast ? nullptr : send,
                 .receive = receive,
                 .bytes = bytes,
                 .root = root,
                 .combine = find_combine(Op::sum, Element::f64)});
      if (what.rewrite) sink = touch_read(receive, bytes);
    }
    lab.arena.shared->rank[me].times[batch] = (now() - start) / calls;
    lab.meet();
    const double after = lab.line();
    lines[batch] = (before < 120) == (after < 120) ? (before + after) / 2 : -1;
  }
  lab.meet();
  if (me == 0)
    for (const bool far : {false, true}) {
      std::vector<double> times;
      double line = 0;
      for (int batch = 0; batch < batches; ++batch) {
        if (lines[batch] < 0 || (lines[batch] >= 120) != far) continue;
        double most = 0;
        for (int r = 0; r < ranks; ++r) most = std::max(most, lab.arena.shared->rank[r].times[batch]);
        times.push_back(most * 1e6);
        line += lines[batch];
      }
      if (times.size() < 3) continue;
      std::sort(times.begin(), times.end());
      const std::size_t n = times.size();
      std::printf("%-20s %8zu B  %9.3f us [%.3f .. %.3f]  %s, line %.0f ns, %zu batches\n", what.name, bytes,
                  times[n / 2], times[n / 4], times[3 * n / 4], far ? "far" : "near",
                  line / static_cast<double>(n), n);
      std::fflush(stdout);
    }
  lab.meet();
}

int run_rank(unsigned char* memory, int rank, int ranks, const std::string& only, int batches) {
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET(rank % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), &cpu);
  sched_setaffinity(0, sizeof(cpu), &cpu);
  Arena arena(memory, rank, ranks);
  Lab lab{arena};
  Waiter waiter(arena, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  arena.shared->rank[rank].cells.store(Group::make_cells(arena, ranks), std::memory_order_release);
  const std::size_t most = (std::size_t{4} << 20) * static_cast<std::size_t>(ranks);
  auto* send = static_cast<unsigned char*>(arena.alloc(most, std::size_t{2} << 20));
  auto* receive = static_cast<unsigned char*>(arena.alloc(most, std::size_t{2} << 20));
  std::memset(send, 0, most);
  std::memset(receive, 0, most);
  lab.meet();
  std::vector<Cells*> cells;
  std::vector<int> numbers;
  for (int r = 0; r < ranks; ++r) {
    cells.push_back(arena.shared->rank[r].cells.load(std::memory_order_acquire));
    numbers.push_back(r);
  }
  Group group(arena, waiter, rank, cells, numbers, {});
  for (const Case& what : cases) {
    if (only != "all" && only != what.name) continue;
    if (what.kind == Kind::barrier) {
      measure(lab, group, what, 0, batches, send, receive);
      continue;
    }
    for (const std::size_t bytes :
         {8, 64, 512, 1024, 2048, 4096, 8192, 16384, 65536, 262144, 1 << 20, 4 << 20})
      measure(lab, group, what, bytes, batches, send, receive);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::clamp(std::atoi(argv[1]), 2, most_ranks) : 2;
  const std::string only = argc > 2 ? argv[2] : "all";
  const int batches = argc > 3 ? std::clamp(std::atoi(argv[3]), 3, most_batches) : 31;
  void* memory = mmap(nullptr, slot_bytes * static_cast<std::size_t>(ranks + 1), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 1;
  new (memory) Shared;
  std::vector<pid_t> children;
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) return run_rank(static_cast<unsigned char*>(memory), rank, ranks, only, batches);
    children.push_back(child);
  }
  run_rank(static_cast<unsigned char*>(memory), 0, ranks, only, batches);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  return 0;
}
