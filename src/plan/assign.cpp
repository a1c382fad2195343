// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/assign.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace nigh {

namespace {

std::uint64_t bit(std::size_t node) { return std::uint64_t{1} << node; }

// The groups of a cluster that are interchangeable: each names the one of its class that comes before it, the
// first itself.
std::vector<std::size_t> classes_of(const Cluster& cluster) {
  const std::size_t k = cluster.size();
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-9 * std::max(x, y); };
  const auto traffic = [&](std::size_t a, std::size_t b) { return cluster.traffic[a * k + b]; };
  const auto alike = [&](std::size_t a, std::size_t b) {
    bool same = near(cluster.threads[a], cluster.threads[b]) && near(traffic(a, b), traffic(b, a)) &&
                near(traffic(a, a), traffic(b, b));
    for (std::size_t c = 0; same && c < k; ++c)
      if (c != a && c != b) same = near(traffic(a, c), traffic(b, c)) && near(traffic(c, a), traffic(c, b));
    return same;
  };
  std::vector<std::size_t> before;
  for (std::size_t g = 0; g < k; ++g) {
    before.push_back(g);
    for (std::size_t h = 0; h < g; ++h)
      if (alike(h, g)) before[g] = h;
  }
  return before;
}

struct Tuples {
  int nodes;
  std::uint64_t allowed;
  const std::vector<std::size_t>& before;
  const std::function<bool(const std::vector<std::uint8_t>&, std::uint64_t)>& visit;
  std::vector<std::uint8_t> place;

  bool extend(std::size_t group, std::uint64_t used) {
    if (group == before.size()) return visit(place, used);
    const std::size_t first = before[group] == group ? 0 : place[before[group]] + std::size_t{1};
    for (std::size_t node = first; node < static_cast<std::size_t>(nodes); ++node) {
      if ((allowed & bit(node)) == 0 || (used & bit(node)) != 0) continue;
      place[group] = static_cast<std::uint8_t>(node);
      if (!extend(group + 1, used | bit(node))) return false;
    }
    return true;
  }
};

// The values of one cluster's tuples, and the choice of those to keep.
class Appraiser {
 public:
  Appraiser(const Links& links, const Cluster& cluster)
      : cluster_(cluster), before_(classes_of(cluster)), pairs_(cluster.size()), pile_(links) {
    for (std::size_t g = 0; g < before_.size(); ++g)
      class_.push_back(before_[g] == g ? g : class_[before_[g]]);
    for (std::size_t a = 0; a < cluster.size(); ++a)
      for (std::size_t b = 0; b < cluster.size(); ++b) {
        const double traffic = cluster.traffic[a * cluster.size() + b];
        if (a == b || traffic <= 0) continue;
        pairs_[std::max(a, b)].push_back({a, b, traffic});
      }
  }

  // Into the front of its set of nodes: nothing in it is both cheaper and better than another.
  void add(const std::vector<std::uint8_t>& place, std::uint64_t mask) {
    move_least(place);
    const double value = value_of(place), cost = cost_of(moved_);
    std::vector<Option>& front = fronts_[mask];
    for (const Option& other : front)
      if (other.value >= value && other.cost <= cost) return;
    std::erase_if(front, [&](const Option& o) { return o.value <= value && o.cost >= cost; });
    front.push_back({mask, value, cost, moved_});
  }

  std::vector<Option> take() {
    std::vector<Option> out;
    for (auto& [mask, front] : fronts_)
      for (Option& option : front) out.push_back(std::move(option));
    std::sort(out.begin(), out.end(), [](const Option& a, const Option& b) {
      return a.value != b.value ? a.value > b.value : a.nodes < b.nodes;
    });
    return out;
  }

 private:
  // Groups whose home is among the nodes of their class stay at home.
  void move_least(const std::vector<std::uint8_t>& place) {
    moved_ = place;
    for (std::size_t g = 0; g < place.size(); ++g)
      for (std::size_t h = 0; h < place.size(); ++h)
        if (moved_[h] == cluster_.nodes[g] && h != g && class_[g] == class_[h])
          std::swap(moved_[g], moved_[h]);
  }

  // Tuples come in an order in which most begin as the one before.
  [[nodiscard]] double value_of(const std::vector<std::uint8_t>& place) {
    std::size_t same = 0;
    while (same < piled_.size() && piled_[same] == place[same]) ++same;
    while (pile_.layers() > same) pile_.take_off();
    piled_ = place;
    for (std::size_t group = same; group < place.size(); ++group) {
      flows_.clear();
      for (const Pair& pair : pairs_[group])
        flows_.push_back({place[pair.from], place[pair.to], pair.traffic});
      pile_.add(flows_);
    }
    return cluster_.weight * pile_.sustained();
  }

  [[nodiscard]] double cost_of(const std::vector<std::uint8_t>& place) const {
    double out = 0;
    for (std::size_t g = 0; g < place.size(); ++g)
      out += place[g] != cluster_.nodes[g] ? cluster_.megabytes[g] : 0;
    return out;
  }

  struct Pair {
    std::size_t from, to;
    double traffic;
  };

  const Cluster& cluster_;
  std::vector<std::size_t> before_, class_;
  std::unordered_map<std::uint64_t, std::vector<Option>> fronts_;
  std::vector<std::vector<Pair>> pairs_;  // of groups that read each other, by the later of the two
  Pile pile_;                             // a layer for each group of piled_
  std::vector<std::uint8_t> piled_, moved_;
  std::vector<Flow> flows_;
};

constexpr double none = -std::numeric_limits<double>::infinity();

// The most value that clusters k and later can have of the free nodes; found when first asked for.
class Bound {
 public:
  Bound(const std::vector<Options>& clusters, int nodes) : clusters_(clusters) {
    loose_.assign(clusters.size() + 1, 0);
    for (std::size_t k = clusters.size(); k-- > 0;)
      loose_[k] = loose_[k + 1] + (clusters[k].list.empty() ? none : clusters[k].list.front().value);
    if (nodes <= 16) known_.assign(clusters.size(), std::vector<double>(std::size_t{1} << nodes, unknown));
  }

  [[nodiscard]] double of(std::size_t k, std::uint64_t free) {
    if (k == clusters_.size()) return 0;
    if (known_.empty()) return loose_[k];
    double& best = known_[k][free];
    if (best != unknown) return best;
    double most = none;
    for (const Option& option : clusters_[k].list) {
      if (option.value + loose_[k + 1] <= most) break;
      if ((option.mask & ~free) == 0) most = std::max(most, option.value + of(k + 1, free & ~option.mask));
    }
    return best = most;
  }

 private:
  static constexpr double unknown = std::numeric_limits<double>::infinity();
  const std::vector<Options>& clusters_;
  std::vector<double> loose_;
  std::vector<std::vector<double>> known_;
};

// Depth first over the clusters; what to look for is the caller's: `floor` cuts by value, `ceiling` by cost.
class Search {
 public:
  Search(const std::vector<Options>& clusters, int nodes, const AssignLimits& limits)
      : clusters_(clusters),
        limits_(limits),
        bound_(clusters, nodes),
        all_(nodes == 64 ? ~std::uint64_t{0} : bit(static_cast<std::size_t>(nodes)) - 1) {
    cheapest_.assign(clusters.size() + 1, 0);
    for (std::size_t k = clusters.size(); k-- > 0;) {
      double least = std::numeric_limits<double>::infinity();
      for (const Option& option : clusters[k].list) least = std::min(least, option.cost);
      cheapest_[k] = cheapest_[k + 1] + least;
    }
    now_.chosen.assign(clusters.size(), 0);
    for (const Options& options : clusters) exact_ = exact_ && options.complete;
  }

  [[nodiscard]] bool exact() const { return exact_; }

  Assignments valuable(std::size_t count) {
    count_ = count;
    by_cost_ = false;
    floor_ = none;
    descend(0, all_);
    return take();
  }

  Assignments cheap(double floor) {
    count_ = 1;
    by_cost_ = true;
    floor_ = floor;
    sort_by_cost();
    descend(0, all_);
    return take();
  }

 private:
  void sort_by_cost() {
    order_.resize(clusters_.size());
    for (std::size_t k = 0; k < clusters_.size(); ++k) {
      order_[k].resize(clusters_[k].list.size());
      std::iota(order_[k].begin(), order_[k].end(), std::size_t{0});
      std::sort(order_[k].begin(), order_[k].end(), [&](std::size_t a, std::size_t b) {
        const double cost_a = clusters_[k].list[a].cost, cost_b = clusters_[k].list[b].cost;
        return cost_a != cost_b ? cost_a < cost_b : a < b;
      });
    }
  }

  // True if the choice so far, with the best of the rest, could still come into the list.
  [[nodiscard]] bool hopeful(std::size_t k, std::uint64_t free) {
    const double most = now_.value + bound_.of(k, free);
    if (most == none || most < floor_) return false;
    if (found_.size() < count_) return true;
    if (!by_cost_) return most > found_.back().value;
    const double least = now_.cost + cheapest_[k];
    return least < found_.back().cost || (least == found_.back().cost && most > found_.back().value);
  }

  void descend(std::size_t k, std::uint64_t free) {
    if (k == clusters_.size()) return keep();
    const std::vector<Option>& list = clusters_[k].list;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (steps_++ > limits_.most_steps) exact_ = false;
      if (!exact_ && steps_ > limits_.most_steps && !found_.empty()) return;
      const Option& option = list[by_cost_ ? order_[k][i] : i];
      if ((option.mask & ~free) != 0) continue;
      const double value = now_.value, cost = now_.cost;
      now_.chosen[k] = static_cast<std::size_t>(&option - list.data());
      now_.value += option.value;
      now_.cost += option.cost;
      if (hopeful(k + 1, free & ~option.mask)) descend(k + 1, free & ~option.mask);
      now_.value = value;
      now_.cost = cost;
    }
  }

  void keep() {
    const auto before = [&](const Assignment& a, const Assignment& b) {
      if (by_cost_ && a.cost != b.cost) return a.cost < b.cost;
      return a.value > b.value;
    };
    found_.insert(std::upper_bound(found_.begin(), found_.end(), now_, before), now_);
    if (found_.size() > count_) found_.pop_back();
  }

  Assignments take() {
    Assignments out;
    out.list = std::move(found_);
    out.exact = exact_;
    found_.clear();
    return out;
  }

  const std::vector<Options>& clusters_;
  const AssignLimits& limits_;
  Bound bound_;
  std::uint64_t all_;
  std::vector<double> cheapest_;
  std::vector<std::vector<std::size_t>> order_;
  std::vector<Assignment> found_;
  Assignment now_;
  std::size_t count_ = 1, steps_ = 0;
  bool by_cost_ = false, exact_ = true;
  double floor_ = none;
};

}  // namespace

void for_each_tuple(int nodes, const Cluster& cluster, std::uint64_t allowed,
                    const std::function<bool(const std::vector<std::uint8_t>&, std::uint64_t)>& visit) {
  const std::vector<std::size_t> before = classes_of(cluster);
  Tuples{nodes, allowed, before, visit, std::vector<std::uint8_t>(cluster.size(), 0)}.extend(0, 0);
}

Options find_options(const Links& links, const Cluster& cluster, const OptionLimits& limits) {
  Options out;
  Appraiser appraiser(links, cluster);
  std::size_t seen = 0;
  for_each_tuple(links.nodes(), cluster, limits.allowed,
                 [&](const std::vector<std::uint8_t>& place, std::uint64_t mask) {
                   out.complete = seen++ < limits.most;
                   if (out.complete) appraiser.add(place, mask);
                   return out.complete;
                 });
  // Cut short, the search may have missed where the cluster is now.
  std::uint64_t home = 0;
  for (const int node : cluster.nodes) home |= bit(static_cast<std::size_t>(node));
  if (!out.complete) appraiser.add({cluster.nodes.begin(), cluster.nodes.end()}, home);
  out.list = appraiser.take();
  return out;
}

Assignments most_valuable(const std::vector<Options>& clusters, int nodes, std::size_t count,
                          const AssignLimits& limits) {
  return Search(clusters, nodes, limits).valuable(count);
}

Assignments cheapest_good(const std::vector<Options>& clusters, int nodes, const AssignLimits& limits) {
  Search search(clusters, nodes, limits);
  Assignments best = search.valuable(1);
  if (best.list.empty()) return best;
  // A hair below, so that rounding does not lose the best itself.
  return search.cheap(best.list.front().value * limits.keep - 1e-9 * std::abs(best.list.front().value));
}

}  // namespace nigh
