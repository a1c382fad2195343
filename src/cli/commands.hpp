// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The subcommands of `nigh`, one file each. Each function adds its options to the app; the callback does
// the work and leaves the exit status in `status`. Output for programs goes to stdout, words to stderr.
#pragma once

#include <cerrno>
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace nigh::cli {

void add_compare(CLI::App& app, int& status);
void add_doctor(CLI::App& app, int& status);
void add_settings(CLI::App& app, int& status);
void add_machine(CLI::App& app, int& status);
void add_plan(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);
void add_ps(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_tune(CLI::App& app, int& status);
void add_watch(CLI::App& app, int& status);

// Takes the program and its arguments off the end of a `nigh run` or `nigh watch` line and keeps them;
// returns the argc left.
int keep_program_words(const CLI::App& app, int argc, char** argv);
std::vector<std::string>& program_words();

// Sentences repeat texts of files and of the command line: on one line, and nothing that a terminal obeys.
std::string one_line(std::string text);

// Prints "nigh COMMAND: message" to stderr and returns 1.
int report_failure(const char* command, const std::string& message);

// Tells of a kept measurement that can't be used; the command goes on without it.
template <class Record>
void tell_if_unused(const char* command, const Result<Record>& record) {
  if (!record && record.error().sys_errno != ENOENT) report_failure(command, record.error().message);
}

}  // namespace nigh::cli
