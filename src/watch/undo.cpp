// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Putting back. A process or thread is the one meant only with its start time; a mask or a control file is
// put back only while it still holds our value. The kernel cuts masks to the cpuset, so "our value" is what
// it made of ours, which the journal learned when it was read back; a cut that came later counts as unchanged
// when it lies inside ours and is what the cpuset leaves.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sys/cgroup.hpp"
#include "sys/run_folder.hpp"
#include "sys/supervisor.hpp"
#include "watch/journal.hpp"

namespace nigh::watch {

namespace {
bool is_thread(const sys::Os& os, const MaskChange& change) {
  auto facts = sys::task_facts(os, change.process.pid, change.tid);
  return facts && facts->start == change.start;
}

// The PUs we bound it to went off-line: the kernel then lets it run elsewhere, and that is nobody's wish.
bool lost_its_pus(const sys::Os& os, const MaskChange& change, const CpuSet& now) {
  auto online = CpuSet::parse(os.read_line("/sys/devices/system/cpu/online").value_or(""));
  return now.empty() || (online && !online->empty() && !online->intersects(change.our_mask));
}

void restore(const sys::Os& os, int tid, const MaskChange& change, UndoReport& report) {
  auto now = sys::affinity(tid);
  if (!now) {
    ++report.gone;
    return;
  }
  if (*now == change.old_mask) return;
  if (!(*now == change.our_mask) && !lost_its_pus(os, change, *now)) {
    ++report.left_alone;
    report.sentences.push_back(fmt::format(
        "thread {} is on PUs {}, which somebody else has set since: left alone", tid, now->to_list()));
    return;
  }
  auto done = sys::set_affinity(change.old_mask, tid);
  if (done) ++report.restored;
  if (!done && done.error().sys_errno == ESRCH) ++report.gone;
  if (!done && done.error().sys_errno != ESRCH) report.sentences.push_back(done.error().message);
}

void restore_masks(const sys::Os& os, const JournalRecord& record, UndoReport& report) {
  std::set<int> named;
  for (const MaskChange& one : record.masks) {
    if (one.tid == 0) continue;
    bool there = is_thread(os, one);
    if (there) named.insert(one.tid);
    there ? restore(os, one.tid, one, report) : static_cast<void>(++report.gone);
  }
  // Threads and processes born of bound ones: twice, as one may be born of an unnamed one meanwhile.
  for (int round = 0; round < 2; ++round)
    for (const MaskChange& one : record.masks) {
      if (one.tid != 0 || !sys::lives(os, one.process)) continue;
      std::vector<int> family = sys::descendants_of(os, one.process.pid);
      family.push_back(one.process.pid);
      for (int pid : family)
        for (int tid : sys::threads_of(os, pid)) {
          auto now = sys::affinity(tid);
          if (named.count(tid) != 0 || !now) continue;
          // Born of a thread that was bound: of the one with that mask, where a process's threads went to
          // several nodes.
          for (const MaskChange& parent : record.masks)
            if (parent.process.pid == one.process.pid && *now == parent.our_mask &&
                !(*now == parent.old_mask)) {
              restore(os, tid, {one.process, 0, 0, parent.old_mask, parent.our_mask}, report);
              break;
            }
        }
    }
}

void restore_file(const sys::Os& os, const FileChange& one, UndoReport& report) {
  std::size_t slash = one.path.rfind('/');
  sys::Cgroup group{one.path.substr(0, slash)};
  std::string file = one.path.substr(slash + 1);
  if (!os.exists(one.path)) {
    ++report.gone;
    return;
  }
  std::string now = group.get(os, file);
  if (now == one.old_value) return;
  if (now != one.our_value) {
    ++report.left_alone;
    report.sentences.push_back(
        fmt::format("{} holds \"{}\", which somebody else has set since: left alone", one.path, now));
    return;
  }
  auto done = group.set(os, file, one.old_value);
  // The kernel takes no empty cpuset while processes are in it: all that the parent has is the same to them.
  if (!done && one.old_value.empty()) {
    sys::Cgroup parent{group.folder.substr(0, group.folder.rfind('/'))};
    std::string all = parent.get(os, file + ".effective");
    if (!all.empty()) done = group.set(os, file, all);
  }
  if (done) ++report.restored;
  if (!done) report.sentences.push_back(done.error().message);
}

void let_go_on(const sys::Os& os, const JournalRecord& record, UndoReport& report) {
  for (const std::string& file : record.frozen_groups)
    if (os.read_line(file).value_or("0") == "1" &&
        sys::supervisor::set_frozen(os.path(file).c_str(), false) == 0)
      ++report.thawed;
  for (const sys::ProcessId& one : record.frozen) {
    auto facts = sys::task_facts(os, one.pid);
    if (!facts || facts->start != one.start || facts->state != 'T') continue;
    sys::supervisor::go_on({one.pid, one.start});
    ++report.thawed;
  }
}
}  // namespace

UndoReport undo(const sys::Os& os, const JournalRecord& record) {
  UndoReport report;
  let_go_on(os, record, report);
  // cpusets first: a mask can't be wider than its cpuset.
  for (auto one = record.files.rbegin(); one != record.files.rend(); ++one) restore_file(os, *one, report);
  restore_masks(os, record, report);
  return report;
}

UndoReport undo_all(const sys::Os& os, const std::string& folder) {
  UndoReport all;
  sys::Os real;
  for (const std::string& name : real.list(folder)) {
    if (name.size() < 5 || name.substr(name.size() - 5) != ".undo") continue;
    std::string path = folder + "/" + name;
    auto text = sys::read_own_file(path);
    auto record = text ? parse_record(*text, path) : Result<JournalRecord>(tl::unexpected(text.error()));
    if (!record) {
      all.sentences.push_back(record.error().message);
      continue;
    }
    UndoReport one = undo(os, *record);
    bool failed = static_cast<int>(one.sentences.size()) > one.left_alone;
    all.restored += one.restored, all.left_alone += one.left_alone;
    all.gone += one.gone, all.thawed += one.thawed;
    all.sentences.insert(all.sentences.end(), one.sentences.begin(), one.sentences.end());
    if (failed) continue;  // to be tried again
    if (auto removed = sys::remove_file(path); !removed) all.sentences.push_back(removed.error().message);
  }
  return all;
}

}  // namespace nigh::watch
