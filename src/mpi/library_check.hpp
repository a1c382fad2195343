// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See library_check.cpp.
#pragma once

namespace nigh::mpi {

// nullptr: the library has the ABI that this half was made for; else one sentence.
const char* check_abi(void* library);
// The name of a function by which the library receives and which is not in functions.inc; nullptr: there is
// none.
const char* unknown_receiver(void* library);

}  // namespace nigh::mpi
