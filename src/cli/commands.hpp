// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The subcommands of `nigh`, one file each. Each function adds its options to the app; the callback does
// the work and leaves the exit status in `status`. Output for programs goes to stdout, words to stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace nigh::cli {

void add_machine(CLI::App& app, int& status);
void add_plan(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_watch(CLI::App& app, int& status);

// Takes the program and its arguments off the end of a `nigh run` or `nigh watch` line and keeps them;
// returns the argc left.
int keep_program_words(const CLI::App& app, int argc, char** argv);
std::vector<std::string>& program_words();

// Prints "nigh COMMAND: message" to stderr and returns 1.
int report_failure(const char* command, const std::string& message);

}  // namespace nigh::cli
