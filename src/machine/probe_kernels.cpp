// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels exist once per vector width and the widest that this CPU has is picked at run time: built for
// the oldest x86-64, a core's own caches would look half as fast as they are.
#include "machine/probe_kernels.hpp"

#include "base/result.hpp"
#include "sys/threads.hpp"

#define SET narrow
#define VECTOR_BYTES 16
#define TARGET
#include "machine/probe_kernel_set.inc"

#if defined(__x86_64__)
#define SET wide
#define VECTOR_BYTES 32
#define TARGET __attribute__((target("avx2")))
#include "machine/probe_kernel_set.inc"

#define SET widest
#define VECTOR_BYTES 64
#define TARGET __attribute__((target("avx512f")))
#include "machine/probe_kernel_set.inc"
#endif

namespace nigh::probe {

namespace {
struct KernelSet {
  std::uint64_t (*read)(const std::byte*, std::size_t);
  void (*update)(std::byte*, std::size_t);
  void (*add)(std::byte*, const std::byte*, std::size_t);
  const char* width;
};

KernelSet pick() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {widest::read, widest::update, widest::add, "512-bit"};
  if (__builtin_cpu_supports("avx2")) return {wide::read, wide::update, wide::add, "256-bit"};
#endif
  return {narrow::read, narrow::update, narrow::add, "128-bit"};
}

const KernelSet& kernels() {
  static const KernelSet set = pick();
  return set;
}

constexpr std::uint64_t stopped = ~std::uint64_t{0};

std::uint64_t next_random(std::uint64_t& state) {  // splitmix64
  std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}
}  // namespace

const char* mix_name(Mix mix) {
  switch (mix) {
    case Mix::read: return "read";
    case Mix::two_to_one: return "2:1";
    case Mix::one_to_one: return "1:1";
  }
  return "?";
}

const char* stream_width() { return kernels().width; }

std::size_t stream(Mix mix, std::byte* data, std::size_t bytes, std::uint64_t& sink) {
  NIGH_CHECK(bytes % grain_bytes == 0);
  const KernelSet& set = kernels();
  if (mix == Mix::read) {
    sink += set.read(data, bytes);
    return bytes;
  }
  if (mix == Mix::one_to_one) {
    set.update(data, bytes);
    return 2 * bytes;
  }
  set.add(data + bytes / 2, data, bytes / 2);
  return bytes / 2 * 3;
}

// Line i is inserted behind a random one of the i lines before it: a cycle stays a cycle, and each of the
// (n - 1)! cycles of n lines comes out with the same chance.
void Chain::grow_to(std::size_t lines) {
  if (lines_ == 0 && lines > 0) link(lines_++) = 0;
  for (; lines_ < lines; ++lines_) {
    auto behind =
        static_cast<std::size_t>((static_cast<unsigned __int128>(next_random(state_)) * lines_) >> 64);
    link(lines_) = link(behind);
    link(behind) = lines_;
  }
}

void Chain::seal() {
  for (std::size_t i = 0; i < lines_; ++i)
    link(i) = reinterpret_cast<std::uintptr_t>(data_ + link(i) * line_bytes);
}

const void* Chain::walk(const void* at, std::size_t steps) const {
  const void* place = at == nullptr ? data_ : at;
  for (std::size_t i = 0; i < steps; ++i)
    place = reinterpret_cast<const void*>(*static_cast<const volatile std::uintptr_t*>(place));
  return place;
}

void Ball::serve(std::uint64_t round) {
  side.store(2 * round - 1, std::memory_order_release);
  while (side.load(std::memory_order_acquire) != 2 * round) sys::spin_pause();
}

void Ball::stop() { side.store(stopped, std::memory_order_release); }

std::uint64_t Ball::answer() {
  for (std::uint64_t rounds = 0;; ++rounds) {
    std::uint64_t seen = 0;
    while ((seen = side.load(std::memory_order_acquire)) != 2 * rounds + 1) {
      if (seen == stopped) return rounds;
      sys::spin_pause();
    }
    side.store(2 * rounds + 2, std::memory_order_release);
  }
}

}  // namespace nigh::probe
