// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A cgroup (v2) for a program that we start, below ours: it can then be stopped by the freezer instead of by
// signals, and its memory policies follow its cpuset. Made only where it is ours to make one: in the root of
// a machine or container, or in a cgroup that was delegated to us (cgroup-v2.rst, "Delegation";
// systemd-run --user --scope -p Delegate=yes).
#pragma once

#include <string>
#include <utility>

#include "base/result.hpp"
#include "sys/cgroup.hpp"
#include "sys/os.hpp"

namespace nigh::sys {

class OwnCgroup {
 public:
  // With the cpuset controller where it can be had: if our cgroup may not give it to a cgroup below because
  // we are in it ourselves, alone, we step into one below, too. What killed ones of us have left empty is
  // removed. Errors: unsupported (no cgroup v2, or ours is not to be divided), permission, io.
  static Result<OwnCgroup> make(const Os& os);
  OwnCgroup(OwnCgroup&& other) noexcept
      : os_(std::move(other.os_)), group_(std::exchange(other.group_, {})) {}
  OwnCgroup& operator=(OwnCgroup&&) = delete;
  OwnCgroup(const OwnCgroup&) = delete;
  OwnCgroup& operator=(const OwnCgroup&) = delete;
  ~OwnCgroup();  // removes it, unless somebody is still in it
  [[nodiscard]] const Cgroup& group() const { return group_; }
  // For start_program().
  [[nodiscard]] std::string procs_file() const { return os_.path(group_.folder + "/cgroup.procs"); }

 private:
  OwnCgroup(const Os& os, Cgroup group) : os_(os), group_(std::move(group)) {}
  Os os_;
  Cgroup group_;
};

}  // namespace nigh::sys
