// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/ranks_run.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "launch/launcher.hpp"
#include "sys/process.hpp"
#include "sys/program.hpp"

namespace nigh::launch {

namespace {
std::string parent_folder(const std::string& path) {
  std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

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

}  // namespace

Result<std::string> library_of_ranks(const std::vector<std::string>& launcher, const std::string& said) {
  if (launcher.empty()) return fail(Errc::invalid, "the words that start ranks are missing: -- mpirun -n 16");
  if (!said.empty()) return said;
  std::string library = library_of_launcher(launcher.front());
  if (!library.empty()) return library;
  return fail(Errc::invalid, fmt::format("'{}' does not say which MPI library it starts; give "
                                         "--library openmpi or --library mpich",
                                         launcher.front()));
}

Result<std::string> find_own_program(const std::string& file) {
  std::vector<std::string> folders;
  if (const char* chosen = std::getenv("NIGH_BENCH_DIR")) {
    folders = {chosen};
  } else {
    auto self = sys::own_executable();
    if (!self) return tl::unexpected(self.error());
    std::string base = parent_folder(parent_folder(*self));
    folders = {base + "/bench", base + "/libexec/nigh"};
  }
  for (const std::string& folder : folders)
    if (auto found = sys::find_program(folder + "/" + file)) return *found;
  return fail(Errc::unsupported, fmt::format("{} was not built (no {}/{}): its compiler was missing", file,
                                             folders.front(), file));
}

Result<std::vector<std::string>> run_on_ranks(const RanksRequest& request) {
  auto library = library_of_ranks(request.launcher, request.library);
  if (!library) return tl::unexpected(library.error());
  auto program =
      find_own_program(request.program + "-" + (request.ending.empty() ? *library : request.ending));
  if (!program) return tl::unexpected(program.error());
  const std::string& launcher = request.launcher.front();
  if (!sys::find_program(launcher))
    return fail(Errc::invalid, fmt::format("there is no launcher '{}'", launcher));
  sys::Command command;
  command.words = request.launcher;
  command.words.push_back(*program);
  command.words.insert(command.words.end(), request.words.begin(), request.words.end());
  for (const auto& [name, value] : request.environment) command.environment[name] = value;
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

}  // namespace nigh::launch
