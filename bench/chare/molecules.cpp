// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Molecular dynamics as chares, as NAMD has it: cells hold the particles, objects of their own compute the
// forces between two of them. A cell sends its places to the 27 pairs that it is in, a section: once to each
// PE. It adds up what they send back, and goes on; it waits for nobody else. Pairs and cells are balanced
// every 25 steps, while they go on.
#include "molecules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "common/batches.hpp"
#include "modes.hpp"
#include "nigh/chare.hpp"
#include "peers.hpp"

namespace {

namespace nc = nigh::chare;

constexpr int between_balances = 25;

struct Plan {
  int side = 8, steps = 100;
  bool balances = true, spoils = false, near = false;
};

struct Cell;

// The pair of a cell and its neighbour at offset 13 + x; y numbers the cell.
struct Pair : nc::Element<Pair> {
  Pair() = default;
  Pair(const Plan& plan, nc::Array<Cell> cells) : plan(plan), cells(cells) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(plan, cells, first_come, has_one, done);
  }
  void take(std::int64_t from, std::span<const double> places);
  void compute(std::span<const double> a, std::span<const double> b);
  Plan plan;
  nc::Array<Cell> cells;
  nc::Buffer<double> first_come;  // the places of one of them
  bool has_one = false;
  int done = 0;
};

struct Cell : nc::Element<Cell> {
  Cell() = default;
  explicit Cell(const Plan& plan) : plan(plan) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(plan, pairs, all, forces, came, incoming, arrived, pushed, step, potential, first, begun);
  }

  void begin(nc::Array<Pair> of_all) {
    pairs = of_all;
    std::array<molecules_particle, 125> some;
    const int cell[3] = {x(), y(), z()};
    all.assign(some.begin(), some.begin() + molecules_begin(cell, plan.side, some.data()));
    contribute(array().callback<&Cell::all_begin>());
  }
  void all_begin() {
    begun = bench::now();
    send_places();
  }
  void send_places() {
    std::vector<double> places(3 * all.size());
    for (std::size_t i = 0; i < all.size(); ++i) std::copy_n(all[i].x, 3, &places[3 * i]);
    came = 0;
    potential = 0;
    const std::int64_t mine = number(x(), y(), z());
    std::vector<nc::Index> both;  // the pairs that it is in
    for (int n = 0; n < molecules_neighbours; ++n)
      both.push_back(n >= 13 ? nc::Index{n - 13, mine} : nc::Index{13 - n, neighbour(n)});
    nc::Section<Pair>(pairs, std::move(both)).send<&Pair::take>(mine, std::span<const double>(places));
  }
  void take(int slot, nc::Buffer<double> of_one, double energy) {
    forces[static_cast<std::size_t>(slot)] = std::move(of_one);
    potential += energy;
    if (++came == molecules_neighbours) all_forces();
  }
  void all_forces() {
    std::vector<double> force(3 * all.size());
    for (const nc::Buffer<double>& one : forces)
      for (std::size_t i = 0; i < force.size(); ++i) force[i] += one[i];
    const int count = static_cast<int>(all.size());
    if (step > 0) molecules_push(all.data(), count, force.data(), 0);
    const double energy = potential + molecules_kinetic(all.data(), count);
    if (step == 0) first = energy;
    if (step == plan.steps) return end(energy);
    molecules_push(all.data(), count, force.data(), 1);
    if (plan.spoils && step == 15 && !all.empty() && x() == 1) all[0].x[1] += 1e-13;
    if (++step % between_balances == 0 && plan.balances) balance({});
    if (step % molecules_resort != 0) return send_places();
    std::array<std::vector<molecules_particle>, molecules_neighbours> leave;
    const int cell[3] = {x(), y(), z()};
    for (molecules_particle p : all) {
      const auto to = static_cast<std::size_t>(molecules_where(&p, cell, plan.side));
      leave[to].push_back(p);
    }
    all = std::move(leave[13]);
    for (int n = 0; n < molecules_neighbours; ++n)
      if (n != 13)
        array()[at(neighbour(n))].template send<&Cell::arrive>(
            26 - n, std::span<const molecules_particle>(leave[static_cast<std::size_t>(n)]));
    pushed = true;
    if (arrived == molecules_neighbours - 1) take_in();
  }
  void arrive(int slot, std::span<const molecules_particle> some) {
    incoming[static_cast<std::size_t>(slot)].assign(some.begin(), some.end());
    if (++arrived == molecules_neighbours - 1 && pushed) take_in();
  }
  void take_in() {
    for (std::vector<molecules_particle>& some : incoming) {
      all.insert(all.end(), some.begin(), some.end());
      some.clear();
    }
    arrived = 0;
    pushed = false;
    send_places();
  }
  void end(double energy) {
    const Result result{molecules_sum(all.data(), static_cast<int>(all.size())), first, energy,
                        bench::now() - begun};
    contribute(result, Add(), array()(0, 0, 0).callback<&Cell::judge>());
  }
  struct Result {
    std::uint64_t sum;
    double first, last, seconds;
  };
  struct Add {
    void operator()(Result& into, const Result& from) const {
      into = {into.sum + from.sum, into.first + from.first, into.last + from.last,
              std::max(into.seconds, from.seconds)};
    }
  };
  void judge(Result result) {
    const auto cells = static_cast<std::size_t>(plan.side * plan.side * plan.side);
    std::vector<molecules_box> one(cells), other(cells);
    double energy[2] = {};
    const bool right =
        molecules_serial(one.data(), other.data(), plan.side, plan.steps, energy) == result.sum;
    const bool keeps = std::abs(result.last - result.first) < 1e-3 * std::abs(result.first);
    std::vector<int> cpus(static_cast<std::size_t>(std::max(nc::pes(), 1)));
    for (std::size_t i = 0; i < cpus.size(); ++i) cpus[i] = static_cast<int>(i);
    bench::report("molecules", {{"step", 1e9 * result.seconds / plan.steps, plan.near}}, cpus, nc::pes() - 1,
                  !right  ? "the result is not that of one thread"
                  : keeps ? ""
                          : "energy is not kept");
    nc::finish(right && keeps ? 0 : 1);
  }

  [[nodiscard]] int x() const { return static_cast<int>(index().x); }
  [[nodiscard]] int y() const { return static_cast<int>(index().y); }
  [[nodiscard]] int z() const { return static_cast<int>(index().z); }
  [[nodiscard]] std::int64_t number(int i, int j, int k) const {
    return i + plan.side * (j + std::int64_t{plan.side} * k);
  }
  [[nodiscard]] nc::Index at(std::int64_t of) const {
    return {of % plan.side, of / plan.side % plan.side, of / (plan.side * plan.side)};
  }
  [[nodiscard]] std::int64_t neighbour(int n) const {
    const int cell[3] = {x(), y(), z()};
    int offset[3], there[3];
    double shift[3];
    molecules_offset(n, offset);
    molecules_at(cell, offset, plan.side, there, shift);
    return number(there[0], there[1], there[2]);
  }
  Plan plan;
  nc::Array<Pair> pairs;
  std::vector<molecules_particle> all;
  std::array<nc::Buffer<double>, molecules_neighbours> forces;
  std::array<std::vector<molecules_particle>, molecules_neighbours> incoming;
  int came = 0, arrived = 0, step = 0;
  bool pushed = false;
  double potential = 0, first = 0, begun = 0;
};

void Pair::take(std::int64_t from, std::span<const double> places) {
  if (index().x == 0) return compute(places, places);
  if (!has_one) {
    first_come = nc::Buffer<double>(places);
    has_one = true;
    return;
  }
  has_one = false;
  if (from == index().y)
    compute(places, first_come);
  else
    compute(first_come, places);
}

void Pair::compute(std::span<const double> a, std::span<const double> b) {
  const int n = static_cast<int>(index().x) + 13, side = plan.side;
  const auto number = static_cast<int>(index().y);
  const int cell[3] = {number % side, number / side % side, number / (side * side)};
  int offset[3], there[3];
  double shift[3];
  molecules_offset(n, offset);
  molecules_at(cell, offset, side, there, shift);
  const bool same = n == 13;
  nc::Buffer<double> fa(a.size()), fb(same ? 0 : b.size());
  std::fill(fa.begin(), fa.end(), 0.0);
  std::fill(fb.begin(), fb.end(), 0.0);
  const double energy =
      molecules_forces(a.data(), static_cast<int>(a.size() / 3), b.data(), static_cast<int>(b.size() / 3),
                       shift, same, fa.data(), same ? fa.data() : fb.data());
  cells(cell[0], cell[1], cell[2]).send<&Cell::take>(n, std::move(fa), energy);
  if (!same) cells(there[0], there[1], there[2]).send<&Cell::take>(26 - n, std::move(fb), 0.0);
  if (plan.balances && ++done % between_balances == 0 && done < plan.steps) balance({});
}

int usage() {
  std::fprintf(stderr,
               "usage: molecules --teams PES --subject NAME [--quick] [--trace FILE]; PEs: 1 to 64; "
               "subjects: nigh-fixed %s "
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
      plan.side = 4;
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
  plan.near = bench::line_time(bench::usable_cpus()) < bench::near_below;
  if (subject.starts_with("mpi-"))
    return bench::peers::report("molecules", subject, bench::peers::folder_of(argv[0]), pes,
                                {std::to_string(plan.side), std::to_string(plan.steps)}, "step", plan.near);
  plan.spoils = subject == "nigh-spoiled";  // must be found out
  plan.balances = subject != "nigh-fixed";
  auto own = bench::modes::options(subject, pes);
  if (!own) return usage();
  own->trace = trace;
  return nc::run(*own, [&] {
    const auto cells = nc::Array<Cell>::create({plan.side, plan.side, plan.side}, plan);
    const auto pairs =
        nc::Array<Pair>::create({molecules_halves, plan.side * plan.side * plan.side}, plan, cells);
    cells.send<&Cell::begin>(pairs);
  });
}
