// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/own_cgroup.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "sys/task.hpp"

namespace nigh::sys {

namespace {

const std::string prefix = "nigh-watch-", self_prefix = "nigh-self-";

// True if cgroups below this one are ours to make. Root could everywhere, but systemd owns cgroups that it
// has not delegated.
bool divisible(const Os& os, const std::string& folder, const std::string& mount) {
  if (folder == mount) return true;
  const std::string path = os.path(folder);
  struct stat facts = {};
  if (::geteuid() != 0) return ::stat(path.c_str(), &facts) == 0 && facts.st_uid == ::geteuid();
  char yes = '0';
  return (::getxattr(path.c_str(), "user.delegate", &yes, 1) == 1 ||
          ::getxattr(path.c_str(), "trusted.delegate", &yes, 1) == 1) &&
         yes == '1';
}

// The cgroups of those of us who were killed; one that is not empty stays.
void sweep(const Os& os, const std::string& folder) {
  for (const std::string& name : os.list(folder))
    for (const std::string& start : {prefix, self_prefix}) {
      const int pid = name.rfind(start, 0) == 0 ? std::atoi(name.c_str() + start.size()) : 0;
      if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH)
        static_cast<void>(::rmdir(os.path(folder + "/" + name).c_str()));
    }
}

// A cgroup with processes may not give controllers to those below it, the root excepted: if all of them are
// ours, they step aside.
void step_aside(const Os& os, const Cgroup& here) {
  std::vector<int> ours = descendants_of(os, ::getpid());
  ours.push_back(::getpid());
  const std::vector<int> all = here.members(os);
  const bool alone = std::all_of(all.begin(), all.end(),
                                 [&](int pid) { return std::count(ours.begin(), ours.end(), pid) != 0; });
  const Cgroup aside{here.folder + "/" + self_prefix + std::to_string(::getpid())};
  if (!alone || ::mkdir(os.path(aside.folder).c_str(), 0755) != 0) return;
  for (const int pid : all) static_cast<void>(aside.set(os, "cgroup.procs", std::to_string(pid)));
}

}  // namespace

Result<OwnCgroup> OwnCgroup::make(const Os& os) {
  auto here = own_place(os);
  if (!here) return tl::unexpected(here.error());
  const Cgroup& ours = here->group;
  if (!divisible(os, ours.folder, here->mount))
    return fail(Errc::unsupported, ours.folder +
                                       " was not delegated to us (systemd-run --user --scope -p "
                                       "Delegate=yes makes one that is)");
  sweep(os, ours.folder);
  const Cgroup made{ours.folder + "/" + prefix + std::to_string(::getpid())};
  if (::mkdir(os.path(made.folder).c_str(), 0755) != 0 && errno != EEXIST) {
    const int error = errno;
    return fail(error == EACCES || error == EPERM || error == EROFS ? Errc::permission : Errc::io,
                "can't make the cgroup " + made.folder + ": " + std::strerror(error), error);
  }
  if (auto given = ours.set(os, "cgroup.subtree_control", "+cpuset");
      !given && given.error().sys_errno == EBUSY) {
    step_aside(os, ours);
    static_cast<void>(ours.set(os, "cgroup.subtree_control", "+cpuset"));  // without, it can still be frozen
  }
  return OwnCgroup(os, made);
}

OwnCgroup::~OwnCgroup() {
  if (!group_.folder.empty()) static_cast<void>(::rmdir(os_.path(group_.folder).c_str()));
}

}  // namespace nigh::sys
