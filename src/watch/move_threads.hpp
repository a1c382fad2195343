// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Moves the threads of processes to the PUs of a node (or of several): a mask for each thread, never a single
// core, so the kernel's scheduler still balances inside the node; or the cpuset of the cgroup they are alone
// in, which also takes their memory and memory policies along. Every change is in the journal before it is
// made.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "sys/cgroup.hpp"
#include "sys/os.hpp"
#include "sys/task.hpp"
#include "watch/journal.hpp"

namespace nigh::watch {

struct ThreadReport {
  int bound = 0;    // threads whose mask is now the node's
  int already = 0;  // had it before
  int gone = 0;     // ended meanwhile
  int refused = 0;  // permission, or a cpuset that shares no PU with the node
  int rounds = 0;
  bool complete = true;  // false: new threads came faster than they could be bound
  double seconds = 0;
  std::string refusal;  // the first one's sentence
  [[nodiscard]] std::string sentence() const;
};

struct BindOptions {
  bool descendants = true;  // the processes that these start (and have started), too
  std::set<int> only;       // these threads; empty: all
  int most_rounds = 50;     // against a fork storm
  double most_seconds = 2;
};

// Binds all threads of `who`, and those that appear meanwhile, to `pus`, until a look finds none that is not.
// New threads of bound threads are born bound. Errors: io (journal: nothing was changed), invalid (no PUs).
// What can't be bound is counted, not an error.
Result<ThreadReport> bind_threads(const sys::Os& os, const std::vector<sys::ProcessId>& who,
                                  const CpuSet& pus, Journal& journal, const BindOptions& options = {});

// The PUs of a node (/sys/devices/system/node/nodeN/cpulist); empty: a node of memory only, or none.
CpuSet pus_of_node(const sys::Os& os, int node);

// Sets cpuset.mems and cpuset.cpus of the cgroup that holds just these processes: the kernel then moves their
// pages itself and rebinds their memory policies (cgroup-v2.rst, cpusets). It takes the kernel's time: not
// batched, not paused. Errors: unsupported (no such cgroup, or it has no cpuset), permission, io.
Result<void> move_cpuset(const sys::Os& os, const std::vector<sys::ProcessId>& who, const CpuSet& pus,
                         const CpuSet& nodes, Journal& journal);
// One of its files, cpuset.mems or cpuset.cpus. Errors: permission, io.
Result<void> set_cpuset(const sys::Os& os, const sys::Cgroup& group, const std::string& file,
                        const CpuSet& set, Journal& journal);

}  // namespace nigh::watch
