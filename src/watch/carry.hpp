// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Carries out what the governor decided, on real processes: threads to the PUs of their new node, memory
// region by region to where the plan has it. Which region goes where is chosen here: a plan says "half on
// node 0, half on node 3", and as much as possible of what is there already stays.
//
// With lazy pages nothing is moved at once: follow() moves what the meter sees touched since, so that pages
// go where their threads are as they are used.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "sys/os.hpp"
#include "watch/move_pages.hpp"
#include "watch/move_threads.hpp"
#include "watch/scene.hpp"

namespace nigh::watch {

// The target of each region of a unit after a move; regions that stay are left out. By index of node. Pure.
struct RegionMove {
  std::uint64_t region = 0;
  int from = -1, to = -1;
};
std::vector<RegionMove> regions_to_move(const Watched& unit, const Action& action);

struct Carried {
  bool failed = false;  // nothing of it could be done
  double megabytes = 0;
  Event event;
  std::map<int, int> threads;  // where they are now
  // Not empty: mappings have memory policies for nodes that were left; its memory is on these now (OS
  // numbers).
  CpuSet policies_behind;
};

class Migrator {
 public:
  // `journals`: a private folder (sys::run_folder("watch")). `freezer`: with leave to pause; may be null.
  // Once `stop` (may be null) is set, what is under way ends soon, in a good state.
  Migrator(const sys::Os& os, const Machine& machine, std::string journals, sys::Freezer* freezer,
           const std::atomic<bool>* stop = nullptr);
  Carried carry(const Action& action, const Watched& unit);
  // Regions that were touched since, of units whose pages go lazily. Returns megabytes moved.
  double follow(const Reading& reading, const std::vector<Watched>& units);
  // Puts everything back that was changed (masks, cpusets), as `nigh watch --undo` does.
  UndoReport undo() const { return undo_all(os_, journals_); }

 private:
  [[nodiscard]] int number(int node) const { return machine_.node_number(static_cast<std::size_t>(node)); }
  [[nodiscard]] std::vector<std::pair<int, int>> threads_to_move(const Watched& unit) const;
  Carried move_threads(const Action& action, const Watched& unit);
  Carried move_memory(const Action& action, const Watched& unit);
  [[nodiscard]] MoveOptions options_for(const Action& action);

  sys::Os os_;
  const Machine& machine_;
  std::string journals_;
  sys::Freezer* freezer_;
  const std::atomic<bool>* stop_;
  std::map<std::uint64_t, Action> lazy_;  // by unit
};

}  // namespace nigh::watch
