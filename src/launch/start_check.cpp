// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/start_check.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "launch/launcher.hpp"
#include "sys/launchers.hpp"
#include "sys/program.hpp"

namespace nigh::launch {

namespace {
std::string name_of(const std::string& mpi) {
  return mpi == "openmpi" ? "Open MPI" : mpi == "mpich" ? "MPICH (or one with its ABI)" : "an MPI library";
}

// Ranks of `nigh run -n` are what these are made for, whatever else they were linked to.
bool has_ranks_of_ours(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries)
    for (const char* ours : {"libnigh-space.so", "libnigh-shmem.so", "libnigh-chare.so"})
      if (library.substr(library.rfind('/') + 1).starts_with(ours)) return true;
  return false;
}

// A script of a Slurm job has a number, too, but is no step of several.
bool is_in_job() {
  const auto has = [](const char* name) { return name != nullptr && std::getenv(name) != nullptr; };
  for (const sys::LauncherVariables& one : sys::launcher_variables)
    if ((has(one.local_rank) && has(one.local_size)) || (has(one.rank) && has(one.size))) return true;
  return std::getenv("PMI_FD") != nullptr || std::getenv("PMIX_NAMESPACE") != nullptr;
}
}  // namespace

std::string impossible_start(const StartFacts& facts) {
  if (facts.program_mpi.empty() || !facts.launcher.empty() || facts.ranks < 2) return "";
  return fmt::format(
      "{0} is linked to {1}, whose launcher has to start its ranks: -n {2} would be {2} jobs of one rank; "
      "nigh run --mpi -- mpirun -n {2} {0}",
      facts.program, name_of(facts.program_mpi), facts.ranks);
}

std::string doubtful_start(const StartFacts& facts) {
  const bool mpi = !facts.program_mpi.empty();
  if (facts.launcher.empty())
    return mpi && !facts.in_job && facts.ranks == 0
               ? fmt::format(
                     "{0} is linked to {1} and started without a launcher: it is a job of one rank; several: "
                     "nigh run --mpi -- mpirun -n 4 {0}",
                     facts.program, name_of(facts.program_mpi))
               : "";
  if (!mpi || facts.launcher_mpi.empty() || facts.program_mpi == "another" ||
      facts.launcher_mpi == facts.program_mpi || facts.ranks == 1)
    return "";
  return fmt::format(
      "{} starts ranks of {}, but {} is linked to {}: unless these understand each other, each rank is a job "
      "of its own; take the launcher of that library",
      facts.launcher, name_of(facts.launcher_mpi), facts.program, name_of(facts.program_mpi));
}

StartFacts start_facts(const std::vector<std::string>& command, int own_ranks) {
  StartFacts out{command.front(), "", "", "", own_ranks, is_in_job()};
  if (const auto launcher = launcher_of(command.front())) {
    out.launcher = command.front();
    out.launcher_mpi = library_of_launcher(command.front());
    out.program = program_of(*launcher, command);
    out.ranks = ranks_of(*launcher, command);
  }
  const auto path = sys::find_program(out.program);
  const auto facts = path ? sys::inspect_program(*path, false) : fail(Errc::io, "");
  if (facts && !(own_ranks > 0 && has_ranks_of_ours(facts->libraries)))
    out.program_mpi = sys::mpi_of(facts->libraries);
  return out;
}

}  // namespace nigh::launch
