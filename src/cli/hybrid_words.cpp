// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/hybrid_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

namespace nigh::cli {

namespace {
// Options without the dashes, since these launchers take one or two.
struct Known {
  std::vector<std::string> fix;    // ranks of a node
  std::vector<std::string> count;  // ranks in all
  std::vector<std::string> files, hosts, nodes, bind;
  std::vector<std::string> others;  // that have a value
};
const Known& known(Launcher launcher) {
  static const Known open_mpi{
      {"N", "npernode", "pernode", "map-by", "rankfile", "rf", "cpus-per-proc", "cpus-per-rank", "npersocket",
       "ppr", "bynode", "byslot"},
      {"n", "np", "c"},
      {"hostfile", "machinefile", "default-hostfile"},
      {"H", "host"},
      {},
      {"bind-to"},
      {"x", "wdir", "wd", "path", "prefix", "output-filename", "am", "tune", "rank-by", "timeout"}};
  static const Known hydra{
      {"ppn", "perhost", "rr", "map-by", "ranks-per-proc"},
      {"n", "np"},
      {"f", "hostfile", "machinefile"},
      {"hosts", "host"},
      {},
      {"bind-to", "binding"},
      {"wdir", "envlist", "genvlist", "launcher", "launcher-exec", "iface", "rmk", "profile"}};
  static const Known slurm{
      {"ntasks-per-node", "cpus-per-task", "c", "ntasks-per-core", "ntasks-per-socket", "distribution", "m"},
      {"n", "ntasks"},
      {},
      {"w", "nodelist"},
      {"N", "nodes"},
      {"cpu-bind"},
      {"p", "partition", "A",     "account", "t",     "time",   "J", "job-name", "mpi", "mem",       "o",
       "e", "output",    "error", "D",       "chdir", "export", "q", "qos",      "C",   "constraint"}};
  return launcher == Launcher::open_mpi ? open_mpi : launcher == Launcher::hydra ? hydra : slurm;
}

bool among(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

int number_in(const std::string& text) {
  int out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return std::max(out, 0);
}

// "name slots=4", "name:4", "name"; the same name may come several times, each a slot.
JobNodes nodes_of_lines(const std::string& text) {
  std::set<std::string> names;
  JobNodes out{0, 0, ""};
  bool said = true;
  int repeated = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find('#'));
    std::istringstream parts(line);
    std::string name, word;
    if (!(parts >> name)) continue;
    int slots = 0;
    if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
      slots = number_in(name.substr(colon + 1));
      name = name.substr(0, colon);
    }
    while (parts >> word)
      if (word.starts_with("slots=")) slots = number_in(word.substr(6));
    repeated += names.insert(name).second ? 0 : 1;
    said = said && slots > 0;
    if (slots > 0) out.cores = out.cores == 0 ? slots : std::min(out.cores, slots);
  }
  out.nodes = static_cast<int>(names.size());
  if (!said) out.cores = 0;
  if (repeated > 0 && out.nodes > 0) out.cores = (repeated + out.nodes) / out.nodes;
  return out;
}

JobNodes nodes_of_list(std::string text) {
  std::replace(text.begin(), text.end(), ',', '\n');
  return nodes_of_lines(text);
}

Result<JobNodes> of_file(const std::string& path, const Surroundings& around) {
  auto text = around.file(path);
  if (!text) return tl::unexpected(text.error());
  JobNodes out = nodes_of_lines(*text);
  out.nodes = std::max(out.nodes, 1);
  out.from = "the host file " + path;
  return out;
}
}  // namespace

// The launcher's own options: until the first word that is none and no option's value. Flags that have no
// value and long forms --name=value, -Nvalue of Slurm.
std::vector<LauncherOption> options_of(Launcher launcher, const std::vector<std::string>& words) {
  const Known& k = known(launcher);
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
    } else if (one.name == "mca" || one.name == "gmca") {
      more = 2;
    } else if (one.name == "env" || one.name == "genv") {  // NAME VALUE or NAME=VALUE
      more = i + 1 < words.size() && words[i + 1].find('=') != std::string::npos ? 1 : 2;
    } else if (one.name != "pernode" && one.name != "bynode" && one.name != "byslot" && one.name != "rr") {
      for (const auto* list : {&k.fix, &k.count, &k.files, &k.hosts, &k.nodes, &k.bind, &k.others})
        if (among(*list, one.name)) more = 1;
    }
    if (more > 0 && i + 1 < words.size()) one.value = words[i + 1];
    one.words = std::min(one.words + more, words.size() - i);
    i += one.words;
    out.push_back(one);
  }
  return out;
}

Result<JobNodes> job_nodes(Launcher launcher, const std::vector<std::string>& words,
                           const Surroundings& around) {
  const Known& k = known(launcher);
  for (const LauncherOption& option : options_of(launcher, words)) {
    if (among(k.files, option.name)) return of_file(option.value, around);
    JobNodes out;
    if (among(k.nodes, option.name))
      out = {number_in(option.value), 0, ""};
    else if (among(k.hosts, option.name))
      out = nodes_of_list(option.value);
    else
      continue;
    out.from = words[option.at] + (option.words > 1 ? " " + option.value : "");
    if (out.nodes > 0) return out;
  }
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"})
    if (const int nodes = number_in(around.variable(name)); nodes > 0) return JobNodes{nodes, 0, name};
  const char* const open_mpi_files[] = {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"};
  const char* const hydra_files[] = {"HYDRA_HOST_FILE", "PBS_NODEFILE"};
  for (const char* name : launcher == Launcher::hydra ? hydra_files : open_mpi_files)
    if (const std::string path = around.variable(name); !path.empty()) return of_file(path, around);
  if (const std::string path = around.variable("PBS_NODEFILE"); !path.empty()) return of_file(path, around);
  return JobNodes{1, 0, "nothing names other nodes"};
}

HybridWords hybrid_words(Launcher launcher, const std::vector<std::string>& words,
                         const HybridChoice& choice) {
  const Known& k = known(launcher);
  HybridWords out{words, "", ""};
  const std::vector<LauncherOption> options = options_of(launcher, words);
  bool bound = false;
  std::set<std::size_t> gone;
  for (const LauncherOption& option : options) {
    std::string text;
    for (std::size_t i = option.at; i < std::min(option.at + option.words, words.size()); ++i)
      text += (text.empty() ? "" : " ") + words[i];
    if (among(k.fix, option.name)) {
      out.aside = text;
      return out;
    }
    bound = bound || among(k.bind, option.name);
    if (!among(k.count, option.name)) continue;
    out.replaced = text;
    for (std::size_t i = 0; i < option.words; ++i) gone.insert(option.at + i);
  }
  const bool bind = choice.bind && !bound;
  const std::string all = std::to_string(choice.nodes * choice.ranks);
  std::vector<std::string> added;
  if (launcher == Launcher::open_mpi) {
    added = {"--map-by", fmt::format("ppr:{}:node{}", choice.ranks,
                                     choice.bind ? fmt::format(":PE={}", choice.threads) : "")};
    if (bind) added.insert(added.end(), {"--bind-to", "core"});
    added.insert(added.end(), {"-n", all});
  } else if (launcher == Launcher::hydra) {
    added = {"-ppn", std::to_string(choice.ranks)};
    if (bind) added.insert(added.end(), {"-bind-to", fmt::format("core:{}", choice.threads)});
    added.insert(added.end(), {"-n", all});
  } else {
    added = {fmt::format("--ntasks-per-node={}", choice.ranks),
             fmt::format("--cpus-per-task={}", choice.threads), "--ntasks=" + all};
  }
  out.words = {words.front()};
  out.words.insert(out.words.end(), added.begin(), added.end());
  for (std::size_t i = 1; i < words.size(); ++i)
    if (gone.count(i) == 0) out.words.push_back(words[i]);
  return out;
}

}  // namespace nigh::cli
