/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The profiling interface of OpenSHMEM 1.5: every function of shmem.h also under the name pshmem_X. A tool
 * that is linked or preloaded before libnigh-shmem.so defines shmem_X and calls pshmem_X; what the library
 * calls of its own is never seen by the tool. */
#ifndef PSHMEM_H
#define PSHMEM_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
#define NIGH_SHMEM_(X) pshmem_##X
#include "shmem_functions.inc"
#undef NIGH_SHMEM_
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
