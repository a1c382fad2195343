// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Stops processes for a short time such that they always go on: not we stop them but a supervisor, a tiny
// forked child in a session of its own, which thaws all it has stopped when we say so, when the time limit
// has passed, or when we are gone (Ctrl-C, kill -9), whichever comes first.
//
//   us ---- freeze {limit, processes, cgroup} ----> supervisor ---- cgroup.freeze = 1, or SIGSTOP each
//      <--- {stopped, skipped, errno} ------------             |
//      ---- thaw, or end of file, or the limit -->             '--- cgroup.freeze = 0, or SIGCONT each
//
// True if that would replace a file, or make one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sys/os.hpp"
#include "sys/task.hpp"

namespace nigh::sys {

enum class FreezeBy { cgroup, signal };
const char* freeze_name(FreezeBy by);

struct Frozen {
  FreezeBy by = FreezeBy::signal;
  int stopped = 0;      // processes stopped by this call
  int skipped = 0;      // gone, stopped before, or not ours to stop
  bool settled = true;  // every thread stands; false: after 100 ms some still ran or slept in the kernel
  double seconds = 0;   // from the request until they stood
};
struct Thawed {
  double seconds = 0;    // from the freeze to the thaw
  bool expired = false;  // the supervisor's limit came first
};

class Freezer {
 public:
  // Forks the supervisor; do it before threads are made where possible. Error: internal (no processes left).
  static Result<Freezer> start();
  Freezer(Freezer&&) noexcept;
  Freezer& operator=(Freezer&&) = delete;
  Freezer(const Freezer&) = delete;
  Freezer& operator=(const Freezer&) = delete;
  ~Freezer();  // thaws, ends the supervisor

  // At most 1024 processes. By their cgroup where it holds just them and can be written, else by signals.
  // They go on after `limit` seconds (at most 60) whatever happens. Errors: permission (nothing could be
  // stopped), io (all gone, or the supervisor was killed: then nothing is stopped), invalid (already frozen).
  Result<Frozen> freeze(const Os& os, const std::vector<ProcessId>& who, double limit);
  // Error: io (the supervisor was killed: we have thawed them ourselves).
  Result<Thawed> thaw();
  // The control file that freeze() would use for these (absolute); empty: it would use signals.
  [[nodiscard]] static std::string group_file(const Os& os, const std::vector<ProcessId>& who);
  [[nodiscard]] bool frozen() const;
  [[nodiscard]] int supervisor() const;  // its pid, for tests

 private:
  struct State;
  explicit Freezer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nigh::sys
