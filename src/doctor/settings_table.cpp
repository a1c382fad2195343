// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/settings_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.hpp"
#include "machine/draw.hpp"

namespace nigh::doctor {
namespace {

const std::vector<Setting>& table() {
  static const std::vector<Setting> settings = {
      {"NIGH_MPI", "MPI", {"off", "on"}, "", "on", "Messages between the ranks of a node go by nigh."},
      {"NIGH_MPI_P2P", "MPI", {"off", "on"}, "", "on", "Point-to-point messages do."},
      {"NIGH_MPI_COLL", "MPI", {"off", "on"}, "", "on", "Collectives do."},
      {"NIGH_MPI_RMA", "MPI", {"off", "on"}, "", "on", "Windows do."},
      {"NIGH_MPI_P2P_MIN",
       "MPI",
       {},
       "bytes",
       "by library",
       "Point-to-point messages from this size on go by nigh: 4000 with Open MPI, 8192 with MPICH, 262144 "
       "with Intel MPI."},
      {"NIGH_MPI_P2P_STAGED",
       "MPI",
       {},
       "bytes",
       "measured",
       "Private buffers up to this size are copied to shared memory first: with Open MPI and MPICH up to "
       "32768, "
       "as measured by the first such message, at least 6144 with Open MPI; 0 with Intel MPI."},
      {"NIGH_MPI_HIERARCHY",
       "MPI",
       {"0", "1"},
       "",
       "",
       "Collectives over several nodes are split into steps within and between nodes: never (0); always (1), "
       "a "
       "promise that all ranks of the job have nigh; not set: where the ranks have found out that they "
       "have."},
      {"NIGH_REPRODUCIBLE",
       "MPI",
       {"0", "1", "library"},
       "",
       "0",
       "Reductions add in one order, whatever the placement (1), or in the library's own (library: they are "
       "left to it)."},
      {"NIGH_RECORD",
       "MPI",
       {},
       "a folder",
       "",
       "Each rank writes there what it sends to whom, and when it is in which function (nigh run --record)."},
      {"NIGH_MPI_FAKE_NODES",
       "MPI",
       {},
       "a number of nodes",
       "1",
       "The ranks of this node believe that they are on so many nodes: for tests."},
      {"NIGH_SPACE",
       "Shared memory",
       {"off", "on"},
       "",
       "on",
       "The heaps of the ranks of a node are reachable by all of them."},
      {"NIGH_SPACE_HUGE",
       "Shared memory",
       {"never", "lazy", "eager", "touch"},
       "",
       "by machine",
       "When large shared blocks get huge pages."},
      {"NIGH_SPACE_SHARE",
       "Shared memory",
       {"sent", "all"},
       "",
       "by use",
       "Blocks of the heap are shared once one like them is sent (sent: MPI's default), or from the start "
       "(all: that of nigh run -n)."},
      {"NIGH_SPACE_LEARNED",
       "Shared memory",
       {},
       "a folder, or off",
       "by nigh run",
       "Keeps between runs which places of a program send: their blocks are shared from the first one on. "
       "nigh run names a folder in the user's cache."},
      {"NIGH_SHARE",
       "Shared memory",
       {"data"},
       "",
       "",
       "Static variables are shared, too (nigh run --share data)."},
      {"NIGH_TEAMS",
       "OpenMP",
       {"auto", "always", "off"},
       "",
       "off",
       "Teams are bound without a plan of the user's: where it can help (auto), or in any case (always)."},
      {"NIGH_MASK", "OpenMP", {}, "PUs, such as 0-5,8", "all allowed", "Threads are planned on these PUs."},
      {"NIGH_MACHINE",
       "OpenMP",
       {},
       "a model or a file",
       "this machine",
       "Threads are planned for this machine."},
      {"NIGH_KEEP_ENV",
       "OpenMP",
       {},
       "1",
       "",
       "OMP_PROC_BIND and its like are left as they are (nigh run --keep-env)."},
      {"NIGH_WAIT",
       "Waiting",
       {"spin", "yield", "sleep"},
       "",
       "by load",
       "The way ranks and threads wait for each other: on the CPU, giving it up again and again, or asleep."},
      {"NIGH_EXPLAIN",
       "Messages and accounts",
       {},
       "text, json or line",
       "",
       "An account at the end (nigh run --explain)."},
      {"NIGH_EXPLAIN_FILE",
       "Messages and accounts",
       {},
       "a file; %p is the process number",
       "stderr",
       "File of the account."},
      {"NIGH_QUIET", "Messages and accounts", {}, "1", "", "Nothing is said but errors (nigh run --quiet)."},
      {"NIGH_SHMEM_MPI",
       "OpenSHMEM",
       {"openmpi", "mpich"},
       "",
       "the launcher's",
       "The MPI library that carries messages between nodes."},
      {"NIGH_SHMEM_MPI_LIBRARY", "OpenSHMEM", {}, "a file", "", "That library, by its path."},
      {"NIGH_SHMEM_BYTES",
       "OpenSHMEM",
       {"windows", "messages"},
       "",
       "by library",
       "Bytes between nodes go by MPI's windows or by messages."},
      {"NIGH_FFT_LOCAL",
       "Transposes and FFT",
       {"pocketfft", "fftw"},
       "",
       "nigh's own",
       "The library that transforms a rank's own rows."},
      {"NIGH_TRANSPOSE_BIND",
       "Transposes and FFT",
       {"none", "compact", "scatter"},
       "",
       "scatter",
       "The PUs on which the threads of a transpose run."},
  };
  return settings;
}

std::pair<std::string, std::string> parts_of(const std::string& entry) {
  const std::size_t equals = entry.find('=');
  return {entry.substr(0, equals), equals == std::string::npos ? "" : entry.substr(equals + 1)};
}

bool is_usable(const Setting& setting, const std::string& value) {
  return setting.words.empty() || value.empty() ||
         std::find(setting.words.begin(), setting.words.end(), value) != setting.words.end();
}

// For the project's own tests and benchmarks (docs/bench.md, CONTRIBUTING.md).
bool is_of_tests(const std::string& name) {
  for (const char* prefix : {"NIGH_TEST", "NIGH_VM_", "NIGH_CHARM_", "NIGH_MPICC", "NIGH_PAGE_"})
    if (name.starts_with(prefix)) return true;
  for (const char* one :
       {"NIGH_REQUIRE", "NIGH_SOAK", "NIGH_SEED", "NIGH_UPDATE", "NIGH_BENCH_DIR", "NIGH_SNMALLOC",
        "NIGH_OSU", "NIGH_IMB", "NIGH_NPB", "NIGH_MPICH_TESTS", "NIGH_MODEL_RECORD", "NIGH_HOSTS"})
    if (name == one) return true;
  return false;
}

}  // namespace

std::span<const Setting> settings_table() { return table(); }

std::span<const std::string> own_variables() {
  static const std::vector<std::string> names = {"NIGH_JOB",        "NIGH_RANK",        "NIGH_SIZE",
                                                 "NIGH_RANK_SHARE", "NIGH_RANK_SHARES", "NIGH_STRIPPED",
                                                 "NIGH_CURES_OFF",  "NIGH_MPI_CENSUS"};
  return names;
}

std::vector<SettingNow> settings_now(const std::vector<std::string>& environment) {
  std::vector<SettingNow> out;
  for (const Setting& setting : table()) out.push_back({.setting = &setting, .value = std::nullopt});
  for (const std::string& entry : environment) {
    const auto [name, value] = parts_of(entry);
    for (SettingNow& now : out)
      if (name == now.setting->name) {
        now.value = value;
        now.usable = is_usable(*now.setting, value);
      }
  }
  return out;
}

std::vector<std::string> unknown_settings(const std::vector<std::string>& environment) {
  std::vector<std::string> names(own_variables().begin(), own_variables().end());
  for (const Setting& setting : table()) names.emplace_back(setting.name);
  std::vector<std::string> out;
  for (const std::string& entry : environment) {
    const std::string name = parts_of(entry).first;
    if (!name.starts_with("NIGH_") || is_of_tests(name) ||
        std::find(names.begin(), names.end(), name) != names.end())
      continue;
    out.push_back(fmt::format("{} is set, and nigh reads no such variable{}", printable(name),
                              suggestion(names, name)));
  }
  return out;
}

}  // namespace nigh::doctor
