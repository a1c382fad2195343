// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One fuzz input: a tree, a mask, a spec, the sizes of the teams that really ran, a root. All of it follows
// from one seed; neighbouring seeds share their tree, since building one costs more than planning on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "plan/spec.hpp"

namespace nigh::fuzz {

struct Case {
  std::shared_ptr<const Machine> machine;
  CpuSet mask;
  TeamSpec spec;
  std::vector<int> sizes;  // actual team sizes, level by level; may be more or fewer levels than the spec's
  int root = 0;
};

Case make_case(std::uint64_t seed);

// The tree as one word: "m(p(c2,c2),p(c1))" is two packages, cores with two PUs and one.
std::string tree_text(const Machine& machine);
std::string describe(const Case& c);

// The first invariant that the plan of the case breaks, as a sentence; empty when all hold.
std::string broken_invariant(const Case& c);

// The smallest case found that still breaks some invariant: fewer PUs, levels, threads, roots.
Case shrink(Case c);

// The same for the parsers of specs, CPU lists and machine files, on texts derived from valid ones.
std::string broken_parser(std::uint64_t seed, const Machine& machine);

}  // namespace nigh::fuzz
