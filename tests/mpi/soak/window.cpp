// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided communication, which is the library's: over memory that the space has made.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "engine.hpp"
#include "quirks.hpp"

namespace soak {

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
  MPI_OK(MPI_Win_fence(0, window));
  int from = (me + size - 1) % size;
  if (std::count(base, base + n, from * 7 + 1) != n) fail("a window doesn't hold what was put into it");
  MPI_OK(MPI_Win_free(&window));
}

}  // namespace soak
