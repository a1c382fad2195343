// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hybrid_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <sstream>

namespace nigh::launch {

namespace {
constexpr int most = 65536;  // nodes, cores of one

// 0: it leaves the number to others (nothing, "auto", "*"). `where`: in whose words, for the sentence.
Result<int> number_in(const std::string& text, const char* of, const std::string& where) {
  if (text.empty() || text == "auto" || text == "*") return 0;
  int out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  // Slurm takes "2-4" nodes: at least the first.
  const bool whole = read.ptr == text.data() + text.size() || *read.ptr == '-';
  if (read.ec == std::errc() && whole && out >= 1 && out <= most) return out;
  return fail(Errc::invalid,
              fmt::format("{} says '{}', and the number of {} is one from 1 to {}", where, text, of, most));
}

struct Host {
  std::string name;
  int slots = 0;
};
// "name slots=4", "name:4", "name"
Result<Host> host_of(const std::string& line, const std::string& where) {
  std::istringstream parts(line);
  Host out;
  std::string word, slots;
  parts >> out.name;
  if (const std::size_t colon = out.name.find(':'); colon != std::string::npos) {
    slots = out.name.substr(colon + 1);
    out.name = out.name.substr(0, colon);
  }
  while (parts >> word)
    if (word.starts_with("slots=")) slots = word.substr(6);
  auto number = number_in(slots, "slots", where);
  if (!number) return tl::unexpected(number.error());
  out.slots = *number;
  return out;
}

// The same name may come several times, each a slot.
Result<JobNodes> nodes_of_lines(const std::string& text, const std::string& where) {
  std::set<std::string> names;
  JobNodes out{0, 0, where};
  bool said = true;
  int repeated = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto host = host_of(line.substr(0, line.find('#')), where);
    if (!host) return tl::unexpected(host.error());
    if (host->name.empty()) continue;
    repeated += names.insert(host->name).second ? 0 : 1;
    said = said && host->slots > 0;
    if (host->slots > 0) out.cores = out.cores == 0 ? host->slots : std::min(out.cores, host->slots);
  }
  out.nodes = static_cast<int>(names.size());
  if (!said) out.cores = 0;
  if (repeated > 0 && out.nodes > 0) out.cores = (repeated + out.nodes) / out.nodes;
  return out;
}

Result<JobNodes> nodes_of_list(std::string text, const std::string& where) {
  std::replace(text.begin(), text.end(), ',', '\n');
  return nodes_of_lines(text, where);
}

Result<JobNodes> of_file(const std::string& path, const Surroundings& around) {
  auto text = around.file(path);
  if (!text) return tl::unexpected(text.error());
  auto out = nodes_of_lines(*text, "the host file " + path);
  if (out) out->nodes = std::max(out->nodes, 1);
  return out;
}
}  // namespace

Result<JobNodes> job_nodes(Launcher launcher, const std::vector<std::string>& words,
                           const Surroundings& around) {
  const LauncherNames& k = names_of(launcher);
  for (const LauncherOption& option : launcher_options(launcher, words)) {
    if (among(k.files, option.name)) return of_file(option.value, around);
    const std::string said = words[option.at] + (option.words > 1 ? " " + option.value : "");
    Result<JobNodes> out = JobNodes{0, 0, said};
    if (among(k.nodes, option.name)) {
      auto number = number_in(option.value, "nodes", said);
      if (!number) return tl::unexpected(number.error());
      out->nodes = *number;
    } else if (among(k.hosts, option.name)) {
      out = nodes_of_list(option.value, said);
    } else {
      continue;
    }
    if (!out || out->nodes > 0) return out;
  }
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) {
    auto nodes = number_in(around.variable(name), "nodes", name);
    if (!nodes) return tl::unexpected(nodes.error());
    if (*nodes > 0) return JobNodes{*nodes, 0, name};
  }
  const char* const open_mpi_files[] = {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"};
  const char* const hydra_files[] = {"HYDRA_HOST_FILE", "PBS_NODEFILE"};
  for (const char* name : launcher == Launcher::hydra ? hydra_files : open_mpi_files)
    if (const std::string path = around.variable(name); !path.empty()) return of_file(path, around);
  if (const std::string path = around.variable("PBS_NODEFILE"); !path.empty()) return of_file(path, around);
  return JobNodes{1, 0, "nothing names other nodes"};
}

HybridWords hybrid_words(Launcher launcher, const std::vector<std::string>& words,
                         const HybridChoice& choice) {
  const LauncherNames& k = names_of(launcher);
  HybridWords out{words, "", ""};
  const std::vector<LauncherOption> options = launcher_options(launcher, words);
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
  const std::string all = std::to_string(std::int64_t{choice.nodes} * choice.ranks);
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

}  // namespace nigh::launch
