// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One piece of memory to another, for the case that matters here: the source was just written by another core
// and lies dirty in its cache, and the receiver reads the destination next. Measured on Zen 4
// (docs/decisions/0009): libc's memcpy is as good as anything up to some 32 KiB; above, it takes forms that
// lose up to a third on such sources or on destinations that are not in the cache, and a plain loop of
// 32-byte loads and stores wins. Streaming stores lose wherever the result is read soon, so they are left to
// messages that no cache holds anyway.
#include <atomic>
#include <cstdint>
#include <cstring>

#include "message/atomic.hpp"
#include "message/layout.hpp"

#if defined(__x86_64__)
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

bool has_avx2() {
  static constinit std::atomic<int> known = -1;
  int answer = known.load(std::memory_order_relaxed);
  if (answer < 0) {
    __builtin_cpu_init();
    answer = __builtin_cpu_supports("avx2") ? 1 : 0;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == 1;
}
#endif

}  // namespace

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  note_read(from, bytes);
  note_write(to, bytes);
#if defined(__x86_64__)
  if (bytes >= loop_from && has_avx2()) {
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    return bytes >= stream_from ? copy_streaming(target, source, bytes) : copy_loop(target, source, bytes);
  }
#endif
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace nigh::message
