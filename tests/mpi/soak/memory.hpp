// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers of every kind that programs hand to MPI: heap, stack, static, anonymous and file mappings, aligned,
// from MPI_Alloc_mem, and for sending also read-only pages; at any alignment, with guards on both sides. The
// guards and the holes of a layout are filled with known bytes, and the whole is compared at the end.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "random.hpp"

namespace soak {

// Memory that lies on the stack or in static data, handed out and taken back as a whole at the end of a
// batch.
class Arena {
 public:
  Arena(char* start, std::size_t bytes) : start_(start), bytes_(bytes) {}
  char* take(std::size_t bytes);
  void reset() { used_ = 0; }

 private:
  char* start_;
  std::size_t bytes_;
  std::size_t used_ = 0;
};

struct Arenas {
  Arena stack;
  Arena data;
};

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() { release(); }

  // For data that reaches from `first` to `end` around the address given to MPI.
  static Buffer make(Rng& rng, Arenas& arenas, std::ptrdiff_t first, std::ptrdiff_t end);
  // One that fits `count` elements; holding the stream if there is one.
  static Buffer make(Rng& rng, Arenas& arenas, const Layout& layout, int count, const char* stream = nullptr,
                     std::size_t bytes = 0);

  [[nodiscard]] char* data() const { return data_; }
  // The expected contents from now on: as they are, with the stream put where the layout says. Then same().
  void expect(const Layout& layout, const char* stream, std::size_t bytes, std::ptrdiff_t displacement = 0);
  void expect_raw(const char* bytes, std::size_t count, std::ptrdiff_t displacement);
  void snapshot();              // to be expected unchanged
  void same(const char* what);  // fails with the first place that differs
  void protect();               // pages become read-only where the memory is a mapping of its own
  void expect_anything_in_data(const Layout& layout, int count);  // after a truncated receive

 private:
  enum class Home { none, heap, stack, data, map, shared_map, aligned, mpi };
  Home home_ = Home::none;
  char* whole_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t mapped_ = 0;
  char* data_ = nullptr;
  bool protected_ = false;
  std::vector<char> image_;

  void obtain(Rng& rng, Arenas& arenas, std::size_t bytes);
  void release();
  void swap(Buffer& other) noexcept;
  void ensure_image();
};

}  // namespace soak
