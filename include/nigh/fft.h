/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Fourier transforms of one to eight dimensions, complex and real: in one process by its threads, or over the
 * ranks of an MPI communicator. Plan once, execute as often as you like, destroy. Link with -lnigh-fft (one
 * process), or with -lnigh-fft-openmpi or -lnigh-fft-mpich, which have all of it, and see nigh/fft_mpi.h.
 *
 * Arrays are row by row, n[0] x n[1] x ...; complex numbers are two reals. Nothing is normalised: forward and
 * back is the array times the product of n. A plan is used by one thread at a time. Nothing here aborts or
 * throws: NULL or -1, and nigh_fft_why() says in a sentence why. */
#ifndef NIGH_FFT_H
#define NIGH_FFT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nigh_fft nigh_fft;

enum { NIGH_FFT_FORWARD = -1, NIGH_FFT_BACKWARD = 1 }; /* the sign of the exponent */

enum {
  NIGH_FFT_FLOAT = 1, /* else double */
  /* Reals on one side: before a forward transform, after a backward one. The other side has the first
   * n / 2 + 1 elements of the last dimension; the rest are their conjugates. If in == out the reals of the
   * last dimension have room for 2 (n / 2 + 1), the spectrum's; else they lie without gaps. One dimension: n
   * is even, there is no such room between, and neither side is transposed. */
  NIGH_FFT_REAL = 2,
  /* The result, or what is transformed, is not [n[0]][rest] but [rest][n[0]]: a transpose is saved. There is
   * no sense in both. One dimension: see below. */
  NIGH_FFT_TRANSPOSED_OUT = 4,
  NIGH_FFT_TRANSPOSED_IN = 8,
  NIGH_FFT_DESTROY_INPUT = 16, /* `in` may be used for what lies between: less memory, sometimes faster */
  NIGH_FFT_FFTW = 32           /* rows by FFTW (GPL), if libnigh-fft-fftw.so is there; else an error. The
                                * environment variable NIGH_FFT_LOCAL=fftw asks for it, too, and is content
                                * without; NIGH_FFT_LOCAL=pocketfft asks for pocketfft where nigh has kernels
                                * of its own. */
};

/* in == out: in place; else they do not overlap. Both with the bytes that are there. One dimension is done as
 * a matrix of nigh_fft_factor(n) rows; a transposed spectrum has X[k1 + n1 * k2] in row k1 of n1, column k2.
 * Backward, from natural order, of n / nigh_fft_factor(n) rows, as they come out of forward.
 * threads: that work on it, the caller among them; 0: as many as this process has CPUs. */
nigh_fft* nigh_fft_plan(int dimensions, const size_t* n, int sign, unsigned flags, void* in, size_t in_bytes,
                        void* out, size_t out_bytes, int threads);
/* The factor n1 of n that is next to its square root from below; 1 if n is prime, or 0. */
size_t nigh_fft_factor(size_t n);

/* 0, or -1: then what should have been written is undefined. Over MPI: collective, as destroying is. */
int nigh_fft_execute(nigh_fft* plan);
void nigh_fft_destroy(nigh_fft* plan);

/* The steps of a plan, one line each, as snprintf: returns the characters wanted; -1: there is no memory. */
int nigh_fft_explain(const nigh_fft* plan, char* text, size_t bytes);

/* The reason why the calling thread's last failed call did. */
const char* nigh_fft_why(void);

#ifdef __cplusplus
}
#endif
#endif
