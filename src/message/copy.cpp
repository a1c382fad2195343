// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One piece of memory to another, for the case that matters here: the source was just written by another core
// and lies dirty in its cache, and the receiver reads the destination next. Measured (docs/decisions/0009):
// on Zen 4 libc's memcpy is as good as anything up to some 32 KiB; above, it takes forms that lose up to a
// third on such sources or on destinations that are not in the cache, and a plain loop of 32-byte loads and
// stores wins. On Zen 5 that loop takes up to 1.7 times as long where the other core has read the destination
// before. So it is for what it was measured to be better on. Streaming stores lose wherever the result is
// read soon, so they are left to messages that no cache holds anyway.
#include <atomic>
#include <cstdint>
#include <cstring>

#include "message/atomic.hpp"
#include "message/layout.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace nigh::message {
namespace {

#if defined(__x86_64__)
constexpr std::size_t loop_from = std::size_t{32} << 10;
constexpr std::size_t stream_from = std::size_t{32} << 20;
constexpr std::size_t step = 128;

// Up to the next border of 32 bytes of the destination; the loops then store aligned.
std::size_t align(char*& to, const char*& from, std::size_t bytes) {
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) & 31;
  std::memcpy(to, from, head);
  to += head;
  from += head;
  return bytes - head;
}

__attribute__((target("avx2"))) void copy_loop(char* to, const char* from, std::size_t bytes) {
  bytes = align(to, from, bytes);
  for (; bytes >= step; bytes -= step, to += step, from += step) {
    const auto* source = reinterpret_cast<const __m256i*>(from);
    auto* target = reinterpret_cast<__m256i*>(to);
    const __m256i a = _mm256_loadu_si256(source), b = _mm256_loadu_si256(source + 1);
    const __m256i c = _mm256_loadu_si256(source + 2), d = _mm256_loadu_si256(source + 3);
    _mm256_store_si256(target, a);
    _mm256_store_si256(target + 1, b);
    _mm256_store_si256(target + 2, c);
    _mm256_store_si256(target + 3, d);
  }
  std::memcpy(to, from, bytes);
}

__attribute__((target("avx2"))) void copy_streaming(char* to, const char* from, std::size_t bytes) {
  bytes = align(to, from, bytes);
  for (; bytes >= step; bytes -= step, to += step, from += step)
    for (std::size_t i = 0; i < step; i += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
  _mm_sfence();
  std::memcpy(to, from, bytes);
}

// Zen 3 and 4: AMD's family 19h (CPUID function 1, AMD64 manual, volume 3, appendix E).
bool is_family_19h() {
  unsigned highest = 0, name[3] = {}, word = 0, unused = 0;
  if (!__get_cpuid(0, &highest, &name[0], &name[2], &name[1]) || std::memcmp(name, "AuthenticAMD", 12) != 0 ||
      !__get_cpuid(1, &word, &unused, &unused, &unused))
    return false;
  return ((word >> 8) & 0xf) + ((word >> 20) & 0xff) == 0x19;
}

enum class Way { unknown, libc, streams, loops };
Way way_here() {
  static constinit std::atomic<Way> known = Way::unknown;
  Way way = known.load(std::memory_order_relaxed);
  if (way == Way::unknown) {
    __builtin_cpu_init();
    way = !__builtin_cpu_supports("avx2") ? Way::libc : is_family_19h() ? Way::loops : Way::streams;
    known.store(way, std::memory_order_relaxed);
  }
  return way;
}
#endif

}  // namespace

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  note_read(from, bytes);
  note_write(to, bytes);
#if defined(__x86_64__)
  if (bytes >= loop_from) {
    const Way way = way_here();
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    if (way >= Way::streams && bytes >= stream_from) return copy_streaming(target, source, bytes);
    if (way == Way::loops) return copy_loop(target, source, bytes);
  }
#endif
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace nigh::message
