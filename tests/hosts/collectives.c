/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * collectives [ROUNDS [FILE]]: Barrier, Bcast, Reduce, Allreduce, Allgather(v), Alltoall, Gather, Scatter and
 * Reduce_scatter_block from every root, of sizes around most limits, on MPI_COMM_WORLD, a duplicate,
 * communicators with the ranks in the reverse order and by turns from each half, and one of every second
 * rank; every value is compared. The first round has one root and only the first four: fewer calls than those
 * after which ranks ask the census. With FILE the first rank waits for it before the second round. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int wrong;

static void expect(double seen, double right) {
  if (seen != right) wrong = 1;
}

/* To each from each another block, as far as in two steps, and beyond. */
static void exchange_on(MPI_Comm comm, int count, int number) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  double* to = malloc((size_t)count * (size_t)size * sizeof *to);
  double* from = malloc((size_t)count * (size_t)size * 2 * sizeof *from);
  MPI_Datatype second, spaced;
  MPI_Type_vector(count, 1, 2, MPI_DOUBLE, &second);
  MPI_Type_create_resized(second, 0, (MPI_Aint)(2 * sizeof *from) * count, &spaced);
  MPI_Type_commit(&spaced);
  for (int way = 0; way < 3; way++) { /* plain, spaced, in place */
    const int step = way == 1 ? 2 : 1;
    for (int i = 0; i < size * count; i++) to[i] = number + rank * 100 + i / count * 10 + i % count % 7;
    for (int i = 0; i < size * count * 2; i++) from[i] = way == 2 && i < size * count ? to[i] : -1;
    MPI_Alltoall(way == 2 ? MPI_IN_PLACE : to, count, MPI_DOUBLE, from, way == 1 ? 1 : count,
                 way == 1 ? spaced : MPI_DOUBLE, comm);
    for (int i = 0; i < size * count; i++) {
      expect(from[i * step], number + i / count * 100 + rank * 10 + i % count % 7);
      if (way == 1) expect(from[i * step + 1], -1);
    }
  }
  MPI_Type_free(&second);
  MPI_Type_free(&spaced);
  free(to);
  free(from);
}

/* A block of each, into place or from a buffer of its own, in one piece or every second number. */
static void gather_on(MPI_Comm comm, int count, int number) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  double* mine = malloc((size_t)count * sizeof *mine);
  double* all = malloc((size_t)count * (size_t)size * 2 * sizeof *all);
  MPI_Datatype second;
  MPI_Type_vector(count, 1, 2, MPI_DOUBLE, &second);
  MPI_Type_commit(&second);
  for (int step = 1; step <= 2; step++) {
    MPI_Datatype spaced;
    MPI_Type_create_resized(second, 0, (MPI_Aint)(2 * sizeof *all) * count, &spaced);
    MPI_Type_commit(&spaced);
    for (int in_place = 0; in_place < 2; in_place++) {
      for (int i = 0; i < size * count * 2; i++) all[i] = -1;
      for (int i = 0; i < count; i++) mine[i] = all[(rank * count + i) * step] = number + rank * 10 + i % 7;
      MPI_Allgather(in_place ? MPI_IN_PLACE : mine, count, MPI_DOUBLE, all, step == 1 ? count : 1,
                    step == 1 ? MPI_DOUBLE : spaced, comm);
      for (int i = 0; i < size * count; i++) expect(all[i * step], number + i / count * 10 + i % count % 7);
      for (int i = 0; i < size * count && step == 2; i++) expect(all[i * step + 1], -1);
    }
    MPI_Type_free(&spaced);
  }
  MPI_Type_free(&second);
  free(mine);
  free(all);
}

/* Every second number of `count`, `count` times 2 numbers apart. */
static MPI_Datatype every_second(int count) {
  MPI_Datatype second, spaced;
  MPI_Type_vector(count, 1, 2, MPI_DOUBLE, &second);
  MPI_Type_create_resized(second, 0, (MPI_Aint)(2 * sizeof(double)) * count, &spaced);
  MPI_Type_commit(&spaced);
  MPI_Type_free(&second);
  return spaced;
}

/* To and from each root, with the root in place or not, its blocks in one piece or every second number. */
static void root_on(MPI_Comm comm, int count, int number) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  double* mine = malloc((size_t)count * sizeof *mine);
  double* all = malloc((size_t)count * (size_t)size * 2 * sizeof *all);
  for (int root = 0; root < size; root++)
    for (int way = 0; way < 4; way++) {
      const int step = way < 2 ? 1 : 2, in_place = way % 2;
      MPI_Datatype spaced = every_second(count), type = step == 1 ? MPI_DOUBLE : spaced;
      const int of_root = step == 1 ? count : 1;
      for (int i = 0; i < size * count * 2; i++) all[i] = -1;
      for (int i = 0; i < count; i++) mine[i] = number + rank * 10 + i % 7;
      for (int i = 0; i < count && in_place; i++) all[(rank * count + i) * step] = mine[i];
      MPI_Gather(in_place && rank == root ? MPI_IN_PLACE : mine, count, MPI_DOUBLE, all, of_root, type, root,
                 comm);
      for (int i = 0; i < size * count && rank == root; i++) {
        expect(all[i * step], number + i / count * 10 + i % count % 7);
        if (step == 2) expect(all[i * step + 1], -1);
      }
      for (int i = 0; i < size * count; i++) all[i * step] = number + i / count * 10 + i % count % 5;
      for (int i = 0; i < count; i++) mine[i] = -1;
      MPI_Scatter(all, of_root, type, in_place && rank == root ? MPI_IN_PLACE : mine, count, MPI_DOUBLE, root,
                  comm);
      for (int i = 0; i < count && !(in_place && rank == root); i++)
        expect(mine[i], number + rank * 10 + i % 5);
      MPI_Type_free(&spaced);
    }
  free(mine);
  free(all);
}

/* Blocks of different lengths: one after the other, or from the last to the first with gaps, or by turns so
 * on one rank and so on the next; and sums of which each has a part. */
static void parts_on(MPI_Comm comm, int count, int number) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int longest = count + size, room = size * (longest + 1);
  int* counts = malloc((size_t)size * sizeof *counts);
  int* places = malloc((size_t)size * sizeof *places);
  double* mine = malloc((size_t)room * sizeof *mine);
  double* all = malloc((size_t)room * sizeof *all);
  for (int way = 0; way < 8; way++) {
    const int in_place = way % 2, gaps = way < 4 ? way > 1 : (rank / 2 + way / 2) % 2;
    int next = 0;
    for (int r = 0; r < size; r++) {
      counts[r] = r == size - 1 ? 0 : count + r;
      places[r] = !gaps ? next : (size - 1 - r) * (longest + 1);
      next += counts[r];
    }
    for (int i = 0; i < room; i++) all[i] = -1;
    for (int i = 0; i < counts[rank]; i++) mine[i] = number + rank * 10 + i % 7;
    for (int i = 0; i < counts[rank] && in_place; i++) all[places[rank] + i] = mine[i];
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine, counts[rank], MPI_DOUBLE, all, counts, places, MPI_DOUBLE,
                   comm);
    for (int r = 0; r < size; r++)
      for (int i = 0; i < counts[r]; i++) expect(all[places[r] + i], number + r * 10 + i % 7);
    for (int r = 0; r < size && gaps; r++) expect(all[places[r] + counts[r]], -1);
    for (int i = 0; i < size * count; i++) all[i] = mine[i] = rank + i / count * 3 + i % count % 5;
    MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : mine, all, count, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < count; i++) expect(all[i], size * (size - 1) / 2 + size * (rank * 3 + i % 5));
  }
  free(counts);
  free(places);
  free(mine);
  free(all);
}

static void round_on(MPI_Comm comm, int roots, int count, int number) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  double* mine = malloc((size_t)count * sizeof *mine);
  double* sum = malloc((size_t)count * sizeof *sum);
  for (int root = 0; root < size && root < roots; root++) {
    MPI_Barrier(comm);
    for (int i = 0; i < count; i++) mine[i] = rank == root ? number + root + i % 7 : -1;
    MPI_Bcast(mine, count, MPI_DOUBLE, root, comm);
    for (int i = 0; i < count; i++) expect(mine[i], number + root + i % 7);
    for (int i = 0; i < count; i++) mine[i] = rank + i % 5;
    MPI_Reduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, root, comm);
    for (int i = 0; i < count && rank == root; i++) expect(sum[i], size * (size - 1) / 2 + size * (i % 5));
    MPI_Allreduce(MPI_IN_PLACE, mine, count, MPI_DOUBLE, MPI_MAX, comm);
    for (int i = 0; i < count; i++) expect(mine[i], size - 1 + i % 5);
  }
  free(mine);
  free(sum);
  if (number == 0) return;
  gather_on(comm, count, number);
  exchange_on(comm, number, number);
  exchange_on(comm, 60 + number * 40, number);
  if (number != 2) return; /* once: MPICH takes milliseconds for each call on few CPUs */
  root_on(comm, 400, number);
  parts_on(comm, 400, number);
}

int main(int argc, char** argv) {
  static const int counts[] = {1, 1000, 8192, 20000};
  int rank, size;
  MPI_Comm comms[5];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[3]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank % ((size + 1) / 2), &comms[4]);
  MPI_Comm uneven; /* MPICH 4.0.2 alone has wrong sums on nodes of two members and one */
  MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1 ? MPI_UNDEFINED : 0, size - rank, &uneven);
  const int rounds = argc > 1 ? atoi(argv[1]) : 4;
  for (int i = 0; i < rounds; i++) {
    if (i == 1 && argc > 2 && rank == 0)
      while (access(argv[2], F_OK) != 0) usleep(10000);
    for (int k = 0; k < 5; k++) round_on(comms[k], i == 0 ? 1 : size, counts[i % 4], i);
    if (i == 2) round_on(comms[0], size, 140000, 0); /* more than 1 MiB */
    if (i == 2) round_on(comms[4], size, 140000, 0);
    for (int k = 0; k < 10 && i > 0 && uneven != MPI_COMM_NULL; k++) {
      gather_on(uneven, counts[k % 4], k);
      exchange_on(uneven, 1 + k * 15, k);
      if (i == 2 && k % 6 == 3) root_on(uneven, 1 + k * 15, k);
      if (i == 2 && k % 6 == 3) parts_on(uneven, 1 + k * 15, k);
      if (i == 2 && k == 4) parts_on(uneven, 6000, k); /* and a node that has nothing */
    }
  }
  for (int k = 1; k < 5; k++) MPI_Comm_free(&comms[k]);
  if (uneven != MPI_COMM_NULL) MPI_Comm_free(&uneven);
  int any = 0;
  MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(any ? "WRONG values" : "all values are right");
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD); /* MPICH 4.0 may not come out of MPI_Finalize otherwise, see ranks.c */
  usleep(400000);
  MPI_Finalize();
  return any;
}
