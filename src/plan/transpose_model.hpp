// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The duration of the transposition of a matrix that lies on many nodes, for every way to share the nodes'
// cores out between ranks and threads, and the best way. It is the model of O. Haan (Matrix Transpose Results
// with Hybrid OpenMP / MPI, SCICOMP 2000, slides 9, 10, 14 to 16) with max-rate's law of shared links and
// with caches; docs/plan.md says what of it is fitted and what is checked. Pure: no I/O, no clock, the same
// answer for the same question.
//
// n1 x n2 matrix in blocks of rows, P = nodes x ranks of them; V: bytes of a rank's or of a node's block (2 V
// of them are read and written), N: nodes.
//
//     step             what                                          three steps     one pass
//     local reorder    what goes to one other is brought together    2 V a rank      2 V (N-1)/N a node
//     on node          what goes to ranks of the same node           copies by MPI   read where it lies
//     between nodes    what goes to the others, in messages of       V / P           V / N / panels
//     local transpose  from what came to the result                  2 V             2 V (N-1)/N
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/transfer.hpp"

namespace nigh {

// three_steps: Haan's, with messages between all ranks. one_pass: the ranks of a node read each other's
// memory, so that nothing is sent or packed within a node; between nodes one message for each pair of nodes
// and panel, the pairs shared out among the ranks.
enum class TransposeMethod : std::uint8_t { three_steps, one_pass };
const char* method_name(TransposeMethod method);  // "three-steps", "one-pass"

struct TransposeDemand {
  std::uint64_t rows = 0, columns = 0;
  int element_bytes = 8;
  int nodes = 1;
  int cores = 1;  // of each node; all are used

  [[nodiscard]] double bytes() const;
  // Errors: a size outside 1 to 2^31, nodes or cores outside 1 to 65536, elements that are not of 1 to 64
  // bytes.
  [[nodiscard]] Result<void> check() const;
};

struct TransposeWay {
  int ranks = 1, threads = 1;  // ranks on each node, threads of each rank
  TransposeMethod method = TransposeMethod::three_steps;
  int panels = 1;  // that a block is cut into, so that one is sent while others are worked on
  friend bool operator==(const TransposeWay&, const TransposeWay&) = default;
};
std::string way_text(const TransposeWay& way);  // "4 ranks x 8 threads, one-pass, 4 panels"

// Seconds of the slowest rank, one step after the other.
struct TransposeSteps {
  double local_reorder = 0;
  double on_node = 0;
  double between_nodes = 0;
  double local_transpose = 0;
  double synchronisation = 0;
  double overlapped = 0;  // saved because panels are sent while others are worked on

  [[nodiscard]] double total() const {
    return local_reorder + on_node + between_nodes + local_transpose + synchronisation - overlapped;
  }
};

struct TransposeForecast {
  TransposeWay way;
  TransposeSteps steps;
};

// Errors: a demand that fails its check, a way of other than all cores or with other panels than 1 in three
// steps, more ranks in all than rows or columns, rates that are empty, a network that is where it is needed.
Result<TransposeSteps> predict(const Network& network, const CopyRates& copying,
                               const TransposeDemand& demand, const TransposeWay& way);

// The panels of each pair of nodes that src/transpose/mpi_exchange.cpp makes.
int built_panels(const TransposeDemand& demand);

// Each pair of ranks x threads that makes all cores, by each method, with 1, 2, 4, ... 32 panels where one
// can gain by them, or, where streams were measured, with those that are built; without those that the matrix
// is too small for. The fastest first, of equals the one with fewer ranks and panels. Errors: as predict; a
// matrix that is too small for one rank a node.
Result<std::vector<TransposeForecast>> every_way(const Network& network, const CopyRates& copying,
                                                 const TransposeDemand& demand);

// Why the first of these, as a sentence: what its time is spent on, and in which step the best way with other
// ranks x threads loses most against it. Of the result of every_way.
std::string why_best(const std::vector<TransposeForecast>& ways);

// Haan's measure: 10^6 words of 8 bytes per second and node.
double transpose_speed(const TransposeDemand& demand, double seconds);
// Mflop/s per node of a 2-D complex FFT of `points` points that computes at `mflops` and transposes once,
// words of 8 bytes each point, at `mwords` (slide 25): time per point 5 log2(points) / mflops + words /
// mwords.
double fft_speed(double points, double mflops, double words, double mwords);

}  // namespace nigh
