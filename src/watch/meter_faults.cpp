// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A software PEBS: every page fault of the watched threads is a sample with its address. The kernel counts
// the event before it handles the fault, so the size of the page at that moment tells a first touch (no page
// yet: not traffic, but allocation) from a page that was there and was hidden to see who comes. Costs are
// held down on both sides: the period doubles while we take too much of a core, and pages are write-protected
// only as often as the faults that follow are worth.
#include "watch/meter_faults.hpp"

#include <algorithm>

#include "sys/pages.hpp"
#include "sys/soft_dirty.hpp"
#include "sys/threads.hpp"
#include "watch/numa_proc.hpp"
#include "watch/tally.hpp"
#include "watch/thread_events.hpp"

namespace nigh::watch {

namespace {

constexpr std::uint64_t many_samples = 1000;  // fewer are not what costs
constexpr int quiet_readings = 8;             // after so many cheap ones, all faults are looked at again
constexpr double fault_seconds = 1.5e-6;      // what a fault takes from the watched thread
constexpr double clear_share = 0.004;         // of one core, for write-protecting
constexpr double victim_share = 0.01;         // of each watched thread's time, for faults that we provoke
constexpr double kernel_confidence = 0.8, soft_dirty_confidence = 0.5;

class FaultMeter : public Meter {
 public:
  FaultMeter(const sys::Os& os, Provoker provoker, bool first_touches, bool page_sizes)
      : os_(os),
        provoker_(provoker),
        first_touches_(first_touches),
        page_sizes_(page_sizes),
        events_(os, {fault_attr(page_sizes)}),
        nodes_(os) {}

  Result<void> follow(const std::vector<int>& pids) override {
    pids_ = pids;
    auto followed = events_.follow(pids);
    if (!followed) return followed;
    since_ = sys::now_seconds();
    moved_ = pages_moved_by_kernel(os_);
    return provoke(since_, 0);
  }

  Result<Reading> read() override {
    double began = sys::thread_seconds();
    Reading reading;
    reading.level = Level::faults;
    events_.drain([&](const EventBatch& batch) { take(batch.records, reading); });
    double now = sys::now_seconds();
    tally_.into(reading, nodes_, now);
    double looked = sys::thread_seconds() - began;
    reading.seconds = now - since_;
    since_ = now;
    double most = provoker_ == Provoker::kernel ? kernel_confidence : soft_dirty_confidence;
    reading.confidence = confidence_of(most, reading.samples, reading.lost, reading.unplaced);
    if (auto provoked = provoke(now, static_cast<double>(reading.samples) * static_cast<double>(period_));
        !provoked)
      troubled_ = provoked.error().message;
    reading.note = note();
    adapt(reading.seconds > 0 ? looked / reading.seconds : 0, reading);
    reading.cost = reading.seconds > 0 ? (sys::thread_seconds() - began) / reading.seconds : 0;
    return reading;
  }

  void pages_moved() override { nodes_.forget(); }

  void stop() override {
    events_.clear();
    pids_.clear();
    tally_ = Tally();
  }

 private:
  void take(const sys::PerfBatch& batch, Reading& reading) {
    reading.lost += batch.lost + batch.malformed;
    for (const sys::PerfSample& one : batch.samples) {
      if (page_sizes_ && !first_touches_ && one.page_bytes == 0) continue;
      double pages = one.page_bytes == 0 ? 1.0 : static_cast<double>(one.page_bytes) / page_;
      tally_.add({.pid = one.pid,
                  .tid = one.tid,
                  .cpu = one.cpu,
                  .address = one.address,
                  .weight = pages * static_cast<double>(std::max<std::uint64_t>(one.period, 1))});
    }
  }

  // `cost` of looking at the faults alone: a larger period makes write-protecting no cheaper. Losses raise
  // the period, too: every second fault is a fair sample, what a full ring lets through is not.
  void adapt(double cost, const Reading& reading) {
    bool full = reading.lost * 10 > reading.samples;
    bool dear = cost > most_meter_cost && reading.samples > many_samples;
    quiet_ = cost < most_meter_cost / 4 && reading.lost == 0 ? quiet_ + 1 : 0;
    std::uint64_t next = period_;
    if ((dear || full) && period_ < 1024) next = period_ * 2;
    if (quiet_ >= quiet_readings && period_ > 1) next = period_ / 2;
    if (next == period_) return;
    quiet_ = 0;
    period_ = next;
    events_.set_period(period_);
  }

  // Write-protects again once the last time, and the faults it led to, have been paid for.
  Result<void> provoke(double now, double faults) {
    if (provoker_ != Provoker::soft_dirty) return {};
    faults_ += faults;
    double threads = std::max<double>(1, static_cast<double>(events_.threads()));
    if (now - cleared_ <
        std::max({1.0, clear_took_ / clear_share, faults_ * fault_seconds / victim_share / threads}))
      return {};
    Result<void> outcome;
    std::size_t done = 0;
    double began = sys::thread_seconds();
    for (int pid : pids_) {
      auto cleared = sys::clear_soft_dirty(os_, pid);
      done += cleared ? 1 : 0;
      if (!cleared) outcome = cleared;
    }
    clear_took_ = sys::thread_seconds() - began;
    cleared_ = now;
    faults_ = 0;
    return done > 0 ? Result<void>() : outcome;
  }

  std::string note() {
    std::string text;
    auto say = [&](const std::string& sentence) { text += (text.empty() ? "" : "; ") + sentence; };
    if (provoker_ == Provoker::soft_dirty) say("writes only");
    if (!page_sizes_) say("first touches are counted, too (Linux 5.11 tells them apart)");
    if (period_ > 1) say("one fault in " + std::to_string(period_) + " is looked at, to keep the cost down");
    if (events_.refused() > 0)
      say(std::to_string(events_.refused()) + " threads are not seen (" + events_.reason().message + ")");
    if (!troubled_.empty()) say(troubled_);
    troubled_.clear();
    std::uint64_t moved = pages_moved_by_kernel(os_);
    if (moved > moved_)
      say("the kernel itself moved " + std::to_string(moved - moved_) + " pages on this machine meanwhile");
    moved_ = moved;
    return text;
  }

  sys::Os os_;
  Provoker provoker_;
  bool first_touches_, page_sizes_;
  ThreadEvents events_;
  NodeFinder nodes_;
  Tally tally_;
  std::vector<int> pids_;
  double page_ = static_cast<double>(sys::page_bytes());
  double since_ = 0, cleared_ = -1e9, clear_took_ = 0, faults_ = 0;
  std::uint64_t period_ = 1, moved_ = 0;
  int quiet_ = 0;  // readings in a row that cost little and lost nothing
  std::string troubled_;
};

// Opens the event on ourselves with a ring, as start would.
Result<void> try_event(bool page_sizes) {
  auto event = sys::PerfEvent::open(fault_attr(page_sizes), 0, -1);
  if (!event) return tl::unexpected(event.error());
  return event->map(8);
}

Provoker provoker_here(const sys::Os& os) {
  if (numa_balancing(os)) return Provoker::kernel;
  return sys::soft_dirty_works() ? Provoker::soft_dirty : Provoker::nobody;
}

}  // namespace

perf_event_attr fault_attr(bool page_sizes) {
  perf_event_attr attr = {};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_PAGE_FAULTS;
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
                     PERF_SAMPLE_PERIOD | (page_sizes ? std::uint64_t{PERF_SAMPLE_DATA_PAGE_SIZE} : 0);
  attr.disabled = 1;
  attr.exclude_kernel = attr.exclude_hv = 1;  // all that perf_event_paranoid 2 allows, and all we need
  return attr;
}

std::unique_ptr<Meter> make_fault_meter(const sys::Os& os, Provoker provoker, bool count_first_touches) {
  return std::make_unique<FaultMeter>(os, provoker, count_first_touches, try_event(true).has_value());
}

std::unique_ptr<Meter> make_faults(const sys::Os& os) {
  return make_fault_meter(os, provoker_here(os), false);
}

MeterState probe_faults(const sys::Os& os) {
  MeterState state;
  state.level = Level::faults;
  state.name = "page faults";
  state.sees = "who touches which page, once per scan of the memory";
  state.confidence = kernel_confidence;
  auto tried = try_event(false);
  if (!tried) {
    state.missing = tried.error().message;
    state.remedy =
        "sysctl kernel.perf_event_paranoid=2 (now " + std::to_string(sys::perf_paranoid(os)) +
        ") or CAP_PERFMON (Debian's value 3 asks for CAP_SYS_ADMIN); a container must allow perf_event_open";
    return state;
  }
  Provoker provoker = provoker_here(os);
  state.usable = provoker != Provoker::nobody;
  if (provoker == Provoker::kernel) state.name = "page faults (kernel NUMA hints)";
  if (provoker == Provoker::soft_dirty) {
    state.name = "page faults (soft-dirty)";
    state.confidence = soft_dirty_confidence;
    state.sees = "who writes which page, once in a while";
    state.missing = "reads are not seen: kernel.numa_balancing is 0";
  }
  if (provoker == Provoker::nobody)
    state.missing =
        "nothing makes pages fault again: kernel.numa_balancing is off and the kernel lacks "
        "CONFIG_MEM_SOFT_DIRTY";
  if (provoker != Provoker::kernel) state.remedy = "as root: sysctl kernel.numa_balancing=1";
  if (!state.usable || sys::may_perfmon(os)) return state;
  state.missing += std::string(state.missing.empty() ? "" : "; ") + "other users' processes are not seen";
  state.remedy += std::string(state.remedy.empty() ? "" : "; ") +
                  "for others' processes: setcap cap_perfmon,cap_sys_ptrace+ep on nigh";
  return state;
}

}  // namespace nigh::watch
