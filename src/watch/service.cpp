// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

#include "sys/pages.hpp"
#include "sys/run_folder.hpp"
#include "sys/start.hpp"
#include "sys/task.hpp"
#include "sys/threads.hpp"
#include "watch/move_cost.hpp"
#include "watch/numa_proc.hpp"

namespace nigh::watch {

namespace {

constexpr double least_cpu = 0.2;  // cores that a process must use to be looked at under --all
constexpr double least_megabytes = 16;
constexpr double longest_wait = 5;  // s
constexpr std::size_t most_said = 100;

double first_number(const Result<std::string>& text) {
  return text ? std::strtod(text->c_str(), nullptr) : 0;
}

}  // namespace

Result<ProcessFacts> facts_of(const sys::Os& os, int pid) {
  auto facts = sys::task_facts(os, pid);
  if (!facts) return tl::unexpected(facts.error());
  ProcessFacts out;
  out.pid = pid;
  out.start = facts->start;
  out.name = facts->name;
  const double uptime = first_number(os.read_line("/proc/uptime"));
  out.running = std::max(0.0, uptime - static_cast<double>(facts->start) / sys::ticks_per_second());
  const std::string statm = os.read_line(fmt::format("/proc/{}/statm", pid)).value_or("");
  if (const std::size_t space = statm.find(' '); space != std::string::npos)
    out.megabytes =
        std::strtod(statm.c_str() + space, nullptr) * static_cast<double>(sys::page_bytes()) / 1e6;
  return out;
}

Result<std::unique_ptr<Service>> Service::make(const sys::Os& os, Machine machine, ServiceOptions options,
                                               sys::Freezer* freezer) {
  if (machine.node_count() < 2)
    return fail(
        Errc::unsupported,
        "this machine has one NUMA node: all memory is equally near and there is nothing to place; see nigh "
        "watch --demo");
  auto links = Links::of(machine);
  if (!links) return tl::unexpected(links.error());
  auto journals = sys::run_folder("watch");
  if (!journals) return tl::unexpected(journals.error());
  // `paper` has its 0.3 s for a GB; ours pays what this machine asks.
  std::string cost =
      fmt::format("moving pages taken to cost {} s/GB", options.governor.policy_options.seconds_per_gb);
  if (options.governor.policy == Policy::improved)
    if (auto measured = calibrate(os); measured && measured->base_gb_s > 0) {
      options.governor.policy_options.seconds_per_gb = 1 / measured->base_gb_s;
      cost = measured->sentence();
    }
  auto service = std::unique_ptr<Service>(
      new Service(os, std::move(machine), *std::move(links), std::move(options), *journals, freezer));
  service->cost_of_moving_ = std::move(cost);
  return service;
}

namespace {

// A kernel that balances pulls pages to the threads that use them: what we spread, it would gather again.
GovernorOptions on_this_machine(const sys::Os& os, const Machine& machine, GovernorOptions options) {
  options.policy_options = fitted_to(machine, std::move(options.policy_options));
  options.policy_options.spread = options.policy_options.spread && !numa_balancing(os);
  return options;
}

}  // namespace

Service::Service(const sys::Os& os, Machine machine, Links links, ServiceOptions options,
                 std::string journals, sys::Freezer* freezer)
    : os_(os),
      machine_(std::move(machine)),
      links_(links),
      options_(std::move(options)),
      scene_(machine_),
      governor_(std::move(links), on_this_machine(os, machine_, options_.governor)),
      migrator_(os_, machine_, journals, freezer, options_.stop),
      policies_(os_, std::move(journals)) {
  const auto states = probe_meters(os_);
  meter_state_ = choose(states);
  meter_ = make_meter(meter_state_.level, os_);
  for (const int pid : options_.pids)
    if (auto id = sys::process_id(os_, pid)) roots_.push_back(*id);
  started_ = sys::now_seconds();
}

double Service::elapsed() const { return sys::now_seconds() - started_; }

void Service::say(Event event) {
  said_.push_back(fmt::format("{:.0f} s {}: {}", elapsed(), event.kind, event.sentence));
  if (said_.size() > most_said) said_.erase(said_.begin());
  if (on_event) on_event(event, elapsed());
}

// The processes that have worked since the last look.
std::set<int> Service::busy_processes() {
  std::set<int> out;
  const double since = std::max(elapsed() - last_look_, 1e-3);
  std::map<int, double> cpu;
  for (const std::string& entry : os_.list("/proc")) {
    int pid = 0;
    if (std::from_chars(entry.data(), entry.data() + entry.size(), pid).ptr != entry.data() + entry.size())
      continue;
    auto facts = sys::task_facts(os_, pid);
    if (!facts) continue;
    cpu[pid] = facts->cpu_seconds;
    const auto before = cpu_before_.find(pid);
    const bool worked =
        before != cpu_before_.end() && (facts->cpu_seconds - before->second) / since >= least_cpu;
    if (worked && pid != sys::own_pid()) out.insert(pid);
  }
  cpu_before_ = std::move(cpu);
  last_look_ = elapsed();
  return out;
}

// The watched ones that live, with what they have started; under --all whoever works. False: none is left.
bool Service::find_processes() {
  std::set<int> pids;
  for (const auto& [pid, start] : roots_) {
    if (!sys::lives(os_, {pid, start})) continue;
    pids.insert(pid);
    for (const int child : sys::descendants_of(os_, pid)) pids.insert(child);
  }
  if (options_.all && elapsed() - last_look_ >= options_.look)
    pids.merge(busy_processes());
  else if (options_.all)
    for (const ProcessFacts& known : processes_) pids.insert(known.pid);
  processes_.clear();
  for (const int pid : pids)
    if (auto facts = facts_of(os_, pid); facts && (!options_.all || facts->megabytes >= least_megabytes))
      processes_.push_back(*std::move(facts));
  return options_.all || !processes_.empty();
}

void Service::follow() {
  std::vector<int> pids;
  for (const ProcessFacts& process : processes_) pids.push_back(process.pid);
  if (pids == followed_) return;
  followed_ = pids;
  if (pids.empty()) return meter_->stop();
  if (auto done = meter_->follow(pids); !done) say({"failed", "measuring: " + done.error().message});
}

// Each kind of remark once: the same with other figures is no news.
void Service::tell_note(const std::string& note) {
  std::string kind;
  for (const char c : note)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) kind += c;
  if (!note.empty() && notes_.insert(kind).second) say({"measured", note});
}

// Reports the groups that share memory, and their places; once a group was the same in two looks, and again
// when it is another.
void Service::tell_units(const std::vector<Watched>& watched) {
  std::string sentence;
  nlohmann::ordered_json units = nlohmann::ordered_json::array();
  for (const Watched& one : watched) {
    const Application& a = one.unit.application;
    std::string where;
    for (std::size_t i = 0; i < a.threads.size(); ++i)
      if (a.threads[i] > 0)
        where += fmt::format("{}{:.0f} on node {}", where.empty() ? "" : ", ", a.threads[i],
                             machine_.node_number(i));
    sentence += fmt::format("{}{}: {}", sentence.empty() ? "" : "; ", a.program.name, where);
    nlohmann::ordered_json threads = nlohmann::ordered_json::array();
    for (const auto& [tid, node] : one.threads)
      threads.push_back({{"tid", tid}, {"node", machine_.node_number(static_cast<std::size_t>(node))}});
    units.push_back({{"application", a.program.name},
                     {"unit", one.unit.id},
                     {"pid", one.pid},
                     {"threads", threads},
                     {"shared", a.sharing},
                     {"megabytes", a.megabytes}});
  }
  if (sentence == units_before_ && sentence != units_told_) {
    units_told_ = sentence;
    say({"applications",
         sentence.empty() ? "none that accesses memory" : "threads that share memory: " + sentence,
         {{"applications", units}, {"confidence", sighting_.confidence}}});
  }
  units_before_ = sentence;
}

// True if all were seen, or have had their time: a process that only computes is never seen, and others'
// nodes look empty before they are. A process with next to no memory is nobody's neighbour.
bool Service::complete(const std::vector<Watched>& watched) {
  bool all = true;
  decltype(first_seen_) still;
  for (const ProcessFacts& process : processes_) {
    const auto known = first_seen_.try_emplace({process.pid, process.start}, elapsed()).first;
    still.insert(*known);
    const bool seen = std::any_of(watched.begin(), watched.end(),
                                  [&](const Watched& one) { return one.pid == process.pid; });
    all =
        all && (seen || process.megabytes < least_megabytes || elapsed() - known->second > options_.patience);
  }
  first_seen_ = std::move(still);
  return all;
}

int Service::carry_out(const std::vector<Action>& actions, const std::vector<Watched>& watched) {
  int failed = 0;
  for (const Action& action : actions)
    for (const Watched& one : watched) {
      if (one.unit.id != action.unit) continue;
      Carried carried = migrator_.carry(action, one);
      failed += carried.failed ? 1 : 0;
      scene_.moved(one.pid, carried.threads);
      if (!carried.policies_behind.empty()) policies_.left_behind(one.pid, carried.policies_behind);
      say(std::move(carried.event));
    }
  follow_policies(watched);
  return failed;
}

void Service::follow_policies(const std::vector<Watched>& watched) {
  std::map<int, CpuSet> resident;
  for (const Watched& one : watched) {
    const std::vector<double> parts = one.unit.application.resident();
    for (std::size_t n = 0; n < parts.size(); ++n)
      if (parts[n] > 0) resident[one.pid].set(machine_.node_number(n));
  }
  for (Event& event : policies_.follow(processes_, resident)) say(std::move(event));
}

void Service::interval() {
  auto reading = meter_->read();
  if (!reading) {
    say({"failed", "measuring: " + reading.error().message});
    return;
  }
  if (reading->level != Level::none) tell_note(reading->note);
  scene_.add(*reading, processes_);
  const std::vector<Watched> watched = scene_.watched(links_);
  sighting_ = {elapsed(), reading->level, scene_.confidence(meter_state_.confidence), {}, scene_.fresh()};
  for (const Watched& one : watched) sighting_.units.push_back(one.unit);
  sighting_.complete = complete(watched);
  tell_units(watched);
  GovernorStep step = governor_.look(sighting_);
  for (Event& event : step.events) say(std::move(event));
  const double before = sys::process_seconds();
  if (!step.actions.empty()) governor_.done(carry_out(step.actions, watched));
  for (Event& event : policies_.relieve()) say(std::move(event));
  const double followed = migrator_.follow(*reading, watched);
  if (!step.actions.empty() || followed > 0) meter_->pages_moved();
  carried_cpu_ += sys::process_seconds() - before;
}

Snapshot Service::snapshot() const {
  Snapshot out = make_snapshot(machine_, links_, sighting_);
  out.policy = policy_name(options_.governor.policy);
  out.mode = options_.governor.apply ? "applying" : "advising";
  out.meter = meter_state_.name;
  out.level = meter_state_.level;
  out.cost = cost_;
  out.elapsed = elapsed();
  out.state = governor_.state() == Governor::State::settling ? "settling"
              : governor_.state() == Governor::State::holding
                  ? fmt::format("holding until {:.0f} s", governor_.hold_until())
              : sighting_.complete ? "watching"
                                   : "waiting for newcomers";
  out.moves = governor_.moves();
  out.rollbacks = governor_.rollbacks();
  out.said = said_;
  return out;
}

namespace {

// In short sleeps: the end of a program, or Ctrl-C, is not to be waited for. False: no more.
bool pause(double seconds, const std::function<bool()>& more) {
  const double end = sys::now_seconds() + seconds;
  while (sys::now_seconds() < end) {
    sys::sleep_seconds(std::clamp(end - sys::now_seconds(), 0.0, 0.05));
    if (!more()) return false;
  }
  return true;
}

}  // namespace

Result<void> Service::run(const std::function<bool()>& more) {
  say({"start",
       fmt::format("{}: {} by {}, measured by {} ({}, confidence at most {:.0f} %); {}", machine_.summary(),
                   options_.governor.apply ? "applies what is decided" : "advises only",
                   policy_name(options_.governor.policy), meter_state_.name, level_name(meter_state_.level),
                   100 * meter_state_.confidence, cost_of_moving_),
       {{"policy", policy_name(options_.governor.policy)},
        {"level", level_name(meter_state_.level)},
        {"seconds_per_gb", options_.governor.policy_options.seconds_per_gb}}});
  if (meter_state_.level == Level::none)
    say({"advice",
         "nothing can be measured here, so nothing will be moved; nigh watch --meters says what is missing"});
  const auto own = [&] { return sys::process_seconds() - carried_cpu_; };
  const double at_start = own();
  double wait = options_.interval;
  bool any = find_processes();
  while (any && (options_.duration <= 0 || elapsed() < options_.duration)) {
    const double before = own();
    follow();
    if (!pause(wait, more)) break;
    interval();
    cost_ = std::max(0.0, own() - at_start) / elapsed();
    if (on_snapshot) on_snapshot(snapshot());
    any = find_processes();
    // The cost of a look is paid for by a longer wait, though not so long that the meter's rings overflow.
    wait = std::clamp((own() - before) / options_.most_cost, options_.interval,
                      std::max(options_.interval, longest_wait));
  }
  meter_->stop();
  say({"end",
       fmt::format("{} moves, {} taken back; own cost {:.2f} % of a core{}", governor_.moves(),
                   governor_.rollbacks(), 100 * cost_, any ? "" : "; nothing that was watched runs any more"),
       {{"moves", governor_.moves()}, {"rollbacks", governor_.rollbacks()}, {"own_cost", cost_}}});
  return {};
}

}  // namespace nigh::watch
