// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory policies that name the nodes which the pages have left (numactl --membind, mbind): new pages would
// go there again. From outside they change with the cpuset alone: where an application is alone in a cgroup
// with one, cpuset.mems becomes the nodes that its memory was moved to, and the kernel rebinds the policies
// (cgroup-v2.rst; mpol_rebind). That takes memory away from it, so it is done only where those nodes have
// room for it to double, and taken back when their room runs out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "sys/cgroup.hpp"
#include "sys/os.hpp"
#include "sys/task.hpp"
#include "watch/event.hpp"
#include "watch/scene.hpp"

namespace nigh::watch {

class PolicyFollower {
 public:
  // `journals`: a private folder (sys::run_folder("watch")).
  PolicyFollower(const sys::Os& os, std::string journals) : os_(os), journals_(std::move(journals)) {}
  // Mappings of this process have policies for nodes that its memory has left for these (OS numbers).
  void left_behind(int pid, const CpuSet& now_on);
  // Once all moves of a decision are made. `resident`: the nodes of each process's memory (OS numbers).
  std::vector<Event> follow(const std::vector<ProcessFacts>& processes,
                            const std::map<int, CpuSet>& resident);
  // Each look: gives memory back where room runs out.
  std::vector<Event> relieve();

 private:
  struct Narrowed {
    sys::ProcessId process;
    CpuSet nodes;
  };
  Event follow_in(const sys::Cgroup& group, const std::vector<ProcessFacts>& members, const CpuSet& nodes);
  struct Room {
    double free = 0, total = 0;  // MB
  };
  [[nodiscard]] Room room_on(const CpuSet& nodes) const;

  sys::Os os_;
  std::string journals_;
  std::map<int, CpuSet> behind_;            // by process
  std::map<std::string, Narrowed> narrow_;  // by the cgroup's folder
};

}  // namespace nigh::watch
