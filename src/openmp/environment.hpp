// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The changes of `nigh run` to a program's environment, as a pure function: the user's environment in, the
// new one out, with a list of the variables that were set and removed, and warnings for the user. The
// preloaded library reads the NIGH_ variables made here; everything else is addressed to the OpenMP runtimes.
#pragma once

#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "sys/elf.hpp"

namespace nigh::openmp {

enum class Explain { off, text, json };

// The settings that are to hold for the program.
struct Launch {
  std::string spec;        // as written: "4,scatter,2,subcompact", valid
  std::vector<int> sizes;  // its planned team sizes, outermost level first
  CpuSet mask;             // the PUs that may be used
  std::string machine;     // a machine other than this one, for tests; "": this one
  Explain explain = Explain::off;
  std::string explain_file;  // "" is stderr
  std::string library;       // path of libnigh-openmp.so
  bool keep_env = false;     // leave what the user set as it is
  bool quiet = false;        // no advice
  // The program is a launcher of ranks (mpirun): each rank plans within its own mask, not within ours, which
  // on another node would mean nothing; `narrowed`: unless the user asked for these PUs.
  bool ranks = false;
  bool narrowed = false;
  bool divided = false;  // these PUs are one rank's already: the launcher is around us
};

// "NAME=value" each, in the order that execve gets them.
using Environment = std::vector<std::string>;

struct Variable {
  std::string name;
  std::string value;
  friend bool operator==(const Variable&, const Variable&) = default;
};

struct LaunchEnvironment {
  Environment variables;
  std::vector<Variable> set;         // what was added or changed, with its new value
  std::vector<Variable> removed;     // what was taken away, with the value it had
  std::vector<std::string> remarks;  // one sentence each, for the user
};

LaunchEnvironment launch_environment(const Environment& user, const Launch& launch);

// The consequences of the program's file for binding its threads; one sentence each, none when all is well.
std::vector<std::string> program_remarks(const std::string& program, const sys::ProgramFacts& facts);

// A value of LD_PRELOAD without libraries of ours, libnigh-*.
std::string preload_without_ours(const std::string& list);

// True if LD_PRELOAD can carry this path: the loader splits the variable at blanks and colons.
bool can_be_preloaded(const std::string& path);

// Value of a variable in an environment (the first one, as getenv(3)); nullptr if it is not there.
const std::string* find_entry(const Environment& environment, const std::string& name);
std::string value_of(const Environment& environment, const std::string& name);

}  // namespace nigh::openmp
