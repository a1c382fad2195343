// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/settings_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace nigh::doctor {
namespace {

SettingNow now_of(const std::string& name, const std::vector<std::string>& environment) {
  for (const SettingNow& one : settings_now(environment))
    if (one.setting->name == name) return one;
  return {};
}

TEST(Settings, HaveANameAndASentenceEach) {
  std::set<std::string> names;
  for (const Setting& one : settings_table()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_NE(one.words.empty(), *one.values == '\0') << one.name;
    EXPECT_EQ(std::string(one.sentence).back(), '.') << one.name;
    EXPECT_EQ(std::count(own_variables().begin(), own_variables().end(), one.name), 0) << one.name;
  }
}

TEST(Settings, AreReadFromTheEnvironment) {
  EXPECT_FALSE(now_of("NIGH_MPI", {"HOME=/x"}).value);
  EXPECT_EQ(now_of("NIGH_MPI", {"NIGH_MPI=off"}).value, "off");
  EXPECT_TRUE(now_of("NIGH_MPI", {"NIGH_MPI=off"}).usable);
  EXPECT_FALSE(now_of("NIGH_MPI", {"NIGH_MPI=of"}).usable);
  EXPECT_TRUE(now_of("NIGH_MPI", {"NIGH_MPI="}).usable);
  EXPECT_TRUE(now_of("NIGH_EXPLAIN_FILE", {"NIGH_EXPLAIN_FILE=a=b"}).usable);
  EXPECT_EQ(now_of("NIGH_EXPLAIN_FILE", {"NIGH_EXPLAIN_FILE=a=b"}).value, "a=b");
}

TEST(Settings, ThatNobodyReadsAreTold) {
  EXPECT_TRUE(
      unknown_settings({"NIGH_MPI=off", "NIGH_RANK=0", "NIGH_SOAK=1", "PATH=/bin", "nigh_mpi=1"}).empty());
  EXPECT_EQ(unknown_settings({"NIGH_MPI_P2P_MIM=1"}),
            (std::vector<std::string>{
                "NIGH_MPI_P2P_MIM is set, and nigh reads no such variable; did you mean NIGH_MPI_P2P_MIN?"}));
  EXPECT_EQ(unknown_settings({"NIGH_\x1b[31m=1"}).at(0).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace nigh::doctor
