// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Quiescence: no message is under way, none is being worked on. PE 0 sends waves down the tree of PEs that
// add up how many messages each has sent and done; two waves with the same sums, as many sent as done, mean
// that there was such a moment between them (four counters: Mattern, Distributed Computing 1987).
#pragma once

#include <cstdint>
#include <vector>

#include "nigh/chare/core.hpp"

namespace nigh::chare {

class Pe;

class Waves {
 public:
  explicit Waves(Pe& pe);
  void tell();  // at PE 0: how many messages have been done so far, and how many are under way
  void ask(const Callback& then);  // at PE 0
  // PE 0 has nothing to do; since a moment ago. When that lasts, it is seen whether there is anything at all.
  void idle(bool since_now);
  void on_count();                               // System::count
  void on_counted(const core::Header* message);  // System::counted

 private:
  struct Sums {
    std::uint64_t sent = 0, done = 0, timers = 0;
    friend bool operator==(const Sums&, const Sums&) = default;
  };
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
  std::int64_t next_ = 0, pause_ = 0;  // ns: when the next may begin, and how long after the last
  std::int64_t idle_since_ = 0;
};

}  // namespace nigh::chare
