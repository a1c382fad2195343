// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// NIGH_RECORD: bytes and messages that this rank sends to each other one, by communicator, for `nigh plan
// --ranks`, and how long it is in which function, for the page. While it is set, each function is called
// through a wrapper that takes the time of the call and counts after it has succeeded; else nothing here
// runs. It needs no space, calls no MPI function that waits for a peer, and each rank writes a file of its
// own, so that ranks without us do no harm.
//
//     FOLDER/64-ranks-1/rank-0.json     the first job of 64 ranks that wrote into FOLDER
//
//     function                        counted as
//     Bcast, Scatter(v)               from the root to each other member
//     Reduce, Gather(v)               from each other member to the root
//     Allgather(v), Alltoall(v, w), Reduce_scatter(_block)    from each member to each other one
//     Allreduce                       a vector of each member, in equal parts to the others
//     Scan, Exscan                    to the next member
//     persistent requests             when they are started
//
// Carried is what our version of a function moved; else the library did. Where threads are in MPI at once, a
// call of the library's may be taken for one of ours that ends meanwhile.
//
// Not seen: partitioned communication, non-blocking and persistent neighbourhood collectives, files.
#pragma once

#include "mpi/front.hpp"

namespace nigh::mpi {

// After the library's MPI_Init: creates the file, so that a folder that can't be written is reported at once;
// from now on wrap() wraps. False: NIGH_RECORD is not set, or there is no file.
bool record_start();
// The wrapper of `function`, which calls `entry`; nullptr: the library's own.
Entry wrap(Function function, Entry entry);
// Writes the file, once; what comes later is not counted.
void record_write() noexcept;

}  // namespace nigh::mpi
