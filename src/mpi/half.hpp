// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The half's side of the front: which functions are ours from now on.
#pragma once

#include "mpi/front.hpp"

namespace nigh::mpi {

const Front& front();
// A function by which the library receives and which we do not know: descriptors are out of the question.
// nullptr: none.
const char* unknown_receiver();
// Puts our function in the place of the library's, if there is one.
void cover(Function function);
// All functions of a part: ours, or the library's again.
void cover(Part part, bool on);
// All functions are the library's, but for the end of MPI.
void cover_nothing();
// Around those functions of the library that may wait for peers, as things are covered now: an Away, and the
// account.
void cover_waiting();
// True if this half has a function of its own for it.
bool is_covered(Function function);

}  // namespace nigh::mpi
