// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The order of the steps is the order in which a user would argue: first what would bind the threads before
// us goes, then the plan comes in, then the runtimes are told how deep and how wide to go where the user was
// silent.
#include "openmp/environment.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "openmp/pins.hpp"
#include "sys/preload_bar.hpp"

namespace nigh::openmp {

namespace {

bool is_entry_of(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.substr(0, name.size()) == name;
}

// A whole decimal number, blanks around it allowed.
std::optional<int> to_int(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  int value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text, const char* separators) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string join(const std::vector<int>& numbers) {
  std::string out;
  for (int n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
  return out;
}

class Builder {
 public:
  Builder(const Environment& user, const Launch& launch) : launch_(launch) { out_.variables = user; }
  LaunchEnvironment build();

 private:
  const std::string* find(const char* name) const { return find_entry(out_.variables, name); }
  std::string value(const char* name) const { return value_of(out_.variables, name); }
  void set(const std::string& name, const std::string& value);
  void remove(const std::string& name);
  void remark(std::string sentence) { out_.remarks.push_back(std::move(sentence)); }

  void strip();
  void nested();
  void record();
  void preload();
  void say_plan();
  void explain();
  void at_least_levels(const char* name, bool essential);
  void team_sizes();
  void limits();
  void display();

  const Launch& launch_;
  LaunchEnvironment out_;
};

void Builder::set(const std::string& name, const std::string& value) {
  if (const std::string* old = find(name.c_str()); old != nullptr && *old == name + "=" + value) return;
  std::erase_if(out_.variables, [&](const std::string& e) { return is_entry_of(e, name); });
  out_.variables.push_back(name + "=" + value);
  out_.set.push_back({name, value});
}

void Builder::remove(const std::string& name) {
  if (find(name.c_str()) == nullptr) return;
  out_.removed.push_back({name, value(name.c_str())});
  std::erase_if(out_.variables, [&](const std::string& e) { return is_entry_of(e, name); });
}

void Builder::strip() {
  std::string list;
  for (const char* name : pins) {
    if (find(name) == nullptr) continue;
    list += (list.empty() ? "" : ", ") + std::string(name) + "=" + value(name);
    if (!launch_.keep_env) remove(name);
  }
  if (list.empty()) return;
  if (launch_.keep_env) {
    remark("kept " + list +
           " as --keep-env asks, so the runtime itself may bind threads, elsewhere than the plan");
    return;
  }
  remark("took " + list +
         " out of the program's environment, because the plan binds the threads (--keep-env keeps)");
}

// OMP_NESTED=false wins over OMP_MAX_ACTIVE_LEVELS in libomp, and inner teams would have one thread.
void Builder::nested() {
  std::string old = value("OMP_NESTED");
  std::size_t first = old.find_first_not_of(" \t");
  if (launch_.sizes.size() < 2 || first == std::string::npos) return;
  bool on =
      std::string_view("tT1yY").find(old[first]) != std::string_view::npos || old.substr(first, 2) == "on";
  if (on) return;
  if (launch_.keep_env) {
    remark("kept OMP_NESTED=" + old + ", so inner levels of the plan stay serial in some runtimes");
    return;
  }
  remove("OMP_NESTED");
  remark("took OMP_NESTED=" + old + " out of the program's environment, because the plan has nested teams");
}

// For the account; what an outer `nigh run` recorded is no news of this one.
void Builder::record() {
  std::erase_if(out_.variables, [](const std::string& e) { return is_entry_of(e, "NIGH_STRIPPED"); });
  std::string list;
  for (const auto& v : out_.removed)
    if (!v.name.starts_with("NIGH_")) list += (list.empty() ? "" : ";") + v.name + "=" + v.value;
  if (!list.empty()) set("NIGH_STRIPPED", list);
}

void Builder::preload() {
  std::string list = launch_.library;
  for (const std::string& other : split(value("LD_PRELOAD"), ": "))
    if (!other.empty() && other != launch_.library) list += ":" + other;
  set("LD_PRELOAD", list);
}

void Builder::say_plan() {
  set("OMP_NESTING_TEAM_SIZE", launch_.spec);
  if (!launch_.ranks || launch_.narrowed)
    set("NIGH_MASK", launch_.mask.to_list());
  else
    remove("NIGH_MASK");
  // Ranks whose launcher leaves them all of these PUs divide them among themselves.
  if (launch_.ranks && !launch_.divided)
    set("NIGH_RANK_SHARE", launch_.mask.to_list());
  else
    remove("NIGH_RANK_SHARE");
  // For what the program starts with such variables of its own.
  if (launch_.keep_env)
    set("NIGH_KEEP_ENV", "1");
  else
    remove("NIGH_KEEP_ENV");
  if (launch_.quiet)
    set("NIGH_QUIET", "1");
  else
    remove("NIGH_QUIET");
  if (launch_.machine.empty())
    remove("NIGH_MACHINE");
  else
    set("NIGH_MACHINE", launch_.machine);
}

void Builder::explain() {
  if (launch_.explain == Explain::off) return;
  set("NIGH_EXPLAIN", launch_.explain == Explain::json ? "json" : "text");
  if (launch_.explain_file.empty())
    remove("NIGH_EXPLAIN_FILE");
  else
    set("NIGH_EXPLAIN_FILE", launch_.explain_file);
}

// A number of levels that must not be below the plan's. `essential`: inner teams have one thread otherwise.
void Builder::at_least_levels(const char* name, bool essential) {
  int levels = static_cast<int>(launch_.sizes.size());
  std::string old = value(name);
  auto number = to_int(old);
  if (!old.empty() && number && *number >= levels) return;
  bool users = !old.empty();
  if (users && launch_.keep_env) {
    if (essential)
      remark("kept " + std::string(name) + "=" + old +
             ", so levels of the plan deeper than that stay serial");
    return;
  }
  set(name, std::to_string(levels));
  if (users && essential)
    remark("raised " + std::string(name) + " from " + old + " to " + std::to_string(levels) +
           ", the number of levels of the plan");
}

void Builder::team_sizes() {
  std::string users = value("OMP_NUM_THREADS");
  std::string planned = join(launch_.sizes);
  if (users.empty()) {
    set("OMP_NUM_THREADS", planned);
    return;
  }
  std::vector<std::string> given = split(users, ",");
  bool same = given.size() <= launch_.sizes.size();
  for (std::size_t level = 0; level < launch_.sizes.size();
       ++level)  // the last one holds for all deeper levels
    same = same && to_int(given[std::min(level, given.size() - 1)]) == launch_.sizes[level];
  if (!same)
    remark("kept OMP_NUM_THREADS=" + users + " although the plan is for teams of " + planned +
           "; teams of another size are placed by their actual size");
}

// A runtime prints the mask that it read at its start, whatever its threads are bound to later.
void Builder::display() {
  const std::string wish = value("OMP_DISPLAY_AFFINITY");
  const std::size_t first = wish.find_first_not_of(" \t");
  if (first == std::string::npos || std::string_view("tT1yY").find(wish[first]) == std::string_view::npos)
    return;
  remark("OMP_DISPLAY_AFFINITY=" + wish +
         " prints the mask that the runtime had before nigh bound its threads; --explain tells where they "
         "really are");
}

// Settings that make teams smaller than planned without a word.
void Builder::limits() {
  long long threads = 1;
  for (int n : launch_.sizes) threads = std::min<long long>(threads * n, 1'000'000'000);
  auto limit = to_int(value("OMP_THREAD_LIMIT"));
  if (limit && *limit < threads)
    remark("OMP_THREAD_LIMIT=" + std::to_string(*limit) + " is below the " + std::to_string(threads) +
           " threads of the plan, so some teams will be smaller");
}

LaunchEnvironment Builder::build() {
  strip();
  nested();
  preload();
  say_plan();
  explain();
  at_least_levels("OMP_MAX_ACTIVE_LEVELS", true);
  team_sizes();
  limits();
  display();
  // libomp keeps the threads of a finished inner team together only up to this level (default 1); deeper
  // teams are put together anew from a pool each time, which costs more and shuffles threads.
  at_least_levels("KMP_HOT_TEAMS_MAX_LEVEL", false);
  record();
  return std::move(out_);
}

}  // namespace

const std::string* find_entry(const Environment& environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (is_entry_of(entry, name)) return &entry;
  return nullptr;
}

std::string value_of(const Environment& environment, const std::string& name) {
  const std::string* entry = find_entry(environment, name);
  return entry == nullptr ? std::string() : entry->substr(name.size() + 1);
}

LaunchEnvironment launch_environment(const Environment& user, const Launch& launch) {
  return Builder(user, launch).build();
}

std::vector<std::string> program_remarks(const std::string& program, const sys::ProgramFacts& facts) {
  std::vector<std::string> out;
  if (facts.gains_rights)
    out.push_back(program +
                  " runs with the rights of another user or group, so the loader ignores LD_PRELOAD and " +
                  "its threads are not bound; run it without set-user-ID bits and file capabilities");
  if (!facts.elf) return out;
  if (facts.bits32)
    out.push_back(program +
                  " is a 32-bit program, which can't load nigh's 64-bit library; its threads are not bound");
  else if (!facts.interpreter)
    out.push_back(program +
                  " is statically linked, so its OpenMP runtime can't be intercepted and its threads are " +
                  "not bound; link it dynamically");
  else if (sys::is_foreign_loader(facts.loader.c_str()))
    out.push_back(program + " runs on another C library than glibc (its loader is " + facts.loader +
                  "), which can't load nigh's library; it runs without nigh, and its threads are not bound");
  else if (facts.static_libgomp)
    out.push_back(program +
                  " has libgomp linked into it statically, so its parallel regions can't be intercepted " +
                  "and its threads are not bound; link it to the shared libgomp (without -static-libgomp)");
  return out;
}

std::string preload_without_ours(const std::string& list) {
  std::string out;
  for (const std::string& one : split(list, ": "))
    if (!one.empty() && !one.substr(one.rfind('/') + 1).starts_with("libnigh-"))
      out += (out.empty() ? "" : ":") + one;
  return out;
}

bool can_be_preloaded(const std::string& path) {
  return !path.empty() && path.find_first_of(" \t\n:") == std::string::npos;
}

}  // namespace nigh::openmp
