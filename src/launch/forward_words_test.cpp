// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Variables that launchers are told to pass on: the user's words and ours in one.
#include "launch/forward_words.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launch/test_words.hpp"

namespace nigh::launch {
namespace {

std::string changed(Launcher launcher, const std::string& words, bool adds = true) {
  return join(
      forward_words(launcher, split(words),
                    {{"LD_PRELOAD", "NIGH_A"}, "/ours.so:/before.so", adds, [](const std::string& name) {
                       return name == "NIGH_A" ? "1" : "/ours.so:/before.so";
                     }}));
}

TEST(ForwardWords, OpenMpi) {
  auto open_mpi = [](const std::string& words, bool adds = true) {
    return changed(Launcher::open_mpi, words, adds);
  };
  EXPECT_EQ(open_mpi("mpirun -n 4 -x ANY ./app"), "mpirun -x LD_PRELOAD -x NIGH_A -n 4 -x ANY ./app");
  EXPECT_EQ(open_mpi("mpirun -n 4 -x ANY ./app", false), "mpirun -n 4 -x ANY ./app");
  EXPECT_EQ(open_mpi("mpirun --x NIGH_A=2 ./app -x LD_PRELOAD=/a.so"),
            "mpirun -x LD_PRELOAD --x NIGH_A=2 ./app -x LD_PRELOAD=/a.so");
  EXPECT_EQ(open_mpi("mpirun -x LD_PRELOAD=/theirs.so:/before.so ./app"),
            "mpirun -x NIGH_A -x LD_PRELOAD=/ours.so:/before.so:/theirs.so ./app");
  EXPECT_EQ(open_mpi("mpirun -x LD_PRELOAD=/theirs.so ./app", false),
            "mpirun -x LD_PRELOAD=/ours.so:/before.so:/theirs.so ./app")
      << "ranks of this node would lose ours, too";
  EXPECT_EQ(open_mpi("mpirun -n 1 -x A ./a x : -n 2 -x NIGH_A ./b"),
            "mpirun -x LD_PRELOAD -x NIGH_A -n 1 -x A ./a x : -x LD_PRELOAD -n 2 -x NIGH_A ./b");
  EXPECT_EQ(open_mpi("mpirun --mca mca_base_env_list A;NIGH_A=3 ./app"),
            "mpirun --mca mca_base_env_list A;NIGH_A=3;LD_PRELOAD ./app");
  EXPECT_EQ(open_mpi("mpirun -x"), "mpirun -x LD_PRELOAD -x NIGH_A -x");
  EXPECT_TRUE(names_variables(split("mpirun -n 2 -x A ./app")));
  EXPECT_FALSE(names_variables(split("mpirun -n 2 ./app")));
}
TEST(ForwardWords, Hydra) {
  auto hydra = [](const std::string& words) { return changed(Launcher::hydra, words); };
  EXPECT_EQ(hydra("mpiexec -n 4 ./app"), "mpiexec -n 4 ./app");
  EXPECT_EQ(hydra("mpiexec -genv A 1 -n 4 ./app"), "mpiexec -genv A 1 -n 4 ./app");
  EXPECT_EQ(hydra("mpiexec -genvall -n 4 ./app"), "mpiexec -genvall -n 4 ./app");
  const std::string ours = "-genv LD_PRELOAD /ours.so:/before.so -genv NIGH_A 1 ";
  EXPECT_EQ(hydra("mpiexec -genvlist A,B -n 4 ./app"), "mpiexec " + ours + "-genvlist A,B -n 4 ./app");
  EXPECT_EQ(hydra("mpiexec -genvnone -n 4 ./app"), "mpiexec " + ours + "-genvnone -n 4 ./app");
  EXPECT_EQ(hydra("mpiexec -n 1 ./a : -n 1 -envlist A ./b"),
            "mpiexec -n 1 ./a : -env LD_PRELOAD /ours.so:/before.so -env NIGH_A 1 -n 1 -envlist A ./b");
  EXPECT_EQ(hydra("mpiexec -genv LD_PRELOAD /t.so -n 1 ./a"),
            "mpiexec -genv LD_PRELOAD /ours.so:/before.so:/t.so -n 1 ./a");
  EXPECT_EQ(hydra("mpiexec -genv LD_PRELOAD=/t.so -genvnone -n 1 ./a"),
            "mpiexec -genv NIGH_A 1 -genv LD_PRELOAD=/ours.so:/before.so:/t.so -genvnone -n 1 ./a");
}
TEST(ForwardWords, Slurm) {
  auto slurm = [](const std::string& words) { return changed(Launcher::slurm, words); };
  EXPECT_EQ(slurm("srun -n 4 ./app : x"), "srun -n 4 ./app : x");
  EXPECT_EQ(slurm("srun --export=ALL,A=1 -n4 ./app"), "srun --export=ALL,A=1 -n4 ./app");
  EXPECT_EQ(slurm("srun --export=A,B=2 ./app"), "srun --export=A,B=2,LD_PRELOAD,NIGH_A ./app");
  EXPECT_EQ(slurm("srun --export NONE ./app --export=A"), "srun --export LD_PRELOAD,NIGH_A ./app --export=A");
  EXPECT_EQ(slurm("srun --export=ALL,LD_PRELOAD=/t.so ./app"),
            "srun --export=ALL,LD_PRELOAD=/ours.so:/before.so:/t.so ./app");
}

}  // namespace
}  // namespace nigh::launch
