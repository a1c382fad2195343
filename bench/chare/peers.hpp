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
// The folder that a program lies in, of its argv[0].
std::string folder_of(const std::string& program);
// Runs it with `arguments` and reports its median as `result`. The exit status.
int report(const std::string& program, const std::string& subject, const std::string& own_folder, int pes,
           const std::vector<std::string>& arguments, const std::string& result, bool near);
// Its answer, median of its steps in seconds; below 0: `why` says what went wrong.
double run(const std::vector<std::string>& words, std::string& why);

}  // namespace bench::peers
