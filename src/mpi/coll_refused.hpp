// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments that a library refuses although MPI does not say that it must, or only forbids them: buffers that
// are the same, MPI_IN_PLACE where it has no place, types that were not committed. The library then fails at
// once and tells no other member, so that the call can be left to it on one member alone; but a call that it
// does not refuse must be ours there, too, since the others are with us. So the library itself is asked, of
// each function, when MPI starts.
#pragma once

#include <algorithm>
#include <cstddef>

#include "mpi/library.hpp"

namespace nigh::mpi::coll {

enum class Form : int {
  bcast,
  allreduce,
  reduce,
  scan,
  exscan,
  reduce_scatter,
  reduce_scatter_block,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  count
};

struct Refused {
  bool alias[3] = {};             // of 0, 1 and more elements
  bool in_place_of_none = false;  // MPI_IN_PLACE where it has no place, for 0 elements
  bool first_in_place = false;    // of MPI_Exscan: a receive buffer of rank 0, which gets nothing
  bool first_null = false;
  bool uncommitted_send = false, uncommitted_receive = false;  // types
  bool null_type_of_none = false;  // of MPI_Alltoallw: MPI_DATATYPE_NULL, for 0 elements
};
extern Refused g_refused[static_cast<int>(Form::count)][2];  // of blocking and of non-blocking calls

// While it lives, nobody's error handler hears of what the library refuses: Open MPI raises some of these
// errors on MPI_COMM_WORLD whatever the communicator, and MPICH 3 those of neighbourhood collectives.
// Otherwise MPICH's handlers there are left alone: one that was set, be it to what it was, is asked in other
// cases than one that never was.
class NoErrors {
 public:
  explicit NoErrors(bool of_neighbors);
  ~NoErrors();
  NoErrors(const NoErrors&) = delete;
  NoErrors& operator=(const NoErrors&) = delete;

 private:
  bool on_;
  MPI_Errhandler handlers_[2] = {MPI_ERRHANDLER_NULL, MPI_ERRHANDLER_NULL};
};

// Calls what is asked for on MPI_COMM_SELF.
void ask_what_is_refused();
// The same of neighbourhood collectives, which a program may never call: on a communicator of one process
// that is its own neighbour, and whose errors are returned.
void ask_what_neighbors_refuse(MPI_Comm loop);

}  // namespace nigh::mpi::coll
