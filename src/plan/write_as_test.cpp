// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/write_as.hpp"

#include <gtest/gtest.h>

#include "plan/test_machines.hpp"

namespace nigh {
namespace {

// On 4 packages with 4 cores.
std::string written(const char* form, const char* spec) {
  auto plan = NestedPlan::make(test::packages(4, 4), CpuSet::range(0, 15), spec);
  EXPECT_TRUE(plan);
  auto threads = expand(*plan, 0);
  EXPECT_TRUE(threads);
  auto out = write_as(form, plan->spec(), *threads);
  return out ? *out : "error: " + out.error().message;
}

TEST(WriteAs, OpenMpListsPlacesInTheOrderOfPaths) {
  EXPECT_EQ(written("omp", "4,scatter"),
            "export OMP_PLACES='{0},{4},{8},{12}'\nexport OMP_PROC_BIND=close\nexport OMP_NUM_THREADS=4\n"
            "export OMP_MAX_ACTIVE_LEVELS=1\n");
  EXPECT_EQ(
      written("omp", "2,scatter,2,subcompact"),
      "export OMP_PLACES='{0},{1},{8},{9}'\nexport OMP_PROC_BIND=spread,close\nexport OMP_NUM_THREADS=2,2\n"
      "export OMP_MAX_ACTIVE_LEVELS=2\n");
}

TEST(WriteAs, FlatFormsRefuseNestedPlans) {
  EXPECT_EQ(written("gomp", "4,scatter"), "export GOMP_CPU_AFFINITY='0 4 8 12'\n");
  EXPECT_EQ(written("likwid", "4,compact"), "likwid-pin -c 0,1,2,3\n");
  EXPECT_EQ(written("gomp", "2,scatter,2,subcompact"),
            "error: gomp has one level of threads, this plan has 2");
  EXPECT_EQ(written("likwid", "2,scatter,2,subcompact"),
            "error: likwid has one level of threads, this plan has 2");
}

TEST(WriteAs, SlurmGivesEachTaskTheMaskOfItsThreads) {
  EXPECT_EQ(written("slurm", "2,scatter,2,subcompact"),
            "srun --nodes=1 --ntasks=2 --cpus-per-task=2 --cpu-bind=mask_cpu:0x3,0x300\n");
  EXPECT_EQ(written("slurm", "4,scatter"),
            "srun --nodes=1 --ntasks=4 --cpus-per-task=1 --cpu-bind=mask_cpu:0x1,0x10,0x100,0x1000\n");
}

TEST(WriteAs, SharedPusCantBeSaid) {
  EXPECT_EQ(written("omp", "32,compact").substr(0, 45), "error: several threads of this plan share PU ");
}

}  // namespace
}  // namespace nigh
