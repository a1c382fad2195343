// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes that a collective call of the library's brings to this rank, from the call's arguments: for the
// account. Asked only after the library has accepted the arguments.
#pragma once

#include <cstdint>

#include "mpi/comm.hpp"
#include "mpi/types.hpp"

namespace nigh::mpi::coll {

struct Members {
  int size = 0;  // of the remote group in an inter-communicator
  int rank = 0;
  bool inter = false;
  // In a call with a root: this rank is the one; this rank gets something from it.
  [[nodiscard]] bool is_root(int root) const { return inter ? root == MPI_ROOT : root == rank; }
  [[nodiscard]] bool is_leaf(int root) const { return inter ? root >= 0 : root != rank; }
};
Members members_of(MPI_Comm comm);
// The number of neighbours that this rank receives from; 0 without a topology.
int sources_of(MPI_Comm comm);

std::uint64_t bytes_of_elements(MPI_Count count, MPI_Datatype type);
template <class Count>
std::uint64_t bytes_of_blocks(const Count* counts, MPI_Datatype type, int blocks) {
  MPI_Count sum = 0;
  for (int i = 0; i < blocks; ++i) sum += counts[i];
  return bytes_of_elements(sum, type);
}
template <class Count>
std::uint64_t bytes_of_blocks(const Count* counts, const MPI_Datatype* types, int blocks) {
  std::uint64_t sum = 0;
  for (int i = 0; i < blocks; ++i) sum += bytes_of_elements(counts[i], types[i]);
  return sum;
}

template <class Count>
std::uint64_t received_Bcast(Members who, void*, Count count, MPI_Datatype type, int root) {
  return who.is_leaf(root) ? bytes_of_elements(count, type) : 0;
}
template <class Count>
std::uint64_t received_Reduce(Members who, const void*, void*, Count count, MPI_Datatype type, MPI_Op,
                              int root) {
  return who.is_root(root) ? bytes_of_elements(count, type) : 0;
}
template <class Count>
std::uint64_t received_Allreduce(Members, const void*, void*, Count count, MPI_Datatype type, MPI_Op) {
  return bytes_of_elements(count, type);
}
template <class Count>
std::uint64_t received_Scan(Members, const void*, void*, Count count, MPI_Datatype type, MPI_Op) {
  return bytes_of_elements(count, type);
}
template <class Count>
std::uint64_t received_Exscan(Members, const void*, void*, Count count, MPI_Datatype type, MPI_Op) {
  return bytes_of_elements(count, type);
}
template <class Count>
std::uint64_t received_Reduce_scatter_block(Members, const void*, void*, Count count, MPI_Datatype type,
                                            MPI_Op) {
  return bytes_of_elements(count, type);
}
template <class Count>
std::uint64_t received_Reduce_scatter(Members who, const void*, void*, const Count* counts, MPI_Datatype type,
                                      MPI_Op) {
  return bytes_of_elements(counts[who.rank], type);
}
template <class Count>
std::uint64_t received_Gather(Members who, const void*, Count, MPI_Datatype, void*, Count count,
                              MPI_Datatype type, int root) {
  return who.is_root(root) ? static_cast<unsigned>(who.size) * bytes_of_elements(count, type) : 0;
}
template <class Count, class Displacement>
std::uint64_t received_Gatherv(Members who, const void*, Count, MPI_Datatype, void*, const Count* counts,
                               const Displacement*, MPI_Datatype type, int root) {
  return who.is_root(root) ? bytes_of_blocks(counts, type, who.size) : 0;
}
template <class Count>
std::uint64_t received_Scatter(Members who, const void*, Count, MPI_Datatype, void*, Count count,
                               MPI_Datatype type, int root) {
  return who.is_leaf(root) ? bytes_of_elements(count, type) : 0;
}
template <class Count, class Displacement>
std::uint64_t received_Scatterv(Members who, const void*, const Count*, const Displacement*, MPI_Datatype,
                                void*, Count count, MPI_Datatype type, int root) {
  return who.is_leaf(root) ? bytes_of_elements(count, type) : 0;
}
template <class Count>
std::uint64_t received_Allgather(Members who, const void*, Count, MPI_Datatype, void*, Count count,
                                 MPI_Datatype type) {
  return static_cast<unsigned>(who.size) * bytes_of_elements(count, type);
}
template <class Count, class Displacement>
std::uint64_t received_Allgatherv(Members who, const void*, Count, MPI_Datatype, void*, const Count* counts,
                                  const Displacement*, MPI_Datatype type) {
  return bytes_of_blocks(counts, type, who.size);
}
template <class Count>
std::uint64_t received_Alltoall(Members who, const void*, Count, MPI_Datatype, void*, Count count,
                                MPI_Datatype type) {
  return static_cast<unsigned>(who.size) * bytes_of_elements(count, type);
}
template <class Count, class Displacement>
std::uint64_t received_Alltoallv(Members who, const void*, const Count*, const Displacement*, MPI_Datatype,
                                 void*, const Count* counts, const Displacement*, MPI_Datatype type) {
  return bytes_of_blocks(counts, type, who.size);
}

template <class Count, class Displacement>
std::uint64_t received_Alltoallw(Members who, const void*, const Count*, const Displacement*,
                                 const MPI_Datatype*, void*, const Count* counts, const Displacement*,
                                 const MPI_Datatype* types) {
  return bytes_of_blocks(counts, types, who.size);
}

}  // namespace nigh::mpi::coll
