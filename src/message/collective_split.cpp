// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Groups made out of groups. Any member may run out of memory on the way, and then no member of the new group
// may have it: so each makes everything that can fail, cells included, before it tells the others where its
// cells are; whoever has failed tells them nothing instead, and what is left after that can't fail. What the
// telling itself needs was set aside when the parent was made.
#include <algorithm>
#include <new>

#include "message/collective_state.hpp"

namespace nigh::message {

std::unique_ptr<Group> Group::unmet(space::Space& space, Waiter& waiter, int member, std::vector<int> ranks,
                                    const plan::Levels& levels) try {
  const int size = static_cast<int>(ranks.size());
  auto group = std::make_unique<Group>(space, waiter, member, std::vector<Cells*>(ranks.size()),
                                       std::move(ranks), levels);
  group->meet(member, make_cells(space, size, waiter.patience().crowded));
  return group->cells() ? std::move(group) : nullptr;
} catch (const std::bad_alloc&) { return nullptr; }

void Group::meet(int member, Cells* cells) { state_->cells[static_cast<std::size_t>(member)] = cells; }
Cells* Group::cells() const { return state_->cells[static_cast<std::size_t>(state_->me)]; }
void Group::abandon() { state_->give_up(Outcome::no_memory); }

// The group of those who named this colour, with none of the others' cells yet; nullptr: no memory.
std::unique_ptr<Group> Group::State::beginning_of(int colour, std::vector<int>& members) const try {
  for (int member = 0; member < size; ++member)
    if (cards[static_cast<std::size_t>(member)].colour == colour) members.push_back(member);
  const auto key_of = [this](int member) { return cards[static_cast<std::size_t>(member)].key; };
  std::sort(members.begin(), members.end(),
            [&](int a, int b) { return key_of(a) != key_of(b) ? key_of(a) < key_of(b) : a < b; });
  std::vector<int> ranks_of;
  ranks_of.reserve(members.size());
  for (const int member : members) ranks_of.push_back(ranks[static_cast<std::size_t>(member)]);
  const auto mine = std::find(members.begin(), members.end(), me) - members.begin();
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the caller's
  return unmet(space, waiter, static_cast<int>(mine), std::move(ranks_of), {});
} catch (const std::bad_alloc&) { return nullptr; }

Outcome Group::split(int colour, int key, bool able, std::unique_ptr<Group>& made) {
  State& g = *state_;
  State::Card& mine = g.cards[static_cast<std::size_t>(g.me)];
  const Call tell = {
      .kind = Kind::allgather, .send = in_place, .receive = g.cards.data(), .bytes = sizeof(State::Card)};
  mine = {colour, key, nullptr};
  if (const Outcome told = run(tell); told != Outcome::ok) return told;
  std::vector<int> members;
  std::unique_ptr<Group> group;
  if (colour >= 0 && able) group = g.beginning_of(colour, members);
  mine.cells = group ? group->cells() : nullptr;
  if (const Outcome told = run(tell); told != Outcome::ok) {
    if (group) group->leave_unmet();
    return told;
  }
  if (colour < 0) return Outcome::ok;
  for (const State::Card& card : g.cards)
    if (card.colour == colour && !card.cells) return Outcome::no_memory;
  for (std::size_t i = 0; i < members.size(); ++i)
    group->meet(static_cast<int>(i), g.cards[static_cast<std::size_t>(members[i])].cells);
  made = std::move(group);
  return Outcome::ok;
}

// Some may have met what this member must do without: its cells stay, and say that nothing will come.
void Group::leave_unmet() {
  State& g = *state_;
  g.give_up(Outcome::peer_dead);
  g.cells[static_cast<std::size_t>(g.me)] = nullptr;
}

}  // namespace nigh::message
