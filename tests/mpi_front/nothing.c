/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that is linked to no MPI library but calls MPI where the symbol is there, as plug-ins do: with us
 * preloaded it must end with a sentence that names the function.
 */
int MPI_Barrier(long) __attribute__((weak));
int main(void) { return MPI_Barrier ? MPI_Barrier(0) : 42; }
