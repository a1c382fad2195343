// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_view.hpp"

#include <algorithm>
#include <vector>

#include "report/ps_view.hpp"
#include "sys/task.hpp"

namespace nigh::report {

JobView::JobView(sys::Os os, int pid, std::string command, std::size_t most_threads)
    : os_(std::move(os)), pid_(pid), command_(std::move(command)), most_threads_(most_threads) {}

nlohmann::ordered_json JobView::look(double elapsed) {
  std::vector<int> pids = sys::descendants_of(os_, pid_);
  pids.insert(pids.begin(), pid_);
  std::sort(pids.begin(), pids.end());
  const double since = elapsed - last_;
  const bool is_first = last_ < 0 || since <= 0;
  decltype(cpu_time_) now;
  double cores = 0, megabytes = 0;
  std::size_t threads = 0;
  auto list = nlohmann::ordered_json::array();
  for (const ProcessView& process : processes(os_, pids)) {
    auto told = nlohmann::ordered_json::array();
    for (const ThreadView& thread : process.threads) {
      const std::pair key{process.pid, thread.tid};
      const auto before = cpu_time_.find(key);
      now.emplace(key, thread.cpu_seconds);
      // A new thread has had all its time since the last look.
      const double used = thread.cpu_seconds - (before == cpu_time_.end() ? 0 : before->second);
      const double busy = is_first ? 0 : std::clamp(used / since, 0.0, 1.0);
      cores += busy;
      if (++threads > most_threads_) continue;
      told.push_back({{"tid", thread.tid},
                      {"name", thread.name},
                      {"pus", thread.pus.to_list()},
                      {"cpu", thread.cpu},
                      {"busy", busy}});
    }
    megabytes += process.megabytes;
    if (told.empty()) continue;
    list.push_back({{"pid", process.pid},
                    {"command", process.command.substr(0, 400)},
                    {"megabytes", process.megabytes},
                    {"threads", std::move(told)}});
  }
  cpu_time_ = std::move(now);
  last_ = elapsed;
  return {{"format", "nigh-run-state"},
          {"version", 1},
          {"command", command_},
          {"elapsed", elapsed},
          {"cores", is_first ? nlohmann::ordered_json() : nlohmann::ordered_json(cores)},
          {"megabytes", megabytes},
          {"threads", threads},
          {"processes", std::move(list)}};
}

}  // namespace nigh::report
