/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Molecular dynamics by MPI: each rank has planes of cells, one on top of the other. The second cell of a
 * pair lies in the plane of the first or in the one above, so a rank gets the places of the lowest plane of
 * the rank above, and sends the forces on it back. Usage: molecules-LIBRARY SIDE STEPS. Exits with 1 if the
 * result is not the serial one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "molecules.h"

static int side, steps, planes, first_plane;
static molecules_box *boxes, *other; /* planes -1 .. planes: those of the neighbours are at the ends */
static molecules_box* box(molecules_box* of, int x, int y, int plane) {
  return &of[((plane + 1) * side + y) * side + x];
}

enum { most_bytes_a_cell = 16 + sizeof(molecules_particle) * molecules_most };
static int below, above;
static char *out[2], *in[2];

/* One plane each to the ranks above and below, and theirs. */
static void exchange(size_t up, size_t down, int wants_up, int wants_down) {
  MPI_Request requests[4];
  int n = 0;
  const int most = side * side * 9 * most_bytes_a_cell;
  if (wants_down) MPI_Irecv(in[0], most, MPI_BYTE, above, 0, MPI_COMM_WORLD, &requests[n++]);
  if (wants_up) MPI_Irecv(in[1], most, MPI_BYTE, below, 1, MPI_COMM_WORLD, &requests[n++]);
  if (wants_down) MPI_Isend(out[0], (int)down, MPI_BYTE, below, 0, MPI_COMM_WORLD, &requests[n++]);
  if (wants_up) MPI_Isend(out[1], (int)up, MPI_BYTE, above, 1, MPI_COMM_WORLD, &requests[n++]);
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static char* put(char* to, const void* data, size_t bytes) {
  memcpy(to, data, bytes);
  return to + bytes;
}
static const char* get(const char* from, void* data, size_t bytes) {
  memcpy(data, from, bytes);
  return from + bytes;
}

static size_t pack_places(int plane, char* to) {
  char* at = to;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const molecules_box* const b = box(boxes, x, y, plane);
      at = put(at, &b->count, sizeof b->count);
      at = put(at, b->places, sizeof(double) * 3 * (size_t)b->count);
    }
  return (size_t)(at - to);
}
static void unpack_places(int plane, const char* at) {
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      molecules_box* const b = box(boxes, x, y, plane);
      at = get(at, &b->count, sizeof b->count);
      at = get(at, b->places, sizeof(double) * 3 * (size_t)b->count);
      for (int n = 0; n < 9; ++n) memset(b->forces[n], 0, sizeof(double) * 3 * (size_t)b->count);
    }
}
static size_t pack_particles(int plane, char* to) {
  char* at = to;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const molecules_box* const b = box(boxes, x, y, plane);
      at = put(at, &b->count, sizeof b->count);
      at = put(at, b->all, sizeof b->all[0] * (size_t)b->count);
    }
  return (size_t)(at - to);
}
static void unpack_particles(int plane, const char* at) {
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      molecules_box* const b = box(boxes, x, y, plane);
      at = get(at, &b->count, sizeof b->count);
      at = get(at, b->all, sizeof b->all[0] * (size_t)b->count);
    }
}

static void forces_of_all(void) {
  for (int p = 0; p < planes; ++p)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        molecules_box* const b = box(boxes, x, y, p);
        for (int i = 0; i < b->count; ++i) memcpy(&b->places[3 * i], b->all[i].x, sizeof(double) * 3);
        for (int n = 0; n < molecules_neighbours; ++n)
          memset(b->forces[n], 0, sizeof(double) * 3 * (size_t)b->count);
      }
  const size_t down = pack_places(0, out[0]);
  exchange(0, down, 0, 1);
  unpack_places(planes, in[0]);
  for (int p = 0; p < planes; ++p)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        for (int n = 13; n < molecules_neighbours; ++n) {
          const int cell[3] = {x, y, first_plane + p};
          int offset[3], at[3];
          double shift[3];
          molecules_offset(n, offset);
          molecules_at(cell, offset, side, at, shift);
          molecules_box *const a = box(boxes, x, y, p), *const b = box(boxes, at[0], at[1], p + offset[2]);
          molecules_forces(a->places, a->count, b->places, b->count, shift, n == 13, a->forces[n],
                           b->forces[26 - n]);
        }
  char* to = out[1];
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      for (int n = 0; n < 9; ++n) {
        const molecules_box* const b = box(boxes, x, y, planes);
        to = put(to, b->forces[n], sizeof(double) * 3 * (size_t)b->count);
      }
  exchange((size_t)(to - out[1]), 0, 1, 0);
  const char* from = in[1];
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      for (int n = 0; n < 9; ++n) {
        molecules_box* const b = box(boxes, x, y, 0);
        from = get(from, b->forces[n], sizeof(double) * 3 * (size_t)b->count);
      }
}

static void change_cells(void) {
  const size_t down = pack_particles(0, out[0]), up = pack_particles(planes - 1, out[1]);
  exchange(up, down, 1, 1);
  unpack_particles(planes, in[0]);
  unpack_particles(-1, in[1]);
  for (int p = 0; p < planes; ++p)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        molecules_box* const to = box(other, x, y, p);
        to->count = 0;
        for (int pass = -1; pass < molecules_neighbours; ++pass) {
          const int cell[3] = {x, y, first_plane + p};
          int offset[3] = {0, 0, 0}, at[3] = {x, y, first_plane + p};
          double shift[3];
          if (pass == 13) continue;
          if (pass >= 0) {
            molecules_offset(pass, offset);
            molecules_at(cell, offset, side, at, shift);
          }
          const molecules_box* const from = box(boxes, at[0], at[1], p + offset[2]);
          for (int i = 0; i < from->count; ++i) {
            molecules_particle one = from->all[i];
            if (molecules_where(&one, at, side) == (pass < 0 ? 13 : 26 - pass)) molecules_put(to, &one);
          }
        }
      }
  molecules_box* const swap = boxes;
  boxes = other, other = swap;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  side = argc > 1 ? atoi(argv[1]) : 8, steps = argc > 2 ? atoi(argv[2]) : 100;
  if (size > side) {
    if (rank == 0) fprintf(stderr, "%d ranks for %d planes of cells\n", size, side);
    MPI_Finalize();
    return 1;
  }
  first_plane = side * rank / size, planes = side * (rank + 1) / size - first_plane;
  below = (rank + size - 1) % size, above = (rank + 1) % size;
  boxes = calloc((size_t)(side * side * (planes + 2)), sizeof *boxes);
  other = calloc((size_t)(side * side * (planes + 2)), sizeof *other);
  for (int i = 0; i < 2; ++i) {
    out[i] = malloc((size_t)(side * side * 9 * most_bytes_a_cell));
    in[i] = malloc((size_t)(side * side * 9 * most_bytes_a_cell));
  }
  for (int p = 0; p < planes; ++p)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        const int cell[3] = {x, y, first_plane + p};
        molecules_box* const b = box(boxes, x, y, p);
        b->count = molecules_begin(cell, side, b->all);
      }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  uint64_t mine = 0, sum = 0;
  for (int step = 0;; ++step) {
    forces_of_all();
    for (int p = 0; p < planes; ++p)
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
          molecules_box* const b = box(boxes, x, y, p);
          double force[3 * molecules_most];
          molecules_add_up((const double(*)[3 * molecules_most]) b->forces, b->count, force);
          if (step > 0) molecules_push(b->all, b->count, force, 0);
          if (step == steps)
            mine += molecules_sum(b->all, b->count);
          else
            molecules_push(b->all, b->count, force, 1);
        }
    if (step == steps) break;
    if ((step + 1) % molecules_resort == 0) change_cells();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double us = 1e6 * (MPI_Wtime() - begun) / steps;
  MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  int wrong = 0;
  if (rank == 0) {
    const size_t cells = (size_t)(side * side * side);
    molecules_box *one = calloc(cells, sizeof *one), *two = calloc(cells, sizeof *two);
    double energy[2];
    wrong = molecules_serial(one, two, side, steps, energy) != sum;
    free(one), free(two);
    if (wrong) fprintf(stderr, "the result is not that of one thread\n");
    printf("Time stats: lowest: %f, median: %f, highest: %f\n", us, us, us);
  }
  free(boxes), free(other), free(out[0]), free(out[1]), free(in[0]), free(in[1]);
  MPI_Finalize();
  return wrong;
}
