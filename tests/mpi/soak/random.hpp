// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Randomness that every rank can repeat. What all ranks must agree on is drawn from a stream seeded by the
// job's seed alone; what is one rank's own business (layout, memory, how it waits) from a stream that its
// rank is mixed into. The bytes of a message are a function of its number, so the receiver knows them without
// being told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace soak {

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return mix(mix(a) ^ (b * 0xd6e8feb86659fd93ULL));
}
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return mix(mix(a, b), c); }

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix(state_++); }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  int in(int low, int high) { return low + below(high - low + 1); }
  bool percent(int p) { return below(100) < p; }

 private:
  std::uint64_t state_;
};

// `bytes` bytes of the content numbered `id`.
inline void content(std::uint64_t id, char* to, std::size_t bytes) {
  std::uint64_t x = mix(id);
  std::size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    std::uint64_t word = x ^ (x >> 29);
    std::memcpy(to + at, &word, 8);
  }
  x = mix(x);
  std::memcpy(to + at, &x, bytes - at);
}

inline std::uint64_t hash(const char* data, std::size_t bytes) {
  std::uint64_t sum = bytes;
  std::size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, data + at, 8);
    sum = (sum ^ word) * 0x9fb21c651e98df25ULL;
    sum ^= sum >> 32;
  }
  std::uint64_t tail = 0;
  std::memcpy(&tail, data + at, bytes - at);
  return mix(sum, tail);
}

}  // namespace soak
