// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See collective_tree.hpp.
#include "message/collective_tree.hpp"

#include <algorithm>
#include <numeric>

namespace nigh::message {

Tree::Tree(const plan::Levels& levels, int members) {
  if (plan::nested(levels, members))
    for (const plan::Levels::Level& level : levels.levels) add(level.groups, members);
  std::vector<int> all(index(members));
  std::iota(all.begin(), all.end(), 0);
  if (levels_.empty() || levels_.back().domains.size() > 1) add({all}, members);
}

void Tree::add(const std::vector<std::vector<int>>& groups, int members) {
  Level level;
  level.of.resize(index(members));
  if (!levels_.empty()) {
    std::size_t most = 1;
    for (const Domain& below : levels_.back().domains) most = std::max(most, below.parts.size());
    level.stride = levels_.back().stride * static_cast<int>(most);
  }
  for (const std::vector<int>& group : groups) {
    Domain domain{group, {}};
    if (levels_.empty()) domain.parts = group;
    for (int member : group) {
      level.of[index(member)] = static_cast<int>(level.domains.size());
      if (levels_.empty()) continue;
      const int part = levels_.back().of[index(member)];
      if (std::find(domain.parts.begin(), domain.parts.end(), part) == domain.parts.end())
        domain.parts.push_back(part);
    }
    if (group.back() - group.front() + 1 != static_cast<int>(group.size())) contiguous_ = false;
    level.domains.push_back(std::move(domain));
  }
  levels_.push_back(std::move(level));
}

int Tree::owner(int level, int domain, int piece) const {
  for (;; --level) {
    const std::vector<int>& parts = this->parts(level, domain);
    const int part = parts[index(piece / at(level).stride) % parts.size()];
    if (level == 0) return part;
    domain = part;
  }
}

int Tree::rise(int member, int root) const {
  int level = 0;
  while (level <= top() && speaker(level, domain(level, member), root) == member) ++level;
  return level;
}

int Tree::parent(int member, int root) const {
  const int level = rise(member, root);
  return level > top() ? -1 : speaker(level, domain(level, member), root);
}

void Tree::children(int member, int root, std::vector<int>& out) const {
  out.clear();
  const int end = rise(member, root);
  for (int level = 0; level < end; ++level)
    for (int part : parts(level, domain(level, member))) {
      const int child = level == 0 ? part : speaker(level - 1, part, root);
      if (child != member) out.push_back(child);
    }
}

plan::Levels eights(int members) {
  plan::Levels levels;
  for (int width = 8; width < members; width *= 8) {
    plan::Levels::Level level;
    for (int first = 0; first < members; first += width) {
      std::vector<int> group(static_cast<std::size_t>(std::min(width, members - first)));
      std::iota(group.begin(), group.end(), first);
      level.groups.push_back(std::move(group));
    }
    levels.levels.push_back(std::move(level));
  }
  return levels;
}

}  // namespace nigh::message
