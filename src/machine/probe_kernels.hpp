// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The loops that are timed, and nothing else: no clock, no threads, no placement. Each says exactly which
// bytes it moves, so that a bandwidth is a count divided by a time. The mixes update lines in place instead
// of writing others: a store to a line first reads it, so "read a line, write it back" is what really crosses
// the memory bus (1:1), and a second line read beside it makes 2:1, without streaming stores that bypass the
// caches.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nigh::probe {

enum class Mix : std::uint8_t { read, two_to_one, one_to_one };
const char* mix_name(Mix mix);  // "read", "2:1", "1:1"

constexpr std::size_t line_bytes = 64;
// The least work of one call of a streaming kernel: every length is a multiple of this.
constexpr std::size_t grain_bytes = 1024;

// Streams over `bytes` at `data` (both multiples of grain_bytes) with the widest vectors this CPU has and
// returns the bytes moved: read: bytes; 1:1 (each word += 1): 2 x bytes; 2:1 (second half += first half): 1.5
// x bytes. `sink` takes a checksum (of `read` the sum of all words), so that no load can be left out.
std::size_t stream(Mix mix, std::byte* data, std::size_t bytes, std::uint64_t& sink);
const char* stream_width();  // "512-bit", for the record

// A random permutation of the lines of a region that is one cycle, so that a chase visits every line before
// it comes back and no prefetcher can guess the next. It grows line by line and is a full cycle at any time:
// who has no time for all lines stops early. The chain lies in the region itself.
class Chain {
 public:
  Chain() = default;
  Chain(std::byte* data, std::uint64_t seed) : data_(data), state_(seed) {}
  void grow_to(std::size_t lines);
  [[nodiscard]] std::size_t lines() const { return lines_; }
  // Turns line numbers into addresses; after this it can be walked, and no longer grow.
  void seal();
  // Follows `steps` links from `at` (nullptr: the first line) and returns where it ends.
  [[nodiscard]] const void* walk(const void* at, std::size_t steps) const;

 private:
  [[nodiscard]] std::uint64_t& link(std::size_t line) const {
    return *reinterpret_cast<std::uint64_t*>(data_ + line * line_bytes);
  }
  std::byte* data_ = nullptr;
  std::uint64_t state_ = 0;
  std::size_t lines_ = 0;
};

// A cache line that two threads hand to each other. The first calls serve() a number of times (each is one
// round trip) and then stop(); the second calls answer(), which returns the round trips it has seen.
struct alignas(2 * line_bytes) Ball {
  std::atomic<std::uint64_t> side{0};
  void serve(std::uint64_t round);  // round counts from 1
  void stop();
  std::uint64_t answer();
};

}  // namespace nigh::probe
