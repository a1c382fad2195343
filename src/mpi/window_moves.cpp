// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Put and MPI_Get, and the forms with a request: one copy between this rank's buffer, wherever it lies,
// and the member's memory. Such an operation is complete when it returns.
#include <cstring>
#include <memory>
#include <new>

#include "mpi/ours.hpp"
#include "mpi/request.hpp"
#include "mpi/window_place.hpp"

namespace nigh::mpi {
namespace {

char* start_of(const void* buffer, const TypeInfo& info) {
  return static_cast<char*>(const_cast<void*>(buffer)) + (info.contiguous ? info.lower : 0);
}

// False: no memory, or the library could not walk a type.
bool transfer(void* to, MPI_Count to_count, TypeInfo& to_info, const void* from, MPI_Count from_count,
              TypeInfo& from_info, std::size_t bytes) {
  if (to_info.contiguous && from_info.contiguous) {
    copy_piece(start_of(to, to_info), start_of(from, from_info), bytes);
    return true;
  }
  if (!to_info.opaque && !from_info.opaque) {
    message::copy(start_of(to, to_info), to_info.contiguous ? nullptr : &to_info.layout,
                  start_of(from, from_info), from_info.contiguous ? nullptr : &from_info.layout, 0, bytes);
    return true;
  }
  const std::unique_ptr<char[]> packed(new (std::nothrow) char[bytes]);
  return packed && pack(packed.get(), bytes, from, from_count, from_info) &&
         unpack(packed.get(), bytes, to, to_count, to_info);
}

struct Move {
  void* origin;
  MPI_Count origin_count;
  MPI_Datatype origin_type;
  int member;
  MPI_Aint displacement;
  MPI_Count count;
  MPI_Datatype type;
  bool puts;
};

// False: it is the library's, and `reason` says why.
[[gnu::noinline]] bool move(Window* window, const Move& m, Reason& reason, std::uint64_t& bytes) {
  TypeInfo* origin = type_info(m.origin_type);
  TypeInfo* type = m.type == m.origin_type ? origin : type_info(m.type);
  reason = Reason::other;
  if (!origin || !type || !origin->committed || !type->committed || m.count < 0 || m.origin_count < 0)
    return false;
  if (__builtin_mul_overflow(origin->size, static_cast<std::size_t>(m.origin_count), &bytes)) return false;
  if (!window || !window->is_member(m.member)) {
    reason = Reason::foreign;
    return false;
  }
  const Target& target = window->targets[static_cast<std::size_t>(m.member)];
  if (bytes != type->size * static_cast<std::size_t>(m.count)) return false;
  if (bytes == 0) return target.base && opened(*window, target, bytes, reason);
  if (is_nowhere(m.origin, *origin)) return false;
  char* there = place_of(target, m.displacement, *type, m.count, reason);
  if (!there || !opened(*window, target, bytes, reason)) return false;
  if (m.puts) window->stored.store(true, std::memory_order_relaxed);
  return m.puts ? transfer(there, m.count, *type, m.origin, m.origin_count, *origin, bytes)
                : transfer(m.origin, m.origin_count, *origin, there, m.count, *type, bytes);
}

// The usual case, as short as can be: elements of one type that are one piece. False: perhaps another one.
inline bool move_piece(Window* window, Function function, const Move& m) {
  if (m.type != m.origin_type || m.count != m.origin_count || m.count <= 0 || !window ||
      !window->is_member(m.member) || !m.origin || m.origin == MPI_IN_PLACE)
    return false;
  const TypeInfo* info = cached_type_info(m.type);
  const Target& target = window->targets[static_cast<std::size_t>(m.member)];
  std::size_t at = 0, bytes = 0;
  if (!info || !info->contiguous || info->lower != 0 || m.displacement < 0 || !target.base ||
      __builtin_mul_overflow(static_cast<std::size_t>(m.displacement), target.unit, &at) ||
      __builtin_mul_overflow(static_cast<std::size_t>(m.count), info->size, &bytes) || at > target.bytes ||
      bytes > target.bytes - at || !is_open(*window, target))
    return false;
  char* there = target.base + at;
  char* here = static_cast<char*>(m.origin);
  if (m.puts) window->stored.store(true, std::memory_order_relaxed);
  copy_piece(m.puts ? there : here, m.puts ? here : there, bytes);
  count(function, Reason::covered, bytes);
  return true;
}

template <class Call>
int run(Function function, const Move& m, MPI_Win win, Call&& call) {
  Window* window = window_of(win);
  if (move_piece(window, function, m)) [[likely]]
    return MPI_SUCCESS;
  Reason reason = Reason::other;
  std::uint64_t bytes = 0;
  if (move(window, m, reason, bytes)) {
    count(function, Reason::covered, bytes);
    return MPI_SUCCESS;
  }
  return leave(function, window, m.member, reason, bytes, call);
}

// Within an epoch that MPI allows requests in.
template <class Call>
int run(Function function, const Move& m, MPI_Win win, MPI_Request* request, Call&& call) {
  Window* window = window_of(win);
  Reason reason = Reason::other;
  std::uint64_t bytes = 0;
  if (request && window && window->is_passive() && move(window, m, reason, bytes) && completed(request)) {
    count(function, Reason::covered, bytes);
    let_others_go_on(*window);
    return MPI_SUCCESS;
  }
  return leave(function, window, m.member, reason, bytes, call);
}

}  // namespace

}  // namespace nigh::mpi

using namespace nigh::mpi;

#define NIGH_MOVE(puts) \
  {const_cast<void*>(origin), origin_count, origin_type, member, displacement, count, type, puts}

int nigh_mpi_Put(const void* origin, int origin_count, MPI_Datatype origin_type, int member,
                 MPI_Aint displacement, int count, MPI_Datatype type, MPI_Win win) {
  return run(Function::Put, NIGH_MOVE(true), win, [&] {
    return real().Put(origin, origin_count, origin_type, member, displacement, count, type, win);
  });
}

int nigh_mpi_Put_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int member,
                   MPI_Aint displacement, MPI_Count count, MPI_Datatype type, MPI_Win win) {
  return run(Function::Put_c, NIGH_MOVE(true), win, [&] {
    return real().Put_c(origin, origin_count, origin_type, member, displacement, count, type, win);
  });
}

int nigh_mpi_Get(void* origin, int origin_count, MPI_Datatype origin_type, int member, MPI_Aint displacement,
                 int count, MPI_Datatype type, MPI_Win win) {
  return run(Function::Get, NIGH_MOVE(false), win, [&] {
    return real().Get(origin, origin_count, origin_type, member, displacement, count, type, win);
  });
}

int nigh_mpi_Get_c(void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int member,
                   MPI_Aint displacement, MPI_Count count, MPI_Datatype type, MPI_Win win) {
  return run(Function::Get_c, NIGH_MOVE(false), win, [&] {
    return real().Get_c(origin, origin_count, origin_type, member, displacement, count, type, win);
  });
}

int nigh_mpi_Rput(const void* origin, int origin_count, MPI_Datatype origin_type, int member,
                  MPI_Aint displacement, int count, MPI_Datatype type, MPI_Win win, MPI_Request* request) {
  return run(Function::Rput, NIGH_MOVE(true), win, request, [&] {
    return real().Rput(origin, origin_count, origin_type, member, displacement, count, type, win, request);
  });
}

int nigh_mpi_Rput_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int member,
                    MPI_Aint displacement, MPI_Count count, MPI_Datatype type, MPI_Win win,
                    MPI_Request* request) {
  return run(Function::Rput_c, NIGH_MOVE(true), win, request, [&] {
    return real().Rput_c(origin, origin_count, origin_type, member, displacement, count, type, win, request);
  });
}

int nigh_mpi_Rget(void* origin, int origin_count, MPI_Datatype origin_type, int member, MPI_Aint displacement,
                  int count, MPI_Datatype type, MPI_Win win, MPI_Request* request) {
  return run(Function::Rget, NIGH_MOVE(false), win, request, [&] {
    return real().Rget(origin, origin_count, origin_type, member, displacement, count, type, win, request);
  });
}

int nigh_mpi_Rget_c(void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int member,
                    MPI_Aint displacement, MPI_Count count, MPI_Datatype type, MPI_Win win,
                    MPI_Request* request) {
  return run(Function::Rget_c, NIGH_MOVE(false), win, request, [&] {
    return real().Rget_c(origin, origin_count, origin_type, member, displacement, count, type, win, request);
  });
}
