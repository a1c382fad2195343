// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The behaviour of threads and pages in the guest: a thread is where it was sent, a page is where it was
// first touched, or where its policy or move_pages put it, and /proc says the same.
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "expect.hpp"
#include "pages.hpp"

namespace {

constexpr std::size_t some = 32;

// Runs in the kernel's default policy and on all CPUs again when it ends.
class Restore {
 public:
  Restore() { sched_getaffinity(0, sizeof old_, &old_); }
  ~Restore() {
    sched_setaffinity(0, sizeof old_, &old_);
    syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0UL);
  }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  cpu_set_t old_{};
};

void first_touch(const Expect& expect, Report& report) {
  const int before = report.failed();
  const Restore restore;
  for (const auto& [node, facts] : expect.nodes) {
    if (facts.cpus == 0) continue;
    const int cpu = expect.first_cpu_of(node);
    pin(cpu);
    Pages pages(some);
    report.check("first touch", pages.where().count(-ENOENT) == 1, "untouched pages have a node already");
    pages.touch();
    report.check("first touch", pages.all_on(node), "CPU %d's pages are not on node %d", cpu, node);
  }
  report.done("first touch", before);
}

void policies(const Expect& expect, Report& report) {
  const int before = report.failed();
  const Restore restore;
  for (const auto& [node, facts] : expect.nodes) {
    Pages bound(some);
    report.check("mbind", bound.bind(MPOL_BIND, node) == 0, "node %d: %s", node, std::strerror(errno));
    bound.touch();
    report.check("mbind", bound.all_on(node), "MPOL_BIND did not put the pages on node %d", node);
    const unsigned long mask[2] = {1UL << node, 0};
    report.check("set_mempolicy", syscall(SYS_set_mempolicy, MPOL_BIND, mask, 129UL) == 0, "%s",
                 std::strerror(errno));
    Pages later(some);
    later.touch();
    report.check("set_mempolicy", later.all_on(node), "MPOL_BIND did not put the pages on node %d", node);
    syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0UL);
  }
  const int nodes = static_cast<int>(expect.nodes.size());
  const unsigned long all[2] = {nodes >= 64 ? ~0UL : (1UL << nodes) - 1, 0};
  syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, all, 129UL);
  Pages spread(static_cast<std::size_t>(nodes) * 4);
  spread.touch();
  for (const auto& [node, count] : spread.where())
    report.check("interleave", count == 4, "%d pages on node %d, not 4", count, node);
  report.done("mbind, set_mempolicy", before);
}

void moves(const Expect& expect, Report& report) {
  const int before = report.failed();
  Pages pages(some);
  pages.touch();
  for (const auto& [node, facts] : expect.nodes) {
    const std::vector<int> status = pages.move_to(node);
    const bool good = std::all_of(status.begin(), status.end(), [node = node](int s) { return s == node; });
    report.check("move_pages", good, "moving to node %d gave %d", node, status.front());
    report.check("move_pages", pages.all_on(node), "the pages are not on node %d afterwards", node);
  }
  const std::vector<int> refused = pages.move_to(static_cast<int>(expect.nodes.size()));
  report.check("move_pages", refused.front() == -ENODEV, "a node that is not there gave %d", refused.front());
  report.done("move_pages", before);
}

std::string maps_line(const std::string& maps, const char* base) {
  char address[32];
  std::snprintf(address, sizeof address, "%lx ", reinterpret_cast<unsigned long>(base));
  std::istringstream in(maps);
  for (std::string line; std::getline(in, line);)
    if (line.rfind(address, 0) == 0) return line;
  return "";
}

std::string status_field(const std::string& status, const std::string& name) {
  const std::size_t start = status.find("\n" + name + ":\t");
  if (start == std::string::npos) return "";
  const std::size_t value = start + name.size() + 3;
  return status.substr(value, status.find('\n', value) - value);
}

// Another process's binding, as a watcher reads it.
void other_process(const Expect& expect, Report& report) {
  const int cpu = expect.cpus.rbegin()->first;
  int ready[2];
  if (pipe(ready) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    pin(cpu);
    const char go = 1;
    _exit(write(ready[1], &go, 1) == 1 && pause() ? 0 : 1);
  }
  char go = 0;
  report.check("/proc/PID/status", read(ready[0], &go, 1) == 1, "the child did not start");
  const std::string list =
      status_field(slurp("/proc/" + std::to_string(child) + "/status"), "Cpus_allowed_list");
  report.check("/proc/PID/status", list == std::to_string(cpu), "Cpus_allowed_list is %s, not %d",
               list.c_str(), cpu);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace

void check_affinity(const Expect& expect, Report& report) {
  const int before = report.failed();
  const Restore restore;
  for (const auto& [number, wanted] : expect.cpus) {
    unsigned cpu = 0, node = 0;
    report.check("affinity", pin(number), "CPU %d: %s", number, std::strerror(errno));
    syscall(SYS_getcpu, &cpu, &node, nullptr);
    report.check("affinity", static_cast<int>(cpu) == number && static_cast<int>(node) == wanted.node,
                 "sent to CPU %d of node %d, getcpu says %u of %u", number, wanted.node, cpu, node);
    cpu_set_t seen;
    sched_getaffinity(0, sizeof seen, &seen);
    report.check("affinity", CPU_COUNT(&seen) == 1 && CPU_ISSET(static_cast<unsigned>(number), &seen),
                 "the mask read back is not {%d}", number);
  }
  const int beyond = expect.cpus.rbegin()->first + 1;
  report.check("affinity", !pin(beyond) && errno == EINVAL, "CPU %d, which is not there, was accepted",
               beyond);
  report.done("affinity, getcpu", before);
}

void check_memory(const Expect& expect, Report& report) {
  first_touch(expect, report);
  policies(expect, report);
  moves(expect, report);
}

void check_proc(const Expect& expect, Report& report) {
  const int before = report.failed();
  for (const auto& [node, facts] : expect.nodes) {
    Pages pages(some);
    pages.bind(MPOL_BIND, node);
    pages.touch();
    const std::string line = maps_line(slurp("/proc/self/numa_maps"), pages.base());
    const std::string policy = " bind:" + std::to_string(node) + " ";
    const std::string count = " N" + std::to_string(node) + "=" + std::to_string(some) + " ";
    report.check("numa_maps", line.find(policy) != std::string::npos && line.find(count) != std::string::npos,
                 "node %d: \"%s\"", node, line.c_str());
  }
  const std::string nodes = expect.nodes.size() == 1 ? "0" : "0-" + std::to_string(expect.nodes.size() - 1);
  const std::string mems = status_field(slurp("/proc/self/status"), "Mems_allowed_list");
  report.check("/proc/self/status", mems == nodes, "Mems_allowed_list is %s, not %s", mems.c_str(),
               nodes.c_str());
  other_process(expect, report);
  report.done("numa_maps, /proc/PID/status", before);
}

int main(int argc, char** argv) {
  const Expect expect = read_expect(argc > 1 ? argv[1] : "/out/expect");
  Report report;
  if (!report.check("expect", !expect.cpus.empty() && !expect.nodes.empty(), "no facts to check")) return 1;
  check_topology(expect, report);
  check_hmat(expect, report);
  check_affinity(expect, report);
  check_memory(expect, report);
  check_proc(expect, report);
  return report.failed() == 0 ? 0 : 1;
}
