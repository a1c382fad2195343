/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The work of the stencil benchmark, the same for all: diffusion on a square with fixed rims, and a reaction
 * that takes 40 times the work in a hot disc. The disc wanders, so that no fixed partition is good for long.
 * Every cell is computed from five by the same operations in the same order: results are equal to the last
 * bit however the square is cut. */
#ifndef NIGH_BENCH_STENCIL_H
#define NIGH_BENCH_STENCIL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { stencil_steps = 120, stencil_hot_work = 40 };

static inline double stencil_first(long x, long y) { return 0.001 * (double)((x * 37 + y * 61) % 1000); }

/* The middle of the disc at that step, along a diagonal; its radius is a quarter of the side. */
static inline int stencil_is_hot(long x, long y, long side, int step) {
  const long middle = side / 8 + side * 3 / 4 * step / stencil_steps, r = side / 4;
  return (x - middle) * (x - middle) + (y - middle) * (y - middle) < r * r;
}

/* `width` cells of row y from column x on. `above`, `row` and `below` are the rows as they were, with one
 * cell more on either side: row[0] is the cell before the first. */
static inline void stencil_row(const double* above, const double* row, const double* below, double* out,
                               long width, long x, long y, long side, int step) {
  for (long i = 0; i < width; ++i) {
    const double sides = row[i] + row[i + 2], ends = above[i + 1] + below[i + 1], was = row[i + 1];
    double u = 0.25 * (sides + ends);
    const int work = stencil_is_hot(x + i, y, side, step) ? stencil_hot_work : 1;
    for (int w = 0; w < work; ++w) u = u - 0.01 * (u * u * u - was) / (1 + 3 * u * u);
    out[i] = u;
  }
}

/* Sums of these are equal in any order. */
static inline uint64_t stencil_sum(const double* cells, long width, long x, long y, long side) {
  uint64_t sum = 0;
  for (long i = 0; i < width; ++i) {
    uint64_t bits;
    memcpy(&bits, &cells[i], sizeof bits);
    bits = (bits ^ (uint64_t)(y * side + x + i)) * 0x9e3779b97f4a7c15ULL;
    sum += bits ^ bits >> 29;
  }
  return sum;
}

/* The whole square by one thread; `a` and `b` have (side + 2) * (side + 2) cells each. */
static inline uint64_t stencil_serial(double* a, double* b, long side, int steps) {
  const long pitch = side + 2;
  memset(a, 0, sizeof(double) * (size_t)(pitch * pitch));
  memset(b, 0, sizeof(double) * (size_t)(pitch * pitch));
  for (long y = 0; y < side; ++y)
    for (long x = 0; x < side; ++x) a[(y + 1) * pitch + x + 1] = stencil_first(x, y);
  for (int step = 0; step < steps; ++step) {
    for (long y = 0; y < side; ++y) {
      const double* row = a + (y + 1) * pitch;
      stencil_row(row - pitch, row, row + pitch, b + (y + 1) * pitch + 1, side, 0, y, side, step);
    }
    double* const swap = a;
    a = b, b = swap;
  }
  uint64_t sum = 0;
  for (long y = 0; y < side; ++y) sum += stencil_sum(a + (y + 1) * pitch + 1, side, 0, y, side);
  return sum;
}

#endif
