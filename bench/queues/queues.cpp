// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Queues of many producers and one consumer: nigh's, the three of Mei (Charm++ Workshop 2008), and other
// people's, by the same program. Each producer pushes 10 000 messages of 64 bytes; time runs from their start
// until the consumer has the last one.
//
//     pointer        messages are not touched
//     64 B message   written by the producer before, read by the consumer after
//     push           the producers alone, nobody takes meanwhile: ns of one push
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/batches.hpp"
#include "queues.hpp"

namespace {

using bench::Batch;
using bench::Item;
using bench::now;

constexpr std::size_t items = bench::items;

struct Options {
  int producers = 1;
  bool quick = false;
  std::string queue = "nigh";
};

// One queue with its producers.
class Run {
 public:
  Run(const bench::Subject& subject, int producers, const std::vector<int>& cpus)
      : queue_(subject.make(producers)),
        seconds_(static_cast<std::size_t>(producers), 0),
        messages_(messages_of(producers)),
        producers_(producers, cpus, [this](int p) { produce(p); }) {
    bench::sit_on(cpus[0]);
  }

  // Seconds of one item.
  double batch(Batch kind) {
    kind_ = kind;
    const double from = producers_.start();
    if (kind == Batch::push) producers_.wait();
    queue_->consume(items * messages_.size(), kind, found_);
    const double spent = now() - from;
    producers_.wait();
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
  static std::vector<std::vector<Item>> messages_of(int producers) {
    std::vector<std::vector<Item>> out;
    for (int p = 0; p < producers; ++p) {
      out.emplace_back(items);
      for (std::size_t i = 0; i < items; ++i) {
        out.back()[i].from = static_cast<std::uint32_t>(p);
        out.back()[i].number = static_cast<std::uint32_t>(i);
      }
    }
    return out;
  }
  void produce(int p) {
    const auto mine = static_cast<std::size_t>(p);
    const double from = now();
    queue_->produce(p, messages_[mine].data(), kind_);
    seconds_[mine] = now() - from;
  }

  std::unique_ptr<bench::Queue> queue_;
  std::vector<double> seconds_;
  std::vector<std::vector<Item>> messages_;
  bench::Found found_;
  Batch kind_ = Batch::pointer;
  bench::Producers producers_;  // last: they use the others
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

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const bench::Subject& subject = find(options.queue);
  const std::vector<int> cpus = bench::usable_cpus();
  if (cpus.empty()) return std::fprintf(stderr, "no CPU may be used\n"), 1;
  Run run(subject, options.producers, cpus);
  std::size_t wrong = run.verify();
  std::vector<bench::Measured> results;
  for (const auto& [name, kind] :
       {std::pair("pointer", Batch::pointer), {"64 B message", Batch::message}, {"push", Batch::push}})
    results.push_back(
        bench::measure(name, options.quick, cpus, [&, kind = kind] { return run.batch(kind); }));
  wrong += run.verify();
  bench::report(
      "queues", results, cpus, options.producers,
      wrong == 0 ? "" : std::to_string(wrong) + " messages were lost, doubled, wrong or out of order");
  return wrong == 0 ? 0 : 1;
}
