// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Regions before main, in the constructor of a global object, and after it, in its destructor.
#include <omp.h>

#include <vector>

extern "C" {
#include "trap.h"
}

struct Early {
  std::vector<int> bound = std::vector<int>(2);

  void open() {
#pragma omp parallel num_threads(2)
    bound[static_cast<size_t>(omp_get_thread_num())] = mask_size() == 1;
  }
  Early() { open(); }
  ~Early() {
    bound = {0, 0};
    open();
    if (bound[0] + bound[1] != 2) _exit(1);
  }
};
static Early early;

int main() {
  expect("the number of bound threads before main", early.bound[0] + early.bound[1], 2);
  early.bound = {0, 0};
  early.open();
  expect("the number of bound threads in main", early.bound[0] + early.bound[1], 2);
  return verdict();
}
