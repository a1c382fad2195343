// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives: each is one call of message::Group, in place on the PEs' memory. Differences to MPI are kept
// here: a broadcast of a team also fills the root's `dest`, the one of an active set leaves it alone; collect
// takes blocks of different lengths, which are gathered first; alltoalls has strides on both sides. Teams
// that span nodes have a communicator of the transport instead of a group.
#include <nigh/shmem/shmem.h>

#include <atomic>
#include <cstring>
#include <new>

#include "shmem/pe.hpp"

namespace nigh::shmem {

void run(const char* function, nigh_shmem_team* team, const message::Call& call) {
  self(function);
  message::Outcome outcome = team->group->run(call);
  if (outcome == message::Outcome::ok) return;
  stop(function, outcome == message::Outcome::peer_dead ? "a PE of the team has ended" : "no memory");
}

}  // namespace nigh::shmem

using namespace nigh::shmem;
using nigh::message::Call;
using nigh::message::Element;
using nigh::message::Kind;
using nigh::message::Op;

namespace {

int broadcast(const char* function, shmem_team_t team, void* dest, const void* source, std::size_t bytes,
              int root, bool fill_root) {
  if (!team) return -1;
  if (root < 0 || root >= shmem_team_n_pes(team)) stop(function, "there is no such root");
  bool is_root = team->member == root;
  if (team->away) {
    self(function).away->bcast(team->away, is_root ? const_cast<void*>(source) : dest, bytes, root);
    if (is_root && fill_root && dest != source && bytes > 0) std::memmove(dest, source, bytes);
    return 0;
  }
  Call call = {.kind = Kind::bcast, .bytes = bytes, .root = root};
  if (is_root)
    call.send = source;
  else
    call.receive = dest;
  if (is_root) call.receive = const_cast<void*>(source);
  run(function, team, call);
  if (is_root && fill_root && dest != source && bytes > 0) std::memmove(dest, source, bytes);
  return 0;
}

int fcollect(const char* function, shmem_team_t team, void* dest, const void* source, std::size_t bytes) {
  if (!team) return -1;
  if (team->away)
    self(function).away->allgather(team->away, source, dest, bytes);
  else
    run(function, team, {.kind = Kind::allgather, .send = source, .receive = dest, .bytes = bytes});
  return 0;
}

int collect(const char* function, shmem_team_t team, void* dest, const void* source, std::size_t bytes) {
  if (!team) return -1;
  auto members = static_cast<std::size_t>(shmem_team_n_pes(team));
  std::vector<std::size_t> sizes(members), offsets(members);
  fcollect(function, team, sizes.data(), &bytes, sizeof bytes);
  for (std::size_t i = 1; i < members; ++i) offsets[i] = offsets[i - 1] + sizes[i - 1];
  if (team->away) {
    self(function).away->allgatherv(team->away, source, dest, sizes.data(), offsets.data());
    return 0;
  }
  Call call = {.kind = Kind::allgather, .send = source, .receive = dest, .bytes = bytes};
  call.receive_bytes = sizes.data();
  call.receive_offsets = offsets.data();
  run(function, team, call);
  return 0;
}

int alltoall(const char* function, shmem_team_t team, void* dest, const void* source, std::size_t bytes) {
  if (!team) return -1;
  if (team->away)
    self(function).away->alltoall(team->away, source, dest, bytes);
  else
    run(function, team, {.kind = Kind::alltoall, .send = source, .receive = dest, .bytes = bytes});
  return 0;
}

void sync(const char* function, nigh_shmem_team* team) {
  if (!team->away) return run(function, team, {});
  std::atomic_thread_fence(std::memory_order_seq_cst);
  self(function).away->barrier(team->away);
}

// Between nodes: packed, exchanged, unpacked.
void alltoalls_away(nigh_shmem_team* team, void* dest, const void* source, const Away::Steps& steps) {
  const std::size_t all = team->pes.size() * steps.count;
  std::vector<std::byte> out(all * steps.element), in(out.size());
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(dest);
  for (std::size_t i = 0; i < all; ++i)
    std::memcpy(&out[i * steps.element], from + static_cast<ptrdiff_t>(i) * steps.source, steps.element);
  pe->away->alltoall(team->away, out.data(), in.data(), steps.count * steps.element);
  for (std::size_t i = 0; i < all; ++i)
    std::memcpy(to + static_cast<ptrdiff_t>(i) * steps.dest, &in[i * steps.element], steps.element);
}

// Every PE fetches its blocks itself, element by element, once all are there.
int alltoalls(const char* function, shmem_team_t team, void* dest, const void* source, ptrdiff_t dst,
              ptrdiff_t sst, std::size_t count, std::size_t size) {
  if (!team) return -1;
  auto n = static_cast<ptrdiff_t>(count), each = static_cast<ptrdiff_t>(size);
  if (team->away) {
    if (count > 0) alltoalls_away(team, dest, source, {size, count, dst * each, sst * each});
    return 0;
  }
  sync(function, team);
  for (std::size_t peer = 0; peer < team->pes.size(); ++peer) {
    const std::byte* from = remote(function, source, team->pes[peer]) + team->member * n * sst * each;
    std::byte* to = static_cast<std::byte*>(dest) + static_cast<ptrdiff_t>(peer) * n * dst * each;
    for (ptrdiff_t i = 0; i < n; ++i) std::memcpy(to + i * dst * each, from + i * sst * each, size);
  }
  sync(function, team);
  return 0;
}

int reduce(const char* function, shmem_team_t team, void* dest, const void* source, std::size_t count, Op op,
           Element element) {
  if (!team) return -1;
  const nigh::message::Combine* combine = nigh::message::find_combine(op, element);
  if (!combine) stop(function, "this reduction is not defined");
  if (team->away) {
    if (!self(function).away->reduce(team->away, source, dest, count, op, element))
      stop(function, "this reduction is not defined between nodes");
    return 0;
  }
  Call call = {
      .kind = Kind::allreduce, .send = dest == source ? nigh::message::in_place : source, .receive = dest};
  call.bytes = count * combine->element_bytes;
  call.combine = combine;
  run(function, team, call);
  return 0;
}

}  // namespace

void shmem_barrier_all(void) {
  self("shmem_barrier_all");
  shmem_quiet();
  sync("shmem_barrier_all", SHMEM_TEAM_WORLD);
}
void shmem_sync_all(void) {
  self("shmem_sync_all");
  sync("shmem_sync_all", SHMEM_TEAM_WORLD);
}
int shmem_team_sync(shmem_team_t team) {
  if (!team) return -1;
  sync("shmem_team_sync", team);
  return 0;
}
void shmem_barrier(int start, int log_stride, int size, long*) {
  shmem_quiet();
  sync("shmem_barrier", active_set("shmem_barrier", start, log_stride, size));
}
void shmem_active_set_sync(int start, int log_stride, int size, long*) {
  sync("shmem_sync", active_set("shmem_sync", start, log_stride, size));
}

int shmem_broadcastmem(shmem_team_t t, void* d, const void* s, size_t n, int root) {
  return broadcast(__func__, t, d, s, n, root, true);
}
int shmem_collectmem(shmem_team_t t, void* d, const void* s, size_t n) {
  return collect(__func__, t, d, s, n);
}
int shmem_fcollectmem(shmem_team_t t, void* d, const void* s, size_t n) {
  return fcollect(__func__, t, d, s, n);
}
int shmem_alltoallmem(shmem_team_t t, void* d, const void* s, size_t n) {
  return alltoall(__func__, t, d, s, n);
}
int shmem_alltoallsmem(shmem_team_t t, void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n) {
  return alltoalls(__func__, t, d, s, dst, sst, n, 1);
}

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define NIGH_SHMEM_X(N, T)                                                                              \
  int shmem_##N##_broadcast(shmem_team_t t, T* d, const T* s, size_t n, int root) {                     \
    return broadcast(__func__, t, d, s, n * sizeof(T), root, true);                                     \
  }                                                                                                     \
  int shmem_##N##_collect(shmem_team_t t, T* d, const T* s, size_t n) {                                 \
    return collect(__func__, t, d, s, n * sizeof(T));                                                   \
  }                                                                                                     \
  int shmem_##N##_fcollect(shmem_team_t t, T* d, const T* s, size_t n) {                                \
    return fcollect(__func__, t, d, s, n * sizeof(T));                                                  \
  }                                                                                                     \
  int shmem_##N##_alltoall(shmem_team_t t, T* d, const T* s, size_t n) {                                \
    return alltoall(__func__, t, d, s, n * sizeof(T));                                                  \
  }                                                                                                     \
  int shmem_##N##_alltoalls(shmem_team_t t, T* d, const T* s, ptrdiff_t dst, ptrdiff_t sst, size_t n) { \
    return alltoalls(__func__, t, d, s, dst, sst, n, sizeof(T));                                        \
  }
NIGH_SHMEM_RMA_TYPES(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X

#define NIGH_SHMEM_OP(N, T, E, OP, KIND)                                                                \
  int shmem_##N##_##OP##_reduce(shmem_team_t t, T* d, const T* s, size_t n) {                           \
    return reduce(__func__, t, d, s, n, Op::KIND, Element::E);                                          \
  }                                                                                                     \
  void shmem_##N##_##OP##_to_all(T* d, const T* s, int n, int start, int stride, int size, T*, long*) { \
    reduce(__func__, active_set(__func__, start, stride, size), d, s, static_cast<size_t>(n), Op::KIND, \
           Element::E);                                                                                 \
  }
#define NIGH_SHMEM_X(N, T, E) \
  NIGH_SHMEM_OP(N, T, E, and, band) NIGH_SHMEM_OP(N, T, E, or, bor) NIGH_SHMEM_OP(N, T, E, xor, bxor)
NIGH_SHMEM_REDUCE_BITS(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X
#define NIGH_SHMEM_X(N, T, E)      \
  NIGH_SHMEM_OP(N, T, E, max, max) \
  NIGH_SHMEM_OP(N, T, E, min, min) NIGH_SHMEM_OP(N, T, E, sum, sum) NIGH_SHMEM_OP(N, T, E, prod, prod)
NIGH_SHMEM_REDUCE_ORDER(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X
#define NIGH_SHMEM_X(N, T, E) NIGH_SHMEM_OP(N, T, E, sum, sum) NIGH_SHMEM_OP(N, T, E, prod, prod)
NIGH_SHMEM_REDUCE_COMPLEX(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X
#undef NIGH_SHMEM_OP

#define NIGH_SHMEM_X(BITS)                                                                                \
  void shmem_broadcast##BITS(void* d, const void* s, size_t n, int root, int start, int stride, int size, \
                             long*) {                                                                     \
    broadcast(__func__, active_set(__func__, start, stride, size), d, s, n*(BITS / 8), root, false);      \
  }                                                                                                       \
  void shmem_collect##BITS(void* d, const void* s, size_t n, int start, int stride, int size, long*) {    \
    collect(__func__, active_set(__func__, start, stride, size), d, s, n*(BITS / 8));                     \
  }                                                                                                       \
  void shmem_fcollect##BITS(void* d, const void* s, size_t n, int start, int stride, int size, long*) {   \
    fcollect(__func__, active_set(__func__, start, stride, size), d, s, n*(BITS / 8));                    \
  }                                                                                                       \
  void shmem_alltoall##BITS(void* d, const void* s, size_t n, int start, int stride, int size, long*) {   \
    alltoall(__func__, active_set(__func__, start, stride, size), d, s, n*(BITS / 8));                    \
  }                                                                                                       \
  void shmem_alltoalls##BITS(void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int start,   \
                             int stride, int size, long*) {                                               \
    alltoalls(__func__, active_set(__func__, start, stride, size), d, s, dst, sst, n, BITS / 8);          \
  }
NIGH_SHMEM_X(32)
NIGH_SHMEM_X(64)
#undef NIGH_SHMEM_X
// NOLINTEND(bugprone-macro-parentheses)
