// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/partition.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "plan/bisection.hpp"

namespace nigh {
namespace {

using Edge = Traffic::Edge;

// The ranks and what they send each other.
RankGraph graph_of(const Traffic& traffic, const std::vector<int>& ranks) {
  std::vector<int> place(static_cast<std::size_t>(traffic.ranks()), -1);
  RankGraph out;
  out.weight.assign(ranks.size(), 1);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    place[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
  for (const int rank : ranks) {
    for (const Edge& edge : traffic.of(rank))
      if (const int to = place[static_cast<std::size_t>(edge.to)]; to >= 0)
        out.edges.push_back({to, edge.bytes});
    out.start.push_back(out.edges.size());
  }
  return out;
}

void bisect_all(const RankGraph& graph, const std::vector<int>& members, std::span<const int> sizes,
                int first, Heaviest heaviest, Random& random, std::vector<int>& part) {
  if (sizes.size() == 1) {
    for (const int member : members) part[static_cast<std::size_t>(member)] = first;
    return;
  }
  const std::size_t half = sizes.size() / 2;
  const int target = std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(half), 0);
  const Sides side = bisect(graph, target, heaviest, random);
  std::vector<int> place(static_cast<std::size_t>(graph.size()), -1);
  for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
    std::vector<int> vertices, inner;
    for (int v = 0; v < graph.size(); ++v)
      if (static_cast<std::size_t>(side[static_cast<std::size_t>(v)]) == which) {
        vertices.push_back(v);
        inner.push_back(members[static_cast<std::size_t>(v)]);
      }
    bisect_all(part_of(graph, vertices, place), inner, which == 0 ? sizes.first(half) : sizes.subspan(half),
               which == 0 ? first : first + static_cast<int>(half), heaviest, random, part);
  }
}

double cut_of(const RankGraph& graph, const std::vector<int>& part) {
  double cut = 0;
  for (int v = 0; v < graph.size(); ++v)
    for (const Edge& edge : graph.of(v))
      if (part[static_cast<std::size_t>(v)] != part[static_cast<std::size_t>(edge.to)]) cut += edge.bytes;
  return cut / 2;
}

// Exchanges ranks of two parts; true if that made the cut smaller.
bool improve_pair(const RankGraph& graph, const std::vector<int>& a, const std::vector<int>& b,
                  std::vector<int>& part, std::vector<int>& place) {
  std::vector<int> vertices = a;
  vertices.insert(vertices.end(), b.begin(), b.end());
  const RankGraph both = part_of(graph, vertices, place);
  Sides side(vertices.size(), 1);
  std::fill(side.begin(), side.begin() + static_cast<std::ptrdiff_t>(a.size()), 0);
  const double before = cut_of(both, side);
  improve_sides(both, static_cast<int>(a.size()), side);
  if (!(cut_of(both, side) < before * (1 - 1e-12))) return false;
  const int parts[2] = {part[static_cast<std::size_t>(a.front())], part[static_cast<std::size_t>(b.front())]};
  for (std::size_t i = 0; i < vertices.size(); ++i)
    part[static_cast<std::size_t>(vertices[i])] = parts[side[i]];
  return true;
}

// Parts that send each other something, each pair once.
std::vector<std::pair<int, int>> touching(const RankGraph& graph, const std::vector<int>& part) {
  std::vector<std::pair<int, int>> out;
  for (int v = 0; v < graph.size(); ++v)
    for (const Edge& edge : graph.of(v)) {
      const int a = part[static_cast<std::size_t>(v)], b = part[static_cast<std::size_t>(edge.to)];
      if (a < b) out.emplace_back(a, b);
    }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void refine(const RankGraph& graph, int parts, std::vector<int>& part) {
  const auto count = static_cast<std::size_t>(parts);
  std::vector<char> changed(count, 1);
  std::vector<int> place(static_cast<std::size_t>(graph.size()), -1);
  std::vector<std::vector<int>> members(count);
  for (int v = 0; v < graph.size(); ++v)
    members[static_cast<std::size_t>(part[static_cast<std::size_t>(v)])].push_back(v);
  for (int round = 0; round < 5; ++round) {
    std::vector<char> next(count, 0);
    for (const auto& [first, second] : touching(graph, part)) {
      const auto a = static_cast<std::size_t>(first), b = static_cast<std::size_t>(second);
      if (!(changed[a] || changed[b]) || !improve_pair(graph, members[a], members[b], part, place)) continue;
      std::vector<int> both = std::move(members[a]);
      both.insert(both.end(), members[b].begin(), members[b].end());
      members[a].clear();
      members[b].clear();
      for (const int v : both) members[part[static_cast<std::size_t>(v)] == first ? a : b].push_back(v);
      next[a] = next[b] = 1;
    }
    if (std::count(next.begin(), next.end(), 1) == 0) return;
    changed = next;
  }
}

}  // namespace

std::vector<int> partition(const Traffic& traffic, const std::vector<int>& ranks,
                           const std::vector<int>& sizes, int tries, std::uint64_t random) {
  const RankGraph graph = graph_of(traffic, ranks);
  std::vector<int> members(ranks.size());
  std::iota(members.begin(), members.end(), 0);
  std::vector<int> best;
  double best_cut = std::numeric_limits<double>::infinity();
  Random numbers(random);
  for (int i = 0; i < std::max(tries, 1); ++i) {
    std::vector<int> part(ranks.size(), 0);
    bisect_all(graph, members, sizes, 0, i % 2 == 0 ? Heaviest::first : Heaviest::any, numbers, part);
    refine(graph, static_cast<int>(sizes.size()), part);
    const double cut = cut_of(graph, part);
    if (cut < best_cut) best_cut = cut, best = std::move(part);
  }
  return best;
}

void refine(const Traffic& traffic, const std::vector<int>& ranks, int parts, std::vector<int>& part) {
  refine(graph_of(traffic, ranks), parts, part);
}

}  // namespace nigh
