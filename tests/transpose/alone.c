/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Transposes of one process through the C API: with gaps, in place, by several threads, and what is refused.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <nigh/transpose.h>
#include <sched.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resident.h"

static int failures;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "%s (%s)\n", what, nigh_transpose_why());
}

static void refused(const char* words, nigh_transpose* plan) {
  expect(plan == NULL && strstr(nigh_transpose_why(), words) != NULL, words);
  nigh_transpose_destroy(plan);
}

/* `gap` elements between rows; in place if there is no gap. */
static void shape(size_t rows, size_t columns, size_t gap, int threads) {
  const size_t from_stride = columns + gap, to_stride = rows + gap;
  const int in_place = gap == 0;
  double* from = calloc(rows * from_stride, sizeof *from);
  double* to = in_place ? from : malloc(columns * to_stride * sizeof *to);
  nigh_transpose* plan =
      nigh_transpose_local(rows, columns, sizeof *from, from, from_stride, to, to_stride, threads);
  expect(plan != NULL, "no plan");
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) from[i * from_stride + j] = (double)(i * columns + j) + round;
    expect(nigh_transpose_execute(plan) == 0, "it was not executed");
    int right = 1;
    for (size_t j = 0; j < columns; ++j)
      for (size_t i = 0; i < rows; ++i)
        right = right && to[j * to_stride + i] == (double)(i * columns + j) + round;
    expect(right, in_place ? "in place it is wrong" : "it is wrong");
  }
  nigh_transpose_destroy(plan);
  if (!in_place) free(to);
  free(from);
}

/* Matrix k has k in front of its elements; woven: rows of one lie between those of the others. */
static void batch(size_t matrices, size_t rows, size_t columns, int woven, int in_place, int threads) {
  const size_t stride = woven ? matrices * columns : columns, apart = woven ? columns : rows * columns;
  double* from = calloc(matrices * rows * columns + 1, sizeof *from);
  double* to = in_place ? from : calloc(matrices * rows * columns + 1, sizeof *to);
  for (size_t k = 0; k < matrices; ++k)
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        from[k * apart + i * stride + j] = (double)((k * 1000 + i) * 1000 + j);
  nigh_transpose* plan = nigh_transpose_local_many(matrices, rows, columns, sizeof *from, from, stride, apart,
                                                   to, 0, 0, threads);
  expect(plan != NULL && nigh_transpose_execute(plan) == 0, "a batch is not executed");
  int right = 1;
  for (size_t k = 0; k < matrices; ++k)
    for (size_t j = 0; j < columns; ++j)
      for (size_t i = 0; i < rows; ++i)
        right = right && to[(k * columns + j) * rows + i] == (double)((k * 1000 + i) * 1000 + j);
  expect(right, "a batch is wrong");
  nigh_transpose_destroy(plan);
  if (!in_place) free(to);
  free(from);
}

/* [i][g][j] to [g][i][j], and back. */
static void reorder(size_t rows, size_t parts, size_t columns, int threads) {
  const size_t count = rows * parts * columns;
  double *a = calloc(count + 1, sizeof *a), *b = calloc(count + 1, sizeof *b),
         *c = calloc(count + 1, sizeof *c);
  for (size_t i = 0; i < count; ++i) a[i] = (double)i + 1;
  nigh_transpose* plans[2] = {nigh_transpose_copy_many(parts, rows, columns, sizeof *a, a, parts * columns,
                                                       columns, b, 0, 0, threads),
                              nigh_transpose_copy_many(parts, rows, columns, sizeof *a, b, 0, 0, c,
                                                       parts * columns, columns, threads)};
  for (int k = 0; k < 2; ++k)
    expect(plans[k] != NULL && nigh_transpose_execute(plans[k]) == 0, "a reorder is not executed");
  int right = 1;
  for (size_t g = 0; g < parts; ++g)
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        right = right && b[(g * rows + i) * columns + j] == a[(i * parts + g) * columns + j];
  expect(right && memcmp(a, c, count * sizeof *a) == 0 && b[count] == 0 && c[count] == 0,
         "a reorder is wrong");
  for (int k = 0; k < 2; ++k) nigh_transpose_destroy(plans[k]);
  free(a);
  free(b);
  free(c);
}

/* The number of this process's threads that may run on one CPU only. */
static int bound_threads(void) {
  DIR* tasks = opendir("/proc/self/task");
  int bound = 0;
  for (struct dirent* one = tasks ? readdir(tasks) : NULL; one != NULL; one = readdir(tasks)) {
    cpu_set_t mask;
    const int tid = atoi(one->d_name);
    if (tid > 0 && sched_getaffinity(tid, sizeof mask, &mask) == 0) bound += CPU_COUNT(&mask) == 1;
  }
  if (tasks) closedir(tasks);
  return bound;
}

/* Threads sit where they are planned, the caller stays free; on the masks that this process may have. */
static void seated(void) {
  static double a[256 * 256], b[256 * 256];
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) < 2) {
    puts("SKIP: seats need two CPUs");
    return;
  }
  const struct {
    const char* bind;
    int threads, bound;
  } cases[] = {{"scatter", 2, 1}, {"compact", 2, 1}, {"none", 2, 0}, {"scatter", CPU_COUNT(&mask) + 1, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char text[300];
    setenv("NIGH_TRANSPOSE_BIND", cases[i].bind, 1);
    nigh_transpose* plan = nigh_transpose_local(256, 256, 8, a, 256, b, 256, cases[i].threads);
    expect(plan != NULL && nigh_transpose_execute(plan) == 0, "it is not executed by threads that sit");
    expect(bound_threads() == cases[i].bound, cases[i].bind);
    nigh_transpose_explain(plan, text, sizeof text);
    expect((strstr(text, "on CPUs") != NULL) == (cases[i].bound > 0), text);
    nigh_transpose_destroy(plan);
  }
  unsetenv("NIGH_TRANSPOSE_BIND");
}

/* Beside a matrix of 48 MB less than 3 MB are used in place; of one with few rows or columns the length of
 * one of these more, which threads put aside where they are moved apart or together. */
static void little_memory(size_t rows, size_t columns) {
  double* data = malloc(rows * columns * sizeof *data);
  for (size_t i = 0; i < rows * columns; ++i) data[i] = (double)i;
  if (!forget_most_resident()) {
    puts("SKIP: /proc/self/clear_refs can't be written");
    free(data);
    return;
  }
  const long before = resident("VmRSS:");
  nigh_transpose* plan = nigh_transpose_local(rows, columns, sizeof *data, data, columns, data, rows, 2);
  expect(plan != NULL && nigh_transpose_execute(plan) == 0, "it is not executed in place");
  const long more = resident("VmHWM:") - before;
  const size_t few = rows < columns ? rows : columns, longest = rows < columns ? columns : rows;
  const long most = 3000 + (few < 64 ? (long)(longest * sizeof *data / 1024) : 0);
  if (more >= most) fprintf(stderr, "%ld KiB more\n", more);
  expect(before > 40000 && more < most, "in place takes much memory");
  int right = 1;
  for (size_t j = 0; j < columns; ++j)
    for (size_t i = 0; i < rows; ++i) right = right && data[j * rows + i] == (double)(i * columns + j);
  expect(right, "a large one in place is wrong");
  nigh_transpose_destroy(plan);
  free(data);
}

int main(void) {
  for (int threads = 0; threads <= 3; ++threads) {
    shape(1, 1, 0, threads);
    reorder(100, 8, 33, threads);
    reorder(7, 40, 5, threads);
    reorder(1, 1, 1, threads);
    reorder(600, 4, 700, threads);
    shape(100, 100, 0, threads);
    shape(300, 77, 0, threads);
    shape(300, 77, 3, threads);
    shape(1, 1000, 1, threads);
    shape(1000, 700, 8, threads);
    for (size_t matrices = 0; matrices < 40; matrices += 1 + 2 * matrices) {
      batch(matrices, 13, 40, 0, 0, threads);
      batch(matrices, 13, 40, 1, 0, threads);
      batch(matrices, 20, 20, 0, 1, threads);
      batch(matrices, 20, 11, 0, 1, threads);
    }
  }
  seated();
  little_memory(857143, 7);
  little_memory(3, 2000003);
  little_memory(2999, 2001);
  little_memory(2450, 2450);
  double a[64], b[64];
  refused("4, 8 or 16 bytes, not 5", nigh_transpose_local(8, 8, 5, a, 8, b, 8, 1));
  refused("NULL", nigh_transpose_local(8, 8, 8, NULL, 8, b, 8, 1));
  refused("rows overlap", nigh_transpose_local(8, 8, 8, a, 7, b, 8, 1));
  refused("rows overlap", nigh_transpose_local(4, 8, 8, a, 8, b, 3, 1));
  refused("only if it is square", nigh_transpose_local(4, 8, 8, a, 9, a, 4, 1));
  refused("threads", nigh_transpose_local(8, 8, 8, a, 8, b, 8, -1));
  refused("no address space", nigh_transpose_local((size_t)1 << 40, (size_t)1 << 30, 8, a, (size_t)1 << 30, b,
                                                   (size_t)1 << 40, 1));
  refused("matrices of to overlap", nigh_transpose_local_many(2, 4, 8, 8, a, 0, 0, b, 0, 31, 1));
  refused("matrices of to overlap", nigh_transpose_copy_many(2, 4, 8, 8, a, 0, 0, b, 0, 31, 1));
  refused("rows of from overlap", nigh_transpose_copy_many(2, 4, 8, 8, a, 7, 40, b, 0, 0, 1));
  refused("NULL", nigh_transpose_copy_many(1, 4, 8, 8, a, 0, 0, NULL, 0, 0, 1));
  refused("in place matrices stay", nigh_transpose_local_many(2, 4, 8, 8, a, 0, 0, a, 0, 33, 1));
  expect(nigh_transpose_execute(NULL) == -1 && strstr(nigh_transpose_why(), "no plan") != NULL,
         "no plan is executed");
  nigh_transpose* nothing = nigh_transpose_local(0, 8, 8, NULL, 8, NULL, 0, 1);
  expect(nothing != NULL && nigh_transpose_execute(nothing) == 0, "nothing can't be transposed");
  nigh_transpose_destroy(nothing);
  nigh_transpose_destroy(NULL);
  if (failures == 0) puts("all transposes are right");
  return failures != 0;
}
