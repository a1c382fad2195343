// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The shares of the ranks of a node: who may use which PUs. A rank's own threads are planned within its
// share, so shares don't overlap while there are enough PUs, use all of them, and follow the tree: a rank
// gets a package, a NUMA node, a cache whole before it gets parts of two.
#pragma once

#include <string_view>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "plan/core_tree.hpp"

namespace nigh {

// compact: ranks that follow each other sit next to each other. scatter: they take turns over the outermost
// objects. none: every rank may use everything.
enum class RankBinding { compact, scatter, none };

Result<RankBinding> rank_binding_from(std::string_view name);
const char* rank_binding_name(RankBinding binding);

// One set for each of `ranks` (at least 1) ranks. With more ranks than PUs all get everything: a bound rank
// that waits for another on its PU would only be in the way.
std::vector<CpuSet> rank_shares(const CoreTree& tree, int ranks, RankBinding binding);

}  // namespace nigh
