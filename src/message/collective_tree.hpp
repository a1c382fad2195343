// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The levels of a group as the collectives walk them. Small operands climb from each domain to its
// representative and come down the same way. Large ones are cut into pieces, and every domain has one owner
// for each piece, so that within a domain all members work at once and each piece crosses each border once.
#pragma once

#include <vector>

#include "plan/levels.hpp"

namespace nigh::message {

class Tree {
 public:
  Tree() = default;
  // Levels that don't nest give a flat tree: one domain of all.
  Tree(const plan::Levels& levels, int members);

  // Levels 0 .. top(): the topmost is the one domain of all.
  [[nodiscard]] int top() const { return static_cast<int>(levels_.size()) - 1; }
  [[nodiscard]] bool flat() const { return levels_.size() == 1; }
  // Every domain is a range of neighbours, so regrouping keeps the operands in the order of the members.
  [[nodiscard]] bool contiguous() const { return contiguous_; }

  [[nodiscard]] int domain(int level, int member) const { return at(level).of[index(member)]; }
  [[nodiscard]] const std::vector<int>& members(int level, int domain) const {
    return at(level).domains[index(domain)].members;
  }
  // The domains of the level below that it consists of; on level 0, its members themselves.
  [[nodiscard]] const std::vector<int>& parts(int level, int domain) const {
    return at(level).domains[index(domain)].parts;
  }
  // The member that speaks for a domain when `root` is where things go to or come from.
  [[nodiscard]] int speaker(int level, int domain, int root) const {
    return this->domain(level, root) == domain ? root : members(level, domain).front();
  }
  // The member that keeps piece number `piece` for a domain; it keeps it for one of the domain's parts, too.
  [[nodiscard]] int owner(int level, int domain, int piece) const;

  // The first level on which `member` doesn't speak for its domain; top() + 1 for the root.
  [[nodiscard]] int rise(int member, int root) const;
  [[nodiscard]] int parent(int member, int root) const;  // -1 for the root
  // Those whose parent it is, innermost level first, ascending within a level.
  void children(int member, int root, std::vector<int>& out) const;

 private:
  struct Domain {
    std::vector<int> members, parts;
  };
  struct Level {
    std::vector<Domain> domains;
    std::vector<int> of;  // each member's domain
    int stride = 1;       // so many pieces in a row belong to the same part
  };
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  [[nodiscard]] const Level& at(int level) const { return levels_[index(level)]; }
  void add(const std::vector<std::vector<int>>& groups, int members);

  std::vector<Level> levels_;
  bool contiguous_ = true;
};

// For many members without levels: neighbours in eights, so that nobody has to look at everybody's line.
plan::Levels eights(int members);

}  // namespace nigh::message
