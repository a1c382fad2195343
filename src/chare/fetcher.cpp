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
  bool fetches = one.ns[1] < clearly * one.ns[0];
  if (one.runs <= trial)
    fetches = one.runs % 2 == 0;
  else if (one.runs % look == 0)
    fetches = !fetches;
  return {fetches, true, entry, static_cast<std::uint8_t>(size)};
}

void Fetcher::took(const Choice& choice, std::int64_t ns) {
  if (!choice.counts) return;
  float& average = (*trials_[choice.entry])[choice.size].ns[choice.fetches ? 1 : 0];
  const auto time = static_cast<float>(ns);
  average = average == 0 ? time : average + weight * (std::min(time, most_at_once * average) - average);
}

void Fetcher::fetch(void* /*context*/, const void* /*place*/, void* data, std::size_t bytes) {
  const char* const first = static_cast<const char*>(data);
  for (std::size_t at = 0; at < std::min(bytes, most); at += 64) __builtin_prefetch(first + at);
}

}  // namespace nigh::chare
