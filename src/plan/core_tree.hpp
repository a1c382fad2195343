// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The machine as the planner sees it: its tree cut to the PUs that may be used, with chains of single
// children collapsed (a package that holds one NUMA node that holds one L3 is one place to choose, not
// three). A leaf is a core with its allowed PUs in SMT order, or a bare PU where the machine has no core
// objects. Leaves are numbered in tree order, so every node is a range of leaves and "near" is a matter of
// intervals.
#pragma once

#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "machine/machine.hpp"

namespace nigh {

struct Leaf {
  std::vector<int> pus;  // OS numbers, SMT order, never empty
  int core = -1;         // logical number over the whole machine, -1 when the machine has no core objects
  int node = -1;         // OS number of the NUMA node, -1 when unknown
  [[nodiscard]] int ranks() const { return static_cast<int>(pus.size()); }
};

struct TreeNode {
  Kind kind = Kind::machine;  // of a collapsed chain: the outermost; of a leaf: core or pu
  int first = 0, last = 0;    // its leaves: [first, last)
  std::vector<int> children;  // empty for a leaf, else at least two
  [[nodiscard]] int width() const { return last - first; }
  [[nodiscard]] bool holds(int leaf) const { return leaf >= first && leaf < last; }
};

struct CoreTree {
  std::vector<TreeNode> nodes;  // nodes[0] is the root
  std::vector<Leaf> leaves;
  CpuSet mask;  // the PUs of all leaves

  // Fails when `mask` and the machine have no PU in common.
  static Result<CoreTree> cut(const Machine& machine, const CpuSet& mask);

  [[nodiscard]] int size() const { return static_cast<int>(leaves.size()); }
  [[nodiscard]] int pu_count() const { return mask.count(); }
  [[nodiscard]] const TreeNode& node(int index) const { return nodes[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const Leaf& leaf(int index) const { return leaves[static_cast<std::size_t>(index)]; }
  // All leaves by nearness to `anchor`: itself, then the rest of the smallest object around it, and so on;
  // among equally near ones those that follow the anchor come first.
  [[nodiscard]] std::vector<int> by_distance(int anchor) const;
};

// "package", "packages": what messages call n objects of a kind.
std::string kind_words(Kind kind, int n);

}  // namespace nigh
