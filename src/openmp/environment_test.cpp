// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The environment a program gets, case by case, and the laws that hold for every environment.
#include "openmp/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace nigh::openmp {
namespace {

Launch four_by_two() {
  Launch launch;
  launch.spec = "4,scatter,2,subcompact";
  launch.sizes = {4, 2};
  launch.mask = CpuSet::range(0, 7);
  launch.library = "/opt/nigh/lib/libnigh-openmp.so";
  return launch;
}

bool says(const LaunchEnvironment& env, const std::string& words) {
  return std::any_of(env.remarks.begin(), env.remarks.end(),
                     [&](const std::string& r) { return r.find(words) != std::string::npos; });
}

TEST(Launch, SetsWhatIsMissing) {
  auto env = launch_environment({"HOME=/root", "PATH=/bin"}, four_by_two());
  Environment expected = {"HOME=/root",
                          "PATH=/bin",
                          "LD_PRELOAD=/opt/nigh/lib/libnigh-openmp.so",
                          "OMP_NESTING_TEAM_SIZE=4,scatter,2,subcompact",
                          "NIGH_MASK=0-7",
                          "OMP_MAX_ACTIVE_LEVELS=2",
                          "OMP_NUM_THREADS=4,2",
                          "KMP_HOT_TEAMS_MAX_LEVEL=2"};
  EXPECT_EQ(env.variables, expected);
  EXPECT_EQ(env.set.size(), 6U);
  EXPECT_TRUE(env.removed.empty());
  EXPECT_TRUE(env.remarks.empty());
}

TEST(Launch, TakesForeignBindingAwayAndSaysSoOnce) {
  auto env = launch_environment({"OMP_PROC_BIND=spread,close", "OMP_PLACES=cores", "GOMP_CPU_AFFINITY=0-3",
                                 "X=1", "KMP_AFFINITY=explicit,proclist=[0,1]", "OMP_PROC_BINDER=mine"},
                                four_by_two());
  EXPECT_EQ(env.removed, (std::vector<Variable>{{"OMP_PROC_BIND", "spread,close"},
                                                {"OMP_PLACES", "cores"},
                                                {"GOMP_CPU_AFFINITY", "0-3"},
                                                {"KMP_AFFINITY", "explicit,proclist=[0,1]"}}));
  for (const auto& v : env.removed) EXPECT_EQ(find_entry(env.variables, v.name), nullptr);
  EXPECT_EQ(value_of(env.variables, "OMP_PROC_BINDER"), "mine");
  EXPECT_EQ(value_of(env.variables, "NIGH_STRIPPED"),
            "OMP_PROC_BIND=spread,close;OMP_PLACES=cores;GOMP_CPU_AFFINITY=0-3;"
            "KMP_AFFINITY=explicit,proclist=[0,1]");
  ASSERT_EQ(env.remarks.size(), 1U);
  EXPECT_TRUE(
      says(env, "took OMP_PROC_BIND=spread,close, OMP_PLACES=cores, GOMP_CPU_AFFINITY=0-3, KMP_AFFINITY="));
}

TEST(Launch, KeepEnvKeepsEverythingOfTheUser) {
  Launch launch = four_by_two();
  launch.keep_env = true;
  auto env = launch_environment({"OMP_PROC_BIND=true", "OMP_MAX_ACTIVE_LEVELS=1"}, launch);
  EXPECT_TRUE(env.removed.empty());
  EXPECT_EQ(value_of(env.variables, "OMP_PROC_BIND"), "true");
  EXPECT_EQ(value_of(env.variables, "OMP_MAX_ACTIVE_LEVELS"), "1");
  EXPECT_EQ(find_entry(env.variables, "NIGH_STRIPPED"), nullptr);
  EXPECT_TRUE(says(env, "kept OMP_PROC_BIND=true as --keep-env asks"));
  EXPECT_TRUE(says(env, "kept OMP_MAX_ACTIVE_LEVELS=1"));
  EXPECT_EQ(value_of(env.variables, "OMP_NUM_THREADS"), "4,2");  // the user was silent there
}

TEST(Launch, OtherPreloadedLibrariesStayBehindOurs) {
  auto env = launch_environment({"LD_PRELOAD=/usr/lib/liba.so /usr/lib/libb.so:libc.so"}, four_by_two());
  EXPECT_EQ(value_of(env.variables, "LD_PRELOAD"),
            "/opt/nigh/lib/libnigh-openmp.so:/usr/lib/liba.so:/usr/lib/libb.so:libc.so");
  auto again = launch_environment(env.variables, four_by_two());
  EXPECT_EQ(value_of(again.variables, "LD_PRELOAD"), value_of(env.variables, "LD_PRELOAD"));
}

TEST(Launch, LevelsAreRaisedNeverLowered) {
  auto low = launch_environment({"OMP_MAX_ACTIVE_LEVELS=1"}, four_by_two());
  EXPECT_EQ(value_of(low.variables, "OMP_MAX_ACTIVE_LEVELS"), "2");
  EXPECT_TRUE(says(low, "raised OMP_MAX_ACTIVE_LEVELS from 1 to 2"));
  auto high = launch_environment({"OMP_MAX_ACTIVE_LEVELS= 5 ", "KMP_HOT_TEAMS_MAX_LEVEL=3"}, four_by_two());
  EXPECT_EQ(value_of(high.variables, "OMP_MAX_ACTIVE_LEVELS"), " 5 ");
  EXPECT_EQ(value_of(high.variables, "KMP_HOT_TEAMS_MAX_LEVEL"), "3");
  EXPECT_TRUE(high.remarks.empty());
  auto junk = launch_environment({"OMP_MAX_ACTIVE_LEVELS=many"}, four_by_two());
  EXPECT_EQ(value_of(junk.variables, "OMP_MAX_ACTIVE_LEVELS"), "2");
}

TEST(Launch, NestingSwitchedOffByTheOldVariableIsSwitchedOn) {
  for (const char* off : {"OMP_NESTED=false", "OMP_NESTED= FALSE", "OMP_NESTED=0", "OMP_NESTED=off"}) {
    auto env = launch_environment({off}, four_by_two());
    EXPECT_EQ(find_entry(env.variables, "OMP_NESTED"), nullptr) << off;
    EXPECT_TRUE(says(env, "because the plan has nested teams")) << off;
    EXPECT_EQ(value_of(env.variables, "NIGH_STRIPPED"), off);
  }
  Launch launch = four_by_two();
  EXPECT_EQ(value_of(launch_environment({"OMP_NESTED=TRUE"}, launch).variables, "OMP_NESTED"), "TRUE");
  launch.keep_env = true;
  EXPECT_TRUE(says(launch_environment({"OMP_NESTED=false"}, launch), "kept OMP_NESTED=false"));
  launch.sizes = {4};
  launch.keep_env = false;
  EXPECT_EQ(value_of(launch_environment({"OMP_NESTED=false"}, launch).variables, "OMP_NESTED"), "false");
}

TEST(Launch, TheUsersTeamSizesStay) {
  auto other = launch_environment({"OMP_NUM_THREADS=8"}, four_by_two());
  EXPECT_EQ(value_of(other.variables, "OMP_NUM_THREADS"), "8");
  EXPECT_TRUE(says(other, "kept OMP_NUM_THREADS=8 although the plan is for teams of 4,2"));
  auto same = launch_environment({"OMP_NUM_THREADS=4, 2"}, four_by_two());
  EXPECT_TRUE(same.remarks.empty());
  EXPECT_TRUE(says(launch_environment({"OMP_NUM_THREADS=4,2,2"}, four_by_two()), "OMP_NUM_THREADS"));
  EXPECT_TRUE(says(launch_environment({"OMP_NUM_THREADS=x"}, four_by_two()), "OMP_NUM_THREADS=x"));
  Launch square = four_by_two();
  square.sizes = {4, 4};
  EXPECT_TRUE(launch_environment({"OMP_NUM_THREADS=4"}, square).remarks.empty());  // 4 holds for all levels
  EXPECT_EQ(value_of(launch_environment({"OMP_NUM_THREADS="}, square).variables, "OMP_NUM_THREADS"), "4,4");
}

TEST(Launch, ALimitBelowThePlanIsSaid) {
  EXPECT_TRUE(says(launch_environment({"OMP_THREAD_LIMIT=7"}, four_by_two()), "below the 8 threads"));
  EXPECT_TRUE(launch_environment({"OMP_THREAD_LIMIT=8"}, four_by_two()).remarks.empty());
}

TEST(Launch, MachineAndAccount) {
  Launch launch = four_by_two();
  auto plain = launch_environment({"NIGH_MACHINE=old", "NIGH_STRIPPED=A=b"}, launch);
  EXPECT_EQ(find_entry(plain.variables, "NIGH_MACHINE"), nullptr);
  EXPECT_EQ(find_entry(plain.variables, "NIGH_STRIPPED"), nullptr);
  EXPECT_EQ(find_entry(plain.variables, "NIGH_EXPLAIN"), nullptr);
  launch.machine = "tigerton";
  launch.explain = Explain::json;
  launch.explain_file = "/tmp/account.%p";
  auto full = launch_environment({"NIGH_EXPLAIN=text"}, launch);
  EXPECT_EQ(value_of(full.variables, "NIGH_MACHINE"), "tigerton");
  EXPECT_EQ(value_of(full.variables, "NIGH_EXPLAIN"), "json");
  EXPECT_EQ(value_of(full.variables, "NIGH_EXPLAIN_FILE"), "/tmp/account.%p");
}

// For any environment: nothing foreign is touched, no name is there twice because of us, what is reported
// is what was done, and doing it twice changes nothing more.
TEST(Launch, LawsForAnyEnvironment) {
  const std::vector<std::string> names = {"OMP_PROC_BIND",    "OMP_PLACES", "GOMP_CPU_AFFINITY",
                                          "KMP_AFFINITY",     "LD_PRELOAD", "OMP_NUM_THREADS",
                                          "OMP_THREAD_LIMIT", "NIGH_MASK",  "OMP_MAX_ACTIVE_LEVELS",
                                          "NIGH_EXPLAIN",     "FOREIGN",    "OMP_NESTING_TEAM_SIZE"};
  const std::vector<std::string> values = {"", "1", "2", "9", "4,2", "spread", "=", "a b", "99999999999"};
  std::mt19937 random(31);
  for (int round = 0; round < 20000; ++round) {
    Environment user;
    for (unsigned n = random() % 12; n > 0; --n)
      user.push_back(random() % 20 == 0
                         ? "noequals"
                         : names[random() % names.size()] + "=" + values[random() % values.size()]);
    Launch launch = four_by_two();
    launch.keep_env = random() % 4 == 0;
    auto once = launch_environment(user, launch);
    auto count = [](const Environment& e, const std::string& what) {
      return std::count(e.begin(), e.end(), what);
    };
    for (const auto& entry : user) {
      if (entry.rfind("FOREIGN", 0) == 0 || entry == "noequals") {
        ASSERT_EQ(count(once.variables, entry), count(user, entry));
      }
    }
    for (const auto& v : once.set) {
      ASSERT_EQ(count(once.variables, v.name + "=" + v.value), 1);
      ASSERT_EQ(value_of(once.variables, v.name), v.value);
    }
    for (const auto& v : once.removed) ASSERT_EQ(find_entry(once.variables, v.name), nullptr);
    auto twice = launch_environment(once.variables, launch);
    Environment a = once.variables, b = twice.variables;  // but for the record of what the first one stripped
    std::erase_if(a, [](const std::string& e) { return e.rfind("NIGH_STRIPPED=", 0) == 0; });
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    ASSERT_EQ(a, b);
  }
}

TEST(Launch, TellsTheLibraryWhatToKeepAndToSay) {
  Launch launch = four_by_two();
  EXPECT_EQ(
      value_of(launch_environment({"NIGH_KEEP_ENV=1", "NIGH_QUIET=1"}, launch).variables, "NIGH_KEEP_ENV"),
      "");
  EXPECT_EQ(value_of(launch_environment({"NIGH_KEEP_ENV=1", "NIGH_QUIET=1"}, launch).variables, "NIGH_QUIET"),
            "");
  launch.keep_env = launch.quiet = true;
  EXPECT_EQ(value_of(launch_environment({}, launch).variables, "NIGH_KEEP_ENV"), "1");
  EXPECT_EQ(value_of(launch_environment({}, launch).variables, "NIGH_QUIET"), "1");
}

TEST(Launch, RanksDivideOnlyWhatIsNotOneRanksAlready) {
  Launch launch = four_by_two();
  launch.ranks = true;
  EXPECT_NE(find_entry(launch_environment({}, launch).variables, "NIGH_RANK_SHARE"), nullptr);
  launch.divided = true;
  EXPECT_EQ(find_entry(launch_environment({"NIGH_RANK_SHARE=0-7"}, launch).variables, "NIGH_RANK_SHARE"),
            nullptr);
}

TEST(Launch, DisplayedAffinityIsNotTheThreads) {
  const auto remarks = [](const char* value) {
    return launch_environment({std::string("OMP_DISPLAY_AFFINITY=") + value}, four_by_two()).remarks;
  };
  ASSERT_EQ(remarks("TRUE").size(), 1U);
  EXPECT_NE(remarks("true")[0].find("OMP_DISPLAY_AFFINITY=true prints the mask"), std::string::npos);
  for (const char* off : {"false", "", " 0"}) EXPECT_TRUE(remarks(off).empty()) << off;
}

TEST(ProgramRemarks, OneSentenceForEachWayThatFails) {
  sys::ProgramFacts good{.elf = true, .interpreter = true};
  EXPECT_TRUE(program_remarks("./app", good).empty());
  EXPECT_TRUE(program_remarks("./app", {.script = true}).empty());
  auto said = [](sys::ProgramFacts facts) {
    auto remarks = program_remarks("./app", facts);
    return remarks.size() == 1 ? remarks[0] : std::to_string(remarks.size()) + " remarks";
  };
  EXPECT_NE(said({.elf = true}).find("./app is statically linked"), std::string::npos);
  EXPECT_NE(said({.elf = true, .static_libgomp = true}).find("statically linked"), std::string::npos);
  EXPECT_NE(said({.elf = true, .interpreter = true, .static_libgomp = true}).find("libgomp linked into it"),
            std::string::npos);
  EXPECT_NE(said({.elf = true, .interpreter = true, .loader = "/lib/ld-musl-x86_64.so.1"})
                .find("another C library than glibc"),
            std::string::npos);
  EXPECT_NE(said({.elf = true, .bits32 = true, .interpreter = true}).find("32-bit"), std::string::npos);
  EXPECT_NE(said({.script = true, .gains_rights = true}).find("rights of another user"), std::string::npos);
}

TEST(Launch, PathsTheLoaderCanTake) {
  EXPECT_TRUE(can_be_preloaded("/usr/lib/x86_64-linux-gnu/libnigh-openmp.so"));
  EXPECT_FALSE(can_be_preloaded("/home/me/my programs/libnigh-openmp.so"));
  EXPECT_FALSE(can_be_preloaded("/a:b/libnigh-openmp.so"));
  EXPECT_FALSE(can_be_preloaded(""));
}

}  // namespace
}  // namespace nigh::openmp
