// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The service: each second it reads the meter, brings the scene up to date, asks the governor, and carries
// out what that decides; every step is an event, for the log, the terminal and the feed alike. What it costs
// itself is measured and shown. It ends when what it watches has ended, when its time is up, or at Ctrl-C;
// the applications run on wherever they are then, and `nigh watch --undo` puts back what was changed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "sys/os.hpp"
#include "sys/task.hpp"
#include "watch/carry.hpp"
#include "watch/follow_policy.hpp"
#include "watch/meter.hpp"
#include "watch/snapshot.hpp"

namespace nigh::watch {

struct ServiceOptions {
  GovernorOptions governor;
  std::vector<int> pids;  // and what they start
  bool all = false;       // every process that this user may look at and that works: asked anew each `look`
  double look = 5;        // s
  double interval = 1;    // s
  double duration = 0;    // s; 0: no limit
  double patience = 15;   // s that somebody new may take to be seen at his memory, before others are moved
  // Own CPU time as a part of one core: a look that costs more is followed by a longer wait.
  double most_cost = 0.01;
  const std::atomic<bool>* stop = nullptr;  // set: what is under way ends soon, in a good state
};

// The present facts of a process: name, age, resident memory. Errors: io (gone).
Result<ProcessFacts> facts_of(const sys::Os& os, int pid);

class Service {
 public:
  // Errors: unsupported (one node, or a machine whose links are not known), permission (journals).
  static Result<std::unique_ptr<Service>> make(const sys::Os& os, Machine machine, ServiceOptions options,
                                               sys::Freezer* freezer);
  // Called with each event, and with the snapshot after each interval.
  std::function<void(const Event&, double elapsed)> on_event;
  std::function<void(const Snapshot&)> on_snapshot;
  // Until the end. `more`: asked after each interval whether to go on.
  Result<void> run(const std::function<bool()>& more);
  [[nodiscard]] Snapshot snapshot() const;
  [[nodiscard]] const MeterState& meter_state() const { return meter_state_; }

 private:
  Service(const sys::Os& os, Machine machine, Links links, ServiceOptions options, std::string journals,
          sys::Freezer* freezer);
  bool find_processes();
  [[nodiscard]] std::set<int> busy_processes();
  void follow();
  void interval();
  // Returns the number of actions that could not be done at all.
  int carry_out(const std::vector<Action>& actions, const std::vector<Watched>& watched);
  void follow_policies(const std::vector<Watched>& watched);
  void say(Event event);
  void tell_note(const std::string& note);
  void tell_units(const std::vector<Watched>& watched);
  [[nodiscard]] double elapsed() const;

  sys::Os os_;
  Machine machine_;
  Links links_;
  ServiceOptions options_;
  Scene scene_;
  Governor governor_;
  Migrator migrator_;
  PolicyFollower policies_;
  MeterState meter_state_;
  std::unique_ptr<Meter> meter_;
  std::vector<sys::ProcessId> roots_;  // of options_.pids: a number may be somebody else's tomorrow
  std::vector<ProcessFacts> processes_;
  std::vector<int> followed_;
  Sighting sighting_;
  std::vector<std::string> said_;
  std::string units_before_, units_told_;
  std::set<std::string> notes_;
  std::string cost_of_moving_;
  [[nodiscard]] bool complete(const std::vector<Watched>& watched);
  std::map<std::pair<int, std::uint64_t>, double> first_seen_;  // s; of each process
  std::map<int, double> cpu_before_;                            // for --all: seconds of CPU at the last look
  double started_ = 0, last_look_ = -1e9, cost_ = 0, carried_cpu_ = 0;
};

}  // namespace nigh::watch
