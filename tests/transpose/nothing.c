/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that have nothing of an array, since there are more of them than rows, and whatever they pass for it:
 * NULL, two pointers where the others transpose in place, or one where they do not. All ranks must do the
 * same things together: a mistake is a job that hangs. And sizes that nothing has, such as a negative int
 * makes, refused at once on all ranks; what is left after MPI_Finalize, destroyed.
 *
 *     nothing heap|shared */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nigh/transpose_mpi.h>

static int rank, size, failures, shared_memory;
static double nowhere[2][8]; /* what a rank may pass that has nothing */

static void expect(int holds, const char* what) {
  if (holds) return;
  if (++failures < 10) fprintf(stderr, "rank %d: %s (%s)\n", rank, what, nigh_transpose_why());
}

/* The argument for an array of `bytes`, if it has any; else one of three things. */
enum { null, one_pointer, two_pointers, ways };
struct array {
  void *memory, *passed;
  size_t bytes;
};
static struct array get(size_t bytes, int way, int second) {
  struct array made = {shared_memory ? nigh_transpose_alloc(bytes, MPI_COMM_WORLD) : malloc(bytes + 1), NULL,
                       bytes};
  made.passed = bytes > 0 ? made.memory : way == null ? NULL : nowhere[way == two_pointers && second];
  if (bytes == 0 && way != null) made.bytes = sizeof nowhere[0];
  return made;
}
static void give(struct array* a) {
  if (shared_memory) {
    nigh_transpose_free(a->memory);
  } else {
    free(a->memory);
  }
}

static double value(size_t matrix, size_t i, size_t j) { return (double)(1 + matrix * 10000 + i * 100 + j); }

static void many(size_t matrices, size_t rows, size_t columns, int in_place, int way) {
  size_t first_row, row_count, first_column, column_count;
  char what[100];
  snprintf(what, sizeof what, "%zu of %zu x %zu%s, way %d", matrices, rows, columns,
           in_place ? " in place" : "", way);
  nigh_transpose_mpi_share(rows, columns, MPI_COMM_WORLD, &first_row, &row_count, &first_column,
                           &column_count);
  size_t a_apart = row_count * columns, b_apart = column_count * rows;
  if (in_place) a_apart = b_apart = a_apart > b_apart ? a_apart : b_apart;
  struct array a = get(matrices * a_apart * sizeof(double), way, 0), b = a;
  if (!in_place) b = get(matrices * b_apart * sizeof(double), way, 1);
  if (in_place && a.memory != a.passed && way == two_pointers) b.passed = nowhere[1];
  /* The other pointer may be anything, too, where an array is only on one side. */
  if (in_place && row_count == 0 && way == null) a.passed = NULL, a.bytes = 0;
  if (in_place && column_count == 0 && way == null) b.passed = NULL, b.bytes = 0;
  nigh_transpose* plan =
      nigh_transpose_mpi_many(matrices, rows, columns, sizeof(double), a.passed, a.bytes, 0, a_apart,
                              b.passed, b.bytes, 0, b_apart, MPI_COMM_WORLD, 1);
  expect(plan != NULL, what);
  double *from = a.memory, *to = b.memory;
  for (size_t k = 0; k < matrices; ++k)
    for (size_t i = 0; i < row_count; ++i)
      for (size_t j = 0; j < columns; ++j) from[k * a_apart + i * columns + j] = value(k, first_row + i, j);
  expect(nigh_transpose_execute(plan) == 0, what);
  for (size_t k = 0; k < matrices; ++k)
    for (size_t j = 0; j < column_count; ++j)
      for (size_t i = 0; i < rows; ++i)
        expect(to[k * b_apart + j * rows + i] == value(k, i, first_column + j), what);
  nigh_transpose_destroy(plan);
  if (!in_place) give(&b);
  give(&a);
}

static void three_steps(size_t rows, size_t columns, int way) {
  size_t row_count, column_count;
  nigh_transpose_mpi_share(rows, columns, MPI_COMM_WORLD, NULL, &row_count, NULL, &column_count);
  struct array a = get(row_count * columns * 8, way, 0), b = get(column_count * rows * 8, way, 1);
  nigh_transpose* plan = nigh_transpose_mpi_three_steps(rows, columns, 8, a.passed, a.bytes, b.passed,
                                                        b.bytes, MPI_COMM_WORLD, 1);
  expect(plan != NULL && nigh_transpose_execute(plan) == 0, "three steps of little");
  nigh_transpose_destroy(plan);
  give(&b);
  give(&a);
}

static void pencils(const size_t n[3], int p, int q, int way) {
  for (int turn = 0; turn < 4; ++turn) {
    const int turns[4][2] = {{2, 1}, {1, 0}, {0, 1}, {1, 2}}, from = turns[turn][0], to = turns[turn][1];
    size_t count[2][3];
    nigh_transpose_pencils_share(n, p, q, from, MPI_COMM_WORLD, NULL, count[0]);
    nigh_transpose_pencils_share(n, p, q, to, MPI_COMM_WORLD, NULL, count[1]);
    struct array a = get(count[0][0] * count[0][1] * count[0][2] * 8, way, 0),
                 b = get(count[1][0] * count[1][1] * count[1][2] * 8, way, 1);
    nigh_transpose* plan =
        nigh_transpose_pencils(n, p, q, from, to, 8, a.passed, a.bytes, b.passed, b.bytes, MPI_COMM_WORLD, 1);
    expect(plan != NULL && nigh_transpose_execute(plan) == 0, "pencils of little");
    nigh_transpose_destroy(plan);
    give(&b);
    give(&a);
  }
}

/* In memory of nigh_transpose_alloc() all ranks reach each other's, whatever one passes that has nothing. */
static void reach(int way) {
  struct array a = get(rank == 0 ? 0 : 80, way, 0);
  void** each = malloc((size_t)size * sizeof(void*));
  const int found =
      nigh_transpose_reach(rank == 0 ? a.passed : a.memory, rank == 0 ? 0 : 80, MPI_COMM_WORLD, each);
  if (shared_memory) expect(found == 0, "what is shared is not reached beside a rank that has nothing");
  expect(nigh_transpose_reach(a.memory, a.bytes, MPI_COMM_WORLD, rank == 0 ? NULL : each) == -1,
         "an answer to nowhere was not refused");
  free(each);
  give(&a);
}

static void refused(const char* words, nigh_transpose* plan) {
  expect(plan == NULL && strstr(nigh_transpose_why(), words) != NULL, words);
  nigh_transpose_destroy(plan);
}

static void too_large(void) {
  const size_t huge[] = {(size_t)-1, (size_t)-1 / 2, (size_t)1 << 61, (size_t)1 << 32};
  static double a[64], b[64];
  const MPI_Comm all = MPI_COMM_WORLD;
  const double from = MPI_Wtime();
  for (int i = 0; i < 4; ++i) {
    const size_t h = huge[i], n[3] = {h, h, 2};
    size_t first[3], count[3];
    refused("no address space", nigh_transpose_mpi(h, h, 8, a, h, b, h, all, 1));
    refused("no address space", nigh_transpose_mpi_many(h, h, 1, 8, a, h, 0, 0, b, h, 0, 0, all, 1));
    if (i < 2)
      refused("no address space", nigh_transpose_mpi_many(2, 4, 4, 8, a, h, h, h, b, h, 0, 0, all, 1));
    refused("no address space", nigh_transpose_mpi_three_steps(h, h, 8, a, h, b, h, all, 1));
    refused("no address space", nigh_transpose_pencils(n, size, 1, 2, 1, 8, a, h, b, h, all, 1));
    nigh_transpose_mpi_share(h, h, all, &first[0], &count[0], &first[1], &count[1]);
    expect(first[0] <= h - count[0] && count[0] == count[1], "a share of very much");
    expect(nigh_transpose_pencils_share(n, size, 1, 2, all, first, count) == 0, "pencils of very much");
    nigh_transpose* none = nigh_transpose_mpi_many(h, 0, h, 8, NULL, 0, 0, 0, NULL, 0, 0, 0, all, 1);
    expect(none != NULL && nigh_transpose_execute(none) == 0, "none of very many");
    nigh_transpose_destroy(none);
  }
  expect(nigh_transpose_alloc((size_t)-1, all) == NULL, "all memory there could be was given");
  expect(MPI_Wtime() - from < 5, "what is too large is refused late");
}

int main(int argc, char** argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  shared_memory = argc > 1 && strcmp(argv[1], "shared") == 0;
  for (int way = null; way < ways; ++way) {
    const size_t shapes[][2] = {{1, 1}, {2, 2}, {1, 6}, {6, 1}, {2, 9}, {3, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
      for (int in_place = 0; in_place < 2; ++in_place)
        for (size_t matrices = 1; matrices < 4; matrices += 2)
          many(matrices, shapes[i][0], shapes[i][1], in_place, way);
      three_steps(shapes[i][0], shapes[i][1], way);
    }
    for (int p = 1; p <= size; ++p) {
      if (size % p != 0) continue;
      pencils((const size_t[3]){1, 2, 3}, p, size / p, way);
      pencils((const size_t[3]){3, 1, 1}, p, size / p, way);
      pencils((const size_t[3]){0, 4, 4}, p, size / p, way);
    }
    reach(way);
  }
  too_large();
  nigh_transpose* left = nigh_transpose_mpi(1, 1, 8, nowhere[0], 8, nowhere[1], 8, MPI_COMM_WORLD, 1);
  void* kept = nigh_transpose_alloc(100, MPI_COMM_WORLD);
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#ifdef MPICH_VERSION
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  MPI_Finalize();
  nigh_transpose_destroy(left);
  nigh_transpose_free(kept);
  if (rank == 0 && all == 0) puts("all transposes are right");
  return all != 0;
}
