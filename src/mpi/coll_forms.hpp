// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The collective functions as macros: each exists six times, blocking, non-blocking or persistent, with int
// or with MPI_Count. A form is two lists in parentheses, parameters and arguments, without the communicator
// and all that follows it.
#pragma once

#define NIGH_UNPAREN(...) __VA_ARGS__
#define NIGH_EXPAND(MACRO, ...) MACRO(__VA_ARGS__)

#define NIGH_BCAST(C) (void* buffer, C count, MPI_Datatype type, int root), (buffer, count, type, root)
#define NIGH_ALLREDUCE(C) \
  (const void* send, void* receive, C count, MPI_Datatype type, MPI_Op op), (send, receive, count, type, op)
#define NIGH_REDUCE(C)                                                                \
  (const void* send, void* receive, C count, MPI_Datatype type, MPI_Op op, int root), \
      (send, receive, count, type, op, root)
#define NIGH_REDUCE_SCATTER(C)                                                       \
  (const void* send, void* receive, const C counts[], MPI_Datatype type, MPI_Op op), \
      (send, receive, counts, type, op)
#define NIGH_GATHER(C)                                                                     \
  (const void* send, C send_count, MPI_Datatype send_type, void* receive, C receive_count, \
   MPI_Datatype receive_type, int root),                                                   \
      (send, send_count, send_type, receive, receive_count, receive_type, root)
#define NIGH_GATHERV(C, D)                                                                          \
  (const void* send, C send_count, MPI_Datatype send_type, void* receive, const C receive_counts[], \
   const D displacements[], MPI_Datatype receive_type, int root),                                   \
      (send, send_count, send_type, receive, receive_counts, displacements, receive_type, root)
#define NIGH_SCATTERV(C, D)                                                                                 \
  (const void* send, const C send_counts[], const D displacements[], MPI_Datatype send_type, void* receive, \
   C receive_count, MPI_Datatype receive_type, int root),                                                   \
      (send, send_counts, displacements, send_type, receive, receive_count, receive_type, root)
#define NIGH_ALLGATHER(C)                                                                  \
  (const void* send, C send_count, MPI_Datatype send_type, void* receive, C receive_count, \
   MPI_Datatype receive_type),                                                             \
      (send, send_count, send_type, receive, receive_count, receive_type)
#define NIGH_ALLGATHERV(C, D)                                                                       \
  (const void* send, C send_count, MPI_Datatype send_type, void* receive, const C receive_counts[], \
   const D displacements[], MPI_Datatype receive_type),                                             \
      (send, send_count, send_type, receive, receive_counts, displacements, receive_type)
#define NIGH_ALLTOALLV(C, D)                                                                             \
  (const void* send, const C send_counts[], const D send_displacements[], MPI_Datatype send_type,        \
   void* receive, const C receive_counts[], const D receive_displacements[], MPI_Datatype receive_type), \
      (send, send_counts, send_displacements, send_type, receive, receive_counts, receive_displacements, \
       receive_type)
#define NIGH_ALLTOALLW(C, D)                                                                               \
  (const void* send, const C send_counts[], const D send_displacements[], const MPI_Datatype send_types[], \
   void* receive, const C receive_counts[], const D receive_displacements[],                               \
   const MPI_Datatype receive_types[]),                                                                    \
      (send, send_counts, send_displacements, send_types, receive, receive_counts, receive_displacements,  \
       receive_types)

// Each form F(NAME, I_NAME, LIKE, SUFFIX, form) of neighbours, and the one of all members that has its
// arguments.
#define NIGH_NEIGHBOR_FORMS(F, SUFFIX, C, D)                                              \
  F(Neighbor_allgather, Ineighbor_allgather, Allgather, SUFFIX, NIGH_ALLGATHER(C))        \
  F(Neighbor_allgatherv, Ineighbor_allgatherv, Allgatherv, SUFFIX, NIGH_ALLGATHERV(C, D)) \
  F(Neighbor_alltoall, Ineighbor_alltoall, Alltoall, SUFFIX, NIGH_ALLGATHER(C))           \
  F(Neighbor_alltoallv, Ineighbor_alltoallv, Alltoallv, SUFFIX, NIGH_ALLTOALLV(C, D))     \
  F(Neighbor_alltoallw, Ineighbor_alltoallw, Alltoallw, SUFFIX, NIGH_ALLTOALLW(C, MPI_Aint))

// Each form F(NAME, I_NAME, SUFFIX, form), and L instead of F where there is one over several nodes.
#define NIGH_ALL_FORMS(F, L, SUFFIX, C, D)                                  \
  L(Bcast, Ibcast, SUFFIX, NIGH_BCAST(C))                                   \
  L(Reduce, Ireduce, SUFFIX, NIGH_REDUCE(C))                                \
  L(Allreduce, Iallreduce, SUFFIX, NIGH_ALLREDUCE(C))                       \
  F(Scan, Iscan, SUFFIX, NIGH_ALLREDUCE(C))                                 \
  F(Exscan, Iexscan, SUFFIX, NIGH_ALLREDUCE(C))                             \
  F(Reduce_scatter, Ireduce_scatter, SUFFIX, NIGH_REDUCE_SCATTER(C))        \
  L(Reduce_scatter_block, Ireduce_scatter_block, SUFFIX, NIGH_ALLREDUCE(C)) \
  L(Gather, Igather, SUFFIX, NIGH_GATHER(C))                                \
  F(Gatherv, Igatherv, SUFFIX, NIGH_GATHERV(C, D))                          \
  L(Scatter, Iscatter, SUFFIX, NIGH_GATHER(C))                              \
  F(Scatterv, Iscatterv, SUFFIX, NIGH_SCATTERV(C, D))                       \
  L(Allgather, Iallgather, SUFFIX, NIGH_ALLGATHER(C))                       \
  L(Allgatherv, Iallgatherv, SUFFIX, NIGH_ALLGATHERV(C, D))                 \
  L(Alltoall, Ialltoall, SUFFIX, NIGH_ALLGATHER(C))                         \
  F(Alltoallv, Ialltoallv, SUFFIX, NIGH_ALLTOALLV(C, D))                    \
  F(Alltoallw, Ialltoallw, SUFFIX, NIGH_ALLTOALLW(C, D))
