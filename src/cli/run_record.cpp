// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run --record FOLDER`: what the ranks of the jobs that the command starts send each other, one file
// for each rank (src/mpi/record.hpp); and these files, read again for `nigh plan --ranks FOLDER`.
#include "cli/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cli/run.hpp"
#include "report/rank_record.hpp"
#include "sys/os.hpp"

namespace nigh::cli {
namespace {

namespace fs = std::filesystem;

bool is_job(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored) && entry.path().filename().string().find("-ranks-") != std::string::npos;
}

// Folders of jobs in it, by name.
std::vector<fs::path> jobs_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> out;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (is_job(*at)) out.push_back(at->path());
  std::sort(out.begin(), out.end());
  return out;
}

bool listed(const std::vector<std::string>& list, const char* word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

Result<void> prepare_record(const RunOptions& options) {
  if (options.record.empty()) return {};
  const bool without = listed(options.off, "mpi") || (!options.only.empty() && !listed(options.only, "mpi"));
  const bool ranks = options.mpi || options.auto_hybrid || is_automatic(options) || starts_ranks(options);
  if (without || !ranks)
    return fail(Errc::invalid,
                "--record counts what MPI ranks send each other; it goes without --off mpi and with "
                "--mpi or no --teams");
  std::error_code error;
  if (fs::exists(options.record, error) && !fs::is_directory(options.record, error))
    return fail(Errc::invalid, fmt::format("--record: {} is no folder", options.record));
  if (!jobs_in(options.record).empty())
    return fail(Errc::invalid,
                fmt::format("--record: {} holds a record already; name another folder", options.record));
  if (options.dry_run) return {};
  fs::create_directories(options.record, error);
  if (error)
    return fail(Errc::io, fmt::format("--record: can't make {}: {}", options.record, error.message()));
  return {};
}

std::string record_folder(const RunOptions& options) {
  std::error_code error;
  const fs::path whole = fs::absolute(options.record, error);
  return error ? options.record : whole.string();
}

Result<std::vector<report::RankRecord>> read_rank_records(const std::string& folder) {
  fs::path job = folder;
  if (const std::vector<fs::path> jobs = jobs_in(job); jobs.size() == 1) {
    job = jobs.front();
  } else if (!jobs.empty()) {
    std::string names;
    for (const fs::path& one : jobs) names += (names.empty() ? "" : ", ") + one.filename().string();
    return tl::unexpected(
        Error{Errc::invalid, fmt::format("{} holds {} jobs: name one, such as {}/{} ({})", folder,
                                         jobs.size(), folder, jobs.front().filename().string(), names)});
  }
  std::error_code error;
  std::vector<report::RankRecord> records;
  for (fs::directory_iterator at(job, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("rank-") || !name.ends_with(".json")) continue;
    auto text = sys::read_file(at->path().string());
    if (!text) return tl::unexpected(text.error());
    if (text->empty()) continue;  // created at its start, by a rank that was killed
    auto record = report::parse_rank_record(*text);
    if (!record) return fail_in(at->path().string(), record.error());
    if (!records.empty() && records.front().ranks != record->ranks)
      return tl::unexpected(
          Error{Errc::invalid, fmt::format("{} holds files of jobs of {} and of {} ranks", job.string(),
                                           records.front().ranks, record->ranks)});
    records.push_back(*std::move(record));
  }
  if (error)
    return tl::unexpected(Error{Errc::io, fmt::format("can't read {}: {}", job.string(), error.message())});
  if (records.empty())
    return tl::unexpected(
        Error{Errc::invalid,
              fmt::format("{} holds no record (nigh run --record {} -- mpirun ...)", folder, folder)});
  return records;
}

Result<Traffic> read_rank_record(const std::string& folder) {
  auto records = read_rank_records(folder);
  if (!records) return tl::unexpected(records.error());
  auto traffic = traffic_of_records(*records);
  if (!traffic) return fail_in(folder, traffic.error());
  return traffic;
}

}  // namespace nigh::cli
