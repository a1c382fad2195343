// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The spec of a user: team sizes and placement strategies, one pair per nesting level, outermost first
// ("4,scatter,2,subcompact"). The text is typed by people into an environment variable, far from where it is
// read, so every wrong spec gets one sentence that names the token, quotes it and says what belongs there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace nigh {

// compact: close together. scatter: as far apart as possible. sub*: the same, but within the neighbourhood
// (territory) of the thread that opens the team.
enum class Strategy : std::uint8_t { compact, scatter, subcompact, subscatter };

const char* strategy_name(Strategy strategy);
inline bool is_scatter(Strategy s) { return s == Strategy::scatter || s == Strategy::subscatter; }
inline bool is_sub(Strategy s) { return s == Strategy::subcompact || s == Strategy::subscatter; }

struct TeamLevel {
  int size = 1;
  Strategy strategy = Strategy::subcompact;
  friend bool operator==(const TeamLevel&, const TeamLevel&) = default;
};

struct TeamSpec {
  static constexpr int max_levels = 16;
  static constexpr int max_size = 65536;

  std::vector<TeamLevel> levels;

  // Upper case and blanks around a token are tolerated. Tokens are numbered from 1 in messages.
  static Result<TeamSpec> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;

  // Strategy of a level (1 is the outermost); levels beyond the spec behave as subcompact.
  [[nodiscard]] Strategy strategy(int level) const;
  // Threads that one thread of a team at `level` stands for: the product of the deeper sizes, at most
  // `limit`.
  [[nodiscard]] int weight(int level, int limit) const;
  // Product of all sizes, at most `limit`.
  [[nodiscard]] int threads(int limit) const { return weight(0, limit); }

  friend bool operator==(const TeamSpec&, const TeamSpec&) = default;
};

}  // namespace nigh
