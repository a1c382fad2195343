// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Windows are the library's. But what peers do to a window of this rank may need the library's progress here
// at any moment (passive targets: MPI-4.0, 12.5), and while this rank waits in one of our functions only we
// can give it.
#include <mutex>

#include "mpi/away.hpp"
#include "mpi/ours.hpp"
#include "mpi/process.hpp"

namespace nigh::mpi {
namespace {

std::mutex counting;
int windows = 0;

void count_windows(int more) {
  const std::lock_guard guard(counting);
  windows += more;
  if (process().waiter) process().waiter->attend(windows > 0);
}

// Before the call: a peer may be done with it, and begin its transfers, before this rank is.
template <class Call>
int make(Call&& call) {
  const Away away;
  count_windows(1);
  const Settled counted([](int) { count_windows(-1); });
  const int error = call();
  if (error != MPI_SUCCESS && !counted.settled()) count_windows(-1);
  return error;
}

void start() { windows = 0; }
const Hooks hooks(start, nullptr);

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Win_create(void* base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  return make([&] { return real().Win_create(base, bytes, unit, info, comm, window); });
}

int nigh_mpi_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  return make([&] { return real().Win_create_dynamic(info, comm, window); });
}

int nigh_mpi_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base,
                          MPI_Win* window) {
  return make([&] { return real().Win_allocate(bytes, unit, info, comm, base, window); });
}

int nigh_mpi_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base,
                                 MPI_Win* window) {
  return make([&] { return real().Win_allocate_shared(bytes, unit, info, comm, base, window); });
}

int nigh_mpi_Win_free(MPI_Win* window) {
  const Away away;
  const int error = real().Win_free(window);
  if (error == MPI_SUCCESS) count_windows(-1);
  return error;
}

int nigh_mpi_Win_create_c(void* base, MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                          MPI_Win* window) {
  return make([&] { return real().Win_create_c(base, bytes, unit, info, comm, window); });
}

int nigh_mpi_Win_allocate_c(MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* window) {
  return make([&] { return real().Win_allocate_c(bytes, unit, info, comm, base, window); });
}

int nigh_mpi_Win_allocate_shared_c(MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base,
                                   MPI_Win* window) {
  return make([&] { return real().Win_allocate_shared_c(bytes, unit, info, comm, base, window); });
}
