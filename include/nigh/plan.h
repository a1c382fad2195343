/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * C interface of the planner (libnigh.so), for runtimes that place threads themselves. It is what nigh's
 * own preloaded library uses: a planner is made once per process, then asked for the places of one team
 * at a time. A planner is immutable: any number of threads may ask it at once. Link with -lnigh. */
#ifndef NIGH_PLAN_H
#define NIGH_PLAN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a structure or the meaning of a function below changes. */
#define NIGH_PLAN_ABI 1
int nigh_plan_abi(void);

typedef struct nigh_planner nigh_planner;

/* The place of one thread of a team. All numbers are the OS's own; -1 where the machine has no such
 * number. */
typedef struct nigh_place {
  int pu;        /* the PU to bind to */
  int core;      /* its core, by logical number (0 .. cores-1) over the machine */
  int numa_node; /* its NUMA node */
} nigh_place;

/* Makes a planner for nested teams.
 *   spec     size,strategy pairs, outermost level first: "4,scatter,2,subcompact"; strategies: compact,
 *            scatter, subcompact, subscatter
 *   cpus     the PUs that may be used, ncpus of them; NULL: the affinity mask of the calling thread
 *   machine  NULL: this machine; else the name of a shipped model or the path of a JSON, hwloc XML file
 * Returns NULL on error, with one sentence in err (errsize bytes, always terminated). */
nigh_planner* nigh_planner_new(const char* spec, const int* cpus, int ncpus, const char* machine, char* err,
                               size_t errsize);
void nigh_planner_free(nigh_planner* planner);

/* Number of levels of the spec, and the planned team size at level 1..levels (0 beyond them). */
int nigh_planner_levels(const nigh_planner* planner);
int nigh_planner_size(const nigh_planner* planner, int level);

/* The places of a team of n threads forked by the thread at the given path.
 *   root     0 for the first thread of the process that opens regions, 1, 2, .. for later ones
 *   depth    number of enclosing parallel regions (0: the team of an outermost region)
 *   index,size   for each enclosing region, outermost first: this thread's number and the team's size
 *   out      n places, out[0] is always the forking thread's own place
 * Returns 0, or -1 if an argument is out of range. */
int nigh_planner_team(const nigh_planner* planner, int root, int depth, const int* index, const int* size,
                      int n, nigh_place* out);

/* The share of one of several ranks (processes) that use the same PUs: `rank` of `ranks`, disjoint shares
 * along the machine's tree while there are enough PUs, else all of them. cpus and machine as above. Writes
 * the PUs to out, which has room for ncpus (or, without cpus, for all PUs of the mask), and returns their
 * number; -1: an argument is out of range, or there is no such machine. */
int nigh_rank_share(const int* cpus, int ncpus, const char* machine, int rank, int ranks, int* out);

#ifdef __cplusplus
}
#endif
#endif
