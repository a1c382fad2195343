// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The rhythm of the service: it looks at the measurements, asks a policy, moves, looks whether that was
// right, and takes it back if not. It owns no clock and touches no process: a sighting goes in, actions and
// events come out, so that it can be driven by real meters, by the simulator, and by tests.
//
//              steady, confident            apply            2..5 s later
//     watching ────────────────► decision ────────► settling ────────────► verified ──► holding ──► watching
//        ▲                          │ advisor:         │ paper: after 2 s,     │
//        │                          ▼ told, not done   │ pages that did not    └ worse: rollback, longer hold
//        └───────── holding ◄───────┘                  ▼ follow: all at once     (30 s, doubled up to 10 min)
//
// (Lepers, Quema, Fedorova, USENIX ATC 2015, slides 6 to 9; verification and rollback are ours.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/asymmetric.hpp"
#include "watch/event.hpp"
#include "watch/reading.hpp"

namespace nigh::watch {

// A unit of placement: threads that share data, and that data.
struct Unit {
  std::uint64_t id = 0;     // the same from sighting to sighting while it is the same unit
  Application application;  // as measured; program.name is what people call it
};

struct Sighting {
  double time = 0;  // s, monotonic
  Level level = Level::none;
  double confidence = 0;
  std::vector<Unit> units;
  double fresh = 1e9;    // samples since anything was moved last
  bool complete = true;  // false: somebody who is watched has only just come, and was not seen yet
};

// The way in which pages go: as they are touched (all at once if they do not follow), in batches while the
// application runs, or all at once while it is paused.
enum class Pages : std::uint8_t { lazy, live, frozen };
const char* pages_name(Pages pages);
Result<Pages> pages_from_name(std::string_view name);

struct Action {
  enum class Kind : std::uint8_t { threads, pages, all_pages, restore } kind = Kind::threads;
  std::uint64_t unit = 0;
  std::vector<int> to;        // node n's threads (and, with lazy pages, what they touch) go to to[n]
  Application before, after;  // where memory was and is to be
  Pages how = Pages::live;
};

struct GovernorOptions {
  Policy policy = Policy::improved;
  PolicyOptions policy_options;
  bool apply = false;  // false: advises only
  Pages pages = Pages::live;
  double least_confidence = 0.3;
  int steady = 5;           // sightings of the same units in the same places before a decision
  double least_fresh = 50;  // samples since a move before it is judged, unless ten times that long has passed
  double verify_after = 3;  // s after moving
  double hold = 10;         // s between decisions
  double back_off = 30;     // s after a rollback, doubled each time
  double longest_back_off = 600;
  double worse = 0.02;  // a loss of speed beyond this is taken back, a gain below it is not moved for
};

struct GovernorStep {
  std::vector<Action> actions;
  std::vector<Event> events;
};

class Governor {
 public:
  enum class State : std::uint8_t { watching, settling, holding };
  Governor(Links links, GovernorOptions options);
  // Time must not go back; should come every 0.5 to 2 s.
  GovernorStep look(const Sighting& sighting);
  // The outcome of the last step's actions: the number that could not be done at all.
  void done(int failed);
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] double hold_until() const { return hold_until_; }
  [[nodiscard]] int moves() const { return moves_; }
  [[nodiscard]] int rollbacks() const { return rollbacks_; }

 private:
  [[nodiscard]] bool steady(const Sighting& sighting);
  void watch(const Sighting& sighting, GovernorStep& step);
  void settle(const Sighting& sighting, GovernorStep& step);
  void verify(const Sighting& sighting, GovernorStep& step);
  void hold(double time, double seconds);
  [[nodiscard]] double measured_gain(const Sighting& sighting) const;

  Links links_;
  GovernorOptions options_;
  State state_ = State::watching;
  std::vector<Unit> last_;
  int same_ = 0;
  double hold_until_ = 0, moved_at_ = 0, back_off_ = 0;
  std::string last_advice_;
  std::vector<Unit> before_;     // the sighting that was decided on
  std::vector<Action> applied_;  // what would have to be taken back
  std::vector<std::uint64_t> full_;
  double predicted_ = 0;
  int moves_ = 0, rollbacks_ = 0;
};

}  // namespace nigh::watch
