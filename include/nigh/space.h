/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The space: the ranks of a job on one node reach each other's memory by plain loads and stores. Start the
 * program with `nigh run -n 8 -- ./app` (or under mpirun or srun with libnigh-space.so preloaded), link with
 * -lnigh-space, and call nigh_space_join() in every rank. From then on heap memory (malloc, new, anonymous
 * mmap) of any rank may be read and written by all of them, at the same address. Stacks stay private, and so
 * does static data unless `nigh run --share data` is given.
 *
 * There is no protection inside a job: a rank that writes where it should not can spoil its peers' memory. No
 * other job and no other user can. Ordering and atomicity are those of threads: use C11 or C++ atomics to
 * publish, as between threads.
 *
 * Every function may be called from any thread; nigh_space_join() once, by one. Nothing here aborts. */
#ifndef NIGH_SPACE_H
#define NIGH_SPACE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Meets the other ranks of the job on this node and maps their memory. Returns when each of them has been
 * mapped, is known to be out of reach, or has not come within timeout_ms (< 0: 60000). Who came later than
 * that stays out. Collective; the first call decides, later ones return the same. 0: this process is part of
 * the space, if only with itself; -1: it is not, nigh_space_why() says why. */
int nigh_space_join(int timeout_ms);

/* This rank among the ranks of the job on this node, and their number; known from the start, before join. -1
 * and 0: this process was not started as a rank. */
int nigh_space_rank(void);
int nigh_space_size(void);

/* True (1) if `rank` can be reached, as this rank itself always can. And true if its process still runs (a
 * system call: not for tight loops), or if nothing is known of it. */
int nigh_space_reachable(int rank);
int nigh_space_alive(int rank);

/* One pointer that a rank shows its peers, with everything written before it: publish it once, any time;
 * peers get NULL until then. How ranks find each other's first structure. */
void nigh_space_publish(void* data);
void* nigh_space_published(int rank);

/* The address in `rank`'s memory that corresponds to `mine` in ours: the same distance from the start of its
 * heap, or, with --share data, the same variable of the same program or library. Heap memory corresponds only
 * if all ranks allocate alike, in one thread; addresses that were told (nigh_space_published) need no such
 * luck. NULL: there is none. */
void* nigh_remote_address(int rank, const void* mine);

/* The address at which all ranks find these bytes of ours, mostly `data` itself; NULL: they are private. */
void* nigh_space_global(const void* data, size_t bytes);

/* Memory that all ranks reach, whatever malloc is in this process; NULL: none left. `align` is a power of
 * two, 0 for the usual. Not zeroed. Only the rank that allocated may release. */
void* nigh_space_alloc(size_t bytes, size_t align);
void nigh_space_release(void* data);

/* One sentence: why there is no space, or why some ranks are missing; "" when all is well. */
const char* nigh_space_why(void);

/* The memory that is shared, and the fallbacks and their counts, one line each, as snprintf: returns the
 * characters wanted. */
int nigh_space_explain(char* text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
