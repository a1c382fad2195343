// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/program_name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nigh::sys {
namespace {

std::string named(std::string words) {
  for (char& c : words)
    if (c == ' ') c = '\0';
  return program_name(words + '\0');
}

TEST(ProgramName, HasNoFolders) {
  EXPECT_EQ(named("/opt/lammps/bin/lmp -in in.lj"), "lmp");
  EXPECT_EQ(named("./app"), "app");
  EXPECT_EQ(program_name(""), "");
  EXPECT_EQ(program_name("app"), "app");  // as of a process that wrote over it
}

TEST(ProgramName, OfAnInterpreterHasTheScript) {
  EXPECT_EQ(named("/usr/bin/python3 -u dir/solve.py 3"), "python3 solve.py");
  EXPECT_EQ(named("python3 -m mpi4py run.py"), "python3 mpi4py");
  EXPECT_EQ(named("python3 -c import"), "python3");
  EXPECT_EQ(named("python3"), "python3");
  EXPECT_EQ(named("sh /x/run.sh"), "sh run.sh");
  EXPECT_EQ(named("show /x/run.sh"), "show");
}

TEST(ProgramName, IsShort) { EXPECT_EQ(program_name(std::string(5000, 'x')).size(), 100U); }

TEST(ProgramName, OfThisProcess) { EXPECT_EQ(own_program_name(), "sys_process_test"); }

}  // namespace
}  // namespace nigh::sys
