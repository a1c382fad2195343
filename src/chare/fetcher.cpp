// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/fetcher.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace nigh::chare {

namespace {

constexpr float clearly = 0.95F;   // what is as good without is left alone
constexpr float weight = 0.125F;   // of the newest time
constexpr float most_at_once = 4;  // times the average: whoever was preempted tells nothing
constexpr float worth_it = 1000;   // ns: shorter ones don't read much
constexpr std::uint32_t cold = 4, trial = cold + 16, longest_look = 1023;

}  // namespace

Fetcher::Choice Fetcher::choose(std::uint16_t entry, std::size_t bytes) {
  if (bytes < least || entry >= trials_.size()) return {};
  std::unique_ptr<Trials>& trials = trials_[entry];
  if (!trials) {
    trials.reset(new (std::nothrow) Trials);
    if (!trials) return {};
  }
  const auto size = std::min<unsigned>(static_cast<unsigned>(std::bit_width(bytes / least)) - 1, sizes - 1);
  Trial& one = (*trials)[size];
  ++one.runs;
  bool fetches = one.ns[1] != 0 && one.ns[1] < clearly * one.ns[0];
  if (one.runs <= trial) {
    fetches = one.runs > cold && std::popcount(one.runs) % 2 == 0;  // in no rhythm that a program has
  } else if (--one.until_look == 0) {
    // The next one later, as long as what is found stays the same.
    one.distance = fetches == one.fetched ? std::min(2 * one.distance + 1, longest_look) : first_look;
    one.until_look = one.distance;
    one.fetched = fetches;
    fetches = !fetches;
  }
  if (one.ns[0] < worth_it && one.ns[0] != 0) fetches = false;
  return {fetches, true, entry, static_cast<std::uint8_t>(size)};
}

void Fetcher::took(const Choice& choice, std::int64_t ns) {
  if (!choice.counts) return;
  Trial& one = (*trials_[choice.entry])[choice.size];
  float& average = one.ns[choice.fetches ? 1 : 0];
  const auto time = static_cast<float>(ns);
  if (one.runs <= trial)
    average = average == 0 ? time : std::min(average, time);
  else
    average = average == 0 ? time : average + weight * (std::min(time, most_at_once * average) - average);
}

void Fetcher::fetch(void* /*context*/, const void* /*place*/, void* data, std::size_t bytes) {
  const char* const first = static_cast<const char*>(data);
  for (std::size_t at = 0; at < std::min(bytes, most); at += 64) __builtin_prefetch(first + at);
}

}  // namespace nigh::chare
