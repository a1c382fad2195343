// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/bisection.hpp"

#include <cmath>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace nigh {
namespace {

using Edge = Traffic::Edge;

int below(int bound, Random& random) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
}

// std::shuffle is another one in each standard library.
std::vector<int> shuffled(int count, Random& random) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int i = count - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(below(i + 1, random))]);
  return order;
}

// Moves of single vertices between two sides, the best first, each vertex at most once in a pass; at the
// end of a pass the best balanced state of it is taken.
class Bisection {
 public:
  // `target`: the weight that side 0 shall have; it may miss it by `slack`.
  Bisection(const RankGraph& graph, int target, int slack, Sides& side)
      : graph_(graph), target_(target), slack_(slack), side_(side) {
    gain_.resize(side.size());
    locked_.resize(side.size());
    touched_.resize(side.size());
    scans_ = side.size() * side.size() < 32 * graph.edges.size() + 4096;
    for (int v = 0; v < graph.size(); ++v)
      if (side[static_cast<std::size_t>(v)] == 0) weight_ += graph.weight[static_cast<std::size_t>(v)];
  }

  void improve() {
    repeat();
    if (off() <= slack_) return;
    balance();
    repeat();
  }
  [[nodiscard]] int off() const { return std::abs(weight_ - target_); }

 private:
  struct Candidate {
    double gain;
    int touched, vertex;
    auto operator<=>(const Candidate&) const = default;
  };
  using Queue = std::priority_queue<Candidate>;

  double gain_of(int vertex) const {
    double gain = 0;
    const auto mine = side_[static_cast<std::size_t>(vertex)];
    for (const Edge& edge : graph_.of(vertex))
      gain += side_[static_cast<std::size_t>(edge.to)] == mine ? -edge.bytes : edge.bytes;
    return gain;
  }

  void enqueue(int vertex) {
    if (scans_) return;
    const auto v = static_cast<std::size_t>(vertex);
    queue_[side_[v] == 0 ? 0 : 1].push({gain_[v], touched_[v], vertex});
  }

  // Quicker than queues where most vertices are neighbours.
  int scan(signed char side) const {
    int best = -1;
    double gain = -std::numeric_limits<double>::infinity();
    for (std::size_t v = 0; v < gain_.size(); ++v)
      if (side_[v] == side && !locked_[v] &&
          (gain_[v] > gain || (gain_[v] == gain && touched_[v] > touched_[static_cast<std::size_t>(best)])))
        gain = gain_[v], best = static_cast<int>(v);
    return best;
  }

  // The best free vertex of a side; -1: none.
  int top(std::size_t side) {
    if (scans_) return scan(static_cast<signed char>(side));
    Queue& queue = queue_[side];
    while (!queue.empty()) {
      const auto [gain, touched, vertex] = queue.top();
      const auto v = static_cast<std::size_t>(vertex);
      if (!locked_[v] && touched == touched_[v] && static_cast<std::size_t>(side_[v]) == side &&
          gain == gain_[v])
        return vertex;
      queue.pop();
    }
    return -1;
  }

  // True if a move of the vertex leaves the imbalance within `stray`, or makes it smaller.
  bool fits(int vertex, int stray) const {
    const auto v = static_cast<std::size_t>(vertex);
    const int after = weight_ - target_ + (side_[v] == 0 ? -graph_.weight[v] : graph_.weight[v]);
    return std::abs(after) <= std::max(stray, off() - 1);
  }

  int choose(int stray) {
    int best = -1;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const int vertex = top(side);
      if (vertex < 0 || !fits(vertex, stray)) continue;
      const bool relieves = (weight_ > target_) == (side == 0);
      if (best < 0 || gain_[static_cast<std::size_t>(vertex)] > gain_[static_cast<std::size_t>(best)] ||
          (gain_[static_cast<std::size_t>(vertex)] == gain_[static_cast<std::size_t>(best)] && relieves))
        best = vertex;
    }
    return best;
  }

  void flip(int vertex) {
    const auto v = static_cast<std::size_t>(vertex);
    weight_ += side_[v] == 0 ? -graph_.weight[v] : graph_.weight[v];
    side_[v] = static_cast<signed char>(1 - side_[v]);
  }

  void move(int vertex) {
    const auto v = static_cast<std::size_t>(vertex);
    flip(vertex);
    gain_[v] = -gain_[v];
    locked_[v] = true;
    for (const Edge& edge : graph_.of(vertex)) {
      const auto to = static_cast<std::size_t>(edge.to);
      gain_[to] += side_[to] == side_[v] ? -2 * edge.bytes : 2 * edge.bytes;
      touched_[to] = ++now_;
      if (!locked_[to]) enqueue(edge.to);
    }
  }

  void begin() {
    queue_[0] = {};
    queue_[1] = {};
    now_ = graph_.size();
    for (int v = 0; v < graph_.size(); ++v) {
      gain_[static_cast<std::size_t>(v)] = gain_of(v);
      locked_[static_cast<std::size_t>(v)] = false;
      touched_[static_cast<std::size_t>(v)] = v;
      enqueue(v);
    }
  }

  // Moves what costs least from the side that has too much. Vertices of weight 1 always fit in the end.
  void balance() {
    begin();
    while (off() > slack_) {
      const int vertex = top(weight_ > target_ ? 0 : 1);
      if (vertex < 0) return;
      if (fits(vertex, 0))
        move(vertex);
      else
        locked_[static_cast<std::size_t>(vertex)] = true;
    }
  }

  void repeat() {
    int passes = graph_.edges.size() > 200'000 ? 3 : 8;  // later ones bring little
    while (passes > 0 && pass()) --passes;
  }

  // True if the pass made the cut or the balance better.
  bool pass() {
    begin();
    const int stray = std::max(slack_, graph_.heaviest()) + graph_.size() / 64;
    const int patience = std::max(64, graph_.size() / 4);
    std::vector<int> moved;
    double saved = 0, best_saved = 0;
    int best_off = std::max(off() - slack_, 0);
    std::size_t best = 0;
    while (static_cast<int>(moved.size() - best) < patience) {
      const int vertex = choose(stray);
      if (vertex < 0) break;
      saved += gain_[static_cast<std::size_t>(vertex)];
      move(vertex);
      moved.push_back(vertex);
      const int now = std::max(off() - slack_, 0);
      if (now < best_off || (now == best_off && saved > best_saved + 1e-9 * std::abs(best_saved))) {
        best_off = now;
        best_saved = saved;
        best = moved.size();
      }
    }
    while (moved.size() > best) {
      flip(moved.back());
      moved.pop_back();
    }
    return best > 0;
  }

  const RankGraph& graph_;
  int target_, slack_;
  int weight_ = 0;  // of side 0
  Sides& side_;
  std::vector<double> gain_;
  std::vector<char> locked_;
  std::vector<int> touched_;  // the later, the greater
  int now_ = 0;
  bool scans_ = false;
  Queue queue_[2];
};

// Each vertex with the neighbour that it shares the heaviest edge with; `coarse`: the vertex of the smaller
// graph that each becomes.
RankGraph coarsen(const RankGraph& graph, int heaviest, Heaviest which, Random& random,
                  std::vector<int>& coarse) {
  std::vector<int> mate(static_cast<std::size_t>(graph.size()), -1);
  for (const int v : shuffled(graph.size(), random)) {
    if (mate[static_cast<std::size_t>(v)] >= 0) continue;
    int best = v, alike = 0;
    double bytes = 0;
    for (const Edge& edge : graph.of(v)) {
      const auto to = static_cast<std::size_t>(edge.to);
      if (mate[to] >= 0 || graph.weight[to] + graph.weight[static_cast<std::size_t>(v)] > heaviest) continue;
      if (edge.bytes < bytes) continue;
      alike = edge.bytes > bytes ? 1 : alike + 1;
      bytes = edge.bytes;
      if (alike == 1 || (which == Heaviest::any && below(alike, random) == 0)) best = edge.to;
    }
    mate[static_cast<std::size_t>(v)] = best;
    mate[static_cast<std::size_t>(best)] = v;
  }
  RankGraph out;
  coarse.assign(static_cast<std::size_t>(graph.size()), -1);
  std::vector<int> first;
  for (int v = 0; v < graph.size(); ++v) {
    const int other = mate[static_cast<std::size_t>(v)];
    if (other < v) continue;
    coarse[static_cast<std::size_t>(v)] = coarse[static_cast<std::size_t>(other)] =
        static_cast<int>(first.size());
    first.push_back(v);
  }
  std::vector<std::size_t> place(first.size(), 0);  // of the edge to a vertex, if it is of this row
  for (std::size_t row = 0; row < first.size(); ++row) {
    const int v = first[row], other = mate[static_cast<std::size_t>(v)];
    out.weight.push_back(graph.weight[static_cast<std::size_t>(v)] +
                         (other == v ? 0 : graph.weight[static_cast<std::size_t>(other)]));
    const std::size_t begin = out.edges.size();
    for (const int member : {v, other}) {
      for (const Edge& edge : graph.of(member)) {
        const int to = coarse[static_cast<std::size_t>(edge.to)];
        if (to == static_cast<int>(row)) continue;
        std::size_t& at = place[static_cast<std::size_t>(to)];
        if (at >= begin && at < out.edges.size() && out.edges[at].to == to) {
          out.edges[at].bytes += edge.bytes;
        } else {
          at = out.edges.size();
          out.edges.push_back({to, edge.bytes});
        }
      }
      if (other == v) break;
    }
    out.start.push_back(out.edges.size());
  }
  return out;
}

// Side 0 grows from one vertex, by the vertex that saves most, until it has its weight.
Sides grow(const RankGraph& graph, int target, Random& random) {
  const auto count = static_cast<std::size_t>(graph.size());
  Sides side(count, 1);
  std::vector<double> pull(count, 0);
  std::priority_queue<std::pair<double, int>> border;
  int weight = 0;
  const std::vector<int> order = shuffled(graph.size(), random);
  std::size_t next = 0;
  while (weight < target) {
    int vertex = -1;
    while (!border.empty() && vertex < 0) {
      const auto [gain, v] = border.top();
      border.pop();
      if (side[static_cast<std::size_t>(v)] == 1 && gain == pull[static_cast<std::size_t>(v)]) vertex = v;
    }
    while (vertex < 0 && next < order.size()) {
      if (side[static_cast<std::size_t>(order[next])] == 1) vertex = order[next];
      ++next;
    }
    if (vertex < 0) break;
    side[static_cast<std::size_t>(vertex)] = 0;
    weight += graph.weight[static_cast<std::size_t>(vertex)];
    for (const Edge& edge : graph.of(vertex)) {
      const auto to = static_cast<std::size_t>(edge.to);
      pull[to] += edge.bytes;
      if (side[to] == 1) border.emplace(pull[to], edge.to);
    }
  }
  return side;
}

constexpr int coarsest = 48;  // vertices
constexpr int first_tries = 6;

Sides bisect_level(const RankGraph& graph, int target, Heaviest which, Random& random, bool finest) {
  Sides side;
  std::vector<int> coarse;
  RankGraph smaller;
  if (graph.size() > coarsest) {
    const int total = std::accumulate(graph.weight.begin(), graph.weight.end(), 0);
    const int heaviest = std::max(2, std::min({total / 24, target, total - target}));
    smaller = coarsen(graph, heaviest, which, random, coarse);
  }
  const int slack = finest ? 0 : graph.heaviest() / 2;
  if (smaller.size() > 1 && smaller.size() < graph.size() - graph.size() / 20) {
    const Sides below = bisect_level(smaller, target, which, random, false);
    side.resize(static_cast<std::size_t>(graph.size()));
    for (std::size_t v = 0; v < side.size(); ++v) side[v] = below[static_cast<std::size_t>(coarse[v])];
    Bisection(graph, target, slack, side).improve();
    return side;
  }
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < first_tries; ++i) {
    Sides grown = grow(graph, target, random);
    Bisection bisection(graph, target, slack, grown);
    bisection.improve();
    // Weights that don't fit count more than any cut.
    const double cost = cut_of(graph, grown) + 1e30 * std::max(bisection.off() - slack, 0);
    if (cost < best) best = cost, side = std::move(grown);
  }
  return side;
}

}  // namespace

RankGraph part_of(const RankGraph& graph, const std::vector<int>& vertices, std::vector<int>& place) {
  RankGraph out;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    place[static_cast<std::size_t>(vertices[i])] = static_cast<int>(i);
    out.weight.push_back(graph.weight[static_cast<std::size_t>(vertices[i])]);
  }
  for (const int vertex : vertices) {
    for (const Edge& edge : graph.of(vertex))
      if (const int to = place[static_cast<std::size_t>(edge.to)]; to >= 0)
        out.edges.push_back({to, edge.bytes});
    out.start.push_back(out.edges.size());
  }
  for (const int vertex : vertices) place[static_cast<std::size_t>(vertex)] = -1;
  return out;
}

double cut_of(const RankGraph& graph, const Sides& side) {
  double cut = 0;
  for (int v = 0; v < graph.size(); ++v)
    for (const Edge& edge : graph.of(v))
      if (side[static_cast<std::size_t>(v)] != side[static_cast<std::size_t>(edge.to)]) cut += edge.bytes;
  return cut / 2;
}

Sides bisect(const RankGraph& graph, int target, Heaviest heaviest, Random& random) {
  return bisect_level(graph, target, heaviest, random, true);
}

void improve_sides(const RankGraph& graph, int target, Sides& side) {
  Bisection(graph, target, 0, side).improve();
}

}  // namespace nigh
