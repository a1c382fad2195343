// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh doctor`: what is in the way here, and the cure.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "doctor/rules.hpp"
#include "doctor/settings_table.hpp"
#include "machine/load.hpp"
#include "machine/probe.hpp"
#include "openmp/environment.hpp"
#include "sys/program.hpp"
#include "sys/raw_memory.hpp"

namespace nigh::cli {

namespace {

struct DoctorOptions {
  bool json = false, all = false;
};

std::uint64_t bytes_of_shm() {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space("/dev/shm", error);
  return error || ::access("/dev/shm", W_OK) != 0 ? 0 : space.capacity;
}

doctor::Patient this_machine() {
  doctor::Patient out;
  out.variable = [](const std::string& name) { return openmp::value_of(sys::environment(), name); };
  out.unknown_settings = doctor::unknown_settings(sys::environment());
  out.own = sys::affinity().value_or(CpuSet{});
  out.is_root = ::geteuid() == 0;
  out.has_proc = sys::own_executable().has_value();
  out.limited_address_space = sys::raw_limit(RLIMIT_AS) != RLIM_INFINITY;
  out.limited_data = sys::raw_limit(RLIMIT_DATA) != RLIM_INFINITY;
  out.largest_file = sys::raw_limit(RLIMIT_FSIZE);
  out.shm_bytes = bytes_of_shm();
  for (const char* file :
       {"libnigh.so.0", "libnigh-openmp.so", "libnigh-mpi.so", "libnigh-mpi-openmpi.so",
        "libnigh-mpi-mpich.so", "libnigh-mpi-standard.so", "libnigh-space.so", "libnigh-feed.so"})
    if (out.has_proc && !find_module(file)) out.missing_files.emplace_back(file);
  if (auto machine = load_this_machine()) {
    auto probe = load_probe(*machine);
    out.has_probe = probe.has_value();
    if (!probe && probe.error().sys_errno != ENOENT) out.unused_probe = probe.error().message;
  }
  return out;
}

void print_text(const std::vector<doctor::Finding>& findings, bool all) {
  int shown = 0;
  for (const doctor::Finding& one : findings) {
    if (one.level == doctor::Level::fine && !all) continue;
    ++shown;
    fmt::print("{}  {}\n",
               one.level == doctor::Level::hindrance ? "in the way"
               : one.level == doctor::Level::note    ? "note      "
                                                     : "fine      ",
               one.sentence);
    if (!one.cure.empty()) fmt::print("            cure: {}\n", one.cure);
  }
  if (shown == 0) fmt::print("nothing is in the way\n");
}

void print_json(const std::vector<doctor::Finding>& findings) {
  nlohmann::ordered_json document = {
      {"format", "nigh-doctor"}, {"version", 1}, {"findings", nlohmann::ordered_json::array()}};
  for (const doctor::Finding& one : findings)
    document["findings"].push_back(
        {{"id", one.id}, {"level", level_name(one.level)}, {"sentence", one.sentence}, {"cure", one.cure}});
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

int doctor(const DoctorOptions& options) {
  const std::vector<doctor::Finding> findings = examine(this_machine());
  if (options.json)
    print_json(findings);
  else
    print_text(findings, options.all);
  return !findings.empty() && findings.front().level == doctor::Level::hindrance ? 1 : 0;
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  auto* command =
      app.add_subcommand("doctor", "Tell what here is in the way of running near memory, and the cure");
  auto options = std::make_shared<DoctorOptions>();
  command->add_flag("--all", options->all, "Also what is fine");
  command->add_flag("--json", options->json, "JSON, all of it");
  command->callback([options, &status] { status = doctor(*options); });
}

}  // namespace nigh::cli
