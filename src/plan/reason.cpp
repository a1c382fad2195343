// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The reason of a place in words. A user who sees an unexpected PU wants to know which rule put a thread
// there, so every rule of the planner has a sentence of its own, with the numbers it went by.
#include <array>

#include "plan/place.hpp"

namespace nigh {

namespace {
std::string count(int n, const char* one) { return std::to_string(n) + ' ' + one + (n == 1 ? "" : "s"); }

std::string part_of(const Why& why) { return std::to_string(why.part) + " of " + std::to_string(why.parts); }

std::string rule(const Why& why) {
  std::string name = strategy_name(why.strategy);
  switch (why.kind) {
    case Why::Kind::start: return "the initial thread stays on the first core of the mask";
    case Why::Kind::later_start: return "a later root thread starts in the least loaded part";
    case Why::Kind::split:
      return name + " over " + std::to_string(why.over_count) + ' ' + kind_words(why.over, why.over_count) +
             ": part " + part_of(why);
    case Why::Kind::packed: return name + ": number " + part_of(why) + " by nearness to its master";
    case Why::Kind::far_part: return name + " of all teams over the machine: part " + part_of(why);
    case Why::Kind::nearest: return name + " of all teams: the least loaded core nearest to its master";
  }
  return {};
}

std::string ordinal(int rank) {
  constexpr std::array<const char*, 5> words = {"first", "second", "third", "fourth", "fifth"};
  return rank < static_cast<int>(words.size()) ? words[static_cast<std::size_t>(rank)]
                                               : std::to_string(rank + 1) + "th";
}

// The other threads on the core, and the figures that made them necessary.
std::string company(const CoreTree& tree, const Place& place) {
  const Why& why = place.why;
  if (why.sharing > tree.leaf(place.leaf).ranks())
    return "; shares its PU: " + count(why.threads, "thread") + " on " + count(why.pus, "PU");
  if (place.rank == 0 || why.sharing < 2) return {};
  std::string text = "; " + ordinal(place.rank) + " SMT thread";
  if (why.threads > why.cores)
    text += ": " + count(why.threads, "thread") + " on " + count(why.cores, "core");
  return text;
}
}  // namespace

std::string reason(const CoreTree& tree, const Place& place) {
  if (place.why.kind <= Why::Kind::later_start) return rule(place.why);
  std::string text = rule(place.why) + company(tree, place);
  return place.why.kept ? "keeps its parent's core (" + text + ')' : text;
}

}  // namespace nigh
