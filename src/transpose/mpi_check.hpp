// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The check of a communicator, before anything collective: MPI would end the program.
#pragma once

#include <mpi.h>

#include "base/result.hpp"

namespace nigh::transpose {

// A plan or memory that goes after MPI_Finalize has nothing left to free: MPI would end the program.
inline bool mpi_has_ended() {
  int ended = 0;
  MPI_Finalized(&ended);
  return ended != 0;
}

// MPI has begun and not ended, and there are ranks to talk to.
inline Result<void> check_comm(MPI_Comm comm) {
  int begun = 0, inter = 0;
  MPI_Initialized(&begun);
  if (begun == 0 || mpi_has_ended()) return fail(Errc::invalid, "call it between MPI_Init and MPI_Finalize");
  if (comm == MPI_COMM_NULL) return fail(Errc::invalid, "comm is MPI_COMM_NULL");
  MPI_Comm_test_inter(comm, &inter);
  if (inter != 0) return fail(Errc::invalid, "comm is an intercommunicator; give one group of ranks");
  return {};
}

}  // namespace nigh::transpose
