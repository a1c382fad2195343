// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/world.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace nigh::shmem {
namespace {

using Environment = std::map<std::string, std::string>;

const char* look(const char* name, void* context) {
  auto& all = *static_cast<Environment*>(context);
  auto found = all.find(name);
  return found == all.end() ? nullptr : found->second.c_str();
}

TEST(World, OpenMpi) {
  Environment env = {{"OMPI_COMM_WORLD_RANK", "3"},
                     {"OMPI_COMM_WORLD_SIZE", "8"},
                     {"SLURM_PROCID", "0"},
                     {"SLURM_NTASKS", "2"}};
  World world;
  ASSERT_TRUE(find_world(look, &env, world));
  EXPECT_EQ(world.rank, 3);
  EXPECT_EQ(world.size, 8);
  EXPECT_STREQ(world.mpi, "openmpi");
}

TEST(World, MpichAndSlurm) {
  Environment env = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};
  World world;
  ASSERT_TRUE(find_world(look, &env, world));
  EXPECT_STREQ(world.mpi, "mpich");
  env = {{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_NUM_TASKS", "6"}};
  ASSERT_TRUE(find_world(look, &env, world));
  EXPECT_EQ(world.size, 6);  // of the step, not of the allocation
  EXPECT_STREQ(world.mpi, "");
}

TEST(World, NoneOrNonsense) {
  World world;
  for (const Environment& each :
       {Environment{}, Environment{{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}},
        Environment{{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}, Environment{{"PMI_RANK", "1"}},
        Environment{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},  // a job's script
        Environment{{"NIGH_RANK", "0"}, {"NIGH_SIZE", "2"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}}) {
    Environment env = each;
    EXPECT_FALSE(find_world(look, &env, world));
  }
}

TEST(World, PretendedNodesAreBlocksOfPes) {
  Environment env = {{"NIGH_MPI_FAKE_NODES", "2"}};
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(pretended_node(look, &env, {rank, 4, "mpich"}), rank / 2);
  env.clear();
  EXPECT_EQ(pretended_node(look, &env, {3, 4, "mpich"}), 0);
}

}  // namespace
}  // namespace nigh::shmem
