// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The best rung: the processor samples memory accesses with their addresses. What a cache served is dropped,
// the rest goes into the tally with its period. Where the PMU can't follow threads (IBS before Linux 6.2) it
// is opened on every CPU, and strangers' samples are dropped.
#include <algorithm>
#include <cerrno>

#include "sys/threads.hpp"
#include "watch/data_source.hpp"
#include "watch/meter.hpp"
#include "watch/pmu_plan.hpp"
#include "watch/tally.hpp"
#include "watch/thread_events.hpp"

namespace nigh::watch {

namespace {

constexpr double pmu_confidence = 1.0;
constexpr std::size_t spe_aux_bytes = std::size_t{1} << 18;

struct Probed {
  PmuPlan plan;
  bool by_cpu = false;
};

bool kernel_too(const sys::Os& os) { return sys::may_perfmon(os) || sys::perf_paranoid(os) <= 1; }

// Plans, then opens the sampling event on ourselves, and if it can't follow a thread, on CPU 0.
Result<Probed> try_pmu(const sys::Os& os) {
  auto plan = plan_pmu(os, kernel_too(os));
  if (!plan) return tl::unexpected(plan.error());
  Result<void> outcome;
  for (bool by_cpu : {false, true}) {
    sys::PerfEvent leader;
    int tid = by_cpu ? -1 : 0, cpu = by_cpu ? 0 : -1;
    if (plan->attrs.size() == 2) {
      auto opened = sys::PerfEvent::open(plan->attrs[0], tid, cpu);
      if (!opened) return tl::unexpected(opened.error());
      leader = std::move(*opened);
    }
    auto event = sys::PerfEvent::open(plan->attrs.back(), tid, cpu, leader.opened() ? &leader : nullptr);
    if (event) return Probed{*std::move(plan), by_cpu};
    outcome = tl::unexpected(event.error());
    if (event.error().sys_errno != EINVAL || plan->kind != PmuKind::ibs) break;
  }
  return fail_in(plan->name, outcome.error());
}

class PmuMeter : public Meter {
 public:
  PmuMeter(const sys::Os& os, Probed probed)
      : plan_(std::move(probed.plan)),
        by_cpu_(probed.by_cpu),
        events_(os, plan_.attrs,
                {.by_cpu = by_cpu_, .aux_bytes = plan_.kind == PmuKind::spe ? spe_aux_bytes : 0}),
        nodes_(os) {}

  Result<void> follow(const std::vector<int>& pids) override {
    pids_ = pids;
    since_ = sys::now_seconds();
    return events_.follow(pids);
  }

  Result<Reading> read() override {
    double began = sys::thread_seconds();
    Reading reading;
    reading.level = Level::pmu;
    accesses_ = 0;
    events_.drain([&](const EventBatch& batch) { take(batch, reading); });
    double now = sys::now_seconds();
    tally_.into(reading, nodes_, now);
    reading.seconds = now - since_;
    since_ = now;
    reading.confidence = confidence_of(pmu_confidence, reading.samples, reading.lost, reading.unplaced);
    if (plan_.rate_known && reading.seconds > 0) reading.rate = accesses_ / (reading.seconds * 1e6);
    if (events_.refused() > 0)
      reading.note = std::to_string(events_.refused()) + " events could not be opened (" +
                     events_.reason().message + ")";
    reading.cost = reading.seconds > 0 ? (sys::thread_seconds() - began) / reading.seconds : 0;
    adapt(reading.cost);
    return reading;
  }

  void pages_moved() override { nodes_.forget(); }

  void stop() override {
    events_.clear();
    tally_ = Tally();
  }

 private:
  void take(const EventBatch& batch, Reading& reading) {
    reading.lost += batch.records.lost + batch.records.malformed + batch.records.throttled;
    if (plan_.kind == PmuKind::spe) return take_spe(batch, reading);
    for (const sys::PerfSample& one : batch.records.samples) {
      Source source = source_of(one.data_source);
      std::uint64_t address = one.address;
      if (plan_.kind == PmuKind::ibs && source == Source::unknown) {
        IbsOp op = parse_ibs_op(one.raw);
        source = op.source;
        if (address == 0) address = op.address;
      }
      if (from_memory(source))
        add({one.pid, one.tid, one.cpu, address,
             static_cast<double>(std::max<std::uint64_t>(1, one.period))});
    }
  }

  void take_spe(const EventBatch& batch, Reading& reading) {
    SpeBatch spe = parse_spe(batch.aux, batch.aux_offset);
    for (const sys::PerfAux& aux : batch.records.aux)
      if ((aux.flags & PERF_AUX_FLAG_TRUNCATED) != 0) ++reading.lost;
    for (const SpeRecord& one : spe.records)
      if (one.memory_op && from_memory(source_of(one, plan_.neoverse)))
        add({batch.pid, batch.tid, -1, one.address, 1});
  }

  void add(const Access& access) {
    constexpr std::uint64_t kernel_half = std::uint64_t{1} << 55;
    if (access.address == 0 || (access.address & kernel_half) != 0) return;
    if (std::find(pids_.begin(), pids_.end(), access.pid) == pids_.end()) return;
    accesses_ += access.weight;
    tally_.add(access);
  }

  // Half as many samples while they take too much of a core; never back up, so that readings stay comparable.
  void adapt(double cost) {
    perf_event_attr& attr = plan_.attrs.back();
    if (cost <= most_meter_cost) return;
    if (attr.freq != 0 && attr.sample_freq > 10)
      attr.sample_freq /= 2;
    else if (attr.freq == 0)
      attr.sample_period *= 2;
    events_.set_period(attr.sample_period);
  }

  PmuPlan plan_;
  bool by_cpu_;
  ThreadEvents events_;
  NodeFinder nodes_;
  Tally tally_;
  std::vector<int> pids_;
  double since_ = 0, accesses_ = 0;
};

}  // namespace

MeterState probe_pmu(const sys::Os& os) {
  MeterState state;
  state.level = Level::pmu;
  state.name = "processor's address samples";
  state.confidence = pmu_confidence;
  state.sees = "single accesses to memory, with address and node";
  auto probed = try_pmu(os);
  if (probed) {
    state.name = probed->plan.name;
    state.usable = true;
    if (probed->by_cpu) state.missing = "it can't follow threads (Linux before 6.2), so all CPUs are sampled";
    return state;
  }
  state.missing = probed.error().message;
  if (probed.error().code == Errc::permission)
    state.remedy = "sysctl kernel.perf_event_paranoid=1 or lower (now " +
                   std::to_string(sys::perf_paranoid(os)) +
                   "), or give nigh CAP_PERFMON: setcap cap_perfmon,cap_sys_ptrace+ep";
  return state;
}

std::unique_ptr<Meter> make_pmu(const sys::Os& os) {
  auto probed = try_pmu(os);
  if (!probed) return make_none(os);
  return std::make_unique<PmuMeter>(os, *std::move(probed));
}

}  // namespace nigh::watch
