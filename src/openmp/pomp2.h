/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The three parts of libnigh-pomp2 and what they say to each other. Plain C, so that the static library links
 * into a C or Fortran program without a C++ runtime, and never with -fopenmp: the program's runtime is asked
 * through weak references, whichever runtime that is.
 *
 *   pomp2.c        the POMP2_ functions that opari2 writes into a program, for C and Fortran
 *   pomp2_bind.c   from a thread at the start of its implicit task to its PU
 *   pomp2_plan.c   a plan: the planner (libnigh.so) and a table of the teams asked for so far */
#ifndef NIGH_OPENMP_POMP2_H
#define NIGH_OPENMP_POMP2_H

#include <stddef.h>

/* Deepest nesting that is placed; threads of deeper teams stay where their master is. */
enum { POMP2_MAX_DEPTH = 16 };

/* The place of a thread: for each enclosing team, outermost first, its number in the team (that of its
 * ancestor) and the team's size. */
struct pomp2_path {
  int depth;
  int index[POMP2_MAX_DEPTH];
  int size[POMP2_MAX_DEPTH];
};

struct pomp2_plan;

/* The plan for that spec in the list, or NULL. */
struct pomp2_plan* pomp2_plan_find(struct pomp2_plan* list, const char* spec);
/* Makes a plan over these PUs and puts it at the head of the list; NULL
 * with one sentence, without its full stop, in `error`. */
struct pomp2_plan* pomp2_plan_new(struct pomp2_plan** list, const char* spec, const int* cpus, int ncpus,
                                  char* error, size_t size);
int pomp2_plan_levels(const struct pomp2_plan* plan);
/* The PU of the thread with that path (1 <= depth <= levels), or -1. Lock-free and without a system call once
 * the team is known; any number of threads may ask at once. */
int pomp2_plan_pu(struct pomp2_plan* plan, const struct pomp2_path* path);
/* Prints the teams asked for so far to the file (NULL: stderr). */
void pomp2_plan_account(struct pomp2_plan* plan, const char* file);

/* From the program's thread that is about to open a region, and from each thread of its team. */
void pomp2_fork(void);
void pomp2_begin(void);

/* One line on stderr: "nigh-pomp2: ...". */
void pomp2_say(const char* format, ...) __attribute__((format(printf, 1, 2)));

#endif
