// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Accesses of a PE to one on another node: checks, and a call of the transport.
#include <vector>

#include "shmem/pe.hpp"
#include "space/shared_data.hpp"

namespace nigh::shmem {

void far_check(const char* function, const void* at, std::size_t bytes) {
  if (!pe->away->symmetric(at, bytes))
    stop(function,
         "the address is not symmetric (neither from shmem_malloc nor a global or static variable)");
}

void far_put(const char* function, void* dest, const void* source, std::size_t bytes, int to, bool blocking) {
  if (bytes == 0) return;
  far_check(function, dest, bytes);
  pe->away->put(to, dest, source, bytes, blocking);
}

void far_get(const char* function, void* dest, const void* source, std::size_t bytes, int from,
             bool blocking) {
  if (bytes == 0) return;
  far_check(function, source, bytes);
  pe->away->get(from, dest, source, bytes, blocking);
}

std::uint64_t far_amo(const char* function, const AmoCall& call, int at) {
  far_check(function, call.at, static_cast<std::size_t>(call.bytes));
  return pe->away->amo(at, call);
}

void far_post(const char* function, const AmoCall& call, int at) {
  far_check(function, call.at, static_cast<std::size_t>(call.bytes));
  pe->away->post(at, call);
}

void go_away(Pe& me, const char* mpi) {
  static char why[512];
  me.away = open_away(mpi, why, sizeof why);
  if (!me.away) stop("shmem_init", why);
  std::vector<Segment> parts = {{me.heap, me.heap_bytes, 0}};
  space::SharedData data;
  for (int i = 0; nigh_space_shared_data(i, &data); ++i)
    parts.push_back({static_cast<std::byte*>(data.begin), data.bytes, data.module});
  // Between nodes nobody rings: who sleeps is late, for himself and for those whom he should serve.
  message::Patience patience = me.waiter->patience();
  if (patience.yields > 0) patience.yields = 1'000'000'000;
  me.waiter->set_patience(patience);
  if (!me.away->start(
          me.rank, me.size, parts.data(), static_cast<int>(parts.size()),
          [](bool (*ready)(void*), void* argument) { pe->waiter->until([&] { return ready(argument); }); }))
    stop("shmem_init", me.away->why());
  me.waiter->progress = [](void*) { serve(); };
}

}  // namespace nigh::shmem
