// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "transpose/copy_peers.hpp"
#ifdef NIGH_BENCH_FFTW
#include <fftw3.h>
#endif

namespace bench {

#ifdef NIGH_BENCH_FFTW
struct FftwTranspose::Plan {
  fftw_plan plan;
};

bool FftwTranspose::is_there() { return true; }

FftwTranspose::FftwTranspose(double* from, std::size_t from_stride, double* to, std::size_t to_stride,
                             std::size_t rows, std::size_t columns) {
  // A transform of no dimension, for every element: FFTW's way to say transpose.
  const fftw_iodim64 elements[] = {{std::ptrdiff_t(rows), std::ptrdiff_t(from_stride), 1},
                                   {std::ptrdiff_t(columns), 1, std::ptrdiff_t(to_stride)}};
  fftw_set_timelimit(5);
  fftw_plan plan = fftw_plan_guru64_r2r(0, nullptr, 2, elements, from, to, nullptr, FFTW_MEASURE);
  if (plan == nullptr) {
    std::fprintf(stderr, "copy: FFTW has no plan for %zu x %zu\n", rows, columns);
    std::exit(1);
  }
  plan_ = std::make_unique<Plan>(Plan{plan});
}
FftwTranspose::~FftwTranspose() { fftw_destroy_plan(plan_->plan); }
void FftwTranspose::run() const { fftw_execute(plan_->plan); }
#else
struct FftwTranspose::Plan {};

bool FftwTranspose::is_there() { return false; }
FftwTranspose::FftwTranspose(double*, std::size_t, double*, std::size_t, std::size_t, std::size_t) {}
FftwTranspose::~FftwTranspose() = default;
void FftwTranspose::run() const {}
#endif

}  // namespace bench
