// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The choice of frames for messages between two processes that MPI connects. The cost of one more message,
// the cost of a copy out of a frame, and the end of an MPI's eager protocol differ by a hundred times between
// networks, so all of it is measured when the job starts.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "chare/transport.hpp"

namespace nigh::chare {

// Called by both. Frames of each size go to and fro, whole and in pieces of each size; then messages of each
// size, in these frames and alone, until the frames lose. Each some ten times: about ten megabytes in all.
Framing measure_framing(MPI_Comm all, std::uint32_t process, std::uint32_t partner, int tag);

}  // namespace nigh::chare
