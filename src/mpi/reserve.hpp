// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for what must not fail half-way: a member that runs out of memory while a communicator is made still
// has to take part in the talk of all its members, if only to say that it has none. The first operator new of
// this half that finds no memory gets what was set aside, and goes on.
#pragma once

#include <cstddef>

namespace nigh::mpi {

void reserve_start(std::size_t bytes);
void reserve_stop();
// Before what must not fail: sets aside again what was spent. False: there is none; do nothing large.
bool reserve_fill();

}  // namespace nigh::mpi
