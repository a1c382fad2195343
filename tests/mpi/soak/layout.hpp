// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A datatype twice: as MPI has it, and as our own list of byte runs in the order of its type map. The second
// says what the first must do, without asking MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "random.hpp"

namespace soak {

// The basic items a message is made of. `mixed` repeats int, double, char, char, short.
enum class Kind { byte, chars, int16, int32, int64, single, real, complex, mixed, count };
MPI_Datatype basic(Kind kind);      // not for mixed
std::size_t item_bytes(Kind kind);  // of one item; of one pattern for mixed
int basics_in(Kind kind,
              std::size_t bytes);  // how many basic items the first `bytes` of the stream hold, or -1

struct Run {
  std::ptrdiff_t offset;
  std::size_t bytes;
};

class Layout {
 public:
  Layout() = default;
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  Layout(Layout&& other) noexcept { *this = static_cast<Layout&&>(other); }
  Layout& operator=(Layout&& other) noexcept;
  ~Layout() { drop(); }

  // A type of exactly `items` items (patterns for mixed).
  static Layout make(Rng& rng, Kind kind, int items, bool only_contiguous = false);

  MPI_Datatype type = MPI_DATATYPE_NULL;
  Kind kind = Kind::byte;
  std::string shape;          // in words
  std::size_t size = 0;       // bytes of data in one element
  std::ptrdiff_t extent = 0;  // from one element to the next
  std::vector<Run> runs;      // of one element, in type map order
  // The range of `count` elements' data, relative to the buffer's address.
  void reach(int count, std::ptrdiff_t& first, std::ptrdiff_t& end) const;
  // Moves the stream of `bytes` bytes into or out of memory laid out so.
  void scatter(const char* stream, std::size_t bytes, char* memory) const;
  void gather(const char* memory, std::size_t bytes, char* stream) const;
  void free_type() { drop(); }  // MPI keeps what is pending alive; our list of runs stays

 private:
  bool owned_ = false;
  void drop();
  void commit();
  void contiguous(Rng&, int items);
  void vector(Rng&, int items);
  void indexed(Rng&, int items);
  void structure(Rng&, int items);
  void subarray(Rng&, int items);
  void nested(Rng&, int items);
  void resize(Rng&);
  void pattern(Rng&, int items);
};

// A divisor of n, at most `most`; 1 for n = 0.
int divisor(Rng& rng, int n, int most);

}  // namespace soak
