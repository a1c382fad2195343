/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Fourier transforms over the ranks of a communicator. An array is dealt to them by its first dimension, as
 * evenly as can be; a transposed one, [rest][n[0]], by the rest, whose elements are counted as one dimension.
 * In the memory of nigh_transpose_alloc(), or any heap memory in a program started by `nigh run --mpi`, ranks
 * of one node fetch what they transform from each other's arrays and put it there, in one pass; else, and
 * between nodes, it is transposed (nigh/transpose_mpi.h). */
#ifndef NIGH_FFT_MPI_H
#define NIGH_FFT_MPI_H

#include <nigh/fft.h>
#include <nigh/transpose_mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The part of an array that a rank has: `rows` of them from `first` on, each of `row` elements without
 * gaps, and the bytes that these need. One dimension: the rows are those of nigh_fft_factor() (of n / 2,
 * if real); of a spectrum of reals the last rank has one element more, behind its rows. The way back has
 * the parts of the way forward. */
typedef struct nigh_fft_part {
  size_t first, rows, row, bytes;
} nigh_fft_part;

/* The parts of `in` and of `out`; either may be NULL. in_place: for real transforms, where it makes rows
 * longer. Returns -1 for a transform that can't be planned. */
int nigh_fft_mpi_share(int dimensions, const size_t* n, int sign, unsigned flags, int in_place, MPI_Comm comm,
                       nigh_fft_part* in, nigh_fft_part* out);

/* Collective; all ranks give the same but for the arrays. NULL on every rank if anything is wrong on one. A
 * rank that has none of an array may pass NULL, or anything: in place is what those say that have both. */
nigh_fft* nigh_fft_mpi(int dimensions, const size_t* n, int sign, unsigned flags, void* in, size_t in_bytes,
                       void* out, size_t out_bytes, MPI_Comm comm, int threads);

/* Transforms an array of n[0] x n[1] x n[2] elements over a grid of p x q ranks, as pencils
 * (nigh/transpose_mpi.h): in and out lie along axis 2, a transposed one along axis 0.
 * nigh_transpose_pencils_share() gives the part of a rank, of a real transform for n[2] / 2 + 1 complex
 * elements; its reals are the same pencils with n[2] of them. in and out do not overlap. */
nigh_fft* nigh_fft_mpi_pencils(const size_t n[3], int p, int q, int sign, unsigned flags, void* in,
                               size_t in_bytes, void* out, size_t out_bytes, MPI_Comm comm, int threads);

/* The same for Fortran's communicators (nigh_fft.f90). */
int nigh_fft_mpi_share_f(int dimensions, const size_t* n, int sign, unsigned flags, int in_place,
                         MPI_Fint comm, nigh_fft_part* in, nigh_fft_part* out);
nigh_fft* nigh_fft_mpi_f(int dimensions, const size_t* n, int sign, unsigned flags, void* in, size_t in_bytes,
                         void* out, size_t out_bytes, MPI_Fint comm, int threads);

#ifdef __cplusplus
}
#endif
#endif
