// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/forward_words.hpp"

#include <algorithm>
#include <sstream>

namespace nigh::launch {

namespace {

constexpr const char* preload_name = "LD_PRELOAD";
constexpr const char* open_mpi_list = "mca_base_env_list";

std::string item_name(const std::string& item) { return item.substr(0, item.find('=')); }

bool has_item(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::vector<std::string> items_of(const std::string& text, char between) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, between);)
    if (!one.empty()) out.push_back(one);
  return out;
}

std::string joined(const std::vector<std::string>& items, char between) {
  std::string out;
  for (const std::string& one : items) out += (out.empty() ? "" : std::string(1, between)) + one;
  return out;
}

// "LD_PRELOAD=theirs.so", with ours first; everything else as it is.
std::string with_ours(const std::string& item, const Forwarding& what) {
  const std::size_t equal = item.find('=');
  if (equal == std::string::npos || item_name(item) != preload_name || what.preload.empty()) return item;
  std::vector<std::string> libraries = items_of(what.preload, ':');
  for (const std::string& theirs : items_of(item.substr(equal + 1), ':'))
    if (!has_item(libraries, theirs)) libraries.push_back(theirs);
  return std::string(preload_name) + "=" + joined(libraries, ':');
}

// Names that none of those items has.
std::vector<std::string> missing_names(const std::vector<std::string>& items, const Forwarding& what) {
  std::vector<std::string> out;
  for (const std::string& name : what.names)
    if (std::none_of(items.begin(), items.end(),
                     [&](const std::string& item) { return item_name(item) == name; }))
      out.push_back(name);
  return out;
}

void change_open_mpi(const std::vector<LauncherOption>& options, std::vector<std::string>& words,
                     const Forwarding& what) {
  std::vector<std::string> given;
  bool has_list = false;
  for (const LauncherOption& option : options) {
    if (option.name == "x" && option.words == 2) {
      std::string& item = words[option.at + 1];
      item = with_ours(item, what);
      given.push_back(item);
    } else if ((option.name == "mca" || option.name == "gmca") && option.value == open_mpi_list &&
               option.words == 3) {
      words[option.at + 2] = forward_list(words[option.at + 2], ';', what);
      has_list = true;
    }
  }
  if (!what.adds || has_list) return;
  std::vector<std::string> more;
  for (const std::string& name : missing_names(given, what)) more.insert(more.end(), {"-x", name});
  words.insert(words.begin() + 1, more.begin(), more.end());
}

// Hydra passes on all, unless its words say what, and keeps the last of a list from other hosts (4.0.2): ours
// are given one by one, with their values.
void change_hydra(const std::vector<LauncherOption>& options, std::vector<std::string>& words,
                  const Forwarding& what, bool is_first) {
  std::vector<std::string> given;
  bool limits = false;
  for (const LauncherOption& option : options) {
    for (const char* limit : {"genvlist", "envlist", "genvnone", "envnone"}) limits |= option.name == limit;
    if ((option.name != "genv" && option.name != "env") || option.words < 2) continue;
    std::string& item = words[option.at + 1];
    given.push_back(item);
    if (option.words == 2) item = with_ours(item, what);
    if (option.words == 3 && item == preload_name) {
      std::string& value = words[option.at + 2];
      value = with_ours(item + "=" + value, what).substr(item.size() + 1);
    }
  }
  std::vector<std::string> more;
  for (const std::string& name : missing_names(given, what))
    more.insert(more.end(), {is_first ? "-genv" : "-env", name, what.value(name)});
  if (limits) words.insert(words.begin() + 1, more.begin(), more.end());
}

void change_slurm(const std::vector<LauncherOption>& options, std::vector<std::string>& words,
                  const Forwarding& what) {
  for (const LauncherOption& option : options) {
    if (option.name != "export") continue;
    const std::string list = forward_list(option.value, ',', what);
    if (option.words == 2)
      words[option.at + 1] = list;
    else
      words[option.at] = "--export=" + list;
  }
}

}  // namespace

std::string forward_list(const std::string& list, char between, const Forwarding& what) {
  std::vector<std::string> items = items_of(list, between);
  if (items.size() == 1 && (items[0] == "NONE" || items[0] == "NIL") && between == ',') items.clear();
  for (std::string& item : items) item = with_ours(item, what);
  if (between == ',' && has_item(items, "ALL")) return joined(items, between);
  for (const std::string& name : missing_names(items, what)) items.push_back(name);
  return joined(items, between);
}

bool names_variables(const std::vector<std::string>& words) {
  for (const char* word : {"-x", "--x", "-tune", "--tune", "-am", "--am", open_mpi_list})
    if (has_item(words, word)) return true;
  return false;
}

std::vector<std::string> forward_words(Launcher launcher, const std::vector<std::string>& words,
                                       const Forwarding& what) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < words.size();) {  // several programs, with a ":" between them
    const auto from = words.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = launcher == Launcher::slurm ? words.end() : std::find(from + 1, words.end(), ":");
    std::vector<std::string> part(from, end);
    const std::vector<LauncherOption> options = launcher_options(launcher, part);
    if (launcher == Launcher::open_mpi)
      change_open_mpi(options, part, what);
    else if (launcher == Launcher::hydra)
      change_hydra(options, part, what, at == 0);
    else
      change_slurm(options, part, what);
    out.insert(out.end(), part.begin(), part.end());
    at = static_cast<std::size_t>(end - words.begin());
  }
  return out;
}

}  // namespace nigh::launch
