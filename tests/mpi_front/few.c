/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An MPI library of few functions, of no known kind and with one function of large counts only (-DLIBRARY),
 * and a program that calls them: with us preloaded each call is the library's, and one that it lacks ends the
 * program with a sentence that names it.
 */
#ifdef LIBRARY
int PMPI_Init(int* argc, char*** argv) { return argc && argv ? 0 : 1; }
int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
int PMPI_Bcast_c(void* data, long count) { return *(int*)data + (int)count; }
int MPI_Bcast_c(void* data, long count) { return PMPI_Bcast_c(data, count); }
#else
int MPI_Init(int* argc, char*** argv);
int MPI_Bcast_c(void* data, long count);
int MPI_Send_c(void* data, long count) __attribute__((weak));
int main(int argc, char** argv) {
  int data = 40;
  if (MPI_Init(&argc, &argv) != 0) return 1;
  if (MPI_Bcast_c(&data, 2) != 42 || MPI_Bcast_c(&data, 3) != 43) return 2;
  return MPI_Send_c && argc > 1 ? MPI_Send_c(&data, 1) : 42;
}
#endif
