// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The place of a process that may run on some CPUs only: the last-level cache, the NUMA node and the socket
// that hold all of them. A handful of small files of /sys, read without a topology library, since every rank
// asks at its start.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::sys {

// The first CPU of the domain names it; -1: the CPUs lie in several, or the kernel does not tell.
struct CpuSeat {
  int cache = -1;
  int node = -1;
  int socket = -1;
};

// `words` words of 64 CPUs each. `root` is put before the paths.
CpuSeat seat_of(const std::uint64_t* cpus, std::size_t words, const char* root = "");

}  // namespace nigh::sys
