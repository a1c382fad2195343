// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/census.hpp"

#include <algorithm>

namespace nigh::launch {

CensusBook::World* CensusBook::find(const sys::CensusQuestion& question) {
  for (auto world = worlds_.rbegin(); world != worlds_.rend(); ++world)
    if (world->name == question.world && world->ranks == question.ranks)
      for (const Rank& one : world->entered)
        if (one.rank == question.rank && one.process == question.process) return &*world;
  return nullptr;
}

// The world that is filling up and lacks this rank, else a new one: a launcher may start one program after
// the other. Null: there are too many.
CensusBook::World* CensusBook::open_for(const sys::CensusQuestion& question, double now) {
  for (World& world : worlds_)
    if (world.verdict == Verdict::open && world.name == question.world && world.ranks == question.ranks &&
        std::none_of(world.entered.begin(), world.entered.end(),
                     [&](const Rank& one) { return one.rank == question.rank; }))
      return &world;
  if (worlds_.size() == most_worlds)
    std::erase_if(worlds_, [](const World& world) { return world.verdict != Verdict::all; });
  if (worlds_.size() == most_worlds) return nullptr;
  worlds_.push_back(
      {.name = question.world, .settings = question.settings, .ranks = question.ranks, .last = now});
  return &worlds_.back();
}

CensusBook::Verdict CensusBook::enter(const sys::CensusQuestion& question, double now) {
  if (const World* known = find(question)) return known->verdict;
  World* world = open_for(question, now);
  if (world == nullptr) return Verdict::not_all;
  world->entered.push_back({question.rank, question.process});
  world->last = now;
  if (question.whole == 0 || question.settings != world->settings || question.rank >= question.ranks)
    world->verdict = Verdict::not_all;
  else if (world->entered.size() == world->ranks)
    world->verdict = Verdict::all;
  return world->verdict;
}

CensusBook::Verdict CensusBook::ask(const sys::CensusQuestion& question, double now) {
  if (const World* known = find(question)) return known->verdict;
  if (World* world = open_for(question, now)) world->verdict = Verdict::not_all;
  return Verdict::not_all;
}

double CensusBook::decide(double now) {
  double next = -1;
  for (World& world : worlds_) {
    if (world.verdict != Verdict::open) continue;
    const double left = world.last + patience - now;
    if (left <= 0)
      world.verdict = Verdict::not_all;
    else if (next < 0 || left < next)
      next = left;
  }
  return next;
}

}  // namespace nigh::launch
