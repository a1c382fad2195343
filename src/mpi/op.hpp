// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Op x MPI_Datatype -> message::Combine. Predefined pairs are looked up in two small tables that are made
// once and never change, so that the lookup takes no lock and a few nanoseconds. A user's function on a named
// type is bounced through the library's own MPI_Reduce_local, in the order of the ranks, so that it need not
// be commutative and Fortran's calling convention stays the library's affair. What MPI does not define (and
// what only one library defines) has no Combine: the library gets the call, and raises its own error.
#pragma once

#include "message/collective.hpp"
#include "mpi/library.hpp"

namespace nigh::mpi {

// Once, before the first reduction.
void make_op_tables();

// The Combine of one call. Lives as long as the call: a user's function is called through it.
struct Reduction {
  // nullptr: not ours. Depends on nothing but the operation and the type, which all members share.
  const message::Combine* find(MPI_Op an_op, MPI_Datatype a_type);

  // Only for a user's function.
  message::Combine own;
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// An operation of MPI_Accumulate and its like on one element of a predefined type.
struct Accumulation {
  const message::Combine* combine = nullptr;  // nullptr: nothing (MPI_NO_OP), or
  bool replaces = false;                      // MPI_REPLACE
};
// False: not ours. No operation is ours on a type of which one is not, since MPI_NO_OP goes with each of
// them.
bool find_accumulation(MPI_Op op, MPI_Datatype type, Accumulation& found);
// True if MPI_Compare_and_swap is defined on it (MPI 4.0, 12.3.4).
bool is_comparable(MPI_Datatype type);

}  // namespace nigh::mpi
