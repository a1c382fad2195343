// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// How messages had better be put into frames between two processes that MPI connects. What it takes to start
// one more message and to copy one out of a frame, and where an MPI leaves its eager protocol, differ by a
// hundred times between networks, so all of it is measured when the job starts.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "chare/carrier.hpp"

namespace nigh::chare {

// Called by both. Frames of each size go to and fro, whole and in pieces of each size; then messages of each
// size, in these frames and alone, until the frames lose. Each some ten times: about ten megabytes in all.
Framing measure_framing(MPI_Comm all, std::uint32_t process, std::uint32_t partner, int tag);

}  // namespace nigh::chare
