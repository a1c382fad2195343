// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a command to its end and keeps what it wrote. The command gets a process group of its own, so that a
// time limit ends it together with everything it started; it never reads our terminal, and it dies with us.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace nigh::sys {

struct Command {
  std::vector<std::string> words;  // words[0] is looked up in PATH
  // Changes to our own environment: a value to set, nullopt to remove. Names of `clear` that end in '*'
  // remove every variable that begins so; `environment` is applied after it.
  std::vector<std::string> clear;
  std::map<std::string, std::optional<std::string>> environment;
  double timeout_seconds = 600;
};

struct Finished {
  int status = 0;  // the exit status; 128+N when signal N ended it
  bool timed_out = false;
  double seconds = 0;
  double cpu_seconds = 0;  // of it and of all its descendants that were waited for
  long peak_kib = 0;       // of the largest of these processes
  std::string out, err;
};

// Errors: invalid (no such command), permission (it may not be executed), io. A command that ran and failed
// is no error here: look at the status.
Result<Finished> run_command(const Command& command);

// CPU time that all CPUs of this machine were not idle since it started, in seconds; time that a hypervisor
// gave to others counts. 0 where /proc does not tell.
double busy_cpu_seconds();

// The environment that a command would get, "NAME=value" each.
std::vector<std::string> command_environment(const Command& command, const std::vector<std::string>& ours);

}  // namespace nigh::sys
