// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Machines for the planner's tests, built in place so that a test shows the shape it plans for. They mirror
// the shipped models where those exist; models_test.cpp holds the shipped ones to the same maps.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "machine/machine.hpp"

namespace nigh::test {

inline Machine finish(MachineBuilder& builder, const char* name) {
  builder.machine().name = name;
  auto machine = builder.finish();
  NIGH_CHECK(machine.has_value());
  return *std::move(machine);
}

inline void add_core(MachineBuilder& b, int number, std::initializer_list<int> pus) {
  b.open(Kind::core, number);
  for (int pu : pus) {
    b.open(Kind::pu, pu);
    b.close();
  }
  b.close();
}

// `packages` x (one NUMA node, `cores` cores), PUs numbered on.
inline Machine packages(int packages, int cores) {
  MachineBuilder b;
  for (int p = 0; p < packages; ++p) {
    b.open(Kind::package, p);
    b.open(Kind::numa, p, std::uint64_t{8} << 30);
    for (int c = 0; c < cores; ++c) add_core(b, c, {p * cores + c});
    b.close();
    b.close();
  }
  return finish(b, "packages");
}

inline Machine four_by_four() { return packages(4, 4); }

// Two sockets x 4 cores x 2 SMT; `pu(socket, core)` numbers the first siblings, the second ones are 8 on.
inline Machine nehalem(const std::function<int(int, int)>& pu) {
  MachineBuilder b;
  for (int s = 0; s < 2; ++s) {
    b.open(Kind::package, s);
    b.open(Kind::numa, s, std::uint64_t{12} << 30);
    b.open(Kind::l3, -1, 8 << 20);
    for (int c = 0; c < 4; ++c) add_core(b, c, {pu(s, c), pu(s, c) + 8});
    for (int i = 0; i < 3; ++i) b.close();
  }
  return finish(b, "nehalem");
}
inline Machine nehalem_sun() {
  return nehalem([](int socket, int core) { return socket * 4 + core; });
}
inline Machine nehalem_hp() {
  return nehalem([](int socket, int core) { return socket + 2 * core; });
}

// One memory above four packages, each with two pairs of cores that share an L2.
inline Machine tigerton() {
  MachineBuilder b;
  b.open(Kind::numa, 0, std::uint64_t{64} << 30);
  for (int p = 0; p < 4; ++p) {
    b.open(Kind::package, p);
    for (int pair = 0; pair < 2; ++pair) {
      b.open(Kind::l2, -1, 4 << 20);
      for (int c = 0; c < 2; ++c) add_core(b, pair * 2 + c, {p * 4 + pair * 2 + c});
      b.close();
    }
    b.close();
  }
  b.close();
  return finish(b, "tigerton");
}

// 13 boards, each one memory above two packages with two L2 pairs.
inline Machine scalemp() {
  MachineBuilder b;
  int pu = 0;
  for (int board = 0; board < 13; ++board) {
    b.open(Kind::board, board);
    b.open(Kind::numa, board, std::uint64_t{16} << 30);
    for (int p = 0; p < 2; ++p) {
      b.open(Kind::package, board * 2 + p);
      for (int pair = 0; pair < 2; ++pair) {
        b.open(Kind::l2, -1, 6 << 20);
        for (int c = 0; c < 2; ++c) add_core(b, pair * 2 + c, {pu++});
        b.close();
      }
      b.close();
    }
    b.close();
    b.close();
  }
  return finish(b, "scalemp");
}

// Packages of unequal size: `cores[p]` cores in package p, PUs numbered on.
inline Machine uneven(std::initializer_list<int> cores) {
  MachineBuilder b;
  int package = 0, pu = 0;
  for (int count : cores) {
    b.open(Kind::package, package++);
    for (int c = 0; c < count; ++c) add_core(b, c, {pu++});
    b.close();
  }
  return finish(b, "uneven");
}

// One package of `cores` cores x `smt` PUs, siblings numbered together.
inline Machine smt(int packages, int cores, int smt) {
  MachineBuilder b;
  int pu = 0;
  for (int p = 0; p < packages; ++p) {
    b.open(Kind::package, p);
    for (int c = 0; c < cores; ++c) {
      b.open(Kind::core, c);
      for (int s = 0; s < smt; ++s) {
        b.open(Kind::pu, pu++);
        b.close();
      }
      b.close();
    }
    b.close();
  }
  return finish(b, "smt");
}

// PUs without core objects below two NUMA nodes, one memory-only node beside them.
inline Machine bare_pus() {
  MachineBuilder b;
  for (int n = 0; n < 2; ++n) {
    b.open(Kind::numa, n, std::uint64_t{1} << 30);
    for (int p = 0; p < 2; ++p) {
      b.open(Kind::pu, n * 2 + p);
      b.close();
    }
    b.close();
  }
  b.open(Kind::numa, 2, std::uint64_t{4} << 30);
  b.close();
  return finish(b, "bare");
}

}  // namespace nigh::test
