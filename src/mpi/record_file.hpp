// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The file in which a rank records what it sends to each other one, and where its time goes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/record_time.hpp"

namespace nigh::mpi::record {

enum class Way { point_to_point, collective, put, get, count };
constexpr int ways = static_cast<int>(Way::count);
constexpr const char* way_names[ways] = {"point_to_point", "collective", "put", "get"};

struct Cell {
  std::uint64_t bytes = 0, messages = 0;
  std::uint64_t carried_bytes = 0, carried_messages = 0;  // of these, by us

  void add(std::uint64_t size, bool carried) {
    bytes += size;
    ++messages;
    if (!carried) return;
    carried_bytes += size;
    ++carried_messages;
  }
};

// Ranks that know each other by one or more communicators of one name, or by windows.
struct Group {
  Group* next = nullptr;
  char name[512] = {};
  int rank = 0, peers = 0;
  bool inter = false;
  int* world = nullptr;                    // peer -> rank in MPI_COMM_WORLD, or negative
  Cell* cells[ways][function_count] = {};  // of each peer; null: nothing was sent so
};

// In the folder of the first job of so many ranks that has no file of this rank yet. Where the rank may run
// is looked up now. False: see why_unwritten().
bool create_file(const char* folder, int rank, int ranks);
// Fills it; `complete`: nothing was left out for lack of memory.
bool write_file(const Group* groups, const Times& times, bool complete);
// The sentence for the user, by errno.
const char* why_unwritten();

}  // namespace nigh::mpi::record
