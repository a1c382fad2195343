// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The cgroup (v2) of a process and its control files: the freezer and the cpuset, where we may write them. A
// cgroup acts on all who are in it, so callers ask first whether those are just the processes they mean.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "sys/os.hpp"

namespace nigh::sys {

struct Cgroup {
  std::string folder;  // absolute, below the Os's root: "/sys/fs/cgroup/user.slice/job"

  // Members, ascending; a cgroup in another pid namespace lists 0.
  [[nodiscard]] std::vector<int> members(const Os& os) const;
  // Only these processes, no other and no cgroup below.
  [[nodiscard]] bool holds_only(const Os& os, const std::vector<int>& pids) const;
  // The first line of a control file; empty: there is none or it is empty.
  [[nodiscard]] std::string get(const Os& os, const std::string& file) const;
  [[nodiscard]] bool writable(const Os& os, const std::string& file) const;
  // Written in place, as cgroup files want it. Errors: permission, io.
  Result<void> set(const Os& os, const std::string& file, const std::string& value) const;
};

// Error: unsupported: no cgroup v2, the process is in the root (which has no controls), or it is gone.
Result<Cgroup> cgroup_of(const Os& os, int pid);

// The cgroup of this process; also in the root. Error: unsupported: no cgroup v2.
struct CgroupPlace {
  Cgroup group;
  std::string mount;  // the root's folder
};
Result<CgroupPlace> own_place(const Os& os);

// The text over what is there, without a new file: for control files.
Result<void> write_in_place(const std::string& path, const std::string& text);

}  // namespace nigh::sys
