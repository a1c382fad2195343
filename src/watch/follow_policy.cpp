// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/follow_policy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sys/memory.hpp"
#include "watch/move_threads.hpp"

namespace nigh::watch {

namespace {
constexpr double little = 0.05;  // of the nodes' memory: there the cpuset becomes wide again
}  // namespace

void PolicyFollower::left_behind(int pid, const CpuSet& now_on) { behind_[pid] |= now_on; }

PolicyFollower::Room PolicyFollower::room_on(const CpuSet& nodes) const {
  Room room;
  for (const sys::NodeMemory& node : sys::node_memory(os_))
    if (nodes.test(node.node)) {
      room.free += static_cast<double>(node.free) / 1e6;
      room.total += static_cast<double>(node.total) / 1e6;
    }
  return room;
}

Event PolicyFollower::follow_in(const sys::Cgroup& group, const std::vector<ProcessFacts>& members,
                                const CpuSet& nodes) {
  const std::string& name = members.front().name;
  double needed = 0;
  std::vector<sys::ProcessId> who;
  for (const ProcessFacts& one : members) {
    needed += one.megabytes;
    who.push_back({one.pid, one.start});
  }
  const double free = room_on(nodes).free;
  if (free < needed)
    return {"policy",
            fmt::format("{}: its memory policies still name the old nodes: nodes {} have {:.0f} MB free, too "
                        "little to confine it to them",
                        name, nodes.to_list(), free)};
  auto journal = Journal::open(journals_, who.front());
  auto moved =
      journal ? move_cpuset(os_, who, {}, nodes, *journal) : Result<void>(tl::unexpected(journal.error()));
  if (!moved)
    return {"policy",
            fmt::format("{}: its memory policies still name the old nodes: {}", name, moved.error().message)};
  narrow_[group.folder] = {who.front(), nodes};
  return {"policy",
          fmt::format("{}: its memory policies follow to nodes {} ({}/cpuset.mems)", name, nodes.to_list(),
                      group.folder),
          {{"nodes", nodes.to_list()}, {"cgroup", group.folder}}};
}

std::vector<Event> PolicyFollower::follow(const std::vector<ProcessFacts>& processes,
                                          const std::map<int, CpuSet>& resident) {
  std::map<std::string, std::vector<ProcessFacts>> groups;
  std::vector<Event> events;
  for (const auto& [pid, nodes] : behind_) {
    auto group = sys::cgroup_of(os_, pid);
    if (group)
      groups[group->folder];
    else
      for (const ProcessFacts& one : processes)
        if (one.pid == pid)
          events.push_back(
              {"policy", fmt::format("{}: its memory policies still name the old nodes; they can follow "
                                     "only in a cgroup of its own with a cpuset",
                                     one.name)});
  }
  for (const ProcessFacts& one : processes)
    if (auto group = sys::cgroup_of(os_, one.pid); group)
      if (const auto found = groups.find(group->folder); found != groups.end()) found->second.push_back(one);
  for (const auto& [folder, members] : groups) {
    if (members.empty()) continue;
    CpuSet nodes;
    for (const ProcessFacts& one : members)
      if (const auto behind = behind_.find(one.pid); behind != behind_.end())
        nodes |= behind->second;
      else if (const auto there = resident.find(one.pid); there != resident.end())
        nodes |= there->second;
    events.push_back(follow_in({folder}, members, nodes));
  }
  behind_.clear();
  return events;
}

std::vector<Event> PolicyFollower::relieve() {
  std::vector<Event> events;
  for (auto one = narrow_.begin(); one != narrow_.end();) {
    const sys::Cgroup group{one->first};
    if (!os_.exists(group.folder + "/cpuset.mems")) {
      one = narrow_.erase(one);
      continue;
    }
    const Room room = room_on(one->second.nodes);
    if (room.free >= little * room.total) {
      ++one;
      continue;
    }
    const sys::Cgroup parent{group.folder.substr(0, group.folder.rfind('/'))};
    const CpuSet all = CpuSet::parse(parent.get(os_, "cpuset.mems.effective")).value_or(CpuSet{});
    auto journal = Journal::open(journals_, one->second.process);
    auto wide = all.empty() || !journal ? fail(Errc::io, "its parent's cpuset can't be read")
                                        : set_cpuset(os_, group, "cpuset.mems", all, *journal);
    events.push_back(
        {"policy", fmt::format("room on nodes {} runs out ({:.0f} MB free): {}", one->second.nodes.to_list(),
                               room.free, wide ? "all nodes may be used again" : wide.error().message)});
    one = narrow_.erase(one);
  }
  return events;
}

}  // namespace nigh::watch
