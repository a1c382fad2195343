// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The words of each launcher, and what they say of a start that can't be meant.
#include "launch/launcher_words.hpp"

#include <gtest/gtest.h>

#include <map>

#include "launch/launcher.hpp"
#include "launch/start_check.hpp"
#include "launch/test_words.hpp"

namespace nigh::launch {
namespace {

std::string with_room(Launcher launcher, const std::string& text,
                      std::map<std::string, std::string> variables = {}) {
  const TeamWords made =
      team_words(launcher, split(text), 4, [&](const std::string& name) { return variables[name]; });
  const std::string out = join(made.words);
  EXPECT_EQ(made.added.empty(), out == text) << text;
  return out;
}

TEST(TeamWords, OpenMpiBindsNobody) {
  EXPECT_EQ(with_room(Launcher::open_mpi, "mpirun -n 2 ./hybrid -n 3"),
            "mpirun --bind-to none -n 2 ./hybrid -n 3");
  EXPECT_EQ(with_room(Launcher::open_mpi, "mpirun --map-by socket -N 2 ./a"),
            "mpirun --bind-to none --map-by socket -N 2 ./a");
  EXPECT_EQ(with_room(Launcher::open_mpi, "mpirun --mca btl self,tcp -np 2 ./a --bind-to core"),
            "mpirun --bind-to none --mca btl self,tcp -np 2 ./a --bind-to core");
}

TEST(TeamWords, WhoBindsRanksHimselfIsLeftAlone) {
  for (const char* text :
       {"mpirun --bind-to core -n 2 ./a", "mpirun -bind-to socket ./a", "mpirun --bind-to-core ./a",
        "mpirun --map-by slot:PE=4 -n 2 ./a", "mpirun --map-by ppr:1:node:pe=2 ./a",
        "mpirun --cpus-per-proc 4 -n 2 ./a", "mpirun --rankfile f ./a", "mpirun -rf f ./a",
        "mpirun --mca hwloc_base_binding_policy core ./a", "mpirun --cpu-set 0-3 ./a"})
    EXPECT_EQ(with_room(Launcher::open_mpi, text), text);
  EXPECT_EQ(with_room(Launcher::open_mpi, "mpirun ./a", {{"OMPI_MCA_hwloc_base_binding_policy", "core"}}),
            "mpirun ./a");
  EXPECT_EQ(with_room(Launcher::open_mpi, "mpirun ./a", {{"PRTE_MCA_hwloc_default_binding_policy", "l3"}}),
            "mpirun ./a");
}

TEST(TeamWords, HydraBindsNobodyAnyway) {
  for (const char* text : {"mpiexec -n 2 ./a", "mpiexec -bind-to core -n 2 ./a", "mpirun -genv A 1 ./a"})
    EXPECT_EQ(with_room(Launcher::hydra, text), text);
}

TEST(TeamWords, SlurmIsAskedForThePusOrNotToBind) {
  EXPECT_EQ(with_room(Launcher::slurm, "srun -n 2 ./a"), "srun --cpus-per-task=4 -n 2 ./a");
  EXPECT_EQ(with_room(Launcher::slurm, "srun -n2 ./a", {{"SLURM_JOB_ID", "7"}}),
            "srun --cpu-bind=none -n2 ./a");
  for (const char* text :
       {"srun -c4 -n 2 ./a", "srun -c 4 ./a", "srun --cpus-per-task=2 ./a", "srun --cpu-bind=cores ./a"}) {
    EXPECT_EQ(with_room(Launcher::slurm, text), text);
    EXPECT_EQ(with_room(Launcher::slurm, text, {{"SLURM_JOB_ID", "7"}}), text);
  }
}

TEST(LauncherWords, ProgramAndRanks) {
  struct Row {
    Launcher launcher;
    const char *text, *program;
    int ranks;
  };
  const Row rows[] = {{Launcher::open_mpi, "mpirun -np 2 --oversubscribe --mca a b -x V ./p -n 9", "./p", 2},
                      {Launcher::open_mpi, "mpirun --bind-to-core ./p", "./p", 0},
                      {Launcher::open_mpi, "mpirun -n 1 ./p : -n 2 ./q", "./p", 0},
                      {Launcher::open_mpi, "mpirun -n two ./p", "./p", 0},
                      {Launcher::open_mpi, "mpirun -n 2", "", 2},
                      {Launcher::open_mpi, "mpirun", "", 0},
                      {Launcher::hydra, "mpiexec -genv A 1 -n 3 -f hosts ./p", "./p", 3},
                      {Launcher::slurm, "srun -n64 -N 2 --mpi=pmix ./p", "./p", 64},
                      {Launcher::slurm, "srun --ntasks=5 -p debug ./p", "./p", 5}};
  for (const Row& row : rows) {
    EXPECT_EQ(program_of(row.launcher, split(row.text)), row.program) << row.text;
    EXPECT_EQ(ranks_of(row.launcher, split(row.text)), row.ranks) << row.text;
  }
}

TEST(LauncherWords, WhoIsALauncher) {
  EXPECT_EQ(launcher_of("srun"), Launcher::slurm);
  EXPECT_EQ(launcher_of("/opt/bin/mpiexec.hydra"), Launcher::hydra);
  EXPECT_EQ(launcher_of("mpirun-that-is-nowhere.openmpi"), Launcher::open_mpi);
  for (const char* word : {"./solver-openmpi", "mpich", "./hydra", "sh", "mpicc.openmpi", "ssrun", ""})
    EXPECT_FALSE(launcher_of(word)) << word;
}

TEST(StartCheck, RanksOfOursThatWouldBeAlone) {
  const std::string said = impossible_start({"./app", "openmpi", "", "", 2, false});
  EXPECT_NE(said.find("./app is linked to Open MPI"), std::string::npos) << said;
  EXPECT_NE(said.find("nigh run --mpi -- mpirun -n 2 ./app"), std::string::npos) << said;
  EXPECT_NE(impossible_start({"./app", "another", "", "", 8, true}), "");
  EXPECT_EQ(impossible_start({"./app", "openmpi", "", "", 1, false}), "");  // one rank alone is a job
  EXPECT_EQ(impossible_start({"./app", "", "", "", 2, false}), "");
  EXPECT_EQ(impossible_start({"./app", "openmpi", "mpirun", "openmpi", 2, false}), "");
}

TEST(StartCheck, WithoutOrWithAnotherLauncher) {
  EXPECT_NE(doubtful_start({"./app", "mpich", "", "", 0, false}).find("without a launcher"),
            std::string::npos);
  EXPECT_EQ(doubtful_start({"./app", "mpich", "", "", 0, true}), "");  // mpirun is around us
  EXPECT_EQ(doubtful_start({"script", "", "", "", 0, false}), "");
  const std::string said = doubtful_start({"./app", "openmpi", "mpiexec", "mpich", 2, false});
  EXPECT_NE(said.find("mpiexec starts ranks of MPICH"), std::string::npos) << said;
  EXPECT_NE(said.find("./app is linked to Open MPI"), std::string::npos) << said;
  EXPECT_NE(doubtful_start({"./app", "mpich", "mpirun", "openmpi", 0, false}), "");
  EXPECT_EQ(doubtful_start({"./app", "mpich", "mpirun", "openmpi", 1, false}), "");
  EXPECT_EQ(doubtful_start({"./app", "mpich", "mpirun", "mpich", 2, false}), "");
  EXPECT_EQ(doubtful_start({"./app", "mpich", "srun", "", 2, false}), "");
  EXPECT_EQ(doubtful_start({"./app", "another", "mpirun", "openmpi", 2, false}), "");
  EXPECT_EQ(doubtful_start({"", "", "mpirun", "openmpi", 2, false}), "");
}

}  // namespace
}  // namespace nigh::launch
