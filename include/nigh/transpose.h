/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Matrix transposes: in one process by its threads, or over the ranks of an MPI communicator. Plan once,
 * execute as often as you like, destroy. Link with -lnigh-transpose (one process), or with
 * -lnigh-transpose-openmpi or -lnigh-transpose-mpich, which have all of it, and see nigh/transpose_mpi.h.
 *
 * Matrices are row by row; elements have 4, 8 or 16 bytes (float, double, complex of either, integers: their
 * bits are moved). A plan is used by one thread at a time. Nothing here aborts or throws: NULL or -1, and
 * nigh_transpose_why() says in a sentence why. */
#ifndef NIGH_TRANSPOSE_H
#define NIGH_TRANSPOSE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nigh_transpose nigh_transpose;

/* to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns; strides in elements,
 * from_stride >= columns, to_stride >= rows. With to == from in place: then the matrix has no gaps
 * (from_stride == columns, to_stride == rows), unless it is square and the strides are equal; besides it
 * O(rows + columns) elements a thread are used. Else the two do not overlap. threads: that work on it, the
 * caller among them; 0: as many as this process has CPUs. */
nigh_transpose* nigh_transpose_local(size_t rows, size_t columns, size_t element_bytes, const void* from,
                                     size_t from_stride, void* to, size_t to_stride, int threads);

/* A batch of `matrices`: matrix k begins k * from_apart elements after the first, its transpose k * to_apart.
 * A stride or a distance of 0: without gaps. Rows of one matrix may lie between those of others. In place
 * from_apart == to_apart. */
nigh_transpose* nigh_transpose_local_many(size_t matrices, size_t rows, size_t columns, size_t element_bytes,
                                          const void* from, size_t from_stride, size_t from_apart, void* to,
                                          size_t to_stride, size_t to_apart, int threads);

/* The same without turning: to[k * to_apart + i * to_stride + j] = from[k * from_apart + i * from_stride + j]
 * for k < matrices, i < rows, j < columns. Not in place. A local reorder, [i][g][j] to [g][i][j], is a copy
 * of as many matrices as there are g. */
nigh_transpose* nigh_transpose_copy_many(size_t matrices, size_t rows, size_t columns, size_t element_bytes,
                                         const void* from, size_t from_stride, size_t from_apart, void* to,
                                         size_t to_stride, size_t to_apart, int threads);

/* 0, or -1: then what should have been written is undefined. Over MPI: collective, as destroying is. */
int nigh_transpose_execute(nigh_transpose* plan);
void nigh_transpose_destroy(nigh_transpose* plan);

/* The steps of a plan, one line each, as snprintf: returns the characters wanted; -1: there is no memory. */
int nigh_transpose_explain(const nigh_transpose* plan, char* text, size_t bytes);

/* The reason why the calling thread's last failed call did. */
const char* nigh_transpose_why(void);

#ifdef __cplusplus
}
#endif
#endif
