/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that opari2 2.0 writes into a program (its pomp2_lib.h and pomp2_user_lib.h), once for C and
 * once under the name that Fortran compilers give them. All of them must be here: a single one missing would
 * bring in libpomp.a, whose versions of the others then clash with ours. Only the fork and the begin of a
 * parallel region do something, and the locks, which opari2 puts in the place of OpenMP's own. The rest say
 * that no task and no handle is known, and return. Fortran passes everything by address and text with a
 * hidden length at the end; opari2 leaves the text out in some calls, so none of it is ever looked at. */
#include <stddef.h>
#include <stdint.h>

#include "openmp/pomp2.h"

typedef void* handle;
typedef int64_t task;

#define EXPORT __attribute__((visibility("default")))

/* The shapes of the functions: the region's handle, and perhaps text, a task given back, a task taken. `c` is
 * the name in C, `f` that in Fortran. */
#define PLAIN(c, f)                      \
  EXPORT void POMP2_##c(handle* h);      \
  EXPORT void pomp2_##f##_(handle* h);   \
  void POMP2_##c(handle* h) { (void)h; } \
  void pomp2_##f##_(handle* h) { (void)h; }
#define TEXT(c, f)                                                      \
  EXPORT void POMP2_##c(handle* h, const char text[]);                  \
  EXPORT void pomp2_##f##_(handle* h, const char* text, size_t length); \
  void POMP2_##c(handle* h, const char text[]) { (void)h, (void)text; } \
  void pomp2_##f##_(handle* h, const char* text, size_t length) { (void)h, (void)text, (void)length; }
#define ENTER(c, f)                                           \
  EXPORT void POMP2_##c(handle* h, task* old);                \
  EXPORT void pomp2_##f##_(handle* h, task* old);             \
  void POMP2_##c(handle* h, task* old) { (void)h, *old = 0; } \
  void pomp2_##f##_(handle* h, task* old) { (void)h, *old = 0; }
#define ENTER_TEXT(c, f)                                                                     \
  EXPORT void POMP2_##c(handle* h, task* old, const char text[]);                            \
  EXPORT void pomp2_##f##_(handle* h, task* old, const char* text, size_t length);           \
  void POMP2_##c(handle* h, task* old, const char text[]) { (void)h, (void)text, *old = 0; } \
  void pomp2_##f##_(handle* h, task* old, const char* text, size_t length) {                 \
    (void)h, (void)text, (void)length, *old = 0;                                             \
  }
#define EXIT(c, f)                                            \
  EXPORT void POMP2_##c(handle* h, task old);                 \
  EXPORT void pomp2_##f##_(handle* h, const task* old);       \
  void POMP2_##c(handle* h, task old) { (void)h, (void)old; } \
  void pomp2_##f##_(handle* h, const task* old) { (void)h, (void)old; }
#define CREATE(c, f)                                                                                 \
  EXPORT void POMP2_##c(handle* h, task* made, task* old, int condition, const char text[]);         \
  EXPORT void pomp2_##f##_(handle* h, task* made, task* old, const int* condition, const char* text, \
                           size_t length);                                                           \
  void POMP2_##c(handle* h, task* made, task* old, int condition, const char text[]) {               \
    (void)h, (void)condition, (void)text, *made = 0, *old = 0;                                       \
  }                                                                                                  \
  void pomp2_##f##_(handle* h, task* made, task* old, const int* condition, const char* text,        \
                    size_t length) {                                                                 \
    (void)h, (void)condition, (void)text, (void)length, *made = 0, *old = 0;                         \
  }

/* clang-format off */
TEXT(Assign_handle, assign_handle)
TEXT(USER_Assign_handle, user_assign_handle)
TEXT(Begin, begin)                     PLAIN(End, end)
TEXT(Atomic_enter, atomic_enter)       PLAIN(Atomic_exit, atomic_exit)
TEXT(Flush_enter, flush_enter)         PLAIN(Flush_exit, flush_exit)
TEXT(Critical_enter, critical_enter)   PLAIN(Critical_exit, critical_exit)
PLAIN(Critical_begin, critical_begin)  PLAIN(Critical_end, critical_end)
TEXT(For_enter, do_enter)              PLAIN(For_exit, do_exit)
TEXT(Master_begin, master_begin)       PLAIN(Master_end, master_end)
TEXT(Section_begin, section_begin)     PLAIN(Section_end, section_end)
TEXT(Sections_enter, sections_enter)   PLAIN(Sections_exit, sections_exit)
TEXT(Single_enter, single_enter)       PLAIN(Single_exit, single_exit)
PLAIN(Single_begin, single_begin)      PLAIN(Single_end, single_end)
TEXT(Workshare_enter, workshare_enter) PLAIN(Workshare_exit, workshare_exit)
TEXT(Ordered_enter, ordered_enter)     PLAIN(Ordered_exit, ordered_exit)
PLAIN(Ordered_begin, ordered_begin)    PLAIN(Ordered_end, ordered_end)
PLAIN(Parallel_end, parallel_end)      EXIT(Parallel_join, parallel_join)
ENTER_TEXT(Barrier_enter, barrier_enter)          EXIT(Barrier_exit, barrier_exit)
ENTER(Implicit_barrier_enter, implicit_barrier_enter)
EXIT(Implicit_barrier_exit, implicit_barrier_exit)
ENTER_TEXT(Taskwait_begin, taskwait_begin)        EXIT(Taskwait_end, taskwait_end)
CREATE(Task_create_begin, task_create_begin)      EXIT(Task_create_end, task_create_end)
EXIT(Task_begin, task_begin)                      PLAIN(Task_end, task_end)
CREATE(Untied_task_create_begin, untied_task_create_begin)
EXIT(Untied_task_create_end, untied_task_create_end)
EXIT(Untied_task_begin, untied_task_begin)        PLAIN(Untied_task_end, untied_task_end)

/* Switches of a measurement that we do not make. */
#define SWITCH(c, f) \
  EXPORT void POMP2_##c(void); \
  EXPORT void pomp2_##f##_(void); \
  void POMP2_##c(void) {} \
  void pomp2_##f##_(void) {}
SWITCH(Init, init)
SWITCH(Finalize, finalize)
SWITCH(Off, off)
SWITCH(On, on)

/* OpenMP's locks, as C sees them and as Fortran does (a runtime may give the two different layouts). */
#define LOCK(c, f) \
  extern void omp_##f(void* lock) __attribute__((weak)); \
  extern void omp_##f##_(void* lock) __attribute__((weak)); \
  EXPORT void POMP2_##c(void* lock); \
  EXPORT void pomp2_##f##_(void* lock); \
  void POMP2_##c(void* lock) { omp_##f(lock); } \
  void pomp2_##f##_(void* lock) { omp_##f##_(lock); }
#define TEST_LOCK(c, f) \
  extern int omp_##f(void* lock) __attribute__((weak)); \
  extern int omp_##f##_(void* lock) __attribute__((weak)); \
  EXPORT int POMP2_##c(void* lock); \
  EXPORT int pomp2_##f##_(void* lock); \
  int POMP2_##c(void* lock) { return omp_##f(lock); } \
  int pomp2_##f##_(void* lock) { return omp_##f##_(lock); }
LOCK(Init_lock, init_lock)             LOCK(Init_nest_lock, init_nest_lock)
LOCK(Destroy_lock, destroy_lock)       LOCK(Destroy_nest_lock, destroy_nest_lock)
LOCK(Set_lock, set_lock)               LOCK(Set_nest_lock, set_nest_lock)
LOCK(Unset_lock, unset_lock)           LOCK(Unset_nest_lock, unset_nest_lock)
TEST_LOCK(Test_lock, test_lock)        TEST_LOCK(Test_nest_lock, test_nest_lock)
    /* clang-format on */

    /* The upper bound that a region without num_threads gets as its num_threads. */
    extern int omp_get_max_threads(void) __attribute__((weak));
EXPORT int POMP2_Lib_get_max_threads(void);
EXPORT int pomp2_lib_get_max_threads_(void);
int POMP2_Lib_get_max_threads(void) { return omp_get_max_threads(); }
int pomp2_lib_get_max_threads_(void) { return omp_get_max_threads(); }

EXPORT task POMP2_Get_new_task_handle(void);
task POMP2_Get_new_task_handle(void) { return 0; }

/* A program instrumented with --omp-tpd copies this from a master to its team, and wants it defined here. */
EXPORT extern __thread int64_t pomp_tpd;
EXPORT extern __thread int64_t pomp_tpd_;
__thread int64_t pomp_tpd __attribute__((aligned(16)));
__thread int64_t pomp_tpd_ __attribute__((aligned(16)));

/* ---- the two that matter ---- */

EXPORT void POMP2_Parallel_fork(handle* h, int condition, int threads, task* old, const char text[]);
EXPORT void pomp2_parallel_fork_(handle* h, const int* condition, const int* threads, task* old,
                                 const char* text, size_t length);
EXPORT void POMP2_Parallel_begin(handle* h);
EXPORT void pomp2_parallel_begin_(handle* h);

void POMP2_Parallel_fork(handle* h, int condition, int threads, task* old, const char text[]) {
  (void)h, (void)condition, (void)threads, (void)text, *old = 0;
  pomp2_fork();
}

void pomp2_parallel_fork_(handle* h, const int* condition, const int* threads, task* old, const char* text,
                          size_t length) {
  (void)h, (void)condition, (void)threads, (void)text, (void)length, *old = 0;
  pomp2_fork();
}

void POMP2_Parallel_begin(handle* h) {
  (void)h;
  pomp2_begin();
}

void pomp2_parallel_begin_(handle* h) {
  (void)h;
  pomp2_begin();
}
