// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The two hidden fields of a status, read and written where each library keeps them: a call would cost more
// than all else that we do to a small message. The standard ABI has room for them but does not say where:
// MPICH has the bytes in the first two words, with the flag in bit 0 of the second, Open MPI the flag in the
// first and the bytes in the next two. learn_status() finds out which by writing one through the library.
#pragma once

#include <cstdint>
#include <cstring>

#include "mpi/library.hpp"

namespace nigh::mpi {

// False: neither the expected way, nor another that we know; nothing that comes from a status can be
// believed.
bool learn_status();

#if defined(NIGH_ABI_STANDARD)
inline bool g_status_has_flag_first = false;  // as Open MPI

inline std::uint64_t status_bytes(const MPI_Status& status) {
  std::uint64_t bytes = 0;
  if (g_status_has_flag_first) {
    std::memcpy(&bytes, &status.MPI_internal[1], sizeof bytes);
    return bytes;
  }
  return static_cast<std::uint64_t>(static_cast<unsigned>(status.MPI_internal[1]) >> 1) << 32 |
         static_cast<unsigned>(status.MPI_internal[0]);
}
inline void set_status_bytes(MPI_Status& status, std::uint64_t bytes) {
  if (g_status_has_flag_first) {
    std::memcpy(&status.MPI_internal[1], &bytes, sizeof bytes);
    return;
  }
  status.MPI_internal[0] = static_cast<int>(bytes);
  status.MPI_internal[1] =
      (status.MPI_internal[1] & 1) | static_cast<int>(static_cast<unsigned>(bytes >> 32) << 1);
}
inline bool status_cancelled(const MPI_Status& status) {
  return g_status_has_flag_first ? status.MPI_internal[0] != 0 : (status.MPI_internal[1] & 1) != 0;
}
inline void empty_hidden(MPI_Status& status) {
  status.MPI_internal[0] = status.MPI_internal[1] = status.MPI_internal[2] = 0;
}
#elif defined(NIGH_ABI_OPENMPI)
inline std::uint64_t status_bytes(const MPI_Status& status) { return status._ucount; }
inline void set_status_bytes(MPI_Status& status, std::uint64_t bytes) { status._ucount = bytes; }
inline bool status_cancelled(const MPI_Status& status) { return status._cancelled != 0; }
inline void empty_hidden(MPI_Status& status) {
  status._cancelled = 0;
  status._ucount = 0;
}
#else
inline std::uint64_t status_bytes(const MPI_Status& status) {
  return static_cast<std::uint64_t>(static_cast<unsigned>(status.count_hi_and_cancelled) >> 1) << 32 |
         static_cast<unsigned>(status.count_lo);
}
inline void set_status_bytes(MPI_Status& status, std::uint64_t bytes) {
  status.count_lo = static_cast<int>(bytes);
  status.count_hi_and_cancelled =
      (status.count_hi_and_cancelled & 1) | static_cast<int>(static_cast<unsigned>(bytes >> 32) << 1);
}
inline bool status_cancelled(const MPI_Status& status) { return (status.count_hi_and_cancelled & 1) != 0; }
inline void empty_hidden(MPI_Status& status) { status.count_lo = status.count_hi_and_cancelled = 0; }
#endif

// The status that MPI calls empty: for sends, null and inactive requests. MPI_ERROR is left alone.
inline void make_empty(MPI_Status& status) {
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  status.MPI_TAG = MPI_ANY_TAG;
  empty_hidden(status);
}

}  // namespace nigh::mpi
