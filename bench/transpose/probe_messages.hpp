// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The times of messages between nodes, in the two ways that a transpose sends them. Included by the probe
// alone.
#pragma once

#include <memory>

#include <nigh/transpose_mpi.h>

#include "transpose/probe_ranks.hpp"

namespace {

// Seconds: for messages, unless the fewest rounds take longer; of a call beyond which longer messages are
// left out.
constexpr double message_seconds = 1.2, longest_call = 0.09;

struct Point {
  int k;
  std::size_t bytes;
  double us;
};

// The messages of Haan's global reorder that leave the nodes; each follows another one.
struct Between {
  std::size_t bytes;  // of a message
  double guess = 0;   // seconds, of the first time
  std::vector<double> times = {};
};

// The reorder, and our transpose, are among so many nodes, all such groups at the same time: with all of a
// large cluster it would have too many steps.
int reorder_nodes(const Where& where) { return std::min(where.nodes, 4); }

// Our own transpose between nodes, of squares: what it gets of the links. Not messages in its manner: whose
// offers and answers wait behind whose data depends on all that the ranks do, threads that wait for each
// other included, and decides about half of the rate of a slow link.
class Whole {
 public:
  ~Whole() {
    plan_.reset();
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Whole() = default;
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;
  // Finds a square that takes long enough. For members only; those that are in no group have nothing to do.
  void begin(const Some& some, int group, int nodes, int threads);
  void once();
  [[nodiscard]] double bytes() const {  // that leave each node
    const auto n = static_cast<double>(side_), of = static_cast<double>(nodes_);
    return static_cast<double>(sizeof(double)) * n * n * (of - 1) / of / of;
  }

 private:
  void make(int threads);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int nodes_ = 1;
  std::size_t side_ = 0;
  std::vector<double> a_, b_;
  std::unique_ptr<nigh_transpose, void (*)(nigh_transpose*)> plan_{nullptr, nigh_transpose_destroy};
};

void Whole::make(int threads) {
  std::size_t rows = 0, columns = 0;
  nigh_transpose_mpi_share(side_, side_, comm_, nullptr, &rows, nullptr, &columns);
  plan_.reset();
  a_.assign(rows * side_, 1);
  b_.assign(columns * side_, 0);
  plan_.reset(nigh_transpose_mpi(side_, side_, sizeof(double), a_.data(), a_.size() * sizeof(double),
                                 b_.data(), b_.size() * sizeof(double), comm_, threads));
  if (plan_ == nullptr) give_up(nigh_transpose_why());
}

void Whole::once() {
  if (plan_ != nullptr && nigh_transpose_execute(plan_.get()) != 0) give_up(nigh_transpose_why());
}

void Whole::begin(const Some& some, int group, int nodes, int threads) {
  constexpr std::size_t least = 256, most = 1024;  // rows for each node: 512 KiB, 8 MiB from node to node
  constexpr double long_enough = 0.004;
  MPI_Comm_split(some.comm(), group >= 0 ? group : MPI_UNDEFINED, some.me(), &comm_);
  nodes_ = nodes;
  for (std::size_t rows = least; rows <= most; rows *= 2) {
    side_ = rows * static_cast<std::size_t>(nodes);
    if (comm_ != MPI_COMM_NULL) make(threads);
    once();
    if (some.batch(Calls::wait_for_each_other, 1, [&] { once(); }) > long_enough) break;
  }
}

class Messages {
 public:
  Messages(const Where& where, int k)
      : some_(where, k),
        ring_(reorder_nodes(where) * k),
        rings_(where.nodes / reorder_nodes(where)),
        threads_(k == 1 && !where.bound ? where.cores() : where.threads) {
    for (const std::size_t bytes :
         {8UL, 1024UL, 4096UL, 16384UL, 32768UL, 61440UL, 65536UL, 131072UL, 262144UL, 524288UL, longest})
      all_.push_back({bytes});
    if (some_.member()) mine_.resize(longest), theirs_.resize(longest);
  }
  // Once: connections are made, and what takes too long is left out.
  void begin();
  // One batch of each.
  void round();
  [[nodiscard]] std::vector<Point> points() const;
  [[nodiscard]] double stream_rate() const;  // MB/s of a node

 private:
  static constexpr std::size_t longest = std::size_t{1} << 20, least_longest = 65536;
  [[nodiscard]] bool in_group() const { return some_.me() / ring_ < rings_; }
  [[nodiscard]] int after(int step) const;
  void reorder(std::size_t bytes);

  Some some_;
  int ring_, rings_;  // ranks of a group, groups
  int threads_;       // of a rank
  std::vector<Between> all_;
  std::vector<char> mine_, theirs_;
  Whole whole_;
  std::vector<double> whole_times_;
};

// The rank that is `step` ranks after this one in its group. Who has no group has none.
int Messages::after(int step) const {
  const int me = some_.me(), first = me / ring_ * ring_;
  return in_group() ? first + (me - first + step) % ring_ : MPI_PROC_NULL;
}

// In step s each rank sends to the s-th after it, unless that is on its node.
void Messages::reorder(std::size_t bytes) {
  const int count = static_cast<int>(bytes);
  const auto other = [&](int step) {
    const int rank_of = after(step);
    return rank_of >= 0 && rank_of / some_.each() == some_.me() / some_.each() ? MPI_PROC_NULL : rank_of;
  };
  for (int step = 1; step < ring_; ++step)
    MPI_Sendrecv(mine_.data(), count, MPI_BYTE, other(step), 0, theirs_.data(), count, MPI_BYTE,
                 other(ring_ - step), 0, some_.comm(), MPI_STATUS_IGNORE);
}

void Messages::begin() {
  if (some_.member()) {
    double last = 0, size = 1;
    for (Between& what : all_) {
      const double now = static_cast<double>(what.bytes);
      if (what.bytes > least_longest && last * now / size > longest_call) continue;
      const auto call = [&] { reorder(what.bytes); };
      call();
      const double again[] = {some_.batch(Calls::wait_for_each_other, 1, call),
                              some_.batch(Calls::wait_for_each_other, 1, call)};
      what.guess = std::min(again[0], again[1]);
      if (calls_of(what.guess) == 1) what.times.assign(std::begin(again), std::end(again));
      last = what.guess, size = now;
    }
    std::erase_if(all_, [](const Between& what) { return what.guess == 0; });
    whole_.begin(some_, in_group() ? some_.me() / ring_ : -1, ring_ / some_.each(), threads_);
  }
  quiet_barrier(MPI_COMM_WORLD);
}

void Messages::round() {
  constexpr int of_the_whole = 2, of_one = 2;
  if (some_.member()) {
    // One process's are short, and of long messages some wait for each other and some don't.
    for (int i = 0; i < (some_.each() == 1 ? of_one : 1); ++i)
      for (Between& what : all_)
        what.times.push_back(
            some_.batch(Calls::wait_for_each_other, calls_of(what.guess), [&] { reorder(what.bytes); }));
    whole_.once();  // the first one after messages of another kind takes up to 1.4 times as long
    for (int i = 0; i < of_the_whole; ++i)
      whole_times_.push_back(some_.batch(Calls::wait_for_each_other, 1, [&] { whole_.once(); }));
  }
  quiet_barrier(MPI_COMM_WORLD);
}

std::vector<Point> Messages::points() const {
  std::vector<Point> out;
  for (const Between& what : all_)
    if (!what.times.empty()) out.push_back({some_.each(), what.bytes, 1e6 * median(what.times)});
  return out;
}

double Messages::stream_rate() const {
  return whole_times_.empty() ? 0 : 1e-6 * whole_.bytes() / median(whole_times_);
}

// One process of each node, and all, in turn and turn again, so that what disturbs for a while disturbs one
// sample of each.
void between_nodes(const Where& where, std::vector<Point>& points, double& stream_one, double& stream_node) {
  constexpr int least_rounds = 3, most_rounds = 9;
  std::vector<std::unique_ptr<Messages>> kinds;
  for (int k = 1;; k = where.each) {
    kinds.push_back(std::make_unique<Messages>(where, k));
    kinds.back()->begin();
    if (k >= where.each) break;
  }
  const double start = MPI_Wtime();
  double spent = 0;
  for (int i = 0; i < most_rounds && (i < least_rounds || spent * (i + 1) / i < message_seconds); ++i) {
    for (const auto& kind : kinds) kind->round();
    spent = MPI_Wtime() - start;
    MPI_Bcast(&spent, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  for (const auto& kind : kinds) {
    const std::vector<Point> more = kind->points();
    points.insert(points.end(), more.begin(), more.end());
  }
  stream_one = kinds.front()->stream_rate();
  stream_node = kinds.back()->stream_rate();
}

}  // namespace
