// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/launched.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cli/bench_program.hpp"
#include "sys/process.hpp"
#include "sys/program.hpp"

namespace nigh::cli {

namespace {
std::vector<std::string> lines_with(const std::string& text, const std::string& lead) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (const std::size_t from = line.find(lead); from != std::string::npos) out.push_back(line.substr(from));
    at = end + 1;
  }
  return out;
}

// The program's own words, "probe: ...", if there are any.
std::string first_words(const std::string& text, const std::string& program) {
  std::size_t at = text.find_first_not_of(" \n-\t");
  const std::string name = program.substr(program.rfind('-') + 1) + ": ";
  if (const std::size_t ours = text.find(name); ours != std::string::npos) at = ours;
  if (at == std::string::npos) return "";
  return text.substr(at, text.find('\n', at) - at);
}

Result<std::string> library_of(const RanksRequest& request) {
  if (!request.library.empty()) return request.library;
  std::string library = library_of_launcher(request.launcher.front());
  if (!library.empty()) return library;
  return fail(Errc::invalid, fmt::format("'{}' does not say which MPI library it starts; give "
                                         "--library openmpi or --library mpich",
                                         request.launcher.front()));
}
}  // namespace

std::string library_of_launcher(const std::string& word) {
  auto path = sys::find_program(word);
  std::error_code error;
  const std::filesystem::path file =
      path ? std::filesystem::canonical(*path, error) : std::filesystem::path(word);
  const std::string name = file.filename().string();
  for (const char* one : {"orterun", "prterun", "openmpi", "ompi"})
    if (name.find(one) != std::string::npos) return "openmpi";
  for (const char* one : {"mpich", "hydra"})
    if (name.find(one) != std::string::npos) return "mpich";
  if (!path || !(name == "mpirun" || name == "mpiexec")) return "";
  const auto beside = [&](const char* one) {
    return std::filesystem::exists(file.parent_path() / one, error);
  };
  const bool open = beside("ompi_info"), mpich = beside("mpichversion") || beside("hydra_pmi_proxy");
  return open == mpich ? "" : open ? "openmpi" : "mpich";
}

// A program may have a library's name in its own, "solver-openmpi", and be no launcher.
std::optional<Launcher> launcher_of(const std::string& word) {
  const std::string name = word.substr(word.rfind('/') + 1);
  const auto is_like = [&](const char* one) { return name.starts_with(one); };
  if (name == "srun") return Launcher::slurm;
  if (!is_like("mpirun") && !is_like("mpiexec") && !is_like("orterun") && !is_like("prterun"))
    return std::nullopt;
  const std::string library = library_of_launcher(word);
  if (library == "openmpi") return Launcher::open_mpi;
  if (library == "mpich") return Launcher::hydra;
  return std::nullopt;
}

Result<std::vector<std::string>> run_on_ranks(const RanksRequest& request) {
  if (request.launcher.empty())
    return fail(Errc::invalid, "the words that start ranks are missing: -- mpirun -n 16");
  auto library = library_of(request);
  if (!library) return tl::unexpected(library.error());
  auto program = find_bench_program(request.program + "-" + *library);
  if (!program) return tl::unexpected(program.error());
  const std::string& launcher = request.launcher.front();
  if (!sys::find_program(launcher))
    return fail(Errc::invalid, fmt::format("there is no launcher '{}'", launcher));
  sys::Command command;
  command.words = request.launcher;
  command.words.push_back(*program);
  command.words.insert(command.words.end(), request.words.begin(), request.words.end());
  command.timeout_seconds = request.timeout_seconds;
  auto done = sys::run_command(command);
  if (!done) return tl::unexpected(done.error());
  if (done->timed_out)
    return fail(Errc::io, fmt::format("{} did not end in {:.0f} s", launcher, request.timeout_seconds));
  std::vector<std::string> found = lines_with(done->out, request.lead);
  if (found.size() > request.lines)
    return fail(
        Errc::invalid,
        fmt::format("{} started {} jobs of one rank instead of one job: it is not of {}; give --library {}",
                    launcher, found.size() / request.lines, *library,
                    *library == "mpich" ? "openmpi" : "mpich"));
  const std::string words = first_words(done->err.empty() ? done->out : done->err, request.program);
  if (done->status != 0 || found.size() < request.lines)
    return fail(Errc::io, fmt::format("{} ended with status {}{}{}", launcher, done->status,
                                      words.empty() ? "" : ": ", words));
  return found;
}

}  // namespace nigh::cli
