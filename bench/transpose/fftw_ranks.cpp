// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// FFTW's transpose over MPI, planned with FFTW_PATIENT. It deals rows in blocks of its own, so it has its own
// matrices, on pages like everybody's. FFTW is under the GPL: this program alone is linked with it, and only
// where CMake finds its MPI part, which Debian has for Open MPI.
#include <memory>

#include "transpose/rows.hpp"
#ifdef NIGH_BENCH_FFTW_MPI
#include <fftw3-mpi.h>
#endif

namespace bench {

#ifdef NIGH_BENCH_FFTW_MPI
namespace {
struct Fftw {
  Fftw(std::size_t n1, std::size_t n2) : rows(std::ptrdiff_t(n1)), columns(std::ptrdiff_t(n2)) {
    fftw_mpi_init();
    const std::ptrdiff_t shape[] = {rows, columns};
    const std::ptrdiff_t room =
        fftw_mpi_local_size_many_transposed(2, shape, 1, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK,
                                            MPI_COMM_WORLD, &count, &first, &count_b, &first_b);
    a = get(room);
    b = get(room);
    plan = fftw_mpi_plan_many_transpose(rows, columns, 1, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK, a,
                                        b, MPI_COMM_WORLD, FFTW_PATIENT);
    if (plan == nullptr) {
      std::fprintf(stderr, "transpose: FFTW has no plan for %td x %td\n", rows, columns);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (std::ptrdiff_t i = 0; i < count; ++i)  // planning has written over it
      for (std::ptrdiff_t j = 0; j < columns; ++j)
        a[i * columns + j] = Rows::value(std::size_t(first + i), std::size_t(j));
    std::memset(b, 0, std::size_t(room) * word);
  }
  ~Fftw() {
    fftw_destroy_plan(plan);
    nigh_transpose_free(a);
    nigh_transpose_free(b);
  }
  Fftw(const Fftw&) = delete;
  Fftw& operator=(const Fftw&) = delete;

  [[nodiscard]] bool right() const {
    for (std::ptrdiff_t j = 0; j < count_b; ++j)
      for (std::ptrdiff_t i = 0; i < rows; ++i)
        if (b[j * rows + i] != Rows::value(std::size_t(i), std::size_t(first_b + j))) return false;
    return true;
  }

  std::ptrdiff_t rows, columns, count = 0, first = 0, count_b = 0, first_b = 0;
  double *a = nullptr, *b = nullptr;
  fftw_plan plan = nullptr;

 private:
  static double* get(std::ptrdiff_t room) {
    void* memory = nigh_transpose_alloc(std::size_t(room) * word, MPI_COMM_WORLD);
    if (memory == nullptr) {
      std::fprintf(stderr, "transpose: there is no memory for %td doubles\n", room);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return static_cast<double*>(memory);
  }
};
}  // namespace

Prepared fftw_patient(const Rows& m) {
  const auto held = std::make_shared<Fftw>(m.rows, m.columns);
  return {[held] { fftw_execute(held->plan); }, false, [held] { return held->right(); }};
}
#else
Prepared fftw_patient(const Rows&) { return {}; }
#endif

}  // namespace bench
