// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Two sides of a graph with few bytes between them: multilevel bisection (see partition.hpp for the papers).
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "plan/traffic.hpp"

namespace nigh {

using Random = std::mt19937_64;  // the same numbers everywhere

// A graph whose vertices have weights: how many ranks each stands for.
struct RankGraph {
  std::vector<std::size_t> start = {0};
  std::vector<Traffic::Edge> edges;
  std::vector<int> weight;

  [[nodiscard]] int size() const { return static_cast<int>(weight.size()); }
  [[nodiscard]] std::span<const Traffic::Edge> of(int vertex) const {
    const auto v = static_cast<std::size_t>(vertex);
    return {edges.data() + start[v], edges.data() + start[v + 1]};
  }
  [[nodiscard]] int heaviest() const { return *std::max_element(weight.begin(), weight.end()); }
};

using Sides = std::vector<signed char>;  // of each vertex: 0 or 1

// The vertices of `graph` in `vertices`, and the edges between them. `place` is scratch: -1 for each vertex
// of `graph`, and again at the end.
RankGraph part_of(const RankGraph& graph, const std::vector<int>& vertices, std::vector<int>& place);

// Bytes between the sides.
double cut_of(const RankGraph& graph, const Sides& side);

// The choice among the heaviest edges of a vertex for its pair. Along a grid the first ones pair all vertices
// in one direction, any ones in several: now the one is better, now the other.
enum class Heaviest { first, any };

// Sides with few bytes between them; side 0 has weight `target`. Requires vertices of weight 1.
Sides bisect(const RankGraph& graph, int target, Heaviest heaviest, Random& random);

// Moves vertices while that makes the cut smaller; side 0 has weight `target` at the end. Requires the same.
void improve_sides(const RankGraph& graph, int target, Sides& side);

}  // namespace nigh
