// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What a message costs between two ranks (threads of one process, one on each of the first two CPUs), against
// the floor of the machine measured in the same rounds: a bare line that goes to and fro. Every size is timed
// in short batches, interleaved with the line; each batch is labelled near or far by the line around it,
// since two CPUs of a virtual machine may change places. Buffers are rewritten before each send and read
// after it.
//
//     message_bench [pingpong|rate|pairs] [batches]
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "message/p2p.hpp"
#include "message/thread_ranks.hpp"

namespace nigh::message {
namespace {

struct alignas(64) BareLine {
  std::atomic<std::uint64_t> value = 0;
};
BareLine bare[2][2];

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// One way, ns.
double line_ns(int rank, std::uint64_t& turn) {
  double best = 1e9;
  for (int k = 0; k < 3; ++k) {
    const std::int64_t start = now_ns();
    for (int i = 0; i < 60; ++i) {
      ++turn;
      if (rank == 0) bare[0][0].value.store(turn, std::memory_order_release);
      while (bare[rank == 0][0].value.load(std::memory_order_acquire) != turn) {}
      if (rank == 1) bare[1][0].value.store(turn, std::memory_order_release);
    }
    best = std::min(best, static_cast<double>(now_ns() - start) / 120);
  }
  return best;
}

struct Batch {
  double ns, line;
};

void report(const std::string& what, std::size_t bytes, std::vector<Batch> batches) {
  for (const bool far : {false, true}) {
    std::vector<double> times;
    double line = 0;
    for (const Batch& batch : batches)
      if ((batch.line > 120) == far) {
        times.push_back(batch.ns);
        line += batch.line;
      }
    if (times.size() < 3) continue;
    std::sort(times.begin(), times.end());
    std::printf("%-14s %8zu B  %s  median %10.1f ns  best %10.1f ns  line %5.1f ns  (%zu batches)\n",
                what.c_str(), bytes, far ? "far " : "near", times[times.size() / 2], times[0],
                line / static_cast<double>(times.size()), times.size());
  }
  std::fflush(stdout);
}

void rewrite(std::vector<char>& buffer, std::size_t bytes, int value) {
  for (std::size_t i = 0; i < bytes; i += 64)
    *static_cast<volatile char*>(&buffer[i]) = static_cast<char>(value);
}
long read_all(const std::vector<char>& buffer, std::size_t bytes) {
  long sum = 0;
  for (std::size_t i = 0; i < bytes; i += 64) sum += *static_cast<const volatile char*>(&buffer[i]);
  return sum;
}

int iterations(std::size_t bytes) {
  return bytes <= 512      ? 200
         : bytes <= 4096   ? 75
         : bytes <= 16384  ? 30
         : bytes <= 65536  ? 12
         : bytes <= 262144 ? 6
                           : 2;
}

void pingpong(int batches, std::size_t eager_limit, Offers::Tuning tuning) {
  run_ranks(2, [&](ThreadRank r) {
    pin(r.rank);
    Offers offers(r.space, r.waiter);
    offers.set_tuning(tuning);
    Endpoint end(r.space, r.waiter, offers);
    if (eager_limit) end.set_eager_limit(eager_limit);
    std::vector<char> out(4 << 20, 1), in(4 << 20, 2);
    std::uint64_t turn = 0;
    const int peer = 1 - r.rank;
    volatile long sink = 0;
    for (std::size_t bytes : {0ul, 8ul, 64ul, 512ul, 1024ul, 2048ul, 4096ul, 8192ul, 16384ul, 65536ul,
                              262144ul, 1ul << 20, 4ul << 20}) {
      std::vector<Batch> times;
      const int rounds = iterations(bytes);
      for (int b = 0; b < batches; ++b) {
        const double before = line_ns(r.rank, turn);
        end.send(piece("", 0), peer, 9);
        end.receive(piece(nullptr, 0), peer, 9);
        const std::int64_t start = now_ns();
        for (int i = 0; i < rounds; ++i) {
          if (r.rank == 0) {
            rewrite(out, bytes, i);
            end.send(piece(out.data(), bytes), 1, 7);
            end.receive(piece(in.data(), bytes), 1, 7);
            sink = sink + read_all(in, bytes);
          } else {
            end.receive(piece(in.data(), bytes), 0, 7);
            sink = sink + read_all(in, bytes);
            rewrite(out, bytes, i);
            end.send(piece(out.data(), bytes), 0, 7);
          }
        }
        const double ns = static_cast<double>(now_ns() - start) / (2.0 * rounds);
        const double after = line_ns(r.rank, turn);
        if ((before > 120) == (after > 120)) times.push_back({ns, (before + after) / 2});
      }
      if (r.rank == 0) report("pingpong", bytes, times);
    }
    if (r.rank == 0)
      std::printf("staged %llu, helped %llu KiB\n", static_cast<unsigned long long>(offers.counts().staged),
                  static_cast<unsigned long long>(offers.counts().helped_bytes >> 10));
  });
}

void rate(int batches) {
  run_ranks(2, [&](ThreadRank r) {
    pin(r.rank);
    Offers offers(r.space, r.waiter);
    Endpoint end(r.space, r.waiter, offers);
    std::vector<char> buffer(4096 * 64, 1);
    std::uint64_t turn = 0;
    for (std::size_t bytes : {8ul, 64ul, 512ul}) {
      std::vector<Batch> times;
      for (int b = 0; b < batches; ++b) {
        const double before = line_ns(r.rank, turn);
        const std::int64_t start = now_ns();
        for (int i = 0; i < 4; ++i)
          if (r.rank == 0) {
            for (int w = 0; w < 64; ++w)
              end.send(piece(&buffer[static_cast<std::size_t>(w) * bytes], bytes), 1, 9);
            end.receive(piece(buffer.data(), 4), 1, 8);
          } else {
            for (int w = 0; w < 64; ++w)
              end.receive(piece(&buffer[static_cast<std::size_t>(w) * bytes], bytes), 0, 9);
            end.send(piece(buffer.data(), 4), 0, 8);
          }
        const double ns = static_cast<double>(now_ns() - start) / (4 * 64);
        const double after = line_ns(r.rank, turn);
        if ((before > 120) == (after > 120)) times.push_back({ns, (before + after) / 2});
      }
      if (r.rank == 0) report("rate", bytes, times);
    }
  });
}

// Pairs of ranks on two CPUs, `pairs` of them: what waiting costs when ranks outnumber CPUs.
void pairs(int ranks) {
  run_ranks(ranks, [&](ThreadRank r) {
    Offers offers(r.space, r.waiter);
    Endpoint end(r.space, r.waiter, offers);
    const int peer = r.rank ^ 1;
    for (std::size_t bytes : {8ul, 4096ul, 65536ul, 1ul << 20}) {
      std::vector<char> out(bytes), in(bytes);
      const int rounds = bytes <= 4096 ? 2000 : bytes <= 65536 ? 500 : 50;
      r.meet();
      const std::int64_t start = now_ns();
      for (int i = 0; i < rounds; ++i)
        if (r.rank % 2 == 0) {
          end.send(piece(out.data(), bytes), peer, 1);
          end.receive(piece(in.data(), bytes), peer, 1);
        } else {
          end.receive(piece(in.data(), bytes), peer, 1);
          end.send(piece(out.data(), bytes), peer, 1);
        }
      r.meet();
      if (r.rank == 0)
        std::printf("pairs of %d ranks %8zu B  %10.1f ns a message\n", ranks, bytes,
                    static_cast<double>(now_ns() - start) / rounds / ranks);
    }
    if (r.rank == 0) std::printf("staged %llu\n", static_cast<unsigned long long>(offers.counts().staged));
  });
}

}  // namespace
}  // namespace nigh::message

int main(int count, char** words) {
  using namespace nigh::message;
  const std::string what = count > 1 ? words[1] : "pingpong";
  const int batches = count > 2 ? std::atoi(words[2]) : 60;
  Offers::Tuning tuning;
  if (const char* from = std::getenv("HALVES_FROM")) tuning.halves_from = std::strtoul(from, nullptr, 0);
  if (const char* chunk = std::getenv("CHUNK")) tuning.chunk = std::strtoul(chunk, nullptr, 0);
  const char* eager = std::getenv("EAGER");
  if (what == "pingpong") pingpong(batches, eager ? std::strtoul(eager, nullptr, 0) : 0, tuning);
  if (what == "rate") rate(batches);
  if (what == "pairs") pairs(count > 2 ? std::atoi(words[2]) : 8);
  return 0;
}
