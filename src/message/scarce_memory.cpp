// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See scarce_memory.hpp.
#include "message/scarce_memory.hpp"

#include <cstdlib>
#include <new>

namespace nigh::message::testing {
thread_local std::size_t news = 0, most_news = ~std::size_t{0};
}

#ifndef NIGH_SANITIZED
using nigh::message::testing::most_news;
using nigh::message::testing::news;
// Not inlined: gcc would take malloc and free for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (++news > most_news) throw std::bad_alloc();
  if (void* data = std::malloc(bytes)) return data;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }
#endif
