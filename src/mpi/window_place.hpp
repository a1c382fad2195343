// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the operations on a member's memory.
#pragma once

#include <cstring>

#include "mpi/types.hpp"
#include "mpi/window.hpp"

namespace nigh::mpi {

// Single elements by single loads and stores: others may be reading them.
inline void copy_piece(char* to, const char* from, std::size_t bytes) {
  if (bytes == sizeof(std::uint64_t))
    std::memcpy(to, from, sizeof(std::uint64_t));
  else if (bytes == sizeof(std::uint32_t))
    std::memcpy(to, from, sizeof(std::uint32_t));
  else
    message::copy_bytes(to, from, bytes);
}

// Memory that nobody has.
inline bool is_nowhere(const void* buffer, const TypeInfo& info) {
  return buffer == MPI_IN_PLACE || reinterpret_cast<std::intptr_t>(buffer) + info.lower == 0;
}

// The address of `count` elements of `type` in the member's memory; nullptr: out of this rank's reach, or not
// all within the window, which the library is to report.
inline char* place_of(const Target& target, MPI_Aint displacement, const TypeInfo& type, MPI_Count count,
                      Reason& reason) {
  if (!target.base) {
    reason = target.card ? Reason::unshared : Reason::distant;
    return nullptr;
  }
  std::ptrdiff_t at = 0, last = 0;
  if (displacement < 0 ||
      __builtin_mul_overflow(displacement, static_cast<std::ptrdiff_t>(target.unit), &at) ||
      __builtin_mul_overflow(static_cast<std::ptrdiff_t>(count - 1), type.extent, &last))
    return nullptr;
  const auto bytes = static_cast<std::ptrdiff_t>(target.bytes);
  const std::ptrdiff_t first = type.lower + (last < 0 ? last : 0);
  const std::ptrdiff_t end = type.upper + (last < 0 ? 0 : last);
  if (at > bytes || first < -at || end > bytes - at) return nullptr;
  return target.base + at;
}

// A little that the target has not opened itself to is the library's, which is done with it before we had
// looked often enough.
inline bool opened(const Window& window, const Target& target, std::uint64_t bytes, Reason& reason) {
  constexpr std::uint64_t worth_waiting = 8192;
  if (is_open(window, target)) [[likely]]
    return true;
  if (bytes >= worth_waiting && wait_open(window, target, false)) return true;
  reason = window.together ? Reason::other : Reason::distant;
  return false;
}

}  // namespace nigh::mpi
