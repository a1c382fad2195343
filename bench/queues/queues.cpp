// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Queues of many producers and one consumer: nigh's, the three of seed 001, and other people's, by the same
// program. Each producer pushes 10 000 messages of 64 bytes; time runs from their start until the consumer
// has the last one.
//
//     pointer        messages are not touched
//     64 B message   written by the producer before, read by the consumer after
//     push           the producers alone, nobody takes meanwhile: ns of one push
//
// Around each batch a line goes to and fro between the first two CPUs: batches in which they were near (one
// cache) and far are never mixed, since a virtual machine may be moved between the two.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "queues.hpp"

namespace {

using bench::Batch;
using bench::Item;

constexpr double near_below = 120e-9;  // as the communication patterns have it
constexpr std::size_t items = bench::items;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<int> usable_cpus() {
  cpu_set_t may;
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof may, &may) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &may)) out.push_back(cpu);
  return out;
}

void sit_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// The consumer has the first CPU for itself where there are two; producers take turns on the others.
int cpu_of_producer(const std::vector<int>& cpus, int producer) {
  return cpus.size() < 2 ? cpus[0] : cpus[1 + static_cast<std::size_t>(producer) % (cpus.size() - 1)];
}

// Seconds that a line takes one way between the first two CPUs; 0: there is one.
double line_time(const std::vector<int>& cpus) {
  if (cpus.size() < 2) return 0;
  alignas(128) std::atomic<int> there = 0;
  alignas(128) std::atomic<int> back = 0;
  constexpr int rounds = 200;
  std::thread other([&] {
    sit_on(cpus[1]);
    for (int i = 1; i <= rounds; ++i) {
      while (there.load(std::memory_order_acquire) < i) {}
      back.store(i, std::memory_order_release);
    }
  });
  double best = 1;
  for (int i = 1; i <= rounds; ++i) {
    const double from = now();
    there.store(i, std::memory_order_release);
    while (back.load(std::memory_order_acquire) < i) {}
    if (i > rounds / 4) best = std::min(best, (now() - from) / 2);
  }
  other.join();
  return best;
}

struct Options {
  int producers = 1;
  bool quick = false;
  std::string queue = "nigh";
};

struct Result {
  std::string name;
  double value = 0;  // ns
  bool near = false;
};

// Median of the batches of the state that most were in; 0: the CPUs moved within each.
Result measure(const std::string& name, const Options& options, const std::vector<int>& cpus,
               const std::function<double()>& batch) {
  std::vector<double> times[2];
  const double begun = now(), patience = options.quick ? 0.5 : 2.0;
  const std::size_t wanted = options.quick ? 7 : 21;
  batch();
  while (times[0].size() < wanted && times[1].size() < wanted && now() - begun < patience) {
    const bool before = line_time(cpus) < near_below;
    const double each = batch();
    if ((line_time(cpus) < near_below) == before) times[before ? 1 : 0].push_back(each);
  }
  const bool near = times[1].size() >= times[0].size();
  std::vector<double>& most = times[near ? 1 : 0];
  if (most.empty()) return {name, 0, false};
  const auto middle = most.begin() + static_cast<std::ptrdiff_t>(most.size() / 2);
  std::nth_element(most.begin(), middle, most.end());
  return {name, 1e9 * *middle, near};
}

// One queue with its producers, who stay from batch to batch.
class Run {
 public:
  Run(const bench::Subject& subject, int producers, std::vector<int> cpus)
      : producers_(producers),
        cpus_(std::move(cpus)),
        queue_(subject.make(producers)),
        seconds_(static_cast<std::size_t>(producers), 0) {
    for (int p = 0; p < producers; ++p) {
      messages_.emplace_back(items);
      for (std::size_t i = 0; i < items; ++i) {
        messages_.back()[i].from = static_cast<std::uint32_t>(p);
        messages_.back()[i].number = static_cast<std::uint32_t>(i);
      }
    }
    sit_on(cpus_[0]);
    for (int p = 0; p < producers; ++p) threads_.emplace_back([this, p] { produce(p); });
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    start(Batch::end);
    for (std::thread& thread : threads_) thread.join();
  }

  // Seconds of one item.
  double batch(Batch kind) {
    const double from = start(kind);
    if (kind == Batch::push) wait_for_producers();
    queue_->consume(items * messages_.size(), kind, found_);
    const double spent = now() - from;
    wait_for_producers();
    if (kind == Batch::push) return *std::max_element(seconds_.begin(), seconds_.end()) / items;
    return spent / static_cast<double>(items * messages_.size());
  }

  // Each producer's order, and every byte. Returns how many were wrong.
  std::size_t verify() {
    found_ = {std::vector<std::size_t>(messages_.size(), 0), 0};
    batch(Batch::verify);
    for (const std::size_t count : found_.next) found_.wrong += count == items ? 0 : 1;
    return found_.wrong;
  }

 private:
  // Returns when they begin: awake, but not before all of them are.
  double start(Batch kind) {
    kind_ = kind;
    done_.store(0, std::memory_order_relaxed);
    awake_.store(0, std::memory_order_relaxed);
    const std::uint64_t turn = turn_.fetch_add(1, std::memory_order_release) + 1;
    turn_.notify_all();
    if (kind == Batch::end) return 0;
    while (awake_.load(std::memory_order_acquire) < producers_) std::this_thread::yield();
    const double from = now();
    go_.store(turn, std::memory_order_release);
    return from;
  }
  void wait_for_producers() {
    for (int done = 0; (done = done_.load(std::memory_order_acquire)) < producers_;) done_.wait(done);
  }
  void produce(int p) {
    const auto mine = static_cast<std::size_t>(p);
    sit_on(cpu_of_producer(cpus_, p));
    for (std::uint64_t turn = 0;; ++turn) {
      turn_.wait(turn, std::memory_order_acquire);
      if (kind_ == Batch::end) return;
      awake_.fetch_add(1, std::memory_order_release);
      for (unsigned looks = 1; go_.load(std::memory_order_acquire) <= turn; ++looks)
        if (looks % 256 == 0) std::this_thread::yield();
      const double from = now();
      queue_->produce(p, messages_[mine].data(), kind_);
      seconds_[mine] = now() - from;
      done_.fetch_add(1, std::memory_order_acq_rel);
      done_.notify_all();
    }
  }

  int producers_;
  std::vector<int> cpus_;
  std::unique_ptr<bench::Queue> queue_;
  std::vector<double> seconds_;
  std::vector<std::vector<Item>> messages_;
  bench::Found found_;
  Batch kind_ = Batch::pointer;
  alignas(64) std::atomic<std::uint64_t> turn_ = 0;
  alignas(64) std::atomic<std::uint64_t> go_ = 0;
  alignas(64) std::atomic<int> done_ = 0;
  std::atomic<int> awake_ = 0;
  std::vector<std::thread> threads_;
};

[[noreturn]] void usage() {
  std::fprintf(stderr, "usage: --queue NAME [--teams PRODUCERS] [--quick]; queues:");
  for (const bench::Subject& one : bench::subjects())
    std::fprintf(stderr, " %s%s", one.name.c_str(), one.make ? "" : " (not installed)");
  std::fprintf(stderr, "\n");
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (word == "--quick") {
      out.quick = true;
      continue;
    }
    if (!value) usage();
    ++i;
    if (word == "--teams")
      out.producers = std::atoi(value);
    else if (word == "--queue")
      out.queue = value;
    else
      usage();
  }
  if (out.producers < 1 || out.producers > 1024) usage();
  return out;
}

const bench::Subject& find(const std::string& name) {
  for (const bench::Subject& one : bench::subjects())
    if (one.name == name) {
      if (one.make) return one;
      std::fprintf(stderr, "%s is not installed: %s\n", name.c_str(), one.missing.c_str());
      std::exit(3);
    }
  usage();
}

void report(const std::vector<Result>& results, const std::vector<int>& placement, std::size_t wrong) {
  bool near = true;
  for (const Result& one : results) near = near && one.near;
  std::printf("{\"program\":\"queues\",\"size_bytes\":0,\"core_state\":\"%s\",\"placement\":[",
              placement.size() < 2 ? "n/a"
              : near               ? "near"
                                   : "far");
  for (std::size_t i = 0; i < placement.size(); ++i) std::printf("%s%d", i > 0 ? "," : "", placement[i]);
  std::printf("],\"verified\":%s,\"errors\":[", wrong == 0 ? "true" : "false");
  if (wrong != 0) std::printf("\"%zu messages were lost, doubled, wrong or out of order\"", wrong);
  std::printf("],\"results\":[");
  const char* comma = "";
  for (const Result& one : results) {
    if (one.value <= 0) continue;
    std::printf("%s{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"ns\",\"core_state\":\"%s\"}", comma,
                one.name.c_str(), one.value,
                placement.size() < 2 ? "n/a"
                : one.near           ? "near"
                                     : "far");
    comma = ",";
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const bench::Subject& subject = find(options.queue);
  const std::vector<int> cpus = usable_cpus();
  if (cpus.empty()) return std::fprintf(stderr, "no CPU may be used\n"), 1;
  Run run(subject, options.producers, cpus);
  std::size_t wrong = run.verify();
  std::vector<Result> results;
  for (const auto& [name, kind] :
       {std::pair("pointer", Batch::pointer), {"64 B message", Batch::message}, {"push", Batch::push}})
    results.push_back(measure(name, options, cpus, [&, kind = kind] { return run.batch(kind); }));
  wrong += run.verify();
  std::vector<int> placement = {cpus[0]};
  for (int p = 0; p < options.producers; ++p) placement.push_back(cpu_of_producer(cpus, p));
  report(results, cpus.size() < 2 ? std::vector<int>{cpus[0]} : placement, wrong);
  return wrong == 0 ? 0 : 1;
}
