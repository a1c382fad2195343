// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The loops that move a matrix's elements, one set for each instruction set, and nothing else: no threads, no
// choice between them but that of the widest vectors. Elements are bits: transposing is the same for a float
// and an integer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nigh::transpose {

constexpr std::size_t line = 64;  // bytes that caches and memory pass to each other

// A part of a matrix in memory, row by row, and where it goes: to[j * to_stride + i] = from[i * from_stride +
// j] for i < rows, j < columns. Strides in elements; from and to do not overlap.
struct Block {
  const std::byte* from = nullptr;
  std::size_t from_stride = 0;
  std::byte* to = nullptr;
  std::size_t to_stride = 0;
  std::size_t rows = 0, columns = 0;
};

// Runs of bytes that keep their order; strides in bytes.
struct Rows {
  const std::byte* from = nullptr;
  std::size_t from_stride = 0;
  std::byte* to = nullptr;
  std::size_t to_stride = 0;
  std::size_t count = 0, bytes = 0;
};

struct Kernels {
  const char* name;  // of the instruction set: "AVX-512"
  // For elements of 4, 8, 16 bytes. `streamed` writes past the caches; it wants `to` at a multiple of the
  // element.
  std::array<void (*)(const Block&), 3> cached;
  std::array<void (*)(const Block&), 3> streamed;
  void (*copy_cached)(const Rows&);
  void (*copy_streamed)(const Rows&);
  // The kernels of `cached` for results whose rows have no gaps and may be followed by a line that is
  // spoiled.
  std::array<void (*)(const Block&), 3> woven;

  static constexpr std::size_t index(std::size_t element) { return element == 4 ? 0 : element == 8 ? 1 : 2; }
};

// The widest that this CPU has.
const Kernels& kernels();
// All that this CPU has, narrowest first.
const std::vector<const Kernels*>& all_kernels();

}  // namespace nigh::transpose
