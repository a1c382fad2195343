// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The object behind a nigh_transpose of the C API: it can be executed again and again. The C API turns errors
// of any kind into a sentence and a status.
#pragma once

#pragma GCC visibility push(default)
#include <nigh/transpose.h>
#pragma GCC visibility pop

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/guarded.hpp"
#include "base/result.hpp"
#include "transpose/slabs.hpp"

struct nigh_transpose {
  nigh_transpose() = default;
  nigh_transpose(const nigh_transpose&) = delete;
  nigh_transpose& operator=(const nigh_transpose&) = delete;
  virtual ~nigh_transpose() = default;
  virtual nigh::Result<void> execute() = 0;
  [[nodiscard]] virtual std::string explain() const = 0;
};

namespace nigh::transpose {

// The largest address space: 57 bits are those of page tables of five levels.
inline constexpr std::size_t most_bytes = std::size_t{1} << 57;
// A product that is no more than that; else an error that names the matrix.
Result<std::size_t> matrix_bytes(std::size_t rows, std::size_t columns, std::size_t element);
// Elements from the first to the last of `matrices` of `rows` x `columns`, those of which may be woven: rows
// of one between those of another. An error names the array: they overlap, or no address space holds them.
Result<std::size_t> extent(const char* name, const Layout& layout, std::size_t rows, std::size_t columns,
                           std::size_t matrices);
Result<std::size_t> bytes_used(const char* name, const Layout& layout, std::size_t rows, std::size_t columns,
                               std::size_t matrices, std::size_t element);
// Strides of 0 mean: without gaps.
constexpr Layout whole(Layout given, std::size_t rows, std::size_t columns) {
  if (given.stride == 0) given.stride = columns;
  if (given.apart == 0 && __builtin_mul_overflow(rows, given.stride, &given.apart)) given.apart = SIZE_MAX;
  return given;
}
Result<void> check_element(std::size_t element);
Result<void> check_local(std::size_t element, int threads);
int threads_of(int asked);  // 0: as many as this process has CPUs

// The report of the C functions on anything that `make` and `work` throw or return.
void set_why(std::string_view why) noexcept;
template <class Make>
nigh_transpose* made(const Make& make) {
  return guarded(
      [&]() -> nigh_transpose* {
        Result<std::unique_ptr<nigh_transpose>> plan = make();
        if (plan) return plan->release();
        set_why(plan.error().message);
        return nullptr;
      },
      set_why, nullptr);
}

}  // namespace nigh::transpose
