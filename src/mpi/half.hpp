// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The half's side of the front: which functions are ours from now on.
#pragma once

#include "mpi/front.hpp"

namespace nigh::mpi {

const Front& front();
// The library can receive by a function that this half was built without: descriptors are out of the
// question.
bool new_receivers();
// Puts our function in the place of the library's, if there is one.
void cover(Function function);
// All functions of a part: ours, or the library's again.
void cover(Part part, bool on);
// Around those functions of the library that may wait for peers, as things are covered now: an Away.
void cover_waiting(bool p2p_is_ours);
// Whether this half has a function of its own for it.
bool is_covered(Function function);

}  // namespace nigh::mpi
