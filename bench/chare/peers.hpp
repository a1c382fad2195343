// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Programs of other people's that do the same, run as they are.
#pragma once

#include <string>
#include <vector>

namespace bench::peers {

const std::vector<std::string>& names();
// The command that a subject is, up to its arguments; empty: `why`. MPI programs lie in `own_folder` as
// PROGRAM-openmpi and PROGRAM-mpich; Charm++'s are named by environment variables.
std::vector<std::string> command(const std::string& program, const std::string& subject,
                                 const std::string& own_folder, int pes, std::string& why);
// Its answer, median of its steps in seconds; below 0: `why` says what went wrong.
double run(const std::vector<std::string>& words, std::string& why);

}  // namespace bench::peers
