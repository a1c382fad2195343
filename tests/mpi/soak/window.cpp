// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided communication, which is the library's: over memory that the space has made.
#include <algorithm>
#include <span>
#include <vector>

#include "check.hpp"
#include "engine.hpp"
#include "quirks.hpp"

namespace soak {

// One rank adds to the windows of all others, who sit in a barrier meanwhile and only serve.
void Engine::add_passively(Rng& rng, Comm& comm, MPI_Win window, std::span<int> mine) {
  int origin = rng.below(comm.size());
  int times = rng.in(1, 20);
  int n = static_cast<int>(mine.size());
  int before = mine[0];
  operation("rank %d adds %d times to windows of communicator %d (%d ranks), %d ints", origin, times,
            comm.number, comm.size(), n);
  MPI_OK(MPI_Barrier(comm.handle));  // all have read `before`
  std::vector<int> one(mine.size(), 1);
  for (int i = 0; comm.me == origin && i < times * comm.size(); ++i) {
    int target = i % comm.size();
    MPI_OK(MPI_Win_lock(i % 3 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, window));
    MPI_OK(MPI_Accumulate(one.data(), n, MPI_INT, target, 0, n, MPI_INT, MPI_SUM, window));
    MPI_OK(MPI_Win_unlock(target, window));
  }
  MPI_OK(MPI_Barrier(comm.handle));
  MPI_OK(MPI_Win_lock(MPI_LOCK_SHARED, comm.me, 0, window));
  bool right = std::count(mine.begin(), mine.end(), before + times) == n;
  MPI_OK(MPI_Win_unlock(comm.me, window));
  if (!right) fail("a window doesn't hold what was added to it");
}

// One-sided over heap memory, which we must not have made any different.
void Engine::exchange_window(Rng& rng, Comm& comm) {
  if (options_.threads > 1 || (comm.size() == 1 && quirks::lone_windows)) return;
  int me = comm.me;
  int size = comm.size();
  int n = rng.in(1, 3000);
  bool allocate = rng.percent(40) && !quirks::allocated_windows;
  operation("window on communicator %d (%d ranks), %d ints%s", comm.number, size, n,
            allocate ? ", allocated" : "");
  MPI_Win window = MPI_WIN_NULL;
  std::vector<int> heap(static_cast<std::size_t>(n), -1);
  int* base = heap.data();
  if (allocate)
    MPI_OK(MPI_Win_allocate(n * static_cast<MPI_Aint>(sizeof(int)), sizeof(int), MPI_INFO_NULL, comm.handle,
                            &base, &window));
  else
    MPI_OK(MPI_Win_create(base, n * static_cast<MPI_Aint>(sizeof(int)), sizeof(int), MPI_INFO_NULL,
                          comm.handle, &window));
  std::fill(base, base + n, me);
  MPI_OK(MPI_Win_fence(0, window));
  int to = (me + 1) % size;
  std::vector<int> out(static_cast<std::size_t>(n), me * 7 + 1);
  MPI_OK(MPI_Put(out.data(), n, MPI_INT, to, 0, n, MPI_INT, window));
  MPI_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
  int from = (me + size - 1) % size;
  if (std::count(base, base + n, from * 7 + 1) != n) fail("a window doesn't hold what was put into it");
  add_passively(rng, comm, window, {base, static_cast<std::size_t>(n)});
  MPI_OK(MPI_Win_free(&window));
}

}  // namespace soak
