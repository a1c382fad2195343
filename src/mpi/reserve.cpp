// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/reserve.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace nigh::mpi {
namespace {

std::atomic<void*> g_reserve = nullptr;
std::size_t g_bytes = 0;

// The handler of the C++ library that is hidden in this half: the program's own is another.
void spend() {
  void* reserve = g_reserve.exchange(nullptr);
  if (!reserve) throw std::bad_alloc();
  std::free(reserve);
}

}  // namespace

void reserve_start(std::size_t bytes) {
  g_bytes = bytes;
  reserve_fill();
  std::set_new_handler(spend);
}

void reserve_stop() {
  std::set_new_handler(nullptr);
  std::free(g_reserve.exchange(nullptr));
}

bool reserve_fill() {
  if (g_reserve.load()) return true;
  void* fresh = std::malloc(g_bytes);
  void* none = nullptr;
  if (!fresh) return false;
  if (!g_reserve.compare_exchange_strong(none, fresh)) std::free(fresh);  // another thread was first
  return true;
}

}  // namespace nigh::mpi
