// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/wave.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "chare/pe.hpp"

namespace nigh::chare {

namespace {
constexpr std::int64_t shortest_pause = 1'000, longest_pause = 1'000'000, long_idle = 1'000'000'000;  // ns
}

Waves::Waves(Pe& pe) : pe_(pe), begun_(message::now_ns()), told_at_(begun_) {}

void Waves::ask(const Callback& then) {
  asked_.push_back(then);
  pause_ = next_ = 0;
}

// With the next wave, whether a PE is idle or not.
void Waves::tell() {
  tells_ = true;
  if (under_way_) return;
  under_way_ = true;
  begin();
}

void Waves::idle(bool since_now) {
  if (under_way_) return;
  const std::int64_t now = message::now_ns();
  if (since_now) idle_since_ = now;
  if (now < next_ || (asked_.empty() && now - idle_since_ < long_idle)) return;
  under_way_ = true;
  begin();
}

void Waves::on_count() { begin(); }

void Waves::begin() {
  sums_ = {};
  missing_ = 0;
  for (std::uint32_t i = 1; i <= tree_arity; ++i) {
    const std::uint32_t child = tree_arity * pe_.number() + i;
    if (child >= pe_.count()) break;
    if (Header* message = pe_.system(System::count, 0, 0)) {
      pe_.forward(child, message);
      ++missing_;
    }
  }
  if (missing_ == 0) end();
}

void Waves::on_counted(const core::Header* message) {
  const auto theirs = Pe::payload_of<Sums>(message);
  sums_.sent += theirs.sent;
  sums_.done += theirs.done;
  sums_.timers += theirs.timers;
  if (--missing_ == 0) end();
}

// All below have answered.
void Waves::end() {
  sums_.sent += pe_.sent_;
  sums_.done += pe_.done_;
  sums_.timers += pe_.timers_.size() - (pe_.number() == 0 && pe_.kind_.progress > 0 ? 1 : 0);
  if (pe_.number() != 0) {
    if (Header* message = pe_.system(System::counted, 0, sums_))
      pe_.forward((pe_.number() - 1) / tree_arity, message);
    return;
  }
  under_way_ = false;
  if (std::exchange(tells_, false)) {
    const std::int64_t now = message::now_ns();
    std::fprintf(stderr, "nigh chare: %.1f s: %llu messages, %.0f a second now, %lld under way\n",
                 static_cast<double>(now - begun_) * 1e-9, static_cast<unsigned long long>(sums_.done),
                 static_cast<double>(sums_.done - told_) * 1e9 / static_cast<double>(now - told_at_),
                 static_cast<long long>(sums_.sent - sums_.done));
    told_ = sums_.done;
    told_at_ = now;
  }
  const bool quiet = sums_.sent == sums_.done && sums_ == before_;
  before_ = sums_;
  pause_ = std::clamp(2 * pause_, shortest_pause, longest_pause);
  next_ = message::now_ns() + (asked_.empty() ? long_idle / 4 : pause_);
  if (!quiet) return;
  before_ = {};
  if (asked_.empty() && sums_.timers == 0)
    pe_.fail("no message is left and no timer, but finish() was not called");
  for (const Callback& then : std::exchange(asked_, {})) pe_.call(then);
}

}  // namespace nigh::chare
