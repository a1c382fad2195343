// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rules that hold for every plan, checked from the outside: this file knows the rules, not how the planner
// keeps them. All teams of a level are asked for, level by level, while there are not too many of them.
#include <algorithm>
#include <map>
#include <set>

#include "cases.hpp"
#include "plan/nested.hpp"

namespace nigh::fuzz {

namespace {
using Slot = std::pair<int, int>;  // leaf, rank
constexpr std::size_t most_threads = 96;

struct Thread {
  std::vector<TeamStep> path;
  Place place;
};

std::set<Slot> slots_of(const CoreTree& tree, const Territory& territory) {
  std::set<Slot> out;
  for (std::size_t i = 0; i < territory.leaves.size(); ++i) {
    int leaf = territory.leaves[i];
    int first = i == 0 ? territory.first_rank : 0;
    int ranks = i == 0 ? territory.ranks : tree.leaf(leaf).ranks();
    for (int rank = first; rank < first + ranks; ++rank) out.insert({leaf, rank});
  }
  return out;
}

bool leaves_disjoint(const std::vector<const Place*>& places) {
  std::set<int> seen;
  for (const Place* place : places)
    for (int leaf : place->territory.leaves)
      if (!seen.insert(leaf).second) return false;
  return true;
}

bool slots_disjoint(const CoreTree& tree, const std::vector<const Place*>& places) {
  std::set<Slot> seen;
  for (const Place* place : places)
    for (const Slot& slot : slots_of(tree, place->territory))
      if (!seen.insert(slot).second) return false;
  return true;
}

struct Checker {
  const Case& c;
  const NestedPlan& plan;
  const CoreTree& tree = plan.tree();

  // Any place at all.
  std::string place(const Place& p) const {
    if (p.leaf < 0 || p.leaf >= tree.size()) return "a thread sits on no leaf";
    if (p.rank < 0 || p.rank >= tree.leaf(p.leaf).ranks()) return "a thread sits on no PU of its core";
    if (!c.mask.test(pu_of(tree, p))) return "a thread is outside the mask";
    const auto& t = p.territory;
    if (t.leaves.empty() || t.leaves.front() != p.leaf || t.first_rank != p.rank)
      return "a territory does not start at its thread's seat";
    if (t.ranks < 1 || t.first_rank + t.ranks > tree.leaf(p.leaf).ranks())
      return "a territory exceeds its core";
    if (std::set<int>(t.leaves.begin(), t.leaves.end()).size() != t.leaves.size())
      return "a territory holds a leaf twice";
    return {};
  }

  // One team against the one who opened it.
  std::string team(const Place& parent, const std::vector<Place>& places, int size, bool in_territory) const {
    if (static_cast<int>(places.size()) != size) return "a team has another size than asked for";
    for (const auto& p : places)
      if (auto wrong = place(p); !wrong.empty()) return wrong;
    if (places[0].leaf != parent.leaf || places[0].rank != parent.rank)
      return "thread 0 left its parent's place";
    return in_territory && size > 1 ? team_in_territory(parent, places) : std::string();
  }

  std::string team_in_territory(const Place& parent, const std::vector<Place>& places) const {
    auto domain = slots_of(tree, parent.territory);
    auto size = places.size();
    std::map<Slot, std::size_t> used;
    std::map<int, std::size_t> on_leaf;
    std::vector<const Place*> all;
    for (const auto& p : places) {
      if (!domain.contains({p.leaf, p.rank})) return "a sub team left its master's territory";
      for (const auto& slot : slots_of(tree, p.territory))
        if (!domain.contains(slot)) return "a territory reaches beyond its master's";
      ++used[{p.leaf, p.rank}];
      ++on_leaf[p.leaf];
      all.push_back(&p);
    }
    std::size_t leaves = parent.territory.leaves.size();
    if (size <= leaves && on_leaf.size() != size)
      return "two threads of a team share a core while one is free";
    if (size <= leaves && !leaves_disjoint(all)) return "territories of a team overlap though all fit";
    if (c.root > 0) return {};  // beside other roots' threads, a free PU may be one of theirs
    if (on_leaf.size() < std::min(leaves, size)) return "a core stays free while another has two threads";
    for (const auto& [slot, threads] : used)
      if (threads > (size + domain.size() - 1) / domain.size())
        return "two threads share a PU while one is free";
    if (size <= domain.size() && !slots_disjoint(tree, all)) return "territories of a team overlap on a core";
    return {};
  }

  // Scatter reaches as many parts of the tree as it has threads; compact stays in the smallest one.
  std::string shape(const std::vector<Place>& places, int level) const {
    auto size = static_cast<int>(places.size());
    if (level != 1 || c.root != 0 || size < 2 || size > tree.size() || plan.spec().weight(1, 2) != 1)
      return {};
    if (is_scatter(plan.spec().strategy(1))) {
      const auto& children = tree.node(0).children;
      std::set<int> reached;
      for (const auto& p : places)
        for (int child : children)
          if (tree.node(child).holds(p.leaf)) reached.insert(child);
      int possible = std::min(size, static_cast<int>(children.size()));
      return static_cast<int>(reached.size()) == possible ? "" : "scatter left out a part of the machine";
    }
    int at = 0;
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (int child : tree.node(at).children)
        if (tree.node(child).holds(0) && tree.node(child).width() >= size) {
          at = child;
          smaller = true;
          break;
        }
    }
    for (const auto& p : places)
      if (!tree.node(at).holds(p.leaf)) return "compact went further than it had to";
    return {};
  }

  // All teams of a level that is planned as a whole.
  std::string together(const std::vector<Thread>& masters, const std::vector<Thread>& all, int level) const {
    std::map<Slot, int> used, had;
    std::map<int, int> on_leaf, masters_on;
    std::vector<const Place*> places;
    for (const auto& m : masters) {
      ++had[{m.place.leaf, m.place.rank}];
      ++masters_on[m.place.leaf];
    }
    for (const auto& t : all) {
      ++used[{t.place.leaf, t.place.rank}];
      ++on_leaf[t.place.leaf];
      places.push_back(&t.place);
    }
    bool pu_free = static_cast<int>(used.size()) < tree.pu_count();
    bool core_free = static_cast<int>(on_leaf.size()) < tree.size();
    for (const auto& [slot, threads] : used)
      if (pu_free && threads > std::max(1, had[slot]))
        return "two threads of sibling teams share a PU while one is free";
    for (const auto& [leaf, threads] : on_leaf)
      if (core_free && threads > std::max(1, masters_on[leaf]))
        return "two threads of sibling teams share a core while one is free";
    auto needed = static_cast<std::int64_t>(all.size()) * plan.spec().weight(level, tree.pu_count());
    if (masters_on.size() == masters.size() && needed <= tree.size() && !leaves_disjoint(places))
      return "territories of sibling teams overlap though all fit";
    return {};
  }

  std::string level(std::vector<Thread>& masters, int number, int size) const {
    bool whole = number > 1 && !is_sub(plan.spec().strategy(number));
    bool in_territory = number == 1 ? c.root == 0 : !whole;
    std::vector<Thread> all;
    for (const auto& master : masters) {
      auto places = plan.team(c.root, master.path, size);
      if (!places) return "a team was refused: " + places.error().message;
      if (auto wrong = team(master.place, *places, size, in_territory); !wrong.empty()) return wrong;
      if (auto wrong = shape(*places, number); !wrong.empty()) return wrong;
      for (int i = 0; i < size; ++i) {
        auto path = master.path;
        path.push_back({i, size});
        all.push_back({std::move(path), std::move((*places)[static_cast<std::size_t>(i)])});
      }
    }
    if (whole && c.root == 0 && size > 1)
      if (auto wrong = together(masters, all, number); !wrong.empty()) return wrong;
    masters = std::move(all);
    return {};
  }

  // Root threads that open single-level teams find free PUs while there are some.
  std::string roots() const {
    if (c.root == 0 || c.spec.levels.size() != 1) return {};
    std::map<int, int> used;
    for (int root = 0; root <= c.root; ++root) {
      auto threads = plan.innermost(root);
      if (!threads) return "a plan was refused: " + threads.error().message;
      for (const auto& p : *threads) ++used[pu_of(tree, p)];
    }
    if (static_cast<int>(used.size()) == tree.pu_count()) return {};
    for (const auto& [pu, threads] : used)
      if (threads > 1) return "two root threads' teams share a PU while one is free";
    return {};
  }
};

bool same(const std::vector<Place>& a, const std::vector<Place>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Place& x, const Place& y) {
    return x.leaf == y.leaf && x.rank == y.rank && x.territory.leaves == y.territory.leaves &&
           x.territory.ranks == y.territory.ranks;
  });
}

// A fresh plan, asked for the last team first, answers alike.
std::string repeatable(const Case& c, const NestedPlan& plan, const std::vector<Thread>& threads) {
  NestedPlan again(*CoreTree::cut(*c.machine, c.mask), c.spec);
  std::span<const TeamStep> path(threads.back().path);
  auto opener = path.first(path.size() - 1);
  auto first = plan.team(c.root, opener, path.back().size);
  auto second = again.team(c.root, opener, path.back().size);
  if (!first || !second || !same(*first, *second)) return "the same question got two answers";
  return {};
}
}  // namespace

std::string broken_invariant(const Case& c) {
  auto tree = CoreTree::cut(*c.machine, c.mask);
  if (!tree) return "the tree can't be cut: " + tree.error().message;
  NestedPlan plan(*std::move(tree), c.spec);
  Checker checker{c, plan};
  std::vector<Thread> threads{{{}, plan.start(c.root)}};
  if (auto wrong = checker.place(threads[0].place); !wrong.empty()) return "root: " + wrong;
  for (std::size_t i = 0; i < c.sizes.size(); ++i) {
    if (i > 0 && threads.size() * static_cast<std::size_t>(c.sizes[i]) > most_threads) break;
    auto wrong = checker.level(threads, static_cast<int>(i) + 1, c.sizes[i]);
    if (!wrong.empty()) return "level " + std::to_string(i + 1) + ": " + wrong;
  }
  if (auto wrong = repeatable(c, plan, threads); !wrong.empty()) return wrong;
  return checker.roots();
}

}  // namespace nigh::fuzz
