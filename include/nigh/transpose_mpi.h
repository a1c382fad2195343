/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Transposes over the ranks of a communicator. A matrix A of rows x columns is dealt to them by rows, as
 * evenly as can be, and so is its transpose B, of columns x rows. Ranks of one node read each other's rows in
 * place and write the result in one pass; what other nodes have comes in messages, one stream of them for
 * each pair of nodes, turned already, panel by panel. MPI is called by the thread that calls these functions
 * alone (MPI_THREAD_FUNNELED).
 *
 * Rows can be read in place where memory is in reach: that of nigh_transpose_alloc() always, and any heap
 * memory in a program started by `nigh run --mpi`; other memory is read through the kernel, where it lets
 * ranks read each other. */
#ifndef NIGH_TRANSPOSE_MPI_H
#define NIGH_TRANSPOSE_MPI_H

#include <mpi.h>
#include <nigh/transpose.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of A, and its columns (rows of B), that this rank has. Any pointer may be NULL. Zeros for a
 * communicator that is none, and before MPI_Init. */
void nigh_transpose_mpi_share(size_t rows, size_t columns, MPI_Comm comm, size_t* first_row,
                              size_t* row_count, size_t* first_column, size_t* column_count);

/* Collective. a: this rank's rows of A, row_count x columns elements; b: its rows of B, column_count x rows,
 * which do not overlap it, or on all ranks a itself: in place; each with the bytes that are there. A rank
 * that has none of an array may pass NULL, or anything: how it is done is what those say that have both. In
 * place some buffers for messages and O(rows + columns) elements a rank are used beside it. All ranks give
 * the same rows, columns and element_bytes. threads: of this rank, the caller among them; 0: its share of the
 * CPUs. NULL on every rank if anything is wrong on one. */
nigh_transpose* nigh_transpose_mpi(size_t rows, size_t columns, size_t element_bytes, const void* a,
                                   size_t a_bytes, void* b, size_t b_bytes, MPI_Comm comm, int threads);

/* A batch of `matrices`, each dealt alike: rank's rows of matrix k begin k * a_apart elements after those of
 * the first, those of its transpose k * b_apart; rows are a_stride and b_stride elements apart. These are
 * each rank's own; 0: without gaps. Rows of one matrix may lie between those of others. In place: squares, or
 * without gaps between rows, and a_apart == b_apart. */
nigh_transpose* nigh_transpose_mpi_many(size_t matrices, size_t rows, size_t columns, size_t element_bytes,
                                        const void* a, size_t a_bytes, size_t a_stride, size_t a_apart,
                                        void* b, size_t b_bytes, size_t b_stride, size_t b_apart,
                                        MPI_Comm comm, int threads);

/* Arrays of n[0] x n[1] x n[2] elements over a grid of p x q ranks, of which rank r is (r / q, r % q), as
 * pencils: along one axis whole, which lies together in memory, the others dealt.
 *
 *     along axis 2: [axis 0 by p][axis 1 by q][axis 2]
 *     along axis 1: [axis 0 by p][axis 2 by q][axis 1]
 *     along axis 0: [axis 2 by q][axis 1 by p][axis 0]
 *
 * first[i], count[i]: what this rank has of axis i when they are along `axis`; -1, and zeros, if p * q is not
 * the number of ranks. */
int nigh_transpose_pencils_share(const size_t n[3], int p, int q, int axis, MPI_Comm comm, size_t first[3],
                                 size_t count[3]);
/* Turns pencils a along from_axis to pencils b along to_axis: 2 to 1, 1 to 0, 0 to 1, 1 to 2. */
nigh_transpose* nigh_transpose_pencils(const size_t n[3], int p, int q, int from_axis, int to_axis,
                                       size_t element_bytes, const void* a, size_t a_bytes, void* b,
                                       size_t b_bytes, MPI_Comm comm, int threads);

/* The steps of O. Haan (Matrix Transpose Results with Hybrid OpenMP / MPI, SCICOMP 2000), to be
 * measured beside the plans above and the model of `nigh plan --transpose`: what goes to one rank is brought
 * together, exchanged in as many steps as there are ranks, transposed. Not in place; two slabs of memory are
 * used beside a and b. */
nigh_transpose* nigh_transpose_mpi_three_steps(size_t rows, size_t columns, size_t element_bytes,
                                               const void* a, size_t a_bytes, void* b, size_t b_bytes,
                                               MPI_Comm comm, int threads);
/* The times of this rank's last pass of such a plan. -1: another plan. */
typedef struct nigh_transpose_seconds {
  double local_reorder, on_node, between_nodes, local_transpose;
} nigh_transpose_seconds;
int nigh_transpose_mpi_seconds(const nigh_transpose* plan, nigh_transpose_seconds* seconds);

/* Memory that the ranks of a node read in place. Collective over `comm`, in the same order on all its ranks;
 * bytes may differ. NULL on every rank if there is none on one. */
void* nigh_transpose_alloc(size_t bytes, MPI_Comm comm);
void nigh_transpose_free(void* memory);
/* Collective. of_each[r]: where this rank reads and writes the array of rank r, of which each gives its own.
 * -1 on every rank if one is out of reach: on another node, or in other memory. */
int nigh_transpose_reach(void* at, size_t bytes, MPI_Comm comm, void** of_each);

/* The same for Fortran's communicators (nigh_transpose.f90). */
void nigh_transpose_mpi_share_f(size_t rows, size_t columns, MPI_Fint comm, size_t* first_row,
                                size_t* row_count, size_t* first_column, size_t* column_count);
nigh_transpose* nigh_transpose_mpi_f(size_t rows, size_t columns, size_t element_bytes, const void* a,
                                     size_t a_bytes, void* b, size_t b_bytes, MPI_Fint comm, int threads);
nigh_transpose* nigh_transpose_mpi_many_f(size_t matrices, size_t rows, size_t columns, size_t element_bytes,
                                          const void* a, size_t a_bytes, size_t a_stride, size_t a_apart,
                                          void* b, size_t b_bytes, size_t b_stride, size_t b_apart,
                                          MPI_Fint comm, int threads);
int nigh_transpose_pencils_share_f(const size_t n[3], int p, int q, int axis, MPI_Fint comm, size_t first[3],
                                   size_t count[3]);
nigh_transpose* nigh_transpose_pencils_f(const size_t n[3], int p, int q, int from_axis, int to_axis,
                                         size_t element_bytes, const void* a, size_t a_bytes, void* b,
                                         size_t b_bytes, MPI_Fint comm, int threads);
void* nigh_transpose_alloc_f(size_t bytes, MPI_Fint comm);

#ifdef __cplusplus
}
#endif
#endif
