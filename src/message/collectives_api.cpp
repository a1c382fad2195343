// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// include/nigh/collectives.h: groups over the space of this process, each function one Call. The first group
// is made of cells that every rank publishes once. Where memory ends, all members of a group are told.
#include <memory>
#include <new>

#include "message/collective.hpp"
#include "nigh/collectives.h"
#include "space/process_space.hpp"

extern "C" __attribute__((weak)) nigh::space::ProcessSpace* nigh_space_object(std::uint32_t version);

struct nigh_group_data {
  std::unique_ptr<nigh::message::Group> group;
  nigh_call* start_next = nullptr;
};
struct nigh_call_data {
  nigh_group group;
  nigh::message::Group::Pending* pending;
  std::unique_ptr<std::size_t[]> bytes;  // of a reduce_scatter whose counts were elements
};

namespace nigh::message {
namespace {

static_assert(static_cast<int>(Op::maxloc) == NIGH_MAXLOC && static_cast<int>(Op::count) == NIGH_MAXLOC + 1);
static_assert(static_cast<int>(Element::c80) == NIGH_C80 && static_cast<int>(Element::boolean) == NIGH_BOOL);

Waiter* waiter_of(space::Space& space) {
  static auto* waiter = [&] {
    auto* made = new (std::nothrow) Waiter(space, 1 << 20);
    if (made && made->usable()) made->set_patience(patience_for(space.size(), made->cpus_of_job()));
    return made;
  }();
  return waiter;
}

int code_of(Outcome outcome) {
  if (outcome == Outcome::ok) return NIGH_OK;
  return outcome == Outcome::no_memory ? NIGH_ERR_NO_MEMORY : NIGH_ERR_PEER_DEAD;
}

// Published by a rank in place of its cells when it has no memory for the group of all.
Cells* const refused = reinterpret_cast<Cells*>(1);

// The group of all, when the cells of all are there. All have it or none: see collective_split.cpp.
int meet_all(space::Space& space, Group& group, const std::vector<int>& ranks) {
  for (std::size_t member = 0; member < ranks.size(); ++member) {
    const int rank = ranks[member];
    if (rank == space.rank()) continue;
    Cells* theirs = nullptr;
    auto there = [&] {
      theirs = static_cast<Cells*>(space.root(rank, space::Root::collectives));
      return theirs != nullptr;
    };
    if (waiter_of(space)->until(there, rank) == Waited::peer_dead) return NIGH_ERR_PEER_DEAD;
    if (theirs == refused) return NIGH_ERR_NO_MEMORY;
    group.meet(static_cast<int>(member), theirs);
  }
  return NIGH_OK;
}

// The cells of this rank, or that there will be none, are published in any case: the others wait for them.
std::unique_ptr<nigh_group_data> show_cells(space::Space& space, std::vector<int>& ranks) {
  std::unique_ptr<nigh_group_data> made(new (std::nothrow) nigh_group_data);
  try {
    int member = 0;
    for (int rank = 0; rank < space.size(); ++rank) {
      if (rank == space.rank()) member = static_cast<int>(ranks.size());
      if (rank == space.rank() || space.reachable(rank)) ranks.push_back(rank);
    }
    if (made) made->group = Group::unmet(space, *waiter_of(space), member, ranks, {});
  } catch (const std::bad_alloc&) { made = nullptr; }
  if (made && !made->group) made = nullptr;
  space.publish(space::Root::collectives, made ? made->group->cells() : refused);
  return made;
}

int world(nigh_group* group) {
  space::Space* space = nigh_space_object ? nigh_space_object(space::abi_version) : nullptr;
  if (!space) return NIGH_ERR_NO_SPACE;
  static bool tried = false;
  if (tried) return NIGH_ERR_ARGUMENT;  // once: the rank's one public root names the cells of this group
  tried = true;
  Waiter* waiter = waiter_of(*space);
  if (!waiter || !waiter->usable()) {
    space->publish(space::Root::collectives, refused);
    return NIGH_ERR_NO_MEMORY;
  }
  std::vector<int> ranks;
  auto data = show_cells(*space, ranks);
  if (!data) return NIGH_ERR_NO_MEMORY;
  const int met = meet_all(*space, *data->group, ranks);
  if (met == NIGH_OK) *group = data.release();
  return met;
}

int split(nigh_group parent, int colour, int key, nigh_group* group) {
  std::unique_ptr<nigh_group_data> made(colour < 0 ? nullptr : new (std::nothrow) nigh_group_data);
  std::unique_ptr<Group> part;
  const Outcome outcome = parent->group->split(colour, key, made != nullptr, part);
  if (outcome != Outcome::ok || !part) return code_of(outcome);
  made->group = std::move(part);
  *group = made.release();
  return NIGH_OK;
}

// A call that the others make can't be made here: they would wait for it.
int without_memory(nigh_group group) {
  group->group->abandon();
  return NIGH_ERR_NO_MEMORY;
}

// Every function ends here: now, or as a handle if that was asked for.
int issue(nigh_group group, const Call& call, std::unique_ptr<std::size_t[]> bytes = nullptr) {
  if (!group) return NIGH_ERR_ARGUMENT;
  if (call.root < 0 || call.root >= group->group->size()) return NIGH_ERR_ARGUMENT;
  if (!group->start_next) return code_of(group->group->run(call));
  nigh_call* handle = group->start_next;
  group->start_next = nullptr;
  auto* data = new (std::nothrow) nigh_call_data{group, nullptr, std::move(bytes)};
  if (!data) return without_memory(group);
  data->pending = group->group->start(call);
  if (!data->pending) {
    delete data;
    return NIGH_ERR_NO_MEMORY;
  }
  *handle = data;
  return NIGH_OK;
}

int reduction(nigh_group group, Kind kind, const void* send, void* receive, std::size_t count,
              nigh_element element, nigh_op op, int root) {
  const Combine* combine = find_combine(static_cast<Op>(op), static_cast<Element>(element));
  std::size_t bytes = 0;
  if (!combine || __builtin_mul_overflow(count, combine->element_bytes, &bytes)) return NIGH_ERR_ARGUMENT;
  return issue(
      group,
      {.kind = kind, .send = send, .receive = receive, .bytes = bytes, .root = root, .combine = combine});
}

}  // namespace
}  // namespace nigh::message

using namespace nigh::message;  // NOLINT: the C functions below are this room's

#define NIGH_API extern "C" __attribute__((visibility("default")))

NIGH_API int nigh_group_world(nigh_group* group) try {
  return group ? world(group) : NIGH_ERR_ARGUMENT;
} catch (const std::bad_alloc&) { return NIGH_ERR_NO_MEMORY; }
NIGH_API int nigh_group_split(nigh_group parent, int colour, int key, nigh_group* group) try {
  if (!parent || !group) return NIGH_ERR_ARGUMENT;
  *group = nullptr;
  return split(parent, colour, key, group);
} catch (const std::bad_alloc&) { return NIGH_ERR_NO_MEMORY; }
NIGH_API void nigh_group_free(nigh_group* group) {
  if (!group) return;
  delete *group;
  *group = nullptr;
}
NIGH_API int nigh_group_rank(nigh_group group) { return group ? group->group->member() : -1; }
NIGH_API int nigh_group_size(nigh_group group) { return group ? group->group->size() : 0; }
NIGH_API void nigh_group_set_reproducible(nigh_group group, int on) {
  if (group) group->group->set_reproducible(on != 0);
}

NIGH_API int nigh_barrier(nigh_group group) { return issue(group, {}); }
NIGH_API int nigh_bcast(nigh_group group, void* buffer, size_t bytes, int root) {
  return issue(group, {.kind = Kind::bcast, .receive = buffer, .bytes = bytes, .root = root});
}
NIGH_API int nigh_reduce(nigh_group group, const void* send, void* receive, size_t count,
                         nigh_element element, nigh_op op, int root) {
  return reduction(group, Kind::reduce, send, receive, count, element, op, root);
}
NIGH_API int nigh_allreduce(nigh_group group, const void* send, void* receive, size_t count,
                            nigh_element element, nigh_op op) {
  return reduction(group, Kind::allreduce, send, receive, count, element, op, 0);
}
NIGH_API int nigh_scan(nigh_group group, const void* send, void* receive, size_t count, nigh_element element,
                       nigh_op op) {
  return reduction(group, Kind::scan, send, receive, count, element, op, 0);
}
NIGH_API int nigh_exscan(nigh_group group, const void* send, void* receive, size_t count,
                         nigh_element element, nigh_op op) {
  return reduction(group, Kind::exscan, send, receive, count, element, op, 0);
}
NIGH_API int nigh_reduce_scatter(nigh_group group, const void* send, void* receive, size_t count,
                                 const size_t* counts, nigh_element element, nigh_op op) {
  const Combine* combine = find_combine(static_cast<Op>(op), static_cast<Element>(element));
  if (!combine || !group) return NIGH_ERR_ARGUMENT;
  Call call = {.kind = Kind::reduce_scatter,
               .send = send,
               .receive = receive,
               .bytes = count * combine->element_bytes,
               .combine = combine};
  if (!counts) return issue(group, call);
  const auto size = static_cast<std::size_t>(group->group->size());
  std::unique_ptr<std::size_t[]> bytes(new (std::nothrow) std::size_t[size]);
  if (!bytes) return without_memory(group);
  for (std::size_t member = 0; member < size; ++member)
    bytes[member] = counts[member] * combine->element_bytes;
  call.receive_bytes = bytes.get();
  return issue(group, call, std::move(bytes));
}
NIGH_API int nigh_gather(nigh_group group, const void* send, void* receive, size_t bytes, int root) {
  return issue(group, {.kind = Kind::gather, .send = send, .receive = receive, .bytes = bytes, .root = root});
}
NIGH_API int nigh_gatherv(nigh_group group, const void* send, size_t bytes, void* receive,
                          const size_t* receive_bytes, const size_t* receive_offsets, int root) {
  return issue(group, {.kind = Kind::gather,
                       .send = send,
                       .receive = receive,
                       .bytes = bytes,
                       .root = root,
                       .receive_bytes = receive_bytes,
                       .receive_offsets = receive_offsets});
}
NIGH_API int nigh_scatter(nigh_group group, const void* send, void* receive, size_t bytes, int root) {
  return issue(group,
               {.kind = Kind::scatter, .send = send, .receive = receive, .bytes = bytes, .root = root});
}
NIGH_API int nigh_scatterv(nigh_group group, const void* send, const size_t* send_bytes,
                           const size_t* send_offsets, void* receive, size_t bytes, int root) {
  return issue(group, {.kind = Kind::scatter,
                       .send = send,
                       .receive = receive,
                       .bytes = bytes,
                       .root = root,
                       .send_bytes = send_bytes,
                       .send_offsets = send_offsets});
}
NIGH_API int nigh_allgather(nigh_group group, const void* send, void* receive, size_t bytes) {
  return issue(group, {.kind = Kind::allgather, .send = send, .receive = receive, .bytes = bytes});
}
NIGH_API int nigh_allgatherv(nigh_group group, const void* send, void* receive, const size_t* receive_bytes,
                             const size_t* receive_offsets) {
  return issue(group, {.kind = Kind::allgather,
                       .send = send,
                       .receive = receive,
                       .receive_bytes = receive_bytes,
                       .receive_offsets = receive_offsets});
}
NIGH_API int nigh_alltoall(nigh_group group, const void* send, void* receive, size_t bytes) {
  return issue(group, {.kind = Kind::alltoall, .send = send, .receive = receive, .bytes = bytes});
}
NIGH_API int nigh_alltoallv(nigh_group group, const void* send, const size_t* send_bytes,
                            const size_t* send_offsets, void* receive, const size_t* receive_bytes,
                            const size_t* receive_offsets) {
  return issue(group, {.kind = Kind::alltoall,
                       .send = send,
                       .receive = receive,
                       .send_bytes = send_bytes,
                       .send_offsets = send_offsets,
                       .receive_bytes = receive_bytes,
                       .receive_offsets = receive_offsets});
}

NIGH_API void nigh_group_start_next(nigh_group group, nigh_call* call) {
  if (group) group->start_next = call;
}
NIGH_API int nigh_call_test(nigh_call* call, int* ended) {
  if (!call || !ended) return NIGH_ERR_ARGUMENT;
  *ended = 1;
  if (!*call) return NIGH_OK;
  const Outcome outcome = (*call)->group->group->advance((*call)->pending);
  if (outcome == Outcome::pending) {
    *ended = 0;
    return NIGH_OK;
  }
  delete *call;
  *call = nullptr;
  return code_of(outcome);
}
NIGH_API int nigh_call_wait(nigh_call* call) {
  if (!call) return NIGH_ERR_ARGUMENT;
  if (!*call) return NIGH_OK;
  nigh::space::Space* space = nigh_space_object(nigh::space::abi_version);
  int ended = 0, result = NIGH_OK;
  waiter_of(*space)->until([&] {
    result = nigh_call_test(call, &ended);
    return ended != 0;
  });
  return result;
}
