// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The caller of a function. Two questions hang on it: which libgomp the caller would have reached, and
// whether the caller is itself an OpenMP runtime. The loader's answer takes a lock and a microsecond, so it
// is kept per return address, in a table that only grows: readers need no lock. When it is full, answers are
// simply not kept.
#pragma once

#include <stdint.h>

#include <atomic>

#include "openmp/core.hpp"

namespace nigh::preload {

template <class Value>
struct CallSites {
  static constexpr unsigned kSlots = 512;  // a power of two
  struct Slot {
    std::atomic<uintptr_t> site;
    Value value;
  };
  Slot slot[kSlots];

  static unsigned hash(uintptr_t site) { return static_cast<unsigned>(site * 0x9e3779b97f4a7c15ull >> 50); }

  bool find(void* caller, Value& out) const {
    const auto site = reinterpret_cast<uintptr_t>(caller);
    for (unsigned i = hash(site), n = 0; n < 8; i++, n++) {
      const Slot& s = slot[i % kSlots];
      const uintptr_t there = s.site.load(std::memory_order_acquire);
      if (there == site) {
        out = s.value;
        return true;
      }
      if (!there) return false;
    }
    return false;
  }

  void keep(void* caller, Value value) {
    const auto site = reinterpret_cast<uintptr_t>(caller);
    lock();
    for (unsigned i = hash(site), n = 0; n < 8; i++, n++) {
      Slot& s = slot[i % kSlots];
      const uintptr_t there = s.site.load(std::memory_order_relaxed);
      if (there == site) break;
      if (there) continue;
      s.value = value;
      s.site.store(site, std::memory_order_release);
      break;
    }
    unlock();
  }
};

// True if this address lies in an OpenMP runtime (libgomp, libomp, libiomp5, also under a wheel's name for
// it).
bool from_runtime(void* caller);

// The next definition of a function after ours, kept in cache. Never null for what libc defines.
void* next_symbol(const char* name, std::atomic<void*>& cache);

}  // namespace nigh::preload

// Calls the function that we stand in front of.
#define NIGH_NEXT(name)                                                                     \
  ([]() {                                                                                   \
    static std::atomic<void*> cache;                                                        \
    return reinterpret_cast<decltype(&::name)>(::nigh::preload::next_symbol(#name, cache)); \
  }())

#define NIGH_EXPORT extern "C" __attribute__((visibility("default")))
