// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// cgroup v2 is found from the mounts (it lies at /sys/fs/cgroup, at /sys/fs/cgroup/unified beside v1, or
// elsewhere), the process's place in it from the line "0::PATH" of /proc/PID/cgroup.
#include "sys/cgroup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

namespace nigh::sys {

namespace {
std::string mount_point(const Os& os) {
  std::istringstream lines(os.read("/proc/self/mounts").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, where, type;
    if (words >> what >> where >> type && type == "cgroup2") return where;
  }
  return "";
}

// "/" for the root.
std::string path_in_v2(const Os& os, const std::string& process) {
  std::istringstream lines(os.read("/proc/" + process + "/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("0::/", 0) == 0) return line.substr(3);
  return "";
}
}  // namespace

Result<Cgroup> cgroup_of(const Os& os, int pid) {
  std::string mount = mount_point(os);
  if (mount.empty()) return fail(Errc::unsupported, "no cgroup v2 is mounted here");
  std::string path = path_in_v2(os, std::to_string(pid));
  if (path.size() > 1 && os.exists(mount + path + "/cgroup.procs")) return Cgroup{mount + path};
  return fail(Errc::unsupported, "process " + std::to_string(pid) + " has no cgroup of its own");
}

Result<CgroupPlace> own_place(const Os& os) {
  std::string mount = mount_point(os), path = path_in_v2(os, "self");
  if (mount.empty() || path.empty()) return fail(Errc::unsupported, "no cgroup v2 is mounted here");
  return CgroupPlace{{path == "/" ? mount : mount + path}, mount};
}

std::vector<int> Cgroup::members(const Os& os) const {
  std::vector<int> out;
  std::istringstream words(os.read(folder + "/cgroup.procs").value_or(""));
  for (int pid = 0; words >> pid;) out.push_back(pid);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool Cgroup::holds_only(const Os& os, const std::vector<int>& pids) const {
  std::vector<int> inside = members(os);
  if (inside.empty()) return false;
  for (int pid : inside)
    if (std::find(pids.begin(), pids.end(), pid) == pids.end()) return false;
  for (const std::string& name : os.list(folder))
    if (os.exists(folder + "/" + name + "/cgroup.procs")) return false;
  return true;
}

std::string Cgroup::get(const Os& os, const std::string& file) const {
  return os.read_line(folder + "/" + file).value_or("");
}

bool Cgroup::writable(const Os& os, const std::string& file) const {
  return ::access(os.path(folder + "/" + file).c_str(), W_OK) == 0;
}

Result<void> Cgroup::set(const Os& os, const std::string& file, const std::string& value) const {
  return write_in_place(os.path(folder + "/" + file), value);
}

Result<void> write_in_place(const std::string& path, const std::string& text) {
  int fd = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  // An empty value is a newline: the kernel never sees a write of nothing.
  std::string line = text + "\n";
  if (fd >= 0 && ::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) error = errno;
  if (fd >= 0) ::close(fd);
  if (error == 0) return {};
  return fail(error == EACCES || error == EPERM ? Errc::permission : Errc::io,
              "can't write \"" + text + "\" to " + path + ": " + std::strerror(error), error);
}

}  // namespace nigh::sys
