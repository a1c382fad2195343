/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An MPI library of few functions, of no known kind and with one function of large counts only (-DLIBRARY),
 * and a program that calls them: with us preloaded each call is the library's, and a function that it lacks
 * is a null weak reference, in the program and in a plug-in (-DPLUGIN) that it opens first. The lacking one
 * that is called all the same (few more) ends the program with a sentence that names it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#ifdef LIBRARY
int PMPI_Init(int* argc, char*** argv) { return argc && argv ? 0 : 1; }
int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
int PMPI_Barrier(void) { return 0; }
int MPI_Barrier(void) { return PMPI_Barrier(); }
int PMPI_Bcast_c(void* data, long count) { return *(int*)data + (int)count; }
int MPI_Bcast_c(void* data, long count) { return PMPI_Bcast_c(data, count); }
#elif defined(PLUGIN)
int MPI_Barrier(void);
int MPI_Bcast_c(void* data, long count) __attribute__((weak));
int MPI_Recv_c(void* data, long count) __attribute__((weak));
int PMPI_Recv_c(void* data, long count) __attribute__((weak));
int (*const table[])(void*, long) = {PMPI_Recv_c, MPI_Bcast_c};
int plugin(void) { return MPI_Barrier() == 0 && MPI_Bcast_c && !MPI_Recv_c && !table[0] && table[1] ? 0 : 1; }
#else
int MPI_Init(int* argc, char*** argv);
int MPI_Bcast_c(void* data, long count) __attribute__((weak));
int MPI_Send_c(void* data, long count) __attribute__((weak));
int main(int argc, char** argv) {
  int data = 40;
  if (MPI_Send_c || !MPI_Bcast_c) return 1;
  void* opened = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (MPI_Init(&argc, &argv) != 0) return 2;
  if (MPI_Bcast_c(&data, 2) != 42 || MPI_Bcast_c(&data, 3) != 43) return 3;
  int (*plugin)(void) = opened ? (int (*)(void))dlsym(opened, "plugin") : NULL;
  if (!plugin || plugin() != 0) return 4;
  int (*lacking)(void*, long) = (int (*)(void*, long))dlsym(RTLD_DEFAULT, "MPI_Send_c");
  return argc > 2 && lacking ? lacking(&data, 1) : 42;
}
#endif
