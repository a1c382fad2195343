/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Transposes over the ranks of MPI_COMM_WORLD, of shapes small, odd and large, each element looked at, and
 * what is wrong refused on every rank. One program for both MPI libraries and all ways to reach a neighbour's
 * memory, which it prints.
 *
 *     ranks heap|shared|few THREADS [WANTED]   WANTED: what nigh_transpose_explain() must say at the end
 *     ranks dies THREADS                       the last rank is killed in the middle
 *     ranks too-large THREADS                  more shared memory is asked for than there is
 *     ranks scarce THREADS                     one rank has no memory for messages
 *     ranks late|late-in-place THREADS         one rank begins late, and meanwhile does other things with MPI
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nigh/transpose_mpi.h>

#include "resident.h"
#include "scarce.h"

static int rank, size, failures;
static int shared_memory;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "rank %d: %s (%s)\n", rank, what, nigh_transpose_why());
}

static void* get(size_t bytes, MPI_Comm comm) {
  return shared_memory ? nigh_transpose_alloc(bytes, comm) : malloc(bytes + 1);
}
static void give(void* memory) {
  if (shared_memory) {
    nigh_transpose_free(memory);
  } else {
    free(memory);
  }
}

/* The element in row i and column j of A: its first word is enough to know it. */
static uint32_t word(size_t i, size_t j, size_t k, unsigned round) {
  return (uint32_t)(i * 65537u + j * 257u + k * 0x9e3779b9u + round * 77u + 1u);
}

static void fill(char* a, size_t first, size_t count, size_t columns, size_t element, unsigned round) {
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < columns; ++j)
      for (size_t k = 0; k < element / 4; ++k) {
        uint32_t value = word(first + i, j, k, round);
        memcpy(a + (i * columns + j) * element + 4 * k, &value, 4);
      }
}

static int right(const char* b, size_t first, size_t count, size_t rows, size_t element, unsigned round) {
  for (size_t j = 0; j < count; ++j)
    for (size_t i = 0; i < rows; ++i)
      for (size_t k = 0; k < element / 4; ++k) {
        uint32_t value;
        memcpy(&value, b + (j * rows + i) * element + 4 * k, 4);
        if (value != word(i, first + j, k, round)) return 0;
      }
  return 1;
}

static void shape(size_t rows, size_t columns, size_t element, int threads, MPI_Comm comm,
                  const char* wanted) {
  size_t first_row, row_count, first_column, column_count;
  char text[1000] = "", what[100];
  nigh_transpose_mpi_share(rows, columns, comm, &first_row, &row_count, &first_column, &column_count);
  const size_t a_bytes = row_count * columns * element, b_bytes = column_count * rows * element;
  char *a = get(a_bytes, comm), *b = get(b_bytes, comm);
  nigh_transpose* plan = nigh_transpose_mpi(rows, columns, element, a, a_bytes, b, b_bytes, comm, threads);
  snprintf(what, sizeof what, "no transpose of %zu x %zu of %zu bytes", rows, columns, element);
  expect(plan != NULL, what);
  for (unsigned round = 0; plan != NULL && round < 3; ++round) {
    fill(a, first_row, row_count, columns, element, round);
    memset(b, 0, b_bytes);
    expect(nigh_transpose_execute(plan) == 0, what);
    fill(a, first_row, row_count, columns, element, 99); /* nobody reads it any more */
    snprintf(what, sizeof what, "a wrong transpose of %zu x %zu of %zu bytes", rows, columns, element);
    expect(right(b, first_column, column_count, rows, element, round), what);
  }
  if (wanted != NULL) {
    nigh_transpose_explain(plan, text, sizeof text);
    if (rank == 0) fputs(text, stdout);
    expect(strstr(text, wanted) != NULL, "it is done in another way than was wanted");
  }
  nigh_transpose_destroy(plan);
  give(a);
  give(b);
}

/* Haan's steps, and what each took. */
static void three_steps(size_t rows, size_t columns, size_t element, int threads) {
  size_t first_row, row_count, first_column, column_count;
  nigh_transpose_seconds seconds = {-1, -1, -1, -1};
  nigh_transpose_mpi_share(rows, columns, MPI_COMM_WORLD, &first_row, &row_count, &first_column,
                           &column_count);
  const size_t a_bytes = row_count * columns * element, b_bytes = column_count * rows * element;
  char *a = get(a_bytes, MPI_COMM_WORLD), *b = get(b_bytes, MPI_COMM_WORLD);
  nigh_transpose* plan =
      nigh_transpose_mpi_three_steps(rows, columns, element, a, a_bytes, b, b_bytes, MPI_COMM_WORLD, threads);
  expect(plan != NULL, "no three steps");
  int whole = 0;
  for (unsigned round = 0; round < 4; ++round) {
    fill(a, first_row, row_count, columns, element, round);
    memset(b, 0, b_bytes);
    const double from = MPI_Wtime();
    expect(nigh_transpose_execute(plan) == 0, "the three steps are not executed");
    const double all = MPI_Wtime() - from;
    expect(right(b, first_column, column_count, rows, element, round), "the three steps are wrong");
    expect(nigh_transpose_mpi_seconds(plan, &seconds) == 0, "the three steps are not timed");
    const double sum =
        seconds.local_reorder + seconds.on_node + seconds.between_nodes + seconds.local_transpose;
    whole += sum > 0.5 * all; /* unless another process had the CPU before the first step */
    expect(sum <= 1.01 * all, "the steps are more than the whole");
    expect(seconds.local_reorder >= 0 && seconds.on_node >= 0 && seconds.local_transpose > 0,
           "a step is missing");
  }
  expect(whole > 0, "the steps are not the whole");
  nigh_transpose_destroy(plan);
  give(b);
  give(a);
}

/* The same in the memory of A. */
static void in_place(size_t rows, size_t columns, size_t element, int threads, MPI_Comm comm) {
  size_t first_row, row_count, first_column, column_count;
  char what[100];
  nigh_transpose_mpi_share(rows, columns, comm, &first_row, &row_count, &first_column, &column_count);
  const size_t a_bytes = row_count * columns * element, b_bytes = column_count * rows * element,
               bytes = a_bytes > b_bytes ? a_bytes : b_bytes;
  char* data = get(bytes, comm);
  nigh_transpose* plan = nigh_transpose_mpi(rows, columns, element, data, bytes, data, bytes, comm, threads);
  snprintf(what, sizeof what, "no transpose in place of %zu x %zu of %zu bytes", rows, columns, element);
  expect(plan != NULL, what);
  for (unsigned round = 0; plan != NULL && round < 3; ++round) {
    fill(data, first_row, row_count, columns, element, round);
    expect(nigh_transpose_execute(plan) == 0, what);
    snprintf(what, sizeof what, "a wrong transpose in place of %zu x %zu of %zu bytes", rows, columns,
             element);
    expect(right(data, first_column, column_count, rows, element, round), what);
  }
  nigh_transpose_destroy(plan);
  give(data);
}

/* Beside 24 MB of two ranks each, the buffers of messages and a few rows are used. */
static void little_memory(size_t rows, size_t columns, int threads) {
  size_t first_row, row_count, first_column, column_count;
  nigh_transpose_mpi_share(rows, columns, MPI_COMM_WORLD, &first_row, &row_count, &first_column,
                           &column_count);
  const size_t a_count = row_count * columns, b_count = column_count * rows,
               bytes = 8 * (a_count > b_count ? a_count : b_count);
  char* data = get(bytes, MPI_COMM_WORLD);
  fill(data, first_row, row_count, columns, 8, 0);
  if (!forget_most_resident()) return;
  const long before = resident("VmRSS:");
  nigh_transpose* plan =
      nigh_transpose_mpi(rows, columns, 8, data, bytes, data, bytes, MPI_COMM_WORLD, threads);
  expect(plan != NULL && nigh_transpose_execute(plan) == 0, "a large one in place is not executed");
  const long more = resident("VmHWM:") - before;
  if (more >= 14000) fprintf(stderr, "%ld KiB more\n", more);
  expect(more < 14000, "in place takes much memory");
  expect(right(data, first_column, column_count, rows, 8, 0), "a large one in place is wrong");
  nigh_transpose_destroy(plan);
  give(data);
}

/* Matrix k is that of round k; without gaps, or with rows and matrices apart. */
static void batch(size_t matrices, size_t rows, size_t columns, size_t gap, int place, int threads) {
  size_t first_row, row_count, first_column, column_count;
  char what[100];
  nigh_transpose_mpi_share(rows, columns, MPI_COMM_WORLD, &first_row, &row_count, &first_column,
                           &column_count);
  const size_t a_stride = columns + gap, b_stride = rows + gap;
  size_t a_apart = row_count * a_stride + gap, b_apart = column_count * b_stride + gap;
  if (place) a_apart = b_apart = a_apart > b_apart ? a_apart : b_apart;
  const size_t a_bytes = matrices * a_apart * 8, b_bytes = matrices * b_apart * 8;
  char *a = get(a_bytes, MPI_COMM_WORLD), *b = place ? a : get(b_bytes, MPI_COMM_WORLD);
  nigh_transpose* plan =
      nigh_transpose_mpi_many(matrices, rows, columns, 8, a, a_bytes, gap ? a_stride : 0, a_apart, b, b_bytes,
                              gap ? b_stride : 0, b_apart, MPI_COMM_WORLD, threads);
  snprintf(what, sizeof what, "a wrong batch of %zu of %zu x %zu, %s", matrices, rows, columns,
           place ? "in place" : "");
  expect(plan != NULL, what);
  for (size_t k = 0; k < matrices; ++k)
    for (size_t i = 0; i < row_count; ++i)
      fill(a + (k * a_apart + i * a_stride) * 8, first_row + i, 1, columns, 8, (unsigned)k);
  expect(nigh_transpose_execute(plan) == 0, what);
  for (size_t k = 0; k < matrices; ++k)
    for (size_t j = 0; j < column_count; ++j)
      expect(right(b + (k * b_apart + j * b_stride) * 8, first_column + j, 1, rows, 8, (unsigned)k), what);
  nigh_transpose_destroy(plan);
  if (!place) give(b);
  give(a);
}

/* The part of an array of n[0] x n[1] x n[2] that this rank has, along `axis`; its element is its index. */
static const int order[3][3] = {{2, 1, 0}, {0, 2, 1}, {0, 1, 2}}; /* of axes in memory */
static uint64_t* pencils_of(const size_t n[3], int p, int q, int axis, int filled, size_t* bytes) {
  size_t first[3], count[3], at = 0;
  expect(nigh_transpose_pencils_share(n, p, q, axis, MPI_COMM_WORLD, first, count) == 0,
         "no share of pencils");
  *bytes = count[0] * count[1] * count[2] * 8;
  uint64_t* data = get(*bytes, MPI_COMM_WORLD);
  size_t i[3];
  const int *axes = order[axis], x = axes[0], y = axes[1], z = axes[2];
  for (i[x] = first[x]; i[x] < first[x] + count[x]; ++i[x])
    for (i[y] = first[y]; i[y] < first[y] + count[y]; ++i[y])
      for (i[z] = first[z]; i[z] < first[z] + count[z]; ++i[z], ++at) {
        const uint64_t value = (i[0] * n[1] + i[1]) * n[2] + i[2] + 1;
        if (filled == 1) data[at] = value;
        if (filled == 0) data[at] = 0;
      }
  return data;
}
static void pencils(size_t n0, size_t n1, size_t n2, int p, int q, int threads) {
  const size_t n[3] = {n0, n1, n2};
  const int turns[4][2] = {{2, 1}, {1, 0}, {0, 1}, {1, 2}};
  char what[100];
  for (int turn = 0; turn < 4; ++turn) {
    const int from = turns[turn][0], to = turns[turn][1];
    size_t a_bytes, b_bytes, wanted_bytes;
    uint64_t *a = pencils_of(n, p, q, from, 1, &a_bytes), *b = pencils_of(n, p, q, to, 0, &b_bytes),
             *wanted = pencils_of(n, p, q, to, 1, &wanted_bytes);
    nigh_transpose* plan =
        nigh_transpose_pencils(n, p, q, from, to, 8, a, a_bytes, b, b_bytes, MPI_COMM_WORLD, threads);
    snprintf(what, sizeof what, "pencils of %zu x %zu x %zu over %d x %d from %d to %d", n0, n1, n2, p, q,
             from, to);
    expect(plan != NULL, what);
    for (int round = 0; round < 2; ++round) {
      expect(nigh_transpose_execute(plan) == 0, what);
      expect(memcmp(b, wanted, b_bytes) == 0, what);
      memset(b, 0, b_bytes);
    }
    nigh_transpose_destroy(plan);
    give(wanted);
    give(b);
    give(a);
  }
}
static void all_pencils(int threads) {
  for (int p = 1; p <= size; ++p) {
    if (size % p != 0) continue;
    pencils(12, 10, 9, p, size / p, threads);
    pencils(33, 17, 64, p, size / p, threads);
    pencils(2, 70, 1, p, size / p, threads);
  }
}

/* Refused on every rank, with the rank that is wrong. */
static void refused(const char* words, nigh_transpose* plan) {
  expect(plan == NULL, "what is wrong was not refused");
  if (plan == NULL && strstr(nigh_transpose_why(), words) == NULL) expect(0, words);
  nigh_transpose_destroy(plan);
}

static char a[80000], b[80000];
static const size_t bytes = sizeof a;

/* Before MPI has begun it can't be asked, nor one that is no communicator; MPI would end the program. */
static void nobody(MPI_Comm comm, const char* words) {
  const size_t n[3] = {10, 10, 10};
  size_t first = 1, count = 1;
  refused(words, nigh_transpose_mpi(10, 10, 8, a, bytes, b, bytes, comm, 1));
  refused(words, nigh_transpose_pencils(n, 1, 1, 2, 1, 8, a, bytes, b, bytes, comm, 1));
  expect(nigh_transpose_alloc(10, comm) == NULL && strstr(nigh_transpose_why(), words), words);
  nigh_transpose_mpi_share(10, 10, comm, &first, &count, NULL, NULL);
  expect(first == 0 && count == 0, words);
}

static void wrong_ones(void) {
  nobody(MPI_COMM_NULL, "comm is MPI_COMM_NULL");
  char who[40];
  const int last = size - 1;
  snprintf(who, sizeof who, size > 1 ? "rank %d: " : "%.0d", last);
  refused("elements have 4, 8 or 16 bytes, not 3",
          nigh_transpose_mpi(10, 10, 3, a, bytes, b, bytes, MPI_COMM_WORLD, 1));
  refused("threads is not a number", nigh_transpose_mpi(10, 10, 8, a, bytes, b, bytes, MPI_COMM_WORLD, -1));
  refused("no address space",
          nigh_transpose_mpi((size_t)1 << 40, (size_t)1 << 40, 8, a, bytes, b, bytes, MPI_COMM_WORLD, 1));
  refused("a and b overlap", nigh_transpose_mpi(10, 10, 8, a, bytes, a + 8, bytes - 8, MPI_COMM_WORLD, 1));
  if (size > 1)
    refused("which is not so on all ranks",
            nigh_transpose_mpi(100, 100, 8, a, bytes, rank == last ? a : b, bytes, MPI_COMM_WORLD, 1));
  refused("in place a_apart and b_apart are the same",
          nigh_transpose_mpi_many(2, 10, 20, 8, a, bytes, 0, 1000, a, bytes, 0, 1001, MPI_COMM_WORLD, 1));
  refused("in place rows have no gaps",
          nigh_transpose_mpi_many(1, 10, 20, 8, a, bytes, 30, 0, a, bytes, 30, 0, MPI_COMM_WORLD, 1));
  refused("a_stride is too small",
          nigh_transpose_mpi_many(1, 100, 50, 8, a, bytes, 49, 0, b, bytes, 0, 0, MPI_COMM_WORLD, 1));
  refused("b_apart is too small",
          nigh_transpose_mpi_many(2, 100, 40, 8, a, bytes, 0, 0, b, bytes, 0, 99, MPI_COMM_WORLD, 1));
  const size_t n[3] = {10, 10, 10};
  refused("is not that of",
          nigh_transpose_pencils(n, size, 2, 2, 1, 8, a, bytes, b, bytes, MPI_COMM_WORLD, 1));
  refused("not from 2 to 0",
          nigh_transpose_pencils(n, size, 1, 2, 0, 8, a, bytes, b, bytes, MPI_COMM_WORLD, 1));
  refused("in its line of the grid",
          nigh_transpose_pencils(n, size, 1, 2, 1, 8, a, 10, b, bytes, MPI_COMM_WORLD, 1));
  refused("a is b", nigh_transpose_mpi_three_steps(10, 10, 8, a, bytes, a, bytes, MPI_COMM_WORLD, 1));
  if (size > 1)
    refused("other steps than rank 0",
            rank == last ? nigh_transpose_mpi_three_steps(100, 100, 8, a, bytes, b, bytes, MPI_COMM_WORLD, 1)
                         : nigh_transpose_mpi(100, 100, 8, a, bytes, b, bytes, MPI_COMM_WORLD, 1));
  expect(nigh_transpose_pencils_share(n, size, 1, 3, MPI_COMM_WORLD, NULL, NULL) != 0, "there is an axis 3");
  refused("are needed",
          nigh_transpose_mpi(100, 100, 8, a, rank == last ? 79 : bytes, b, bytes, MPI_COMM_WORLD, 1));
  refused(who, nigh_transpose_mpi(100, 100, 8, a, bytes, b, rank == last ? 79 : bytes, MPI_COMM_WORLD, 1));
  refused("b is NULL",
          nigh_transpose_mpi(100, 100, 8, a, bytes, rank == last ? NULL : b, bytes, MPI_COMM_WORLD, 1));
  if (size > 1)
    refused("rank 0 100 x 100",
            nigh_transpose_mpi(100, rank == last ? 99 : 100, 8, a, bytes, b, bytes, MPI_COMM_WORLD, 1));
}

/* The others wait for the dead one until their launcher ends them. */
static void die(void) {
  double *a = nigh_transpose_alloc(8 * 1000 * 1000, MPI_COMM_WORLD),
         *b = nigh_transpose_alloc(8 * 1000 * 1000, MPI_COMM_WORLD);
  nigh_transpose* plan = nigh_transpose_mpi(1000, 1000, 8, a, 8000000, b, 8000000, MPI_COMM_WORLD, 1);
  for (int round = 0;; ++round) {
    if (rank == size - 1 && round == 3) {
      fprintf(stderr, "rank %d dies\n", rank);
      raise(SIGKILL);
    }
    nigh_transpose_execute(plan);
  }
}

static void too_large(void) {
  const size_t bytes = rank == size - 1 ? (size_t)1 << 50 : 4096;
  expect(nigh_transpose_alloc(bytes, MPI_COMM_WORLD) == NULL, "a petabyte was allocated");
  expect(strstr(nigh_transpose_why(), "no shared memory") != NULL, "it is not said why");
  expect(nigh_transpose_alloc((size_t)-1, MPI_COMM_WORLD) == NULL, "all addresses were allocated");
}

/* The last rank has no room for the buffers of messages. MPICH needs more, or it ends the job itself. */
static void scarce(void) {
#ifdef MPICH_VERSION
  const rlim_t room = 5 << 20;
#else
  const rlim_t room = 1 << 20;
#endif
  static double a[512 * 512], b[512 * 512];
  const int poor = rank == size - 1;
  const rlim_t before = poor ? limit_memory(room) : 0;
  refused("no memory for the buffers",
          nigh_transpose_mpi(512, 512, 8, a, sizeof a, b, sizeof b, MPI_COMM_WORLD, 1));
  if (poor) unlimit_memory(before);
}

/* Messages of the other one meanwhile must not pile up in it: 12 MB, if it had its way. Memory that was
 * taken once stays with MPI, so it is looked at the first time. */
static void late(int threads, int in_place) {
  const size_t side = 2449;
  size_t first_row, row_count, first_column, column_count;
  nigh_transpose_mpi_share(side, side, MPI_COMM_WORLD, &first_row, &row_count, &first_column, &column_count);
  const size_t a_bytes = row_count * side * 8, b_bytes = column_count * side * 8;
  char *a = malloc(a_bytes), *b = in_place ? a : malloc(b_bytes);
  nigh_transpose* plan = nigh_transpose_mpi(side, side, 8, a, a_bytes, b, b_bytes, MPI_COMM_WORLD, threads);
  expect(plan != NULL, "no plan for one that is late");
  for (unsigned round = 0; plan != NULL && round < 3; ++round) {
    if (!in_place) memset(b, 0, b_bytes);
    fill(a, first_row, row_count, side, 8, round);
    MPI_Barrier(MPI_COMM_WORLD);
    const int counts = rank == size - 1 && round == 0 && forget_most_resident();
    const long before = resident("VmRSS:");
    for (double end = MPI_Wtime() + 0.3; rank == size - 1 && MPI_Wtime() < end;) {
      int any = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
    }
    const long more = resident("VmHWM:") - before;
    if (counts && more >= 4000) fprintf(stderr, "%ld KiB more\n", more);
    expect(!counts || more < 4000, "one that is late has to keep what the others send");
    expect(nigh_transpose_execute(plan) == 0 && right(b, first_column, column_count, side, 8, round),
           "one that is late");
  }
  nigh_transpose_destroy(plan);
  free(a);
  if (!in_place) free(b);
}

static void many_shapes(int threads) {
  const size_t elements[] = {4, 8, 16};
  unsigned count = 0;
  for (size_t rows = 1; rows <= 257; rows += 1 + rows)
    for (size_t columns = 1; columns <= 311; columns += 1 + columns)
      shape(rows, columns, elements[count++ % 3], threads, MPI_COMM_WORLD, NULL);
  for (size_t rows = 1; rows <= 257; rows += 2 + rows)
    for (size_t columns = 1; columns <= 311; columns += 3 + columns)
      in_place(rows, columns, elements[count++ % 3], threads, MPI_COMM_WORLD);
  in_place(777, 1031, 8, threads, MPI_COMM_WORLD);
  for (int place = 0; place < 2; ++place)
    for (size_t matrices = 0; matrices < 12; matrices += 1 + matrices) {
      batch(matrices, 40, 40, 7, place, threads);
      batch(matrices, 33, 70, place ? 0 : 3, place, threads);
    }
  batch(100, 9, 5, 0, 0, threads);
  all_pencils(threads);
  shape(1031, 777, 8, threads, MPI_COMM_WORLD, NULL);
  shape(512, 2048, 16, threads, MPI_COMM_WORLD, NULL);
}

static void all_of_it(int few, int threads, const char* wanted) { /* wanted: "": anything */
  if (few) {
    shape(100, 60, 8, threads, MPI_COMM_WORLD, NULL);
    in_place(64, 64, 16, threads, MPI_COMM_WORLD);
    in_place(50, 61, 4, threads, MPI_COMM_WORLD);
    batch(5, 20, 30, 0, 0, threads);
    pencils(12, 10, 9, size, 1, threads);
  } else {
    many_shapes(threads);
  }
  /* Ranks in another order, and not all of them. */
  MPI_Comm other;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &other);
  shape(300 + (size_t)(rank % 2), 200, 8, threads, other, NULL);
  in_place(200, 200 + (size_t)(rank % 2), 8, threads, other);
  MPI_Comm_free(&other);
  three_steps(1000, 700, 8, threads);
  three_steps(31, 77, 16, threads);
  wrong_ones();
  in_place(1500, 1500, 8, threads, MPI_COMM_WORLD);
  /* Touched memory of neighbours counts, too, where it is in reach. */
  if (size == 2 && strstr(wanted, "loads") == NULL) {
    little_memory(2999, 2001, threads);
    little_memory(2450, 2450, threads);
  }
  shape(1500, 1400, 8, threads, MPI_COMM_WORLD, wanted);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "heap";
  const int threads = argc > 2 ? atoi(argv[2]) : 1;
  int level = 0, all = 0;
  shared_memory = strcmp(what, "shared") == 0;
  nobody(MPI_COMM_WORLD, "call it between MPI_Init and MPI_Finalize");
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(what, "dies") == 0) die();
  if (strcmp(what, "too-large") == 0) {
    too_large();
  } else if (strcmp(what, "scarce") == 0) {
    scarce();
  } else if (strcmp(what, "late") == 0) {
    late(threads, 0);
  } else if (strcmp(what, "late-in-place") == 0) {
    late(threads, 1);
  } else {
    all_of_it(strcmp(what, "few") == 0, threads, argc > 3 ? argv[3] : "");
  }
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "all transposes are right\n" : "%d failures\n", all);
#ifdef MPICH_VERSION
  /* Over TCP MPICH 4.0 may wait in MPI_Finalize for one that is there already (docs/testing-hosts.md). */
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(400000);
#endif
  MPI_Finalize();
  return all != 0;
}
