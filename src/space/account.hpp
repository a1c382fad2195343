// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run -n N --explain`: how the account of a space comes to the user. Each rank that ends normally hands
// its text to the launcher's desk, and the launcher prints one of them when all have ended: a rank alone
// can't know which of the others will come to a normal end. Under MPI the interposer speaks instead
// (src/mpi).
#pragma once

#include <cstdint>

#include "space/registry.hpp"

namespace nigh::space {

// The record that the desk gets; `text` has lines as Space::explain() makes them.
struct AccountRecord {
  Card card;
  std::int32_t pid = 0;
  std::uint32_t joined = 0;  // a rank that has met others knows more than the script that started it
  char text[4096] = {};
};

// In a rank, at its normal end: hands the account over if NIGH_EXPLAIN asks for it. Never waits.
void hand_over_account();

}  // namespace nigh::space
