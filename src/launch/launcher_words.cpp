// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/launcher_words.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

namespace nigh::launch {

namespace {
const LauncherNames& open_mpi_names() {
  static const LauncherNames names{
      {"N", "npernode", "pernode", "map-by", "rankfile", "rf", "cpus-per-proc", "cpus-per-rank", "npersocket",
       "ppr", "bynode", "byslot"},
      {"n", "np", "c"},
      {"hostfile", "machinefile", "default-hostfile"},
      {"H", "host"},
      {},
      {"bind-to", "bind-to-core", "bind-to-socket", "bind-to-none", "cpu-set", "cpu-list", "slot-list"},
      {"x", "wdir", "wd", "path", "prefix", "output-filename", "am", "tune", "rank-by", "timeout", "stdin",
       "output", "display", "report-uri", "personality", "dvm-uri", "launch-agent", "preload-files"},
      {"pernode", "bynode", "byslot", "bind-to-core", "bind-to-socket", "bind-to-none"}};
  return names;
}

const LauncherNames& hydra_names() {
  static const LauncherNames names{
      {"ppn", "perhost", "rr", "map-by", "ranks-per-proc"},
      {"n", "np"},
      {"f", "hostfile", "machinefile"},
      {"hosts", "host"},
      {},
      {"bind-to", "binding"},
      {"wdir", "envlist", "genvlist", "launcher", "launcher-exec", "iface", "rmk", "profile", "membind",
       "outfile-pattern", "errfile-pattern", "usize", "topolib"},
      {"rr"}};
  return names;
}

const LauncherNames& slurm_names() {
  static const LauncherNames names{
      {"ntasks-per-node", "cpus-per-task", "c", "ntasks-per-core", "ntasks-per-socket", "distribution", "m"},
      {"n", "ntasks"},
      {},
      {"w", "nodelist"},
      {"N", "nodes"},
      {"cpu-bind"},
      {"p",           "partition",  "A",
       "account",     "t",          "time",
       "J",           "job-name",   "mpi",
       "mem",         "o",          "e",
       "output",      "error",      "D",
       "chdir",       "export",     "q",
       "qos",         "C",          "constraint",
       "gres",        "G",          "gpus",
       "x",           "exclude",    "i",
       "input",       "W",          "wait",
       "mem-per-cpu", "mem-bind",   "hint",
       "d",           "dependency", "jobid",
       "r",           "relative",   "threads-per-core"},
      {}};
  return names;
}

// Launchers whose option has two values, "--mca name value".
bool has_two_values(const std::string& name) {
  for (const char* one : {"mca", "gmca", "omca", "pmixmca", "prtemca", "gpmixmca", "gprtemca"})
    if (name == one) return true;
  return false;
}

bool has_value(const LauncherNames& k, const std::string& name) {
  if (among(k.flags, name)) return false;
  for (const auto* list : {&k.fix, &k.count, &k.files, &k.hosts, &k.nodes, &k.bind, &k.others})
    if (among(*list, name)) return true;
  return false;
}

bool holds(const std::string& text, const char* part) {
  return std::search(text.begin(), text.end(), part, part + std::strlen(part), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         }) != text.end();
}

// True if this option determines the PUs of a rank.
bool binds(Launcher launcher, const LauncherOption& option) {
  if (among(names_of(launcher).bind, option.name)) return true;
  if (launcher == Launcher::slurm) return option.name == "c" || option.name == "cpus-per-task";
  if (launcher == Launcher::hydra) return false;
  for (const char* one : {"cpus-per-proc", "cpus-per-rank", "rankfile", "rf"})
    if (option.name == one) return true;
  if (has_two_values(option.name))
    return holds(option.value, "binding_policy") || holds(option.value, "rankfile") ||
           holds(option.value, "cpu_");
  return option.name == "map-by" && (holds(option.value, "pe=") || holds(option.value, "rankfile"));
}

constexpr const char* binding_variables[] = {"OMPI_MCA_hwloc_base_binding_policy",
                                             "PRTE_MCA_hwloc_default_binding_policy",
                                             "OMPI_MCA_rmaps_rank_file_path", "OMPI_MCA_hwloc_base_cpu_set"};
}  // namespace

const LauncherNames& names_of(Launcher launcher) {
  return launcher == Launcher::open_mpi ? open_mpi_names()
         : launcher == Launcher::hydra  ? hydra_names()
                                        : slurm_names();
}

bool among(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Flags that have no value, long forms --name=value, -Nvalue of Slurm.
std::vector<LauncherOption> launcher_options(Launcher launcher, const std::vector<std::string>& words) {
  const LauncherNames& k = names_of(launcher);
  std::vector<LauncherOption> out;
  for (std::size_t i = 1; i < words.size() && words[i].size() > 1 && words[i][0] == '-';) {
    LauncherOption one{i, 1, words[i].substr(words[i][1] == '-' ? 2 : 1), ""};
    std::size_t more = 0;
    const bool long_form = words[i][1] == '-';
    if (const std::size_t equal = one.name.find('='); long_form && equal != std::string::npos) {
      one.value = one.name.substr(equal + 1);
      one.name = one.name.substr(0, equal);
    } else if (launcher == Launcher::slurm && !long_form && one.name.size() > 1) {
      one.value = one.name.substr(1);
      one.name = one.name.substr(0, 1);
    } else if (launcher == Launcher::hydra &&
               (one.name == "env" || one.name == "genv")) {  // NAME VALUE or NAME=VALUE
      more = i + 1 < words.size() && words[i + 1].find('=') != std::string::npos ? 1 : 2;
    } else if (launcher != Launcher::slurm && has_two_values(one.name)) {
      more = 2;
    } else if (has_value(k, one.name)) {
      more = 1;
    }
    if (more > 0 && i + 1 < words.size()) one.value = words[i + 1];
    one.words = std::min(one.words + more, words.size() - i);
    i += one.words;
    out.push_back(one);
  }
  return out;
}

std::string program_of(Launcher launcher, const std::vector<std::string>& words) {
  std::size_t at = 1;
  for (const LauncherOption& option : launcher_options(launcher, words)) at = option.at + option.words;
  return at < words.size() ? words[at] : "";
}

int ranks_of(Launcher launcher, const std::vector<std::string>& words) {
  int ranks = 0;
  for (const LauncherOption& option : launcher_options(launcher, words)) {
    if (!among(names_of(launcher).count, option.name)) continue;
    const char* const end = option.value.data() + option.value.size();
    const auto [stop, error] = std::from_chars(option.value.data(), end, ranks);
    if (error != std::errc() || stop != end || ranks < 0) return 0;
  }
  return std::find(words.begin(), words.end(), ":") == words.end() ? ranks : 0;
}

TeamWords team_words(Launcher launcher, const std::vector<std::string>& words, int threads,
                     const std::function<std::string(const std::string&)>& variable) {
  TeamWords out{words, ""};
  bool bound = launcher == Launcher::hydra || words.empty();
  for (const LauncherOption& option : launcher_options(launcher, words))
    bound = bound || binds(launcher, option);
  if (launcher == Launcher::open_mpi)
    for (const char* name : binding_variables) bound = bound || !variable(name).empty();
  if (launcher == Launcher::slurm)
    for (const char* name : {"SLURM_CPU_BIND", "SRUN_CPUS_PER_TASK"})
      bound = bound || !variable(name).empty();
  if (bound) return out;
  std::vector<std::string> added;
  if (launcher == Launcher::open_mpi)
    added = {"--bind-to", "none"};
  else if (variable("SLURM_JOB_ID").empty())
    added = {"--cpus-per-task=" + std::to_string(threads)};
  else
    added = {"--cpu-bind=none"};
  out.words.insert(out.words.begin() + 1, added.begin(), added.end());
  for (const std::string& word : added) out.added += (out.added.empty() ? "" : " ") + word;
  return out;
}

}  // namespace nigh::launch
