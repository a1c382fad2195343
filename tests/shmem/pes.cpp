// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The header as a C++ program sees it.
#include <shmem.h>

#include <complex>
#include <cstdio>

int main() {
  shmem_init();
  auto* in = static_cast<std::complex<double>*>(shmem_malloc(2 * sizeof(std::complex<double>)));
  in[0] = {1.0 + shmem_my_pe(), 1.0};
  shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, in + 1, in, 1);
  int n = shmem_n_pes();
  bool right = in[1] == std::complex<double>(n * (n + 1) / 2.0, n);
  shmem_free(in);
  shmem_finalize();
  if (right && shmem_my_pe() == 0) std::puts("ok c++");
  return right ? 0 : 1;
}
