// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The two laws, and what figures must be for them to make sense.
#include "machine/transfer.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "machine/machine.hpp"

namespace nigh {

namespace {
constexpr double most_figure = 1e12;

bool is_rate(double value) { return value > 0 && value <= most_figure; }
bool is_cost(double value) { return value >= 0 && value <= most_figure; }

double range_us(const NetworkRange& range, double bytes, int k) {
  const double others = k - 1;
  const double latency = range.latency_us * (1 + range.latency_growth * others);
  const double node = range.node_rate / (1 + range.rate_loss * others / k);
  return latency + k * bytes / std::min(node, k * range.process_rate);
}

Result<void> wrong(const std::string& what) { return fail(Errc::invalid, what); }
}  // namespace

double Network::message_seconds(double bytes, int k) const {
  double least = 0;  // us that the ranges below take for their largest message
  for (const NetworkRange& range : ranges) {
    const auto end = static_cast<double>(range.upto);
    const bool within = range.upto == 0 || bytes <= end;
    least = std::max(least, range_us(range, within ? bytes : end, k));
    if (within) break;
  }
  return least * 1e-6;
}

double Network::stream_seconds(double bytes, int k) const {
  if (stream_process_rate <= 0 || empty()) return 0;
  // Several processes may have less than one, as offers of some wait behind the data of others; two do so
  // already.
  const double rate = k == 1 || stream_node_rate <= 0 ? stream_process_rate
                                                      : std::min(stream_node_rate, k * stream_process_rate);
  return (ranges.front().latency_us + bytes / rate) * 1e-6;
}

Result<void> Network::validate() const {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const NetworkRange& range = ranges[i];
    const bool last = i + 1 == ranges.size();
    const std::string name = "range " + std::to_string(i) + " of the network ";
    if (last != (range.upto == 0))
      return wrong(name + "must have an end unless it is the last, and then none");
    if (!last && range.upto <= below) return wrong(name + "must end above the one before it");
    if (!is_cost(range.latency_us) || !is_rate(range.process_rate) || !is_rate(range.node_rate))
      return wrong(name + "must have a latency of 0 or more and rates above 0, at most 1e12");
    if (!is_cost(range.latency_growth) || !is_cost(range.rate_loss))
      return wrong(name + "must have a latency growth and a rate loss of 0 or more, at most 1e12");
    below = range.upto;
  }
  if (!is_cost(stream_process_rate) || !is_cost(stream_node_rate))
    return wrong("the network's rates of streams must be 0 or more, at most 1e12");
  if (empty() != (source == Source::unknown))
    return wrong("the network must have a source and ranges, or neither");
  return {};
}

double CopyRates::rate(double bytes, int threads, int groups) const {
  for (const CopyLevel& level : levels) {
    const int sharing = level.cores == 0 ? groups : std::min(groups, level.cores / std::max(threads, 1));
    const bool holds = sharing > 0 && bytes * sharing <= static_cast<double>(level.bytes);
    if (level.bytes == 0 || holds) return std::min(level.node_rate, level.core_rate * threads * groups);
  }
  return 0;
}

double CopyRates::barrier_seconds(int threads) const {
  return barrier_us * 1e-6 * std::log2(std::max(threads, 1));
}

Result<void> CopyRates::validate() const {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const CopyLevel& level = levels[i];
    const std::string name = "level " + std::to_string(i) + " of copying ";
    if ((i + 1 == levels.size()) != (level.bytes == 0))
      return wrong(name + "must have a size unless it is the last, the memory, and then none");
    if (i > 0 && level.bytes != 0 && level.bytes <= levels[i - 1].bytes)
      return wrong(name + "must be larger than the one before it");
    if (level.cores < 0 || !is_rate(level.core_rate) || !is_rate(level.node_rate))
      return wrong(name + "must have rates above 0, at most 1e12, and no negative number of cores");
  }
  if (!is_rate(transpose_powers) || !is_rate(transpose_others) || !is_cost(barrier_us) ||
      !is_cost(message_us))
    return wrong("copying must have parts for transposing above 0 and times of 0 or more, at most 1e12");
  if (empty() != (source == Source::unknown))
    return wrong("copying must have a source and levels, or neither");
  return {};
}

}  // namespace nigh
