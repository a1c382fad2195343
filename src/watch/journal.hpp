// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Our changes to an application, so that they can be undone: by us at the end, or by `nigh watch --undo`
// after a kill -9. One file for each application, written whole (a rename) before the change is made; so it
// may name a change that was never made, but never misses one.
//
//   nigh-undo 1
//   application 4711 88123                 number and start time
//   process 4712 88125 0-63 8-15           the mask that threads get which were born bound
//   thread 4712 4713 88130 0-63 8-15       process, thread, start, old mask, our mask
//   file /sys/fs/cgroup/job/cpuset.mems 0-7 1     control file, old value (- : none), ours
//   frozen 4712 88125                      it may stand still (SIGSTOP)
//   frozen-group /sys/fs/cgroup/job/cgroup.freeze
//   end 5e1f...                            FNV-1a of all lines before
//
// undo() puts back what still is as we left it; what somebody else has changed since stays and is told.
#pragma once

#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "sys/os.hpp"
#include "sys/task.hpp"

namespace nigh::watch {

struct MaskChange {
  sys::ProcessId process;
  int tid = 0;  // 0: any thread of the process that is not named itself
  std::uint64_t start = 0;
  CpuSet old_mask, our_mask;
};
struct FileChange {
  std::string path, old_value, our_value;
};
struct JournalRecord {
  sys::ProcessId application;
  std::vector<MaskChange> masks;
  std::vector<FileChange> files;
  std::vector<sys::ProcessId> frozen;
  std::vector<std::string> frozen_groups;
};

std::string to_text(const JournalRecord& record);
// Error: invalid: damaged, or not ours; the sentence says what to do.
Result<JournalRecord> parse_record(const std::string& text, const std::string& path);

class Journal {
 public:
  // `folder` is private to us (sys::run_folder("watch")). A journal of the same application that is there
  // already is gone on with: its old values are the true ones. Errors: as parse_record, io.
  static Result<Journal> open(const std::string& folder, const sys::ProcessId& application);
  // Each returns when the file is written; only then may the change be made. A thread or file that is known
  // keeps its first old value. Error: io: the change must not be made.
  Result<void> will_bind(const std::vector<MaskChange>& changes);
  Result<void> will_write(const FileChange& change);
  // By the group's control file, or (empty) each by a signal; `who`: only those that run.
  Result<void> will_freeze(const std::vector<sys::ProcessId>& who, const std::string& group_file);
  Result<void> thawed();
  [[nodiscard]] const JournalRecord& record() const { return record_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] Result<void> save() const;
  std::string path_;
  JournalRecord record_;
};

struct UndoReport {
  int restored = 0;    // masks and files put back
  int left_alone = 0;  // changed by somebody else since
  int gone = 0;        // threads or files that are no more
  int thawed = 0;
  std::vector<std::string> sentences;  // what was left alone or failed, and why
};
// Puts back one record. Never fails as a whole: what can't be put back is told.
UndoReport undo(const sys::Os& os, const JournalRecord& record);
// All journals of a folder; each file whose changes are back (or gone) is removed. A damaged one stays and is
// told.
UndoReport undo_all(const sys::Os& os, const std::string& folder);

}  // namespace nigh::watch
