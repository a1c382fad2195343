// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The launcher, and its MPI library, that the first word of a command names.
#pragma once

#include <optional>
#include <string>

#include "launch/launcher_words.hpp"

namespace nigh::launch {

// "openmpi" or "mpich" by the program that the word names, followed through its links, or by what lies beside
// it; empty: it does not say (srun, a script).
std::string library_of_launcher(const std::string& word);
// The launcher of that name; nullopt: no launcher, or an unknown one.
std::optional<Launcher> launcher_of(const std::string& word);

}  // namespace nigh::launch
