// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See comm_members.hpp; and the state of a new communicator, which is made of its members.
#include "mpi/comm_members.hpp"

#include <algorithm>
#include <new>
#include <numeric>

#include "mpi/comm_group.hpp"
#include "mpi/reserve.hpp"

namespace nigh::mpi {
namespace {

MPI_Group g_world = MPI_GROUP_NULL;

std::vector<int> translate(MPI_Group group) {
  int size = 0;
  if (real().Group_size(group, &size) != MPI_SUCCESS || size <= 0) return {};
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> world(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (real().Group_translate_ranks(group, size, ranks.data(), g_world, world.data()) != MPI_SUCCESS)
    return {};
  for (int& rank : world)
    if (rank == MPI_UNDEFINED) rank = -1;
  return world;
}

template <class Get>
std::vector<int> members_of(MPI_Comm comm, Get get) {
  MPI_Group group = MPI_GROUP_NULL;
  if (get(comm, &group) != MPI_SUCCESS) return {};
  std::vector<int> members = translate(group);
  real().Group_free(&group);
  return members;
}

std::uint64_t hash(const std::vector<int>& members) {
  std::uint64_t sum = members.size();
  for (const int rank : members) sum = mix(sum, static_cast<std::uint64_t>(rank) + 1);
  return sum;
}

bool all_known(const std::vector<int>& members) {
  return !members.empty() && std::none_of(members.begin(), members.end(), [](int rank) { return rank < 0; });
}

int space_rank(int world_rank) { return process().space_of_world[static_cast<std::size_t>(world_rank)]; }

// Ranks that point-to-point reaches in the space; this process itself is the library's.
void fill_peers(CommState& state) {
  state.peers = static_cast<int>(state.world.size());
  state.space.clear();
  for (const int world : state.world) {
    const int rank = space_rank(world);
    state.space.push_back(world != process().world_rank && process().reaches(rank, Part::p2p) ? rank : -1);
  }
}

bool fill(CommState& state, std::uint64_t name) {
  int inter = 0;
  if (real().Comm_test_inter(state.comm, &inter) != MPI_SUCCESS) return false;
  const std::vector<int> local = local_members(state.comm);
  const std::vector<int> remote = inter ? remote_members(state.comm) : std::vector<int>{};
  if (!all_known(local) || (inter && !all_known(remote))) return false;
  state.inter = inter != 0;
  state.size = static_cast<int>(local.size());
  real().Comm_rank(state.comm, &state.rank);
  state.context = mix(name, members_hash(local, remote)) | 1;  // 0 is no context
  state.world = inter ? remote : local;
  fill_peers(state);
  if (inter)
    state.why = Reason::inter;
  else
    make_group(state, local);
  return true;
}

}  // namespace

void members_start() { real().Comm_group(MPI_COMM_WORLD, &g_world); }

void members_stop() {
  if (g_world != MPI_GROUP_NULL) real().Group_free(&g_world);
}

std::vector<int> local_members(MPI_Comm comm) {
  return members_of(comm, [](MPI_Comm c, MPI_Group* group) { return real().Comm_group(c, group); });
}

std::vector<int> remote_members(MPI_Comm comm) {
  return members_of(comm, [](MPI_Comm c, MPI_Group* group) { return real().Comm_remote_group(c, group); });
}

std::uint64_t members_hash(const std::vector<int>& local, const std::vector<int>& remote) {
  if (remote.empty()) return hash(local);
  const std::uint64_t a = hash(local);
  const std::uint64_t b = hash(remote);
  return mix(std::min(a, b), std::max(a, b));  // both sides of an inter-communicator
}

std::uint64_t members_hash(MPI_Comm comm) {
  int inter = 0;
  real().Comm_test_inter(comm, &inter);
  return members_hash(local_members(comm), inter ? remote_members(comm) : std::vector<int>{});
}

CommState* begin_copy(CommState& parent, std::uint64_t name) {
  reserve_fill();
  CommState* copy = new_state(MPI_COMM_NULL);
  if (!copy) return nullptr;
  copy->context = mix(name, parent.context) | 1;
  copy->inter = parent.inter;
  copy->rank = parent.rank;
  copy->size = parent.size;
  copy->peers = parent.peers;
  copy->world = parent.world;
  copy->space = parent.space;
  copy->why = parent.inter ? Reason::inter : Reason::distant;
  copy->together = parent.together;
  if (copy->together) announce_group(*copy);
  return copy;
}

void end_copy(CommState& copy, MPI_Comm comm) {
  copy.comm = comm;
  if (comm != MPI_COMM_NULL && !copy.inter && !copy.together) make_group(copy, copy.world);
  if (comm != MPI_COMM_NULL && enter_state(copy))
    tell_made(copy);
  else
    drop_state(copy);
}

void make_state(MPI_Comm comm, std::uint64_t name) {
  if (comm == MPI_COMM_NULL) return;
  reserve_fill();
  CommState* state = new_state(comm);
  const bool entered = state && fill(*state, name) && enter_state(*state);
  if (entered)
    tell_made(*state);
  else if (state)
    drop_state(*state);
}

}  // namespace nigh::mpi
