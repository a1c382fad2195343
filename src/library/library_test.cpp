// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface against the planner itself, its errors, many threads at once, and loading by dlopen as
// runtimes do.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "nigh/plan.h"

namespace {

std::string error_of(const char* spec, const int* cpus, int ncpus, const char* machine) {
  char err[400] = "untouched";
  nigh_planner* planner = nigh_planner_new(spec, cpus, ncpus, machine, err, sizeof err);
  EXPECT_EQ(planner, nullptr);
  nigh_planner_free(planner);
  return err;
}

struct Planner {
  explicit Planner(const char* spec, const char* machine = "synthetic:pack:4 numa:1 core:4 pu:1") {
    for (int i = 0; i < 16; ++i) cpus[i] = i;
    planner = nigh_planner_new(spec, cpus, 16, machine, err, sizeof err);
    EXPECT_NE(planner, nullptr) << err;
  }
  ~Planner() { nigh_planner_free(planner); }
  std::vector<int> team(int root, std::vector<int> index, std::vector<int> size, int n) const {
    std::vector<nigh_place> out(static_cast<std::size_t>(n));
    EXPECT_EQ(nigh_planner_team(planner, root, static_cast<int>(index.size()), index.data(), size.data(), n,
                                out.data()),
              0);
    std::vector<int> pus;
    for (const auto& place : out) pus.push_back(place.pu);
    return pus;
  }
  int cpus[16];
  char err[400] = "";
  nigh_planner* planner = nullptr;
};

TEST(Library, PlansTeams) {
  Planner p("4,scatter,4,scatter");
  EXPECT_EQ(p.team(0, {}, {}, 4), std::vector<int>({0, 4, 8, 12}));
  EXPECT_EQ(p.team(0, {1}, {4}, 4), std::vector<int>({4, 9, 14, 3}));
  EXPECT_EQ(nigh_plan_abi(), NIGH_PLAN_ABI);
  EXPECT_EQ(nigh_planner_levels(p.planner), 2);
  EXPECT_EQ(nigh_planner_size(p.planner, 2), 4);
  EXPECT_EQ(nigh_planner_size(p.planner, 0), 0);
  EXPECT_EQ(nigh_planner_size(p.planner, 3), 0);
}

TEST(Library, TellsCoreAndNode) {
  Planner p("4,scatter");
  nigh_place out[4];
  ASSERT_EQ(nigh_planner_team(p.planner, 0, 0, nullptr, nullptr, 4, out), 0);
  EXPECT_EQ(out[3].pu, 12);
  EXPECT_EQ(out[3].core, 12);
  EXPECT_EQ(out[3].numa_node, 3);
}

TEST(Library, ErrorsAreSentences) {
  int cpus[] = {0, 1};
  EXPECT_EQ(error_of(nullptr, nullptr, 0, nullptr), "no team spec was given");
  EXPECT_EQ(
      error_of("4,scatter,", nullptr, 0, nullptr),
      "token 3 of the team spec '4,scatter,' is empty; expected a team size from 1 to 65536, or no comma at "
      "the end");
  int negative[] = {0, -1};
  EXPECT_EQ(error_of("4,scatter", negative, 2, nullptr), "there is no CPU -1");
  EXPECT_EQ(error_of("4,scatter", cpus, 0, nullptr), "the mask is empty; it must hold at least one PU");
  EXPECT_EQ(error_of("4,scatter", cpus, -1, nullptr), "the number of CPUs is negative");
  EXPECT_NE(error_of("4,scatter", cpus, 2, "no-such-machine").find("no-such-machine"), std::string::npos);
  char tiny[8] = "1234567";
  EXPECT_EQ(nigh_planner_new("", nullptr, 0, nullptr, tiny, sizeof tiny), nullptr);
  EXPECT_STREQ(tiny, "the tea");
  EXPECT_EQ(nigh_planner_new("", nullptr, 0, nullptr, nullptr, 0), nullptr);
}

TEST(Library, BadArgumentsGetMinusOne) {
  Planner p("4,scatter");
  nigh_place out[4];
  int index[] = {4}, size[] = {4};
  EXPECT_EQ(nigh_planner_team(nullptr, 0, 0, nullptr, nullptr, 4, out), -1);
  EXPECT_EQ(nigh_planner_team(p.planner, 0, 0, nullptr, nullptr, 4, nullptr), -1);
  EXPECT_EQ(nigh_planner_team(p.planner, 0, 1, nullptr, size, 4, out), -1);
  EXPECT_EQ(nigh_planner_team(p.planner, 0, 1, index, size, 4, out), -1);
  EXPECT_EQ(nigh_planner_team(p.planner, 0, -1, index, size, 4, out), -1);
  EXPECT_EQ(nigh_planner_team(p.planner, -1, 0, index, size, 4, out), -1);
  EXPECT_EQ(nigh_planner_team(p.planner, 0, 0, index, size, 0, out), -1);
}

TEST(Library, DefaultsToThisMachineAndTheCallersMask) {
  char err[400] = "";
  nigh_planner* planner = nigh_planner_new("64,compact", nullptr, 0, nullptr, err, sizeof err);
  ASSERT_NE(planner, nullptr) << err;
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  std::vector<nigh_place> out(64);
  ASSERT_EQ(nigh_planner_team(planner, 0, 0, nullptr, nullptr, 64, out.data()), 0);
  for (const auto& place : out) EXPECT_TRUE(CPU_ISSET(place.pu, &mask)) << place.pu;
  nigh_planner_free(planner);
}

TEST(Library, ManyThreadsAskAtOnce) {
  Planner p("2,scatter,2,scatter,2,subcompact");
  std::vector<std::vector<int>> expected;
  Planner again("2,scatter,2,scatter,2,subcompact");
  for (int root = 0; root < 20; ++root) expected.push_back(again.team(root, {1, 0}, {2, 2}, 2));
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        if (p.team(i % 20, {1, 0}, {2, 2}, 2) != expected[static_cast<std::size_t>(i % 20)]) ++different;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
}

TEST(Library, OpensByName) {
  void* library = dlopen(NIGH_BINARY_DIR "/lib/libnigh.so.0", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto abi = reinterpret_cast<int (*)()>(dlsym(library, "nigh_plan_abi"));
  ASSERT_NE(abi, nullptr);
  EXPECT_EQ(abi(), NIGH_PLAN_ABI);
  dlclose(library);
}

}  // namespace
