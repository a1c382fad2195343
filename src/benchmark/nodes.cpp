// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/nodes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "benchmark/fingerprint.hpp"
#include "benchmark/program.hpp"
#include "launch/ranks_run.hpp"
#include "machine/load.hpp"
#include "sys/os.hpp"

namespace nigh::benchmark {

namespace {

// Sizes are of doubles, up to 64 MiB.
Result<void> check_sizes(const std::string& sizes) {
  for (std::size_t at = 0; at <= sizes.size() && !sizes.empty();) {
    const std::size_t end = std::min(sizes.find(',', at), sizes.size());
    const std::string one = sizes.substr(at, end - at);
    const bool digits =
        !one.empty() && one.size() < 9 && one.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoul(one) == 0 || std::stoul(one) % 8 != 0 || std::stoul(one) > 64UL << 20)
      return fail(Errc::invalid, fmt::format("--size takes multiples of 8 bytes up to 67108864, such as "
                                             "8,65536; not '{}'",
                                             one));
    at = end + 1;
  }
  if (std::count(sizes.begin(), sizes.end(), ',') > 15)
    return fail(Errc::invalid, "--size takes at most 16 sizes");
  return {};
}

Result<std::vector<Subject>> wanted_subjects(const NodesRequest& request, const std::string& library) {
  std::vector<Subject> all = nodes_subjects(library, request.launcher, request.nigh), out;
  for (const std::string& name : request.subjects)
    if (std::none_of(all.begin(), all.end(), [&](const Subject& one) { return one.name == name; }))
      return fail(Errc::invalid, fmt::format("--subjects: there is no '{}' with {}", name, library));
  for (Subject& one : all)
    if (request.subjects.empty() ||
        std::find(request.subjects.begin(), request.subjects.end(), one.name) != request.subjects.end())
      out.push_back(std::move(one));
  return out;
}

// That of the launcher where it is of the kind that was said; else the distribution's.
launch::MpiInstall library_behind(const std::vector<std::string>& words, const std::string& library) {
  auto found = launch::mpi_of_launcher(words.empty() ? "" : words.front());
  return found && found->kind == library ? *std::move(found) : mpi_named(library, {});
}

Result<Observation> one_job(const NodesRequest& request, const std::string& library, const Subject& subject,
                            int& ranks, int& nodes) {
  launch::RanksRequest job{.launcher = subject.prefix,
                           .library = library,
                           .program = "mpi-nodes",
                           .ending = library_behind(request.launcher, library).file,
                           .words = {},
                           .lead = "{\"program\":\"nodes\"",
                           .timeout_seconds = request.timeout_seconds,
                           .environment = subject.environment};
  if (request.quick) job.words.emplace_back("--quick");
  if (!request.sizes.empty()) job.words.insert(job.words.end(), {"--sizes", request.sizes});
  auto lines = run_on_ranks(job);
  if (!lines) return tl::unexpected(lines.error());
  auto run = parse_program_output(lines->front());
  if (!run) return tl::unexpected(run.error());
  const auto report = nlohmann::json::parse(lines->front(), nullptr, false);
  ranks = report.value("ranks", 0);
  nodes = report.value("nodes", 0);
  run->seen.subject = subject.name;
  return std::move(run->seen);
}

}  // namespace

std::vector<Subject> nodes_subjects(const std::string& library, const std::vector<std::string>& words,
                                    const std::string& nigh) {
  const auto environment = mpi_environment(library_behind(words, library));
  std::vector<std::string> covered = {nigh, "run", "--quiet", "--only", "mpi", "--"};
  covered.insert(covered.end(), words.begin(), words.end());
  std::vector<Subject> out;
  out.push_back({"nigh", covered, environment, {}});
  out.push_back({"library", words, environment, {}});
  if (library == "openmpi") {
    auto told = environment;
    told["OMPI_MCA_coll_han_priority"] = "100";
    out.push_back({"coll/han", words, told, {}});
  }
  return out;
}

Result<BenchFile> run_mpi_nodes(const NodesRequest& request) {
  if (auto ok = check_sizes(request.sizes); !ok) return tl::unexpected(ok.error());
  auto library = launch::library_of_ranks(request.launcher, request.library);
  if (!library) return tl::unexpected(library.error());
  auto machine = load_this_machine();
  if (!machine) return tl::unexpected(machine.error());
  auto mask = sys::affinity();
  if (!mask) return tl::unexpected(mask.error());
  auto subjects = wanted_subjects(request, *library);
  if (!subjects) return tl::unexpected(subjects.error());
  BenchFile file;
  file.machine = fingerprint(*machine, *mask, sys::Os());
  file.machine["where"] = fmt::format("ranks started by {}", fmt::join(request.launcher, " "));
  std::vector<Observation> seen;
  std::vector<std::string> trouble(subjects->size());
  std::optional<Error> last;
  int ranks = 0, nodes = 0;
  const std::size_t count = subjects->size();
  for (int round = 0; round < request.samples; ++round)
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t at = (turn + static_cast<std::size_t>(round)) % count;
      if (!trouble[at].empty()) continue;
      const Subject& subject = (*subjects)[at];
      request.progress(static_cast<double>(round * static_cast<int>(count) + static_cast<int>(turn)) /
                           static_cast<double>(request.samples * static_cast<int>(count)),
                       fmt::format("{} {}", nodes_bench, subject.name));
      auto job = one_job(request, *library, subject, ranks, nodes);
      if (!job) {
        if (job.error().code == Errc::invalid) return tl::unexpected(job.error());
        last = job.error();
        trouble[at] = job.error().message;
        file.absent.push_back({nodes_bench, *library, subject.name, job.error().message});
        continue;
      }
      job->round = round;
      job->core_state = "n/a";
      seen.push_back(*std::move(job));
    }
  if (seen.empty()) return tl::unexpected(last ? *last : Error{Errc::io, "nothing was measured"});
  file.machine["nodes"] = nodes;
  file.machine["ranks"] = ranks;
  file.records = summarise(nodes_bench, *library, std::to_string(ranks), seen);
  return file;
}

}  // namespace nigh::benchmark
