// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include <cstdio>

#include "shmem/away.hpp"
#include "sys/mpi_library.hpp"

namespace nigh::shmem {

Away* open_away(const char* mpi, char* why, std::size_t bytes) {
  char cause[512];
  void* transport =
      sys::open_by_mpi("shmem", mpi, reinterpret_cast<const void*>(&open_away), cause, sizeof cause);
  if (!transport) {
    std::snprintf(why, bytes, "PEs run on several nodes, but %s", cause);
    return nullptr;
  }
  auto* make = reinterpret_cast<decltype(&nigh_shmem_away)>(dlsym(transport, "nigh_shmem_away"));
  Away* away = make ? make(away_version) : nullptr;
  if (!away) std::snprintf(why, bytes, "the transport beside libnigh-shmem.so is of another version of nigh");
  return away;
}

}  // namespace nigh::shmem
