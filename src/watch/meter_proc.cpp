// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel's own counts, for where perf_event_open is refused: by thread and node, without addresses, so
// there are no regions and sharing can't be seen. They change once per scan pass (some seconds).
#include <algorithm>
#include <map>

#include "sys/task.hpp"
#include "sys/threads.hpp"
#include "watch/meter.hpp"
#include "watch/numa_proc.hpp"
#include "watch/tally.hpp"

namespace nigh::watch {

namespace {

constexpr double proc_confidence = 0.4;

std::string sched_path(int pid, int tid) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/sched";
}

class ProcMeter : public Meter {
 public:
  explicit ProcMeter(const sys::Os& os) : os_(os) {}

  Result<void> follow(const std::vector<int>& pids) override {
    pids_ = pids;
    since_ = sys::now_seconds();
    std::map<int, ThreadFaults> kept;
    std::size_t threads = 0;
    Result<void> outcome;
    for (int pid : pids)
      for (int tid : sys::threads_of(os_, pid)) {
        ++threads;
        auto text = os_.read(sched_path(pid, tid));
        if (!text) outcome = tl::unexpected(text.error());
        if (auto state = text ? parse_sched(*text) : std::nullopt) kept[tid] = *state;
      }
    before_ = std::move(kept);
    if (!before_.empty() || pids.empty()) return {};
    if (!outcome) return outcome;
    return threads == 0 ? fail(Errc::io, "none of the processes to watch is there any more")
                        : fail(Errc::unsupported, "this kernel tells no NUMA faults in /proc/PID/sched");
  }

  Result<Reading> read() override {
    double began = sys::thread_seconds(), now = sys::now_seconds();
    Reading reading;
    reading.level = Level::proc;
    reading.seconds = now - since_;
    since_ = now;
    reading.note = "no addresses: which threads share memory is not seen";
    if (now < next_) return reading;  // what a look costs has not been paid for yet
    std::map<int, ThreadFaults> kept;
    for (int pid : pids_)
      for (int tid : sys::threads_of(os_, pid)) look(pid, tid, kept, reading);
    before_ = std::move(kept);
    reading.confidence = confidence_of(proc_confidence, reading.samples, 0, 0);
    double spent = sys::thread_seconds() - began;
    next_ = now + spent / most_meter_cost;
    reading.cost = reading.seconds > 0 ? spent / reading.seconds : 0;
    return reading;
  }

  void stop() override {
    pids_.clear();
    before_.clear();
  }

 private:
  void look(int pid, int tid, std::map<int, ThreadFaults>& kept, Reading& reading) {
    auto text = os_.read(sched_path(pid, tid));
    auto state = text ? parse_sched(*text) : std::nullopt;
    if (!state) return;
    auto old = before_.find(tid);
    auto fresh = fresh_faults(old != before_.end() ? old->second : ThreadFaults(), *state);
    kept[tid] = *std::move(state);
    double total = 0;
    for (double one : fresh) total += one;
    if (total == 0) return;
    reading.samples += static_cast<std::uint64_t>(total);
    auto facts = sys::task_facts(os_, pid, tid);
    reading.threads.push_back(
        {.pid = pid, .tid = tid, .cpu = facts ? facts->cpu : -1, .by_node = std::move(fresh)});
  }

  sys::Os os_;
  std::vector<int> pids_;
  std::map<int, ThreadFaults> before_;
  double since_ = 0, next_ = 0;
};

}  // namespace

std::unique_ptr<Meter> make_proc(const sys::Os& os) { return std::make_unique<ProcMeter>(os); }

MeterState probe_proc(const sys::Os& os) {
  MeterState state;
  state.level = Level::proc;
  state.name = "/proc counts";
  state.confidence = proc_confidence;
  state.sees = "faults by thread and node, once per scan; not who shares";
  auto text = os.read("/proc/self/sched");
  if (!text || !parse_sched(*text)) {
    state.missing =
        "/proc/PID/sched tells no NUMA faults: the kernel lacks CONFIG_SCHED_DEBUG or CONFIG_NUMA_BALANCING";
    return state;
  }
  state.usable = numa_balancing(os);
  if (state.usable) return state;
  state.missing = "the kernel counts nothing: kernel.numa_balancing is off";
  state.remedy = "as root: sysctl kernel.numa_balancing=1";
  return state;
}

}  // namespace nigh::watch
