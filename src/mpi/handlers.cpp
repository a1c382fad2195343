// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See handlers.hpp. A handler's function is all that the library remembers of it, so there is one function of
// ours for each of the program's; they are few. Handlers of communicators, windows and files differ in their
// first argument only, a pointer; what follows the code is the library's own, at most two words.
#include "mpi/handlers.hpp"

#include <cstdint>
#include <utility>

#include "mpi/comm.hpp"
#include "mpi/ours.hpp"
#include "mpi/process.hpp"
#include "mpi/record_time.hpp"
#include "mpi/request_table.hpp"

namespace nigh::mpi {

std::atomic<bool> g_handlers_made = false;

namespace {

using AnyHandler = void (*)();
using Handler = void (*)(void* object, int* code, ...);

constexpr std::size_t most = 64;  // say() below names it
std::atomic<AnyHandler> functions[most];

// This thread's frames that hold something, the outermost first.
constexpr int deepest = 16;
thread_local Unsettled* held[deepest];
thread_local int depth = 0;

// A frame that was left by other ways than through a handler (an exception out of a callback): it lies where
// the stack has been given up.
void forget_left(const void* here) {
  const auto at = reinterpret_cast<std::uintptr_t>(here);
  while (depth > 0 && reinterpret_cast<std::uintptr_t>(held[depth - 1]) < at) --depth;
}

template <std::size_t I>
void call(void* object, int* code, void* first, void* second) {
  record::give_up_call();
  settle_all(*code);
  reinterpret_cast<Handler>(functions[I].load(std::memory_order_acquire))(object, code, first, second);
}

template <std::size_t... I>
constexpr auto table_of(std::index_sequence<I...> /*numbers*/) {
  struct {
    void (*at[sizeof...(I)])(void*, int*, void*, void*) = {&call<I>...};
  } table;
  return table;
}

// The function of ours that calls it; with too many handlers the program's own, which then must come back.
AnyHandler ours_for(AnyHandler function) {
  static constexpr auto ours = table_of(std::make_index_sequence<most>{});
  if (function == nullptr) return nullptr;
  for (std::size_t i = 0; i < most; ++i) {
    AnyHandler there = nullptr;
    if (!functions[i].compare_exchange_strong(there, function) && there != function) continue;
    if (!g_handlers_made.exchange(true)) add(g_unusual, 1);  // MPI_Test: no look of the library's first
    return reinterpret_cast<AnyHandler>(ours.at[i]);
  }
  if (process().world_rank == 0) say("more than 64 error handlers: those from the 65th on must return");
  return function;
}

template <class Of>
Of* around(Of* function) {
  return reinterpret_cast<Of*>(ours_for(reinterpret_cast<AnyHandler>(function)));
}

}  // namespace

#ifdef NIGH_ABI_STANDARD
static void do_nothing(MPI_Comm* /*comm*/, int* /*code*/, ...) {}
MPI_Errhandler errors_return() {
  if (!is_intel()) return MPI_ERRORS_RETURN;
  static MPI_Errhandler handler = MPI_ERRHANDLER_NULL;  // of the set-up, one thread
  if (handler == MPI_ERRHANDLER_NULL) real().Comm_create_errhandler(do_nothing, &handler);
  return handler;
}
#else
MPI_Errhandler errors_return() { return MPI_ERRORS_RETURN; }
#endif

void settle_all(int code) {
  forget_left(&code);
  Unsettled* frames[deepest];
  const int count = std::exchange(depth, 0);
  for (int i = 0; i < count; ++i) frames[i] = held[i];
  for (int i = count; i-- > 0;) {
    if (frames[i]->settled_) continue;
    frames[i]->settled_ = true;
    frames[i]->settle(code);
  }
}

void Unsettled::enlist() {
  forget_left(this);
  if (depth == deepest) return;
  place_ = depth;
  held[depth++] = this;
}

void Unsettled::delist() {
  if (place_ < depth && held[place_] == this) depth = place_;
}

void Later::raise_now() const {
  if (code != MPI_SUCCESS) raise(comm, code);
}

}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* handler) {
  return real().Comm_create_errhandler(around(function), handler);
}
int nigh_mpi_Win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* handler) {
  return real().Win_create_errhandler(around(function), handler);
}
int nigh_mpi_File_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* handler) {
  return real().File_create_errhandler(around(function), handler);
}
int nigh_mpi_Errhandler_create(MPI_Comm_errhandler_function* function, MPI_Errhandler* handler) {
  return real().Errhandler_create(around(function), handler);
}
