/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The work of the molecular dynamics benchmark, the same for all, after NAMD: particles in cubic
 * cells as wide as the forces reach, Lennard-Jones forces between those of one cell and of two neighbours,
 * velocity Verlet. An eighth of the box, a corner, is 4.6 times as dense as the rest, so pairs differ by
 * twenty times in what they take. A cell has 27 forces to add up, one for each neighbour, and adds them in
 * one order: results are equal to the last bit however cells and pairs are spread. Lengths are in units of
 * the particles' size, the box is periodic. */
#ifndef NIGH_BENCH_MOLECULES_H
#define NIGH_BENCH_MOLECULES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  molecules_most = 256,      /* in a cell */
  molecules_halves = 14,     /* pairs that a cell is the first of: itself, and half of its neighbours */
  molecules_neighbours = 27, /* with itself */
  molecules_resort = 10      /* steps after which particles change their cells */
};
static const double molecules_cell = 5.0, molecules_reach = 4.5, molecules_dt = 0.002;

typedef struct {
  double x[3], v[3];
  int64_t number;
} molecules_particle;

/* Neighbour n = 0..26 lies at this offset; 26 - n is the opposite one, 13 is the cell itself. The first of a
 * pair sees the second at an offset of 13 or more. */
static inline void molecules_offset(int n, int offset[3]) {
  offset[0] = n % 3 - 1, offset[1] = n / 3 % 3 - 1, offset[2] = n / 9 - 1;
}

/* The cell at that offset, and by how much its particles have to be shifted to be beside this one's. */
static inline void molecules_at(const int cell[3], const int offset[3], int side, int out[3],
                                double shift[3]) {
  for (int d = 0; d < 3; ++d) {
    out[d] = cell[d] + offset[d];
    shift[d] = 0;
    if (out[d] < 0) out[d] += side, shift[d] = -side * molecules_cell;
    if (out[d] >= side) out[d] -= side, shift[d] = side * molecules_cell;
  }
}

/* The number of particles that a cell begins with, on a grid that keeps them apart. */
static inline int molecules_begin(const int cell[3], int side, molecules_particle* out) {
  const int dense = cell[0] < side / 2 && cell[1] < side / 2 && cell[2] < side / 2;
  const int n = dense ? 5 : 3;
  const double apart = molecules_cell / n;
  int count = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) {
        molecules_particle* const p = &out[count++];
        const int at[3] = {i, j, k};
        uint64_t bits =
            (uint64_t)((((cell[0] * side + cell[1]) * side + cell[2]) * 125 + count) * 2654435761U);
        for (int d = 0; d < 3; ++d) {
          bits = bits * 6364136223846793005ULL + 1442695040888963407ULL;
          p->v[d] = 0.8 * ((double)(bits >> 40) / (double)(1 << 24) - 0.5);
          p->x[d] = cell[d] * molecules_cell + (at[d] + 0.5) * apart;
        }
        p->number = ((int64_t)(cell[0] * side + cell[1]) * side + cell[2]) * 125 + count - 1;
      }
  return count;
}

/* Forces between particles at a and, shifted, b (three numbers each), added to fa and fb; the potential
 * energy. One cell with itself: b is a, nothing is shifted. */
static inline double molecules_forces(const double* a, int na, const double* b, int nb, const double shift[3],
                                      int same, double* fa, double* fb) {
  const double reach2 = molecules_reach * molecules_reach, inverse6 = 1 / (reach2 * reach2 * reach2);
  const double cut = 4 * inverse6 * (inverse6 - 1); /* the potential is 0 where it ends */
  double energy = 0;
  for (int i = 0; i < na; ++i) {
    double f[3] = {0, 0, 0};
    for (int j = same ? i + 1 : 0; j < nb; ++j) {
      double d[3], r2 = 0;
      for (int k = 0; k < 3; ++k) {
        d[k] = a[3 * i + k] - (b[3 * j + k] + shift[k]);
        r2 += d[k] * d[k];
      }
      if (r2 >= reach2) continue;
      const double s2 = 1 / r2, s6 = s2 * s2 * s2, strength = 24 * s2 * s6 * (2 * s6 - 1);
      energy += 4 * s6 * (s6 - 1) - cut;
      for (int k = 0; k < 3; ++k) {
        f[k] += strength * d[k];
        fb[3 * j + k] -= strength * d[k];
      }
    }
    for (int k = 0; k < 3; ++k) fa[3 * i + k] += f[k];
  }
  return energy;
}

/* Half a step of velocities, and if `moves` a whole one of places. */
static inline void molecules_push(molecules_particle* all, int count, const double* force, int moves) {
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < 3; ++k) {
      all[i].v[k] += 0.5 * molecules_dt * force[3 * i + k];
      if (moves) all[i].x[k] += molecules_dt * all[i].v[k];
    }
}

/* The neighbour that a particle belongs to now (13: still this cell), its place within the box. */
static inline int molecules_where(molecules_particle* p, const int cell[3], int side) {
  int n = 0;
  for (int d = 2; d >= 0; --d) {
    const double at = p->x[d] - cell[d] * molecules_cell;
    const int step = at < 0 ? -1 : at >= molecules_cell ? 1 : 0;
    n = 3 * n + step + 1;
    if (p->x[d] < 0) p->x[d] += side * molecules_cell;
    if (p->x[d] >= side * molecules_cell) p->x[d] -= side * molecules_cell;
  }
  return n;
}

static inline double molecules_kinetic(const molecules_particle* all, int count) {
  double out = 0;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < 3; ++k) out += 0.5 * all[i].v[k] * all[i].v[k];
  return out;
}

/* Sums of these are equal in any order. */
static inline uint64_t molecules_sum(const molecules_particle* all, int count) {
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < 6; ++k) {
      uint64_t bits;
      memcpy(&bits, k < 3 ? &all[i].x[k] : &all[i].v[k - 3], sizeof bits);
      bits = (bits ^ (uint64_t)(all[i].number * 6 + k)) * 0x9e3779b97f4a7c15ULL;
      sum += bits ^ bits >> 29;
    }
  return sum;
}

/* All of it by one thread: the sum over all particles; the energy at the beginning and at the end. */
typedef struct {
  int count;
  molecules_particle all[molecules_most];
  double places[3 * molecules_most], forces[molecules_neighbours][3 * molecules_most];
} molecules_box;

static inline void molecules_put(molecules_box* box, const molecules_particle* p) {
  if (box->count == molecules_most) {
    fprintf(stderr, "more than %d particles are in one cell\n", molecules_most);
    abort();
  }
  box->all[box->count++] = *p;
}

static inline void molecules_add_up(const double (*forces)[3 * molecules_most], int count, double* out) {
  memset(out, 0, sizeof(double) * 3 * (size_t)count);
  for (int n = 0; n < molecules_neighbours; ++n)
    for (int i = 0; i < 3 * count; ++i) out[i] += forces[n][i];
}

static inline uint64_t molecules_serial(molecules_box* boxes, molecules_box* other, int side, int steps,
                                        double energy[2]) {
  const int cells = side * side * side;
#define MOLECULES_CELL(number) {(number) / (side * side), (number) / side % side, (number) % side}
  for (int c = 0; c < cells; ++c) {
    const int cell[3] = MOLECULES_CELL(c);
    boxes[c].count = molecules_begin(cell, side, boxes[c].all);
  }
  uint64_t sum = 0;
  for (int step = 0;; ++step) {
    double potential = 0, kinetic = 0, force[3 * molecules_most];
    for (int c = 0; c < cells; ++c) {
      for (int i = 0; i < boxes[c].count; ++i)
        memcpy(&boxes[c].places[3 * i], boxes[c].all[i].x, sizeof(double) * 3);
      for (int n = 0; n < molecules_neighbours; ++n)
        memset(boxes[c].forces[n], 0, sizeof(double) * 3 * (size_t)boxes[c].count);
    }
    for (int c = 0; c < cells; ++c)
      for (int n = 13; n < molecules_neighbours; ++n) {
        const int cell[3] = MOLECULES_CELL(c);
        int offset[3], at[3];
        double shift[3];
        molecules_offset(n, offset);
        molecules_at(cell, offset, side, at, shift);
        molecules_box* const b = &boxes[(at[0] * side + at[1]) * side + at[2]];
        potential += molecules_forces(boxes[c].places, boxes[c].count, b->places, b->count, shift, n == 13,
                                      boxes[c].forces[n], b->forces[26 - n]);
      }
    for (int c = 0; c < cells; ++c) {
      molecules_add_up((const double(*)[3 * molecules_most]) boxes[c].forces, boxes[c].count, force);
      if (step > 0) molecules_push(boxes[c].all, boxes[c].count, force, 0);
      kinetic += molecules_kinetic(boxes[c].all, boxes[c].count);
      if (step == steps)
        sum += molecules_sum(boxes[c].all, boxes[c].count);
      else
        molecules_push(boxes[c].all, boxes[c].count, force, 1);
    }
    if (step == 0) energy[0] = potential + kinetic;
    energy[1] = potential + kinetic;
    if (step == steps) return sum;
    if ((step + 1) % molecules_resort != 0) continue;
    for (int c = 0; c < cells; ++c) other[c].count = 0;
    /* Particles that stay come first, then those from neighbour 0, 1, .. */
    for (int pass = -1; pass < molecules_neighbours; ++pass)
      for (int c = 0; c < cells && pass != 13; ++c) {
        const int cell[3] = MOLECULES_CELL(c);
        int offset[3], at[3] = MOLECULES_CELL(c);
        double shift[3];
        if (pass >= 0) {
          molecules_offset(pass, offset);
          molecules_at(cell, offset, side, at, shift);
        }
        const molecules_box* const from = &boxes[(at[0] * side + at[1]) * side + at[2]];
        for (int i = 0; i < from->count; ++i) {
          molecules_particle p = from->all[i];
          if (molecules_where(&p, at, side) == (pass < 0 ? 13 : 26 - pass)) molecules_put(&other[c], &p);
        }
      }
    molecules_box* const swap = boxes;
    boxes = other, other = swap;
  }
#undef MOLECULES_CELL
}

#endif
