// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Transposes for C++20: nigh/transpose.h with types, ownership and exceptions, and, if <mpi.h> was included
// before this header, nigh/transpose_mpi.h. Headers alone over the C functions, so that any compiler and C++
// library may use them.
//
//     nigh::Transpose<double> turn(rows, columns, a, b);          // a: rows x columns, b: columns x rows
//     turn();                                                     // as often as you like
//
//     nigh::RankArray<double> a(count * columns, comm), b(count_b * rows, comm);
//     nigh::Transpose<double> turn(comm, rows, columns, a, b);    // of what all ranks have
#ifndef NIGH_TRANSPOSE_HPP
#define NIGH_TRANSPOSE_HPP

#include <nigh/transpose.h>
#ifdef MPI_VERSION
#include <nigh/transpose_mpi.h>
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace nigh {

// Its sentence is nigh_transpose_why().
class TransposeError : public std::runtime_error {
 public:
  TransposeError() : std::runtime_error(nigh_transpose_why()) {}
};

#ifdef MPI_VERSION
// Memory that the ranks of a node read in place; made and destroyed by all ranks of `comm` in the same order.
template <class T>
class RankArray {
 public:
  RankArray(std::size_t size, MPI_Comm comm)
      : data_(static_cast<T*>(nigh_transpose_alloc(size <= SIZE_MAX / sizeof(T) ? size * sizeof(T) : SIZE_MAX,
                                                   comm)),  // refused on all ranks
              nigh_transpose_free),
        size_(size) {
    if (!data_) throw TransposeError();
  }
  [[nodiscard]] T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T* begin() const { return data(); }
  [[nodiscard]] T* end() const { return data() + size_; }
  [[nodiscard]] T& operator[](std::size_t i) const { return data()[i]; }

 private:
  std::unique_ptr<T, void (*)(void*)> data_;
  std::size_t size_;
};
#endif

// A plan. Elements have 4, 8 or 16 bytes; their bits are moved. Errors: TransposeError.
template <class T>
class Transpose {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16),
                "elements have 4, 8 or 16 bytes that may be copied");

 public:
  // b may be a: in place. threads: the caller among them; 0: as many as this process has CPUs.
  Transpose(std::size_t rows, std::size_t columns, std::span<const T> a, std::span<T> b, int threads = 0) {
    if (columns > 0 && std::min(a.size(), b.size()) / columns < rows)
      throw std::invalid_argument("a or b has fewer elements than the matrix");
    own(nigh_transpose_local(rows, columns, sizeof(T), a.data(), columns, b.data(), rows, threads));
  }
  // A batch, one matrix after the other without gaps.
  Transpose(std::size_t matrices, std::size_t rows, std::size_t columns, std::span<const T> a, std::span<T> b,
            int threads = 0) {
    if (rows > 0 && columns > 0 && std::min(a.size(), b.size()) / columns / rows < matrices)
      throw std::invalid_argument("a or b has fewer elements than the matrices");
    own(nigh_transpose_local_many(matrices, rows, columns, sizeof(T), a.data(), 0, 0, b.data(), 0, 0,
                                  threads));
  }
#ifdef MPI_VERSION
  // Collective; a and b: this rank's rows of the matrix and of its transpose; the same on all: in place.
  Transpose(MPI_Comm comm, std::size_t rows, std::size_t columns, std::span<const T> a, std::span<T> b,
            int threads = 0) {
    own(nigh_transpose_mpi(rows, columns, sizeof(T), a.data(), a.size_bytes(), b.data(), b.size_bytes(), comm,
                           threads));
  }
  Transpose(MPI_Comm comm, std::size_t matrices, std::size_t rows, std::size_t columns, std::span<const T> a,
            std::span<T> b, int threads = 0) {
    own(nigh_transpose_mpi_many(matrices, rows, columns, sizeof(T), a.data(), a.size_bytes(), 0, 0, b.data(),
                                b.size_bytes(), 0, 0, comm, threads));
  }
  // Pencils of n[0] x n[1] x n[2] elements over a grid of grid[0] x grid[1] ranks, from along one axis to
  // along another.
  Transpose(MPI_Comm comm, const std::array<std::size_t, 3>& n, const std::array<int, 2>& grid, int from_axis,
            int to_axis, std::span<const T> a, std::span<T> b, int threads = 0) {
    own(nigh_transpose_pencils(n.data(), grid[0], grid[1], from_axis, to_axis, sizeof(T), a.data(),
                               a.size_bytes(), b.data(), b.size_bytes(), comm, threads));
  }
#endif

  void operator()() {
    if (nigh_transpose_execute(plan_.get()) != 0) throw TransposeError();
  }
  [[nodiscard]] std::string explain() const {
    const int length = nigh_transpose_explain(plan_.get(), nullptr, 0);
    if (length < 0) throw TransposeError();
    std::string text(static_cast<std::size_t>(length), 0);
    nigh_transpose_explain(plan_.get(), text.data(), text.size() + 1);
    return text;
  }

 private:
  void own(nigh_transpose* plan) {
    if (plan == nullptr) throw TransposeError();
    plan_.reset(plan);
  }
  std::unique_ptr<nigh_transpose, void (*)(nigh_transpose*)> plan_{nullptr, nigh_transpose_destroy};
};

}  // namespace nigh
#endif
