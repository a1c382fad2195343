// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The contents of a buffer lie in the cache of the PE that wrote it. Code that reads it waits for one line
// after the other, as far as the CPU does not see it coming; all of its lines requested at once come several
// times as fast where PEs are far from each other. Nobody says whether an entry method reads its buffers at
// all, and a fetch for nothing is lost: so long runs are timed both ways, for each method and each size, and
// the faster way is used, with another look now and then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace nigh::chare {

class Fetcher {
 public:
  static constexpr std::size_t least = 1024;   // bytes that it is done for
  static constexpr std::size_t most = 262144;  // that are fetched: a larger part would not stay

  struct Choice {
    bool fetches = false;
    bool counts = false;  // and its time is to be told
    std::uint16_t entry = 0;
    std::uint8_t size = 0;
  };

  explicit Fetcher(std::size_t entries) : trials_(entries) {}

  // For a run of that entry method on buffers of so many bytes.
  Choice choose(std::uint16_t entry, std::size_t bytes);
  void took(const Choice& choice, std::int64_t ns);

  // core::Entry::EachBuffer
  static void fetch(void* context, const void* place, void* data, std::size_t bytes);

 private:
  static constexpr unsigned sizes = 12;  // powers of two, from `least` on; the last one has all above
  static constexpr std::uint32_t first_look = 63;  // at the other way, after so many runs; then later
  struct Trial {
    float ns[2] = {0, 0};  // without and with: the least of the first runs, then running averages
    std::uint32_t runs = 0, distance = first_look, until_look = first_look;
    bool fetched = false;  // at the last look
  };
  using Trials = std::array<Trial, sizes>;
  std::vector<std::unique_ptr<Trials>> trials_;  // of each entry method, once it had buffers
};

}  // namespace nigh::chare
