// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's part of the census of its job (launch/census.hpp): whether all ranks, on all nodes, have nigh,
// this version with these settings. Without that knowledge collectives over several nodes stay the library's.
#pragma once

namespace nigh::mpi {

// Before the library's MPI_Init, which takes longer than a connection does.
void census_connect();
// After it: this rank is there. `whole`: it reaches all ranks of its node, and its collectives are ours.
void census_enter(bool whole);
// This rank needs no census: all ranks are on its node.
void census_leave();
// True where the census may still say, or has said, that all ranks have entered.
bool census_is_open();
// The same answer on all ranks of the job; waits for it the first time. Where it can't be known any more
// (others may have been told), the job is ended.
bool census_says_all();

}  // namespace nigh::mpi
