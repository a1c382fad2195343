// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_view.hpp"

#include <gtest/gtest.h>

#include "sys/task.hpp"
#include "sys/test_tree.hpp"

namespace nigh::report {
namespace {

// A thread of a made-up /proc that has had so many seconds of CPU time.
void put_thread(const sys::TestTree& tree, int pid, int tid, double seconds, int cpu,
                const std::string& children = "") {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
  const auto ticks = static_cast<long>(seconds * sys::ticks_per_second());
  std::string stat = std::to_string(tid) + " (app) R 1";
  for (int field = 5; field <= 52; ++field)
    stat += " " + std::to_string(field == 14 ? ticks : field == 39 ? cpu : field == 22 ? 100 : 0);
  tree.put(folder + "/stat", stat + "\n");
  tree.put(folder + "/status", "Name:\tapp\nCpus_allowed_list:\t0-7\n");
  tree.put(folder + "/children", children);
}

TEST(JobView, TellsHowBusyThreadsWereSinceTheLastLook) {
  const sys::TestTree tree;
  tree.put("/proc/20/cmdline", std::string("mpirun\0-n", 9));
  tree.put("/proc/20/statm", "1000 500 0 0 0 0 0\n");
  tree.put("/proc/21/cmdline", "app");
  tree.put("/proc/21/statm", "what is that\n");
  put_thread(tree, 20, 20, 1, 0, "21 ");
  put_thread(tree, 21, 21, 4, 5);
  JobView job(tree.os(), 20, "mpirun -n 1 app");
  auto first = job.look(10);
  EXPECT_EQ(first["format"], "nigh-run-state");
  EXPECT_TRUE(first["cores"].is_null()) << "nothing to compare with";
  EXPECT_EQ(first["threads"], 2);
  EXPECT_EQ(first["processes"].size(), 2U);
  EXPECT_EQ(first["processes"][0]["command"], "mpirun -n");
  EXPECT_GT(first["processes"][0]["megabytes"].get<double>(), 1.9);
  EXPECT_EQ(first["processes"][1]["megabytes"], 0);

  put_thread(tree, 21, 21, 5, 6);
  put_thread(tree, 21, 22, 0.5, 7);  // new
  auto second = job.look(12);
  EXPECT_NEAR(second["cores"].get<double>(), 0.75, 1e-9);
  const auto& threads = second["processes"][1]["threads"];
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_NEAR(threads[0]["busy"].get<double>(), 0.5, 1e-9);
  EXPECT_EQ(threads[0]["cpu"], 6);
  EXPECT_NEAR(threads[1]["busy"].get<double>(), 0.25, 1e-9);

  put_thread(tree, 21, 21, 1, 6);  // another one with its number
  EXPECT_EQ(job.look(13)["processes"][1]["threads"][0]["busy"], 0);
}

TEST(JobView, TellsOfSoManyThreadsAtMost) {
  const sys::TestTree tree;
  tree.put("/proc/20/cmdline", "app");
  for (int tid = 20; tid < 20 + 7; ++tid) put_thread(tree, 20, tid, 0, 0);
  const auto state = JobView(tree.os(), 20, "app", 5).look(1);
  EXPECT_EQ(state["threads"], 7);
  EXPECT_EQ(state["processes"][0]["threads"].size(), 5U);
}

TEST(JobView, OfAProgramThatHasEndedThereIsNothing) {
  const sys::TestTree tree;
  const auto state = JobView(tree.os(), 20, "app").look(1);
  EXPECT_EQ(state["threads"], 0);
  EXPECT_EQ(state["processes"].size(), 0U);
}

}  // namespace
}  // namespace nigh::report
