// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A race between candidates whose times are known only by running them: in each round every candidate that is
// still in the race runs once, so that slow drifts of the machine hit all alike, and candidates that are
// surely slower than the leader leave. Candidate 0 is what is done without a choice, and stays to the end.
// Pure: the caller runs the programs.
//
// A candidate leaves that was slower than the leader in each of 2 rounds by 20 %, of 3 by 8 %, of 5 at all
// (5 coins out of 5 on one side: 3 %); later, one whose interval of ratios (compare_ratio.hpp) is above 1.
// Racing of this kind: Maron and Moore, "The racing algorithm", Artificial Intelligence Review 11, 1997.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tune/ratio.hpp"

namespace nigh::tune {

class Race {
 public:
  // `precision`: differences below it are of no interest. Ends after `most_rounds` at the latest.
  Race(std::size_t candidates, double precision, std::size_t most_rounds = 12);

  // The candidate to run next; nullopt: the race is over.
  [[nodiscard]] std::optional<std::size_t> next() const;
  // The candidate that next() named took so long.
  void finished(double seconds);
  // .. or it failed, and leaves.
  void failed();
  void stop() { over_ = true; }

  // The fastest by its median; candidate 0 where that is not surely faster than it.
  [[nodiscard]] std::size_t leader() const;
  [[nodiscard]] bool is_in(std::size_t candidate) const { return runners_[candidate].in; }
  [[nodiscard]] const std::vector<double>& times(std::size_t candidate) const {
    return runners_[candidate].seconds;
  }
  // The ratio of a candidate's times to those of candidate 0 in the same rounds.
  [[nodiscard]] Ratio ratio(std::size_t candidate) const { return ratio_to(candidate, 0); }
  [[nodiscard]] std::size_t runs() const;
  // Nobody is faster than candidate 0 by more than the precision.
  [[nodiscard]] bool is_even() const { return even_; }

 private:
  struct Runner {
    bool in = true;
    std::vector<double> seconds;  // of rounds 0, 1, .. until it left
  };
  [[nodiscard]] Ratio ratio_to(std::size_t candidate, std::size_t other) const;
  [[nodiscard]] std::size_t fastest() const;
  [[nodiscard]] bool is_surely_slower(std::size_t candidate, std::size_t other) const;
  void end_round();
  void advance();

  std::vector<Runner> runners_;
  double precision_;
  std::size_t most_rounds_, round_ = 0, turn_ = 0;
  bool over_ = false, even_ = false;
};

}  // namespace nigh::tune
