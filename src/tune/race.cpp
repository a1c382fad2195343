// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "tune/race.hpp"

#include <algorithm>

namespace nigh::tune {

namespace {

struct Rule {
  std::size_t rounds;
  double slower;  // in each of them, by more than this factor
};
constexpr Rule rules[] = {{2, 1.20}, {3, 1.08}, {5, 1.0}};

}  // namespace

Race::Race(std::size_t candidates, double precision, std::size_t most_rounds)
    : runners_(candidates), precision_(precision), most_rounds_(most_rounds), over_(candidates < 2) {}

// Each round begins one candidate later: none is always the first, with cold caches.
std::optional<std::size_t> Race::next() const {
  if (over_) return std::nullopt;
  return (turn_ + round_) % runners_.size();
}

void Race::finished(double seconds) {
  runners_[*next()].seconds.push_back(seconds);
  advance();
}

void Race::failed() {
  runners_[*next()].in = false;
  advance();
}

void Race::advance() {
  do {
    if (++turn_ == runners_.size()) end_round();
  } while (!over_ && !runners_[*next()].in);
}

Ratio Race::ratio_to(std::size_t candidate, std::size_t other) const {
  std::vector<double> ratios;
  const std::vector<double>&own = times(candidate), &others = times(other);
  for (std::size_t i = 0; i < std::min(own.size(), others.size()); ++i) ratios.push_back(own[i] / others[i]);
  return ratio_of(ratios);
}

std::size_t Race::fastest() const {
  std::size_t best = runners_.size();
  for (std::size_t one = 0; one < runners_.size(); ++one)
    if (runners_[one].in && !times(one).empty() &&
        (best == runners_.size() || median_of(times(one)) < median_of(times(best))))
      best = one;
  return best == runners_.size() ? 0 : best;
}

std::size_t Race::leader() const {
  const std::size_t best = fastest();
  if (best == 0 || even_) return 0;
  // The best of many is partly the luckiest, so it has to be ahead by more than nothing.
  const Ratio seen = ratio(best);
  return (seen.known ? seen.high < 1 - precision_ / 2 : seen.median < 1 - precision_) ? best : 0;
}

bool Race::is_surely_slower(std::size_t candidate, std::size_t other) const {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(times(candidate).size(), times(other).size()); ++i)
    ratios.push_back(times(candidate)[i] / times(other)[i]);
  if (ratios.empty()) return false;
  const double least = *std::min_element(ratios.begin(), ratios.end());
  for (const Rule& rule : rules)
    if (ratios.size() >= rule.rounds && least > rule.slower) return true;
  const Ratio ratio = ratio_of(ratios);
  return ratio.known && ratio.low > 1;
}

void Race::end_round() {
  turn_ = 0;
  ++round_;
  const std::size_t best = fastest();
  for (std::size_t one = 1; one < runners_.size(); ++one)
    if (one != best && runners_[one].in && is_surely_slower(one, best)) runners_[one].in = false;
  const auto left = std::count_if(runners_.begin() + 1, runners_.end(), [](const Runner& r) { return r.in; });
  const bool all_known = round_ >= fewest_pairs;
  bool any_hope = false;
  for (std::size_t one = 1; one < runners_.size(); ++one)
    if (runners_[one].in) any_hope = any_hope || ratio(one).low < 1 - precision_;
  even_ = left == 0 || (all_known && !any_hope);
  // One that is left alone and surely faster has won.
  const bool won = left == 1 && best != 0 && all_known && ratio(best).high < 1 - precision_ / 2;
  over_ = even_ || won || round_ >= most_rounds_;
}

std::size_t Race::runs() const {
  std::size_t sum = 0;
  for (const Runner& runner : runners_) sum += runner.seconds.size();
  return sum;
}

}  // namespace nigh::tune
