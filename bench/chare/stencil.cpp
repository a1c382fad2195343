// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The stencil as chares: 8 x 8 blocks of the square, each exchanges its rims with four neighbours and
// computes when it has theirs; nobody waits for all. Every 10 steps the blocks are balanced.
#include "stencil.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/batches.hpp"
#include "modes.hpp"
#include "nigh/chare.hpp"
#include "peers.hpp"

namespace {

namespace nc = nigh::chare;

constexpr int blocks_a_side = 8, between_balances = 10;

struct Plan {
  long side = 256;
  int runs = 5;
  bool balances = true, spoils = false, near = false;
};

struct Block : nc::Element<Block> {
  Block() = default;
  explicit Block(const Plan& plan) : plan(plan), n(plan.side / blocks_a_side) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(plan, n, run, step, came, now, next, waiting, times, begun, moves, was_on);
  }

  void begin() {
    const auto cells = static_cast<std::size_t>((n + 2) * (n + 2));
    now.assign(cells, 0);
    next.assign(cells, 0);
    for (long y = 0; y < n; ++y)
      for (long x = 0; x < n; ++x) cell(now, x, y) = stencil_first(first_x() + x, first_y() + y);
    step = came = 0;
    was_on = nc::pe();
    contribute(array().callback<&Block::all_begin>());
  }
  void all_begin() {
    begun = bench::now();
    exchange();
  }

  // Sides: 0 from the left, 1 from the right, 2 from above, 3 from below.
  void exchange() {
    std::vector<double> rim(static_cast<std::size_t>(n));
    for (int side = 0; side < 4; ++side) {
      const long at = side % 2 == 0 ? 0 : n - 1;  // the rim that is sent there
      for (long i = 0; i < n; ++i)
        rim[static_cast<std::size_t>(i)] = side < 2 ? cell(now, at, i) : cell(now, i, at);
      const long x = index().x + (side == 0   ? -1
                                  : side == 1 ? 1
                                              : 0),
                 y = index().y + (side == 2   ? -1
                                  : side == 3 ? 1
                                              : 0);
      if (x < 0 || y < 0 || x == blocks_a_side || y == blocks_a_side)
        ++came;  // outside it is 0 for ever
      else
        array()(x, y).send<&Block::take>(step, side ^ 1, std::span<const double>(rim));
    }
    if (came == 4) return compute();  // of one block
    std::vector<Rim> early = std::exchange(waiting, {});
    for (const Rim& one : early) take(step, one.side, one.cells);
  }
  void take(int of_step, int side, std::span<const double> rim) {
    if (of_step != step || now.empty()) return waiting.push_back({side, {rim.begin(), rim.end()}});
    const long at = side % 2 == 0 ? -1 : n;
    for (long i = 0; i < n; ++i)
      (side < 2 ? cell(now, at, i) : cell(now, i, at)) = rim[static_cast<std::size_t>(i)];
    if (++came == 4) compute();
  }
  void compute() {
    for (long y = 0; y < n; ++y)
      stencil_row(&cell(now, -1, y - 1), &cell(now, -1, y), &cell(now, -1, y + 1), &cell(next, 0, y), n,
                  first_x(), first_y() + y, plan.side, step);
    std::swap(now, next);
    came = 0;
    ++step;
    if (plan.spoils && step == 50 && index().x == 5 && index().y == 2) cell(now, 3, 3) += 1e-13;
    if (step == stencil_steps) return contribute(array().callback<&Block::ended>());
    if (plan.balances && step % between_balances == 0) return balance(array().callback<&Block::go_on>());
    exchange();
  }
  void go_on() {
    moves += was_on != nc::pe();
    was_on = nc::pe();
    exchange();
  }

  void ended() {
    times.push_back(1e9 * (bench::now() - begun) / double{stencil_steps});
    if (++run < plan.runs) return begin();
    Result result{0, static_cast<std::uint64_t>(moves)};
    for (long y = 0; y < n; ++y)
      result.sum += stencil_sum(&cell(now, 0, y), n, first_x(), first_y() + y, plan.side);
    contribute(result, Add(), array()(0, 0).callback<&Block::judge>());
  }
  struct Result {
    std::uint64_t sum, moves;
  };
  struct Add {
    void operator()(Result& into, const Result& from) const {
      into.sum += from.sum, into.moves += from.moves;
    }
  };
  void judge(Result result) {
    std::vector<double> one(static_cast<std::size_t>((plan.side + 2) * (plan.side + 2))), other(one);
    const bool right = stencil_serial(one.data(), other.data(), plan.side, stencil_steps) == result.sum;
    std::sort(times.begin(), times.end());
    std::vector<int> cpus(static_cast<std::size_t>(std::max(nc::pes(), 1)));
    for (std::size_t i = 0; i < cpus.size(); ++i) cpus[i] = static_cast<int>(i);
    bench::report("stencil", {{"step", times[times.size() / 2], plan.near}}, cpus, nc::pes() - 1,
                  right ? "" : "the result is not that of one thread");
    nc::finish(right ? 0 : 1);
  }

  double& cell(std::vector<double>& of, long x, long y) const {
    return of[static_cast<std::size_t>((y + 1) * (n + 2) + x + 1)];
  }
  [[nodiscard]] long first_x() const { return static_cast<long>(index().x) * n; }
  [[nodiscard]] long first_y() const { return static_cast<long>(index().y) * n; }

  struct Rim {  // of the next step
    int side = 0;
    std::vector<double> cells;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(side, cells);
    }
  };
  Plan plan;
  long n = 0;
  int run = 0, step = 0, came = 0;
  std::vector<double> now, next, times;
  std::vector<Rim> waiting;
  double begun = 0;
  int moves = 0, was_on = 0;
};

int usage() {
  std::fprintf(stderr,
               "usage: stencil --teams PES --subject NAME [--quick] [--trace FILE]; PEs: 1 to 64; subjects: "
               "nigh-fixed %s "
               "mpi-openmpi mpi-mpich\n",
               bench::modes::names);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  int pes = 2;
  std::string subject = "nigh-threads";
  const char* trace = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick")
      plan.side = 128, plan.runs = 3;
    else if (word == "--teams" && i + 1 < argc)
      pes = std::atoi(argv[++i]);
    else if (word == "--subject" && i + 1 < argc)
      subject = argv[++i];
    else if (word == "--trace" && i + 1 < argc)
      trace = argv[++i];
    else
      return usage();
  }
  if (pes < 1 || pes > 64) return usage();
  const double line = bench::line_time(bench::usable_cpus());
  plan.near = line < bench::near_below;
  if (subject.starts_with("mpi-"))
    return bench::peers::report("stencil", subject, bench::peers::folder_of(argv[0]), pes,
                                {std::to_string(plan.side), std::to_string(plan.runs)}, "step", plan.near);
  plan.spoils = subject == "nigh-spoiled";  // must be found out
  plan.balances = subject != "nigh-fixed";
  auto own = bench::modes::options(subject, pes);
  if (!own) return usage();
  own->trace = trace;
  return nc::run(
      *own, [&] { nc::Array<Block>::create({blocks_a_side, blocks_a_side}, plan).send<&Block::begin>(); });
}
