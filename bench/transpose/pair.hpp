// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Two matrices of `nigh bench copy`.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <new>

namespace bench {

constexpr std::size_t word = sizeof(double);

// A square of doubles and where it goes; both on huge pages where there are any, as programs that care have
// them.
class Pair {
 public:
  explicit Pair(std::size_t side) : side_(side), bytes_(side * side * word) {
    for (double** matrix : {&from_, &to_}) {
      void* at = mmap(nullptr, room(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (at == MAP_FAILED) throw std::bad_alloc();
      madvise(at, room(), MADV_HUGEPAGE);
      *matrix = static_cast<double*>(at);
    }
    fill();
  }
  ~Pair() {
    munmap(from_, room());
    munmap(to_, room());
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void fill() {
    for (std::size_t i = 0; i < side_ * side_; ++i) from_[i] = static_cast<double>(i) + 0.5;
    std::memset(to_, 0, bytes_);
  }
  [[nodiscard]] std::size_t side() const { return side_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const double* from() const { return from_; }
  [[nodiscard]] double* planned() { return from_; }  // FFTW plans with it
  [[nodiscard]] double* to() { return to_; }
  [[nodiscard]] const std::byte* source() const { return reinterpret_cast<const std::byte*>(from_); }
  [[nodiscard]] std::byte* target() { return reinterpret_cast<std::byte*>(to_); }

 private:
  [[nodiscard]] std::size_t room() const { return (bytes_ + (4U << 20)) >> 21 << 21; }
  std::size_t side_, bytes_;
  double* from_ = nullptr;
  double* to_ = nullptr;
};

}  // namespace bench
