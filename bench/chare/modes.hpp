// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Subjects that are ours: how their PEs run. (nigh-processes is started by nigh run -n, nigh-mpi by mpirun, a
// process for each PE.)
#pragma once

#include <optional>
#include <string>

#include "nigh/chare.hpp"

namespace bench::modes {

inline constexpr const char* names =
    "nigh-threads nigh-processes nigh-posix-shm nigh-mpi nigh-adaptive nigh-by-pointer nigh-mpi-framed "
    "nigh-mpi-alone nigh-spoiled";

inline std::optional<nigh::chare::Options> options(const std::string& subject, int pes) {
  using nigh::chare::Mode;
  if (subject == "nigh-processes") return nigh::chare::Options{.pes = pes, .mode = Mode::processes};
  if (subject == "nigh-posix-shm") return nigh::chare::Options{.pes = pes, .mode = Mode::shm};
  if (subject == "nigh-mpi") return nigh::chare::Options{.pes = 1, .mode = Mode::mpi};
  // One way for all messages: what is decided by size otherwise.
  if (subject == "nigh-by-pointer")
    return nigh::chare::Options{.pes = pes, .mode = Mode::threads, .by_pointer = true};
  if (subject == "nigh-mpi-framed")
    return nigh::chare::Options{.pes = 1, .mode = Mode::mpi, .framing = {65536, 65536}};
  if (subject == "nigh-mpi-alone")
    return nigh::chare::Options{.pes = 1, .mode = Mode::mpi, .framing = {65536, 0}};
  // The options as it was started; a mode of one PE only means that it is to be no more.
  if (subject == "nigh-adaptive") return nigh::chare::Options{.pes = pes == 1 ? 1 : 0};
  if (subject == "nigh-threads" || subject == "nigh-fixed" || subject == "nigh-spoiled")
    return nigh::chare::Options{.pes = pes, .mode = Mode::threads};
  return std::nullopt;
}

}  // namespace bench::modes
