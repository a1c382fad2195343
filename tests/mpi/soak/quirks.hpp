// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong answers of the libraries themselves, alone, in the versions that Debian 12 has: the soak leaves these
// out, so that other findings are not theirs.
#pragma once

#include <mpi.h>

namespace soak::quirks {

#ifdef MPICH_NUMVERSION
constexpr bool mpich = true;
#else
constexpr bool mpich = false;
#endif
constexpr bool openmpi = !mpich;

// MPICH 4.0.2: MPI_Allgatherv on a communicator of one rank puts the data at displacement 0.
constexpr bool lone_allgatherv_ignores_places = mpich;

// MPICH 4.0.2: the status of an MPI_Irecv from MPI_PROC_NULL says source 0, tag 0.
constexpr bool waitall_forgets_nobody = mpich;

// Open MPI 4.1.4: vectors of negative stride are packed wrongly from the second element on.
constexpr bool backward_vectors = openmpi;

// MPICH 4.0.2: MPI_Put into a window of MPI_Win_allocate now and then comes after the fence that ends it.
constexpr bool allocated_windows = mpich;

// Open MPI 4.1.4: MPI_Win_create on a communicator of one rank ends the job when there are others.
constexpr bool lone_windows = openmpi;

// MPICH 4.0.2: (I)reduce_scatter(_block) with an operation that doesn't commute and a type with holes is
// wrong.
constexpr bool scattered_holes = mpich;

// Open MPI 4.1.4: a rank's own block of a collective, between two layouts, is copied wrongly beyond 64 KiB.
constexpr bool own_block_beyond_64k = openmpi;

// Open MPI 4.1.4: a large message received into too small a buffer is written behind it.
constexpr bool truncates_behind = openmpi;

// MPICH 4.0.2: MPI_MAX and MPI_MIN of unsigned integers compare them as signed ones.
constexpr bool unsigned_is_signed = mpich;

// MPICH 4.0.2: MPI_Reduce in place at another root than 0 reads at MPI_IN_PLACE.
constexpr bool reduce_in_place = mpich;

// MPICH 4.0.2: Ialltoallw in place is wrong.
constexpr bool ialltoallw_in_place = mpich;

// MPICH 4.0.2: MPI_Comm_disconnect waits for ever where calls on the communicator are over.
constexpr bool disconnects_never = mpich;

// MPICH 4.0.2: the root of a broadcast writes what it sends over itself.
constexpr bool bcast_writes_at_root = mpich;

// MPICH 4.0.2: on a communicator of one rank a receive of any tag takes the messages of collectives.
constexpr bool lone_any_tag = mpich;

// MPICH 4.0.2: errors of MPI_Waitall, and of receives that ended at once, go to MPI_COMM_WORLD's handler.
constexpr bool errors_of_the_world = mpich;

// MPICH 4.0.2: a large (I)allgatherv goes in chunks of 32 KiB, counted in extents of each rank's own type.
constexpr bool chunks_by_extent = mpich;

// Open MPI 4.1.4: Alltoallw on a communicator of one rank is wrong, or crashes; so does Ialltoallw.
constexpr bool alltoallw_crashes = openmpi;

// Open MPI 4.1.4: in place, Alltoallw and the non-blocking Alltoallv crash or are wrong.
constexpr bool alltoall_in_place = openmpi;

}  // namespace soak::quirks
