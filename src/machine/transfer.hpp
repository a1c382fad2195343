// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The cost of moving data, on a node and between nodes: the few figures that a plan for programs on several
// nodes rests on. Both laws have the form of max-rate (Gropp, Olson, Samfass, EuroMPI 2016, DOI
// 10.1145/2966884.2966919): k at a time get k times the rate of one, until the node has no more.
//
//     seconds                          MB/s of the node
//        |          ...k = 4              |        ________  node rate
//        |      ....                      |     __/
//        |  ....________ k = 1            |  __/  k x rate of one
//        |__/____________ bytes           |_/_______________ k processes or threads
//
// MB/s are 10^6 bytes per second, so bytes divided by MB/s are microseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace nigh {

enum class Source : std::uint8_t;

// Messages up to a size, which an MPI library sends by one protocol. The two last figures are 0 in max-rate;
// Haan (SCICOMP 2000, slide 23) saw both above it: four processes waited nearly four times as long,
// and had less than the link of one between them. They differ by protocol: where a message is offered first,
// the offers of some processes wait behind the data of others.
struct NetworkRange {
  std::uint64_t upto = 0;     // bytes of the largest; 0: no end, which only the last range has
  double latency_us = 0;      // of one process's message, nobody else about
  double process_rate = 0;    // MB/s that one process gets at the most (R_C)
  double node_rate = 0;       // MB/s that all processes of a node get together at the most (R_N)
  double latency_growth = 0;  // part of the latency that each further process of the node adds to it
  double rate_loss = 0;       // node rate with k processes: node_rate / (1 + rate_loss (k - 1) / k)
  friend bool operator==(const NetworkRange&, const NetworkRange&) = default;
};

// Messages from each node to another one, all nodes at once.
struct Network {
  std::vector<NetworkRange> ranges;  // by ascending size
  // MB/s while several large messages are under way at a time, of one process and of a node; 0: not known.
  double stream_process_rate = 0, stream_node_rate = 0;
  Source source{};  // of all of it

  [[nodiscard]] bool empty() const { return ranges.empty(); }
  // Seconds until messages of `bytes` have arrived, one from each of k processes of a node at the same time.
  // Never less for a longer message: a range begins no lower than the one before it ends. Of an empty
  // network: 0.
  [[nodiscard]] double message_seconds(double bytes, int k) const;
  // Seconds until `bytes` have left a node as a stream of messages by k processes, as many under way as
  // needed: one latency, then the rate. Where streams are not known: 0.
  [[nodiscard]] double stream_seconds(double bytes, int k) const;
  // Ranges in order, figures above 0 where they must be; the first thing wrong as a sentence.
  [[nodiscard]] Result<void> validate() const;
  friend bool operator==(const Network&, const Network&) = default;
};

// A place that data is copied in: caches, from the smallest on, and at last the memory.
struct CopyLevel {
  std::uint64_t bytes = 0;  // of one such cache; 0: memory, which only the last level is
  int cores = 0;            // that share it; 0: all
  double core_rate = 0;     // MB/s of one thread, bytes read and bytes written
  double node_rate = 0;     // MB/s of all threads of the node together at the most
  friend bool operator==(const CopyLevel&, const CopyLevel&) = default;
};

struct CopyRates {
  std::vector<CopyLevel> levels;
  double transpose_powers = 1;  // rate of transposing over that of copying: rows and columns powers of two
  double transpose_others = 1;  // ... other shapes
  double barrier_us = 0;        // of two threads; of n threads log2(n) times that
  double message_us = 0;        // latency of a message between two processes of the node
  Source source{};

  [[nodiscard]] bool empty() const { return levels.empty(); }
  // MB/s of the node while `groups` groups of `threads` threads each copy `bytes` (source and target) of
  // their own. A group's data is in a cache only if all threads of the group share that cache: what one
  // thread has written is read by another one. 0 of empty rates.
  [[nodiscard]] double rate(double bytes, int threads, int groups) const;
  [[nodiscard]] double barrier_seconds(int threads) const;
  [[nodiscard]] Result<void> validate() const;
  friend bool operator==(const CopyRates&, const CopyRates&) = default;
};

}  // namespace nigh
