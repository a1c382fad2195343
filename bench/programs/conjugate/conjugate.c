// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Conjugate gradients for a 3-D Laplace operator, which load memory as NAS's CG and MG do; one level of
// threads.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 160 };
#define AT(x, y, z) (((long)(x) * n + (y)) * n + (z))

static void multiply(const double* in, double* out) {
#pragma omp parallel for
  for (int x = 0; x < n; x++)
    for (int y = 0; y < n; y++)
      for (int z = 0; z < n; z++) {
        double sum = 6.5 * in[AT(x, y, z)];
        if (x > 0) sum -= in[AT(x - 1, y, z)];
        if (x < n - 1) sum -= in[AT(x + 1, y, z)];
        if (y > 0) sum -= in[AT(x, y - 1, z)];
        if (y < n - 1) sum -= in[AT(x, y + 1, z)];
        if (z > 0) sum -= in[AT(x, y, z - 1)];
        if (z < n - 1) sum -= in[AT(x, y, z + 1)];
        out[AT(x, y, z)] = sum;
      }
}

static double product(const double* a, const double* b) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < (long)n * n * n; i++) sum += a[i] * b[i];
  return sum;
}

int main(void) {
  const long count = (long)n * n * n;
  double *x = malloc(count * 8), *r = malloc(count * 8), *p = malloc(count * 8), *q = malloc(count * 8);
#pragma omp parallel for
  for (long i = 0; i < count; i++) {
    x[i] = 0;
    r[i] = p[i] = 1.0 + (double)(i % 17);
  }
  double rho = product(r, r);
  for (int step = 0; step < 40; step++) {
    multiply(p, q);
    const double alpha = rho / product(p, q), before = rho;
#pragma omp parallel for
    for (long i = 0; i < count; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    rho = product(r, r);
#pragma omp parallel for
    for (long i = 0; i < count; i++) p[i] = r[i] + rho / before * p[i];
  }
  printf("solution %.7e\n", product(x, x));
  return 0;
}
