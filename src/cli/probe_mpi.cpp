// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/probe_mpi.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "cli/bench_program.hpp"
#include "cli/commands.hpp"
#include "machine/mpi_probe.hpp"
#include "sys/process.hpp"
#include "sys/program.hpp"

namespace nigh::cli {

namespace {
constexpr double most_seconds = 120;  // with starting ranks on all nodes

// The lines that are reports. A launcher of another library starts as many jobs of one rank each.
std::vector<std::string> reports(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (const std::size_t from = line.find("{\"probe\":\"mpi\""); from != std::string::npos)
      out.push_back(line.substr(from));
    at = end + 1;
  }
  return out;
}

std::string first_words(const std::string& text) {
  std::size_t at = text.find_first_not_of(" \n-\t");
  if (const std::size_t ours = text.find("probe: "); ours != std::string::npos) at = ours;
  if (at == std::string::npos) return "";
  return text.substr(at, text.find('\n', at) - at);
}

Result<MpiProbe> measure(const Machine& machine, const std::string& library,
                         const std::vector<std::string>& launcher) {
  auto program = find_bench_program("mpi-probe-" + library);
  if (!program) return tl::unexpected(program.error());
  sys::Command command;
  command.words = launcher;
  command.words.push_back(*program);
  command.timeout_seconds = most_seconds;
  if (!sys::find_program(launcher.front()))
    return fail(Errc::invalid, fmt::format("there is no launcher '{}'", launcher.front()));
  auto done = sys::run_command(command);
  if (!done) return tl::unexpected(done.error());
  const std::string words = first_words(done->err.empty() ? done->out : done->err);
  if (done->timed_out)
    return fail(Errc::io, fmt::format("{} did not end in {:.0f} s", launcher.front(), most_seconds));
  const std::vector<std::string> found = reports(done->out);
  if (found.size() > 1)
    return fail(
        Errc::invalid,
        fmt::format("{} started {} jobs of one rank instead of one job: it is not of {}; give --library {}",
                    launcher.front(), found.size(), library, library == "mpich" ? "openmpi" : "mpich"));
  if (done->status != 0 || found.empty())
    return fail(Errc::io, fmt::format("{} ended with status {}{}{}", launcher.front(), done->status,
                                      words.empty() ? "" : ": ", words));
  return read_mpi_report(found.front(), machine);
}
}  // namespace

std::string library_of_launcher(const std::string& word) {
  auto path = sys::find_program(word);
  std::error_code error;
  std::string name = path ? std::filesystem::canonical(*path, error).filename().string() : word;
  for (const char* one : {"orterun", "prterun", "openmpi", "ompi"})
    if (name.find(one) != std::string::npos) return "openmpi";
  for (const char* one : {"mpich", "hydra"})
    if (name.find(one) != std::string::npos) return "mpich";
  return "";
}

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
  const std::string library =
      request.library.empty() ? library_of_launcher(launcher.front()) : request.library;
  if (library.empty())
    return report_failure("machine", fmt::format("'{}' does not say which MPI library it starts; give "
                                                 "--library openmpi or --library mpich",
                                                 launcher.front()));
  auto probe = measure(machine, library, launcher);
  if (!probe) return report_failure("machine", probe.error().message);
  std::fputs((json ? mpi_probe_to_json(*probe) : draw_mpi_probe(*probe)).c_str(), stdout);
  if (request.no_store) return 0;
  auto stored = store_mpi_probe(machine, *probe);
  std::fprintf(stderr, "nigh machine: %s%s\n", stored ? "stored in " : "not stored: ",
               stored ? mpi_probe_path(machine).value_or("").c_str() : stored.error().message.c_str());
  return 0;
}

}  // namespace nigh::cli
