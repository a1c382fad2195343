// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A program as its user knows it: "lmp", "python3 solve.py".
#pragma once

#include <string>
#include <string_view>

namespace nigh::sys {

// Takes a command line as /proc/PID/cmdline has it: each argument ends with a zero byte. Without folders;
// with the script where the program is an interpreter. "": there is none (a kernel thread, a process that has
// ended).
std::string program_name(std::string_view arguments);

// The name of this process, at most 100 bytes; "": /proc can't be read.
std::string own_program_name();

}  // namespace nigh::sys
