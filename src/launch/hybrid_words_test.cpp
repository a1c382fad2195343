// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hybrid_words.hpp"

#include <gtest/gtest.h>

#include <map>

#include "launch/test_words.hpp"

namespace nigh::launch {
namespace {

std::string made(Launcher launcher, const std::string& text, const HybridChoice& choice = {2, 4, 8, true}) {
  return join(hybrid_words(launcher, split(text), choice).words);
}

TEST(HybridWords, OfEachLauncher) {
  EXPECT_EQ(made(Launcher::open_mpi, "mpirun ./app -n 3"),
            "mpirun --map-by ppr:4:node:PE=8 --bind-to core -n 8 ./app -n 3");
  EXPECT_EQ(made(Launcher::hydra, "mpiexec ./app"), "mpiexec -ppn 4 -bind-to core:8 -n 8 ./app");
  EXPECT_EQ(made(Launcher::slurm, "srun ./app"),
            "srun --ntasks-per-node=4 --cpus-per-task=8 --ntasks=8 ./app");
}

TEST(HybridWords, WithoutBinding) {
  const HybridChoice loose{2, 4, 1, false};
  EXPECT_EQ(made(Launcher::open_mpi, "mpirun ./app", loose), "mpirun --map-by ppr:4:node -n 8 ./app");
  EXPECT_EQ(made(Launcher::hydra, "mpirun ./app", loose), "mpirun -ppn 4 -n 8 ./app");
  EXPECT_EQ(made(Launcher::hydra, "mpirun -bind-to none ./app"), "mpirun -ppn 4 -n 8 -bind-to none ./app");
}

TEST(HybridWords, TheNumberOfRanksIsReplacedAndTheRestStays) {
  const HybridWords words = hybrid_words(
      Launcher::open_mpi, split("mpirun --mca btl self,tcp -np 64 -x A ./app -n 64"), {2, 1, 4, false});
  EXPECT_EQ(join(words.words), "mpirun --map-by ppr:1:node -n 2 --mca btl self,tcp -x A ./app -n 64");
  EXPECT_EQ(words.replaced, "-np 64");
  EXPECT_EQ(made(Launcher::slurm, "srun -n64 -N 2 --mpi=pmix ./app"),
            "srun --ntasks-per-node=4 --cpus-per-task=8 --ntasks=8 -N 2 --mpi=pmix ./app");
}

TEST(HybridWords, StandsAsideWhereRanksOfANodeAreFixed) {
  const std::pair<Launcher, const char*> fixed[] = {
      {Launcher::open_mpi, "mpirun --map-by ppr:2:node -n 4 ./app"},
      {Launcher::open_mpi, "mpirun -N 2 ./app"},
      {Launcher::open_mpi, "mpirun -np 4 --npernode 2 ./app"},
      {Launcher::hydra, "mpiexec -n 4 -ppn 2 ./app"},
      {Launcher::slurm, "srun --ntasks-per-node=2 ./app"},
      {Launcher::slurm, "srun -c 4 ./app"}};
  for (const auto& [launcher, text] : fixed) {
    const HybridWords words = hybrid_words(launcher, split(text), {2, 4, 8, true});
    EXPECT_FALSE(words.aside.empty()) << text;
    EXPECT_EQ(join(words.words), text);
  }
  EXPECT_TRUE(hybrid_words(Launcher::open_mpi, split("mpirun ./app --map-by x"), {}).aside.empty());
}

Surroundings around(const std::map<std::string, std::string>& variables,
                    const std::map<std::string, std::string>& files) {
  return {[variables](const std::string& name) {
            const auto found = variables.find(name);
            return found == variables.end() ? std::string() : found->second;
          },
          [files](const std::string& path) -> Result<std::string> {
            const auto found = files.find(path);
            if (found == files.end()) return fail(Errc::io, path + ": there is none");
            return found->second;
          }};
}

TEST(JobNodes, WhereTheyAreSaid) {
  const Surroundings files = around(
      {{"HYDRA_HOST_FILE", "m"}, {"OMPI_MCA_orte_default_hostfile", "o"}},
      {{"o", "# hosts\na slots=4\nb slots=4\nc slots=2\n"}, {"m", "a:4\nb:4\n"}, {"p", "a\na\nb\nb\n"}});
  auto nodes = job_nodes(Launcher::open_mpi, split("mpirun ./app"), files);
  ASSERT_TRUE(nodes.has_value());
  EXPECT_EQ(nodes->nodes, 3);
  EXPECT_EQ(nodes->cores, 2);
  nodes = job_nodes(Launcher::hydra, split("mpirun -n 3 ./app"), files);
  EXPECT_EQ(nodes->nodes, 2);
  EXPECT_EQ(nodes->cores, 4);
  nodes = job_nodes(Launcher::open_mpi, split("mpirun --hostfile p ./app"), files);
  EXPECT_EQ(nodes->nodes, 2);
  EXPECT_EQ(nodes->cores, 2);
  EXPECT_EQ(job_nodes(Launcher::open_mpi, split("mpirun -H x:8,y:8,z:8 ./app"), files)->nodes, 3);
  EXPECT_EQ(job_nodes(Launcher::slurm, split("srun -N 5 ./app"), files)->nodes, 5);
  EXPECT_EQ(
      job_nodes(Launcher::slurm, split("srun ./app"), around({{"SLURM_JOB_NUM_NODES", "7"}}, {}))->nodes, 7);
  EXPECT_EQ(job_nodes(Launcher::hydra, split("mpirun ./app"), around({}, {}))->nodes, 1);
  EXPECT_FALSE(job_nodes(Launcher::hydra, split("mpirun -f gone ./app"), files).has_value());
}

// A number that is not given is found out; a wrong one is not taken for a missing one.
TEST(JobNodes, NumbersThatCannotBe) {
  const auto file = [](const std::string& text) {
    return job_nodes(Launcher::open_mpi, split("mpirun --hostfile h ./app"), around({}, {{"h", text}}));
  };
  for (const char* slots : {"2147483647", "-1", "-2147483648", "99999999999999999999", "65537", "0", "4x",
                            "abc", "nan", "1e9", "0x10"}) {
    const auto of_file = file(std::string("a slots=4\nb slots=") + slots + "\n");
    ASSERT_FALSE(of_file) << slots;
    EXPECT_EQ(of_file.error().message, std::string("the host file h says '") + slots +
                                           "', and the number of slots is one from 1 to 65536");
    EXPECT_FALSE(file(std::string("a:") + slots + "\n")) << slots;
    EXPECT_FALSE(
        job_nodes(Launcher::open_mpi, split(std::string("mpirun -H x:") + slots + " ./app"), around({}, {})))
        << slots;
    EXPECT_FALSE(
        job_nodes(Launcher::slurm, split(std::string("srun -N ") + slots + " ./app"), around({}, {})))
        << slots;
    EXPECT_FALSE(job_nodes(Launcher::slurm, split("srun ./app"), around({{"SLURM_NNODES", slots}}, {})))
        << slots;
  }
  ASSERT_TRUE(file("a slots=65536\n"));
  EXPECT_EQ(file("a slots=65536\n")->cores, 65536);
  for (const char* unsaid : {"a\n", "a slots=auto\n", "a:*\n", "a slots=\n"}) {
    ASSERT_TRUE(file(unsaid)) << unsaid;
    EXPECT_EQ(file(unsaid)->cores, 0) << unsaid;
  }
  EXPECT_EQ(job_nodes(Launcher::slurm, split("srun -N 2-4 ./app"), around({}, {}))->nodes, 2);
  const HybridWords most = hybrid_words(Launcher::hydra, split("mpirun ./app"), {65536, 65536, 1, true});
  EXPECT_NE(join(most.words).find("-n 4294967296 "), std::string::npos) << join(most.words);
}

}  // namespace
}  // namespace nigh::launch
