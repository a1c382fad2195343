// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Quiescence: no message is under way, none is being worked on. PE 0 sends waves down the tree of PEs that
// add up how many messages each has sent and done; two waves with the same sums, as many sent as done, mean
// that there was such a moment between them (four counters: Mattern, Distributed Computing 1987).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nigh/chare/core.hpp"

namespace nigh::chare {

class Pe;

// A message that waits for something that is not there, as an example of those.
struct Waiting {
  core::ArrayId array;
  std::uint16_t entry = 0;
  enum class For : std::uint16_t { nothing, array, named_array, element } what = For::nothing;
  Index index;
};
// A reduction that is not over. The first is that of the smallest array.
struct Unfinished {
  std::uint64_t number = 0;
  std::uint16_t array = core::ArrayId::none;
  friend bool operator==(const Unfinished&, const Unfinished&) = default;
  [[nodiscard]] bool is_before(const Unfinished& other) const {
    return array != other.array ? array < other.array : number < other.number;
  }
};
// The reports on one array, or on contributions that nobody can count yet.
struct Contributions {
  std::uint64_t come = 0, missing = 0;  // elements
  Index one_missing;
  Callback then;
  std::uint64_t late = 0;  // inserted after done_inserting()
  std::uint16_t array_of_late = core::ArrayId::none;
  Index one_late;
  void add(const Contributions& other);
};

class Waves {
 public:
  explicit Waves(Pe& pe);
  void tell();  // at PE 0: how many messages have been done so far, and how many are under way
  void ask(const Callback& then);  // at PE 0
  // PE 0 has nothing to do; since a moment ago. When that lasts, it is seen whether there is anything at all.
  void idle(bool since_now);
  void on_count(const core::Header* message);    // System::count
  void on_counted(const core::Header* message);  // System::counted

 private:
  struct Sums {
    std::uint64_t sent = 0, done = 0, timers = 0, waiting = 0;
    Waiting one_waiting;
    Unfinished unfinished;        // the first
    Contributions contributions;  // to the one that was asked for
    [[nodiscard]] bool counts_as(const Sums& other) const {
      return sent == other.sent && done == other.done && timers == other.timers && waiting == other.waiting;
    }
  };
  void add(const Sums& sums);
  void tell_progress();
  // Nothing can go on: the next wave asks why, then that is told.
  void be_stuck();
  [[nodiscard]] std::string why() const;
  [[nodiscard]] std::string why_unfinished() const;
  void begin();
  void end();

  Pe& pe_;
  std::vector<Callback> asked_;
  bool under_way_ = false;
  bool tells_ = false;                // when the wave has ended
  std::int64_t begun_, told_at_ = 0;  // ns
  std::uint64_t told_ = 0;            // messages, the last time
  unsigned missing_ = 0;              // children that have not answered
  Sums sums_, before_;
  Unfinished asked_for_;
  bool asks_why_ = false;
  std::int64_t next_ = 0, pause_ = 0;  // ns: when the next may begin, and how long after the last
  std::int64_t idle_since_ = 0;
};

}  // namespace nigh::chare
