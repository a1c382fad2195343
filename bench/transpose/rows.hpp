// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The common parts of all subjects of `nigh bench transpose`: a rank's rows of A and of B, and a way to
// transpose that has been made ready.
#pragma once

#include <mpi.h>
#include <nigh/transpose_mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "transpose/slabs.hpp"

namespace bench {

constexpr std::size_t word = sizeof(double);
extern int rank, ranks;

// This rank's rows of A and of B.
struct Rows {
  Rows(std::size_t n1, std::size_t n2, bool all_map)
      : rows(n1), columns(n2), mapped(all_map), mine{n1, std::size_t(ranks)}, of_b{n2, std::size_t(ranks)} {
    a = get(bytes_a());
    b = get(bytes_b());
    for (std::size_t i = 0; i < count(); ++i)
      for (std::size_t j = 0; j < columns; ++j) a[i * columns + j] = value(first() + i, j);
    std::memset(b, 0, bytes_b());
  }
  ~Rows() {
    for (double* memory : {a, b}) mapped ? nigh_transpose_free(memory) : std::free(memory);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  [[nodiscard]] static double value(std::size_t i, std::size_t j) { return double(i) * 65536 + double(j); }
  [[nodiscard]] std::size_t first(int of = rank) const { return mine.first(std::size_t(of)); }
  [[nodiscard]] std::size_t count(int of = rank) const { return mine.count(std::size_t(of)); }
  [[nodiscard]] std::size_t first_b(int of = rank) const { return of_b.first(std::size_t(of)); }
  [[nodiscard]] std::size_t count_b(int of = rank) const { return of_b.count(std::size_t(of)); }
  [[nodiscard]] std::size_t bytes_a() const { return count() * columns * word; }
  [[nodiscard]] std::size_t bytes_b() const { return count_b() * rows * word; }
  [[nodiscard]] bool transposed() const {
    for (std::size_t j = 0; j < count_b(); ++j)
      for (std::size_t i = 0; i < rows; ++i)
        if (b[j * rows + i] != value(i, first_b() + j)) return false;
    return true;
  }
  [[nodiscard]] bool copied() const { return std::memcmp(a, b, std::min(bytes_a(), bytes_b())) == 0; }

  std::size_t rows, columns;
  bool mapped;
  nigh::transpose::Deal mine, of_b;
  double *a = nullptr, *b = nullptr;

 private:
  [[nodiscard]] double* get(std::size_t bytes) const {
    void* memory = mapped ? nigh_transpose_alloc(bytes, MPI_COMM_WORLD)
                          : std::aligned_alloc(4096, (bytes + 4096) & ~4095UL);
    if (memory == nullptr) {
      std::fprintf(stderr, "transpose: there is no memory for %zu bytes\n", bytes);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return static_cast<double*>(memory);
  }
};

using Pass = std::function<void()>;
struct Prepared {
  Pass pass;
  bool copies = false;
  std::function<bool()> right =
      {};  // where the result is elsewhere than in the rows; else it is looked for there
};

inline std::byte* bytes(double* at) { return reinterpret_cast<std::byte*>(at); }

// Not ours, but for the local kernels (exchanges.cpp).
Prepared pipelined(Rows& m);
Prepared alltoallw(Rows& m);
// Without a pass where this program was built without FFTW's MPI part (fftw_ranks.cpp).
Prepared fftw_patient(const Rows& m);

}  // namespace bench
