// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A round lists all threads, writes the old masks of the new ones, then binds them. A thread that was made by
// an unbound one between the list and its binding is found by the next round; as bound threads make bound
// ones only, rounds end unless processes fork faster than we look, and then a limit ends them.
#include "watch/move_threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "sys/cgroup.hpp"
#include "sys/threads.hpp"

namespace nigh::watch {

namespace {
class Binding {
 public:
  Binding(const sys::Os& os, CpuSet pus, std::set<int> only, Journal& journal)
      : os_(os), pus_(std::move(pus)), only_(std::move(only)), journal_(journal) {}

  // False: nothing new was found. Error: the journal can't be written.
  Result<bool> round(const std::vector<sys::ProcessId>& processes) {
    std::vector<MaskChange> changes;
    for (const sys::ProcessId& process : processes) look_at(process, changes);
    ++report.rounds;
    if (changes.empty()) return false;
    if (auto written = journal_.will_bind(changes); !written) return tl::unexpected(written.error());
    bool cut = false;
    for (MaskChange& one : changes)
      if (one.tid != 0 && !(one.old_mask == one.our_mask)) cut = bind(one, changes) || cut;
    // The kernel made less of it than we asked: that is what undo will find.
    if (cut)
      if (auto written = journal_.will_bind(changes); !written) return tl::unexpected(written.error());
    return true;
  }

  ThreadReport report;

 private:
  void look_at(const sys::ProcessId& process, std::vector<MaskChange>& changes) {
    if (!sys::lives(os_, process)) return;
    for (int tid : sys::threads_of(os_, process.pid)) {
      if (done_.count(tid) != 0 || (!only_.empty() && only_.count(tid) == 0)) continue;
      auto facts = sys::task_facts(os_, process.pid, tid);
      auto mask = sys::affinity(tid);
      if (!facts || !mask) continue;
      if (*mask == pus_ || *mask == last_) {
        done_.insert(tid);
        ++report.already;
        // Bound so before we came, so undo must not take it for born of a thread that we bound.
        if (report.rounds == 0) changes.push_back({process, tid, facts->start, *mask, *mask});
        continue;
      }
      if (named_.insert(process.pid).second) changes.push_back({process, 0, 0, *mask, pus_});
      changes.push_back({process, tid, facts->start, *mask, pus_});
    }
  }

  // True: the mask became another than was asked for (change.our_mask then says which).
  bool bind(MaskChange& change, std::vector<MaskChange>& all) {
    done_.insert(change.tid);
    auto set = sys::set_affinity(pus_, change.tid);
    if (!set && set.error().sys_errno == ESRCH) {
      ++report.gone;
      return false;
    }
    if (!set) {
      ++report.refused;
      if (report.refusal.empty()) report.refusal = set.error().message;
      return false;
    }
    ++report.bound;
    auto now = sys::affinity(change.tid);
    if (!now || *now == pus_) return false;
    last_ = change.our_mask = *now;
    for (MaskChange& one : all)
      if (one.tid == 0 && one.process.pid == change.process.pid) one.our_mask = *now;
    return true;
  }

  const sys::Os& os_;
  CpuSet pus_, last_;
  std::set<int> only_;
  Journal& journal_;
  std::set<int> done_, named_;
};

std::vector<sys::ProcessId> with_descendants(const sys::Os& os, const std::vector<sys::ProcessId>& who) {
  std::vector<sys::ProcessId> all = who;
  for (const sys::ProcessId& one : who) {
    if (!sys::lives(os, one)) continue;
    for (int pid : sys::descendants_of(os, one.pid)) {
      auto id = sys::process_id(os, pid);
      if (id && std::find(all.begin(), all.end(), *id) == all.end()) all.push_back(*id);
    }
  }
  return all;
}
}  // namespace

std::string ThreadReport::sentence() const {
  std::string text = fmt::format("{} threads bound, {} were there already", bound, already);
  if (gone > 0) text += fmt::format(", {} ended meanwhile", gone);
  if (refused > 0) text += fmt::format(", {} could not be bound ({})", refused, refusal);
  if (!complete) text += "; new ones come faster than they can be bound";
  return text;
}

Result<ThreadReport> bind_threads(const sys::Os& os, const std::vector<sys::ProcessId>& who,
                                  const CpuSet& pus, Journal& journal, const BindOptions& options) {
  if (pus.empty()) return fail(Errc::invalid, "threads can't be bound to a node without PUs");
  double since = sys::now_seconds();
  Binding binding(os, pus, options.only, journal);
  bool more = true;
  while (more) {
    auto found = binding.round(options.descendants ? with_descendants(os, who) : who);
    if (!found) return tl::unexpected(found.error());
    more = *found;
    bool late =
        binding.report.rounds >= options.most_rounds || sys::now_seconds() - since > options.most_seconds;
    if (more && late) {
      binding.report.complete = false;
      break;
    }
  }
  binding.report.seconds = sys::now_seconds() - since;
  return binding.report;
}

CpuSet pus_of_node(const sys::Os& os, int node) {
  auto text = os.read_line(fmt::format("/sys/devices/system/node/node{}/cpulist", node));
  return text ? CpuSet::parse(*text).value_or(CpuSet{}) : CpuSet{};
}

Result<void> move_cpuset(const sys::Os& os, const std::vector<sys::ProcessId>& who, const CpuSet& pus,
                         const CpuSet& nodes, Journal& journal) {
  if (who.empty() || nodes.empty()) return fail(Errc::invalid, "a cpuset needs processes and memory nodes");
  auto group = sys::cgroup_of(os, who.front().pid);
  if (!group) return tl::unexpected(group.error());
  std::vector<int> pids;
  for (const sys::ProcessId& one : who) pids.push_back(one.pid);
  if (!group->holds_only(os, pids))
    return fail(Errc::unsupported, group->folder + " holds other processes, too: its cpuset is left alone");
  if (!os.exists(group->folder + "/cpuset.mems"))
    return fail(Errc::unsupported,
                group->folder + " has no cpuset (its parent does not give it the controller)");
  // Memory first: threads that run on the new node then find their pages there or under way.
  if (auto done = set_cpuset(os, *group, "cpuset.mems", nodes, journal); !done || pus.empty()) return done;
  return set_cpuset(os, *group, "cpuset.cpus", pus, journal);
}

Result<void> set_cpuset(const sys::Os& os, const sys::Cgroup& group, const std::string& file,
                        const CpuSet& set, Journal& journal) {
  auto written = journal.will_write({group.folder + "/" + file, group.get(os, file), set.to_list()});
  return written ? group.set(os, file, set.to_list()) : written;
}

}  // namespace nigh::watch
