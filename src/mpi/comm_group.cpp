// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// How the members of a new communicator become a group of the space. All of them know alike whether they can,
// from what the ranks showed each other when the job started; so all or none call the allgather that tells
// where everyone's cells lie. A member without memory says so in it, and then none has a group.
#include <algorithm>
#include <atomic>

#include "mpi/comm_members.hpp"
#include "mpi/handlers.hpp"
#include "mpi/reserve.hpp"

namespace nigh::mpi {
namespace {

// Groups that live at once: what a program with thousands of communicators can cost is bounded. Beyond that a
// member says that it has no cells.
constexpr int most_groups = 4096;
std::atomic<int> g_groups = 0;

// What a member tells the others of a communicator.
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
  if (!reserve_fill()) return nullptr;
  return g_groups.load(std::memory_order_relaxed) < most_groups
             ? message::Group::make_cells(*process().space, static_cast<int>(members),
                                          process().waiter->patience().crowded)
             : nullptr;
}

message::Group* group_of(int member, std::vector<message::Cells*> cells, std::vector<int> space_ranks) {
  const plan::Levels levels = levels_for(space_ranks);
  auto* group = new message::Group(*process().space, *process().waiter, member, std::move(cells),
                                   std::move(space_ranks), levels);
  g_groups.fetch_add(1, std::memory_order_relaxed);
  return group;
}

void group_here(CommState& state, std::vector<int> seats) {
  message::Cells* mine = cells_for(seats.size());
  std::vector<message::Cells*> cells(seats.size());
  if (real().Allgather(&mine, sizeof mine, MPI_BYTE, cells.data(), sizeof mine, MPI_BYTE, state.comm) !=
          MPI_SUCCESS ||
      std::find(cells.begin(), cells.end(), nullptr) != cells.end()) {
    state.why = Fate::memory;
    return;
  }
  state.group = group_of(state.rank, std::move(cells), std::move(seats));
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
  nodes.node = nodes.node_of[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < words.size(); ++i)
    if (nodes.node_of[i] == nodes.node) nodes.members.push_back(static_cast<int>(i));
  nodes.ordered = std::is_sorted(nodes.node_of.begin(), nodes.node_of.end());
}

// Over several nodes, all of whose ranks were promised to have us.
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

void make_group(CommState& state, const std::vector<int>& members) {
  state.why = members.size() < 2 ? Fate::alone : Fate::distant;
  if (members.size() < 2 || !process().on(Part::coll)) return;
  std::vector<int> seats;
  if (all_here(members, seats))
    group_here(state, std::move(seats));
  else if (process().hierarchy)
    group_hierarchy(state, members);
}

void note_group_gone() { g_groups.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace nigh::mpi
