// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See comm_group.hpp.
#include "mpi/comm_group.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>

#include "mpi/census.hpp"
#include "mpi/comm_members.hpp"
#include "mpi/directory.hpp"
#include "mpi/handlers.hpp"
#include "mpi/reserve.hpp"

namespace nigh::mpi {
namespace {

// A hierarchy costs collectives of the library: it is for communicators that are used again and again.
constexpr int calls_before_levels = 8;

// Groups that live at once: what a program with thousands of communicators can cost is bounded. Beyond that a
// member says that it has no cells.
constexpr int most_groups = 4096;
std::atomic<int> g_groups = 0;

// A member's cells; null: it has none. False: it has not said yet.
bool cells_of(int seat, std::uint64_t context, message::Cells*& cells) {
  void* shown = nullptr;
  const auto& page = *static_cast<const Page*>(process().space->root(seat, space::Root::mpi));
  const bool known = heard(page, context, shown) || page.aside.load(std::memory_order_acquire) != 0;
  cells = static_cast<message::Cells*>(shown);
  return known;
}

enum class Said { all, one_has_none, not_all };
// Asks for the cells of all other members. On `all`, `each` is called with each one's.
template <class Each>
Said ask_all(const Membership& who, Each&& each) {
  message::Cells* cells = nullptr;
  for (int i = 0; i < static_cast<int>(who.seats.size()); ++i) {
    if (i == who.member) continue;
    if (!cells_of(who.seats[static_cast<std::size_t>(i)], who.context, cells)) return Said::not_all;
    if (!cells) return Said::one_has_none;
  }
  for (int i = 0; i < static_cast<int>(who.seats.size()); ++i) {
    if (i == who.member) continue;
    cells_of(who.seats[static_cast<std::size_t>(i)], who.context, cells);
    each(cells);
  }
  return Said::all;
}

// Cells of this rank whose group is gone. They are used again when no peer can read them any more.
class CellPool {
 public:
  // Null: no memory.
  message::Cells* take(int members) {
    const std::lock_guard guard(lock_);
    ++taken_;
    const std::size_t most = taken_ + resting_.size();
    if (resting_.capacity() < most) resting_.reserve(2 * most);  // give() needs no memory
    for (Resting& one : resting_) {
      if (!rested(one)) continue;
      message::Cells* cells = one.cells;
      message::Group::renew(cells, members, one.met);
      if (&one != &resting_.back()) one = std::move(resting_.back());
      resting_.pop_back();
      return cells;
    }
    return message::Group::make_cells(*process().space, members, process().waiter->patience().crowded);
  }
  // `met`: its group has departed.
  void give(message::Cells* cells, bool met, Membership&& who) {
    const std::lock_guard guard(lock_);
    --taken_;
    resting_.push_back({.cells = cells, .met = met, .departed = met, .who = std::move(who)});
    if (resting_.size() <= most_resting) return;
    std::erase_if(resting_, [](Resting& one) {
      if (!rested(one)) return false;
      process().space->release(one.cells);
      return true;
    });
  }

 private:
  static constexpr std::size_t most_resting = 16;
  struct Resting {
    message::Cells* cells = nullptr;
    bool met = false, departed = false;
    Membership who;
  };

  // Nobody can read the cells any more. A member that has not called a collective of the communicator up to
  // its end has no peer that has: nobody will look for its cells. (One that has, in a wrong program, is
  // waited for.)
  static bool rested(Resting& one) {
    if (!one.departed && message::Group::visited(one.cells)) {
      const Said said = ask_all(one.who, message::Group::leave_peer);
      if (said == Said::one_has_none) return tell(one.who.context, nullptr);
      if (said == Said::not_all) return false;
      one.departed = true;
    }
    if (one.departed && !message::Group::left(one.cells)) return false;
    forget(one.who.context);
    return true;
  }

  std::mutex lock_;
  std::vector<Resting> resting_;
  std::size_t taken_ = 0;  // that may still be given back
};

CellPool& pool() {
  static auto* made = new CellPool;  // never destroyed: callbacks come until the very end
  return *made;
}

// The announcement of a member to the others of a communicator.
struct Word {
  message::Cells* cells = nullptr;
  std::int32_t node = 0;  // the lowest rank of MPI_COMM_WORLD on its node: nodes have no other name
  std::int32_t well = 0;  // all members on its node reach each other, and it has cells
};

bool all_here(const std::vector<int>& members, std::vector<int>& seats) {
  const Process& me = process();
  seats.clear();
  for (const int world : members) {
    const int rank = me.space_of_world[static_cast<std::size_t>(world)];
    if (!me.reaches(rank, Part::coll)) return false;
    seats.push_back(rank);
  }
  return me.space->all_reachable(seats.data(), static_cast<int>(seats.size()));
}

plan::Levels levels_for(const std::vector<int>& space_ranks) {
  std::vector<plan::Seat> seats;
  seats.reserve(space_ranks.size());
  for (const int rank : space_ranks) seats.push_back(process().seats[static_cast<std::size_t>(rank)]);
  return plan::levels_of(seats);
}

// With the reserve whole, all that comes after the talk can be made; else this member has no cells.
message::Cells* cells_for(std::size_t members) {
  if (!reserve_fill() || g_groups.load(std::memory_order_relaxed) >= most_groups) return nullptr;
  message::Cells* cells = pool().take(static_cast<int>(members));
  if (cells) g_groups.fetch_add(1, std::memory_order_relaxed);
  return cells;
}

// Nobody has met them, and nobody will.
void take_back(message::Cells* cells) {
  g_groups.fetch_sub(1, std::memory_order_relaxed);
  process().space->release(cells);
}

message::Group* group_of(int member, std::vector<message::Cells*> cells, std::vector<int> space_ranks) {
  const plan::Levels levels = levels_for(space_ranks);
  for (message::Cells* one : cells) message::Group::visit(one);
  auto* group = new message::Group(*process().space, *process().waiter, member, std::move(cells),
                                   std::move(space_ranks), levels);
  group->set_reproducible(process().reproducible);
  return group;
}

enum class Met { all, one_has_none, one_is_dead };
Met wait_for_cells(const Membership& who, std::vector<message::Cells*>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (static_cast<int>(i) == who.member) continue;
    const int seat = who.seats[i];
    const auto said = [&] { return cells_of(seat, who.context, cells[i]); };
    if (process().waiter->until(said, seat) == message::Waited::peer_dead) return Met::one_is_dead;
    if (!cells[i]) return Met::one_has_none;
  }
  return Met::all;
}

Membership membership_of(const CommState& state) {
  return {.context = state.context, .member = state.rank, .seats = seats_of(state)};
}

// The members of each node, and who leads it: nodes are numbered by their first members.
void number_nodes(const std::vector<Word>& words, int rank, Hierarchy& nodes) {
  std::vector<int> names;
  std::vector<int> members_of;
  for (const Word& word : words) {
    auto at = std::find(names.begin(), names.end(), word.node) - names.begin();
    if (at == static_cast<std::ptrdiff_t>(names.size())) {
      names.push_back(word.node);
      members_of.push_back(0);
    }
    nodes.node_of.push_back(static_cast<int>(at));
    nodes.local_of.push_back(members_of[static_cast<std::size_t>(at)]++);
  }
  nodes.nodes = static_cast<int>(names.size());
  nodes.largest = *std::max_element(members_of.begin(), members_of.end());
  nodes.even = std::equal(members_of.begin() + 1, members_of.end(), members_of.begin());
  nodes.node = nodes.node_of[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < words.size(); ++i)
    if (nodes.node_of[i] == nodes.node) nodes.members.push_back(static_cast<int>(i));
  nodes.ordered = std::is_sorted(nodes.node_of.begin(), nodes.node_of.end());
}

// Over several nodes, all of whose ranks have us.
void group_hierarchy(CommState& state, const std::vector<int>& members) {
  const Process& me = process();
  std::vector<int> here;
  for (const int world : members)
    if (me.reaches(me.space_of_world[static_cast<std::size_t>(world)], Part::coll)) here.push_back(world);
  std::vector<int> seats;
  Word mine;
  const bool together = all_here(here, seats);
  mine.node = here.empty() ? me.world_rank : *std::min_element(here.begin(), here.end());
  if (here.size() > 1 && together) mine.cells = cells_for(here.size());
  mine.well = here.size() == 1 || mine.cells ? 1 : 0;
  std::vector<Word> words(members.size());
  if (real().Allgather(&mine, sizeof mine, MPI_BYTE, words.data(), sizeof mine, MPI_BYTE, state.comm) !=
      MPI_SUCCESS)
    return;
  if (!std::all_of(words.begin(), words.end(), [](const Word& word) { return word.well != 0; })) return;
  auto* nodes = new Hierarchy;
  number_nodes(words, state.rank, *nodes);
  if (nodes->nodes == state.size) return delete nodes;  // one member on each: the library's, in one step
  state.hierarchy = nodes;
  const bool leads = nodes->members.front() == state.rank;
  real().Comm_split(state.comm, leads ? 0 : MPI_UNDEFINED, state.rank, &nodes->leaders);
  // Errors there are ours to raise, where the program knows the communicator.
  if (nodes->leaders != MPI_COMM_NULL) real().Comm_set_errhandler(nodes->leaders, errors_return());
  if (nodes->members.size() == 1) return;
  std::vector<message::Cells*> cells;
  for (const int member : nodes->members) cells.push_back(words[static_cast<std::size_t>(member)].cells);
  state.group =
      group_of(nodes->local_of[static_cast<std::size_t>(state.rank)], std::move(cells), std::move(seats));
}

}  // namespace

bool announce(std::uint64_t context, std::size_t members, message::Cells*& cells) {
  cells = cells_for(members);
  return tell_first(context, cells);
}

bool announce_none(std::uint64_t context) { return tell_first(context, nullptr); }

std::vector<int> seats_of(const CommState& state) {
  std::vector<int> seats;
  seats.reserve(state.world.size());
  for (const int world : state.world)
    seats.push_back(process().space_of_world[static_cast<std::size_t>(world)]);
  return seats;
}

message::Group* meet(Membership who, message::Cells* cells) {
  reserve_fill();
  std::vector<message::Cells*> all(who.seats.size());
  all[static_cast<std::size_t>(who.member)] = cells;
  if (!cells) return nullptr;
  const Met met = wait_for_cells(who, all);
  if (met == Met::all) return group_of(who.member, std::move(all), std::move(who.seats));
  if (met == Met::one_is_dead) return nullptr;  // others may have met before: the cells stay
  // Those who have not looked yet find another one without cells, or this one.
  tell(who.context, nullptr);
  take_back(cells);
  return nullptr;
}

void part(message::Group* group, std::uint64_t context) {
  g_groups.fetch_sub(1, std::memory_order_relaxed);
  pool().give(group->depart(), true, {.context = context});
  delete group;
}

void part(Membership&& who, message::Cells* cells) {
  g_groups.fetch_sub(1, std::memory_order_relaxed);
  if (cells) message::Group::close(cells);
  pool().give(cells, false, std::move(who));
}

void announce_group(CommState& state) {
  if (announce(state.context, state.world.size(), state.cells)) {
    if (!state.cells) state.why = Reason::memory;
    return;
  }
  say("no memory for a communicator's collectives");
  real().Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
}

void make_group(CommState& state, const std::vector<int>& members) {
  state.why = members.size() < 2 ? Reason::alone : Reason::distant;
  if (members.size() < 2 || !process().on(Part::coll)) return;
  std::vector<int> seats;
  state.together = all_here(members, seats);
  if (state.together) {
    announce_group(state);
    for (const int seat : seats)  // one may wait already
      if (seat != process().space->rank()) process().waiter->ring(seat);
  } else if (process().hierarchy) {
    state.before_levels = 1;
  } else if (census_is_open()) {
    state.before_levels = calls_before_levels;
  }
}

void make_hierarchy(CommState& state) {
  if (process().hierarchy || census_says_all()) group_hierarchy(state, state.world);
}

void meet_group(CommState& state) {
  state.group = meet(membership_of(state), state.cells);
  state.cells = nullptr;
  if (!state.group) state.why = Reason::memory;
}

void drop_group(CommState& state) {
  if (state.group) part(state.group, state.context);
  if (state.cells && message::Group::visited(state.cells))
    part(membership_of(state), state.cells);
  else if (state.cells)
    part({.context = state.context}, state.cells);  // nobody is to be asked
  state.group = nullptr;
  state.cells = nullptr;
}

}  // namespace nigh::mpi
