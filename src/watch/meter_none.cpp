// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The lowest rung: measures nothing and says so. With it, whoever uses meters needs no case of its own for
// machines that let nobody look.
#include "sys/threads.hpp"
#include "watch/meter.hpp"

namespace nigh::watch {

namespace {
class NoMeter : public Meter {
 public:
  Result<void> follow(const std::vector<int>& /*pids*/) override {
    since_ = sys::now_seconds();
    return {};
  }
  Result<Reading> read() override {
    Reading reading;
    double now = sys::now_seconds();
    reading.seconds = now - since_;
    since_ = now;
    reading.note = "nothing is measured: advice rests on the machine alone";
    return reading;
  }
  void stop() override {}

 private:
  double since_ = sys::now_seconds();
};
}  // namespace

MeterState probe_none(const sys::Os& /*os*/) {
  return {.level = Level::none,
          .name = "nothing",
          .usable = true,
          .confidence = 0,
          .sees = "nothing: advice from the machine alone",
          .missing = "",
          .remedy = ""};
}

std::unique_ptr<Meter> make_none(const sys::Os& /*os*/) { return std::make_unique<NoMeter>(); }

}  // namespace nigh::watch
