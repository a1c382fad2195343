// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The way in which the members of a new communicator become a group of the space, without a message. All of
// them know alike whether they can, from the words that the ranks showed each other when the job started.
// Each announces its cells when the communicator is made, and looks the others' up at the first collective.
// Waiting for a member there is safe: it has begun to make the communicator, too, and needs no more for that
// than the library's progress. A member without memory announces that it has no cells, and then none has a
// group.
#pragma once

#include <vector>

#include "mpi/comm.hpp"

namespace nigh::mpi {

// A group that is not (only) a communicator's: its name, and who is in it.
struct Membership {
  std::uint64_t context = 0;  // odd, the same on all members, and of no other group of the job
  int member = 0;
  std::vector<int> seats = {};  // ranks in the space
};
// This rank's cells of the group, which its peers may look up from now on; null: it has none. False: not even
// that can be told, so that peers would wait for ever.
bool announce(std::uint64_t context, std::size_t members, message::Cells*& cells);
// The same of a rank that must not have any, so that the group can't be.
bool announce_none(std::uint64_t context);
std::vector<int> seats_of(const CommState& state);
// Waits for the others. Null: the group can't be; `cells` are gone in any case.
message::Group* meet(Membership who, message::Cells* cells);
// The end of a group, and of one whose members have not met.
void part(message::Group* group, std::uint64_t context);
void part(Membership&& who, message::Cells* cells);

// Gives the state its cells when all members reach each other; where they are on several nodes it says when
// to ask for a hierarchy. `members` as of local_members. Called by all members of the communicator.
void make_group(CommState& state, const std::vector<int>& members);
// Only the first, of a state that is known to be `together`.
void announce_group(CommState& state);
// At the first collective: from `cells` to `group`. Without one, `why` says so.
void meet_group(CommState& state);
// In the same blocking collective on all members of a communicator over several nodes: gives it its hierarchy
// where all ranks of the job have us, and each node's members their cells.
void make_hierarchy(CommState& state);
void drop_group(CommState& state);

}  // namespace nigh::mpi
