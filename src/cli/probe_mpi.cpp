// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/probe_mpi.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.hpp"
#include "launch/ranks_run.hpp"
#include "machine/mpi_probe.hpp"
#include "machine/probe_copy.hpp"

namespace nigh::cli {

namespace {
// A known copy bandwidth of one node is not measured again: the program gets the number of CPUs that it was
// measured with.
Result<MpiProbe> measure(const Machine& machine, const std::string& library,
                         const std::vector<std::string>& launcher) {
  const auto stored = load_probe(machine);
  tell_if_unused("machine", stored);
  const bool known = stored && !probed_copy_levels(machine, *stored).empty();
  launch::RanksRequest request{.launcher = launcher,
                               .library = library,
                               .program = "mpi-probe",
                               .words = {},
                               .lead = "{\"probe\":\"mpi\""};
  if (known) request.words = {"--copying-known", std::to_string(stored->pus.count())};
  auto lines = run_on_ranks(request);
  if (!lines) return tl::unexpected(lines.error());
  return read_mpi_report(lines->front(), machine, known ? &*stored : nullptr);
}
}  // namespace

void add_mpi_probe_options(CLI::App& command, MpiProbeRequest& request) {
  auto* probe =
      command.add_flag("--probe-mpi", request.wanted,
                       "Measure messages between nodes (seconds) and keep them: --probe-mpi -- mpirun -n 16");
  for (const char* other : {"--model", "--machine", "--svg", "--list-models", "--probe"})
    probe->excludes(command.get_option(other));
  command.add_option("--library", request.library, "With --probe-mpi: the launcher's MPI, openmpi or mpich")
      ->check(CLI::IsMember({"openmpi", "mpich"}))
      ->needs(probe);
}

int run_mpi_probe(const Machine& machine, const MpiProbeRequest& request,
                  const std::vector<std::string>& launcher, bool json) {
  if (launcher.empty())
    return report_failure("machine",
                          "--probe-mpi takes the words that start ranks: --probe-mpi -- mpirun -n 16");
  auto probe = measure(machine, request.library, launcher);
  if (!probe) return report_failure("machine", probe.error().message);
  std::fputs((json ? mpi_probe_to_json(*probe) : draw_mpi_probe(*probe)).c_str(), stdout);
  if (request.no_store) return 0;
  auto stored = store_mpi_probe(machine, *probe);
  std::fprintf(stderr, "nigh machine: %s%s\n", stored ? "stored in " : "not stored: ",
               stored ? mpi_probe_path(machine).value_or("").c_str() : stored.error().message.c_str());
  return 0;
}

}  // namespace nigh::cli
