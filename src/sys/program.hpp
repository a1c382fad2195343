// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The program that a launcher starts in its own place: where it is, what kind of file it is, and exec.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sys/elf.hpp"

namespace nigh::sys {

// The file that execvp(3) would run for this name, if there is one.
std::optional<std::string> find_program(const std::string& name);

// Facts of the file. Errors: io, permission (a program may be executable and yet not readable).
Result<ProgramFacts> inspect_program(const std::string& path, bool deep = true);

// Path of the running executable itself, links resolved.
Result<std::string> own_executable();
bool is_readable_file(const std::string& path);

// This process's environment, "NAME=value" each, in its order.
std::vector<std::string> environment();

// The form that exec wants: pointers to the words, which must outlive them, and nullptr at the end.
std::vector<char*> exec_words(const std::vector<std::string>& words);

// Becomes the program (execvpe): returns only when that failed, with errno.
int become(const std::vector<std::string>& command, const std::vector<std::string>& environment);

}  // namespace nigh::sys
