// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The checks by name, and what several of them use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "movers_app.hpp"
#include "watch/journal.hpp"
#include "watch/move_pages.hpp"

namespace movers {

struct Check {
  const char* name;
  void (*run)();
};
const std::vector<Check>& checks();

// Moving.
void moved_live();
void moved_frozen();
void moved_lazily();
void huge_pages();
void policy_is_told();
void threads_and_undo();
void cpuset_and_undo();
void calibration();
// Faults.
void target_full();
void full_without_asking();
void pinned_pages();
void exits_meanwhile();
void killed_in_a_pause();
void killed_with_a_cgroup();
void stopped_in_a_pause();
void clock_jumps();
void node_offline();
void node_missing();
// Speed.
void throughput();
void batch_sizes();

// The plan "everything of this application to node `to`", buffer only.
nigh::watch::PagePlan buffer_to(const App& app, int to, std::size_t bytes);
std::string journal_folder();
nigh::watch::Journal journal_of(const App& app);
// True if all pages of the buffer are on one node, with numa_maps saying the same.
bool all_on(const App& app, int node);

}  // namespace movers
