// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/suggest.hpp"

#include <algorithm>
#include <vector>

namespace nigh {

namespace {

// Letters to change, add, drop or swap with their neighbour to get from one word to the other.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string suggestion(std::span<const std::string> words, std::string_view typed) {
  constexpr std::size_t longest = 20;
  constexpr int farthest = 3;
  if (typed.size() > longest || words.empty()) return {};
  const auto closest =
      std::min_element(words.begin(), words.end(), [&](const std::string& a, const std::string& b) {
        return edit_distance(typed, a) < edit_distance(typed, b);
      });
  // A short word is another one after three changes.
  if (edit_distance(typed, *closest) > std::min(farthest, static_cast<int>(closest->size()) - 1)) return {};
  return "; did you mean " + *closest + "?";
}

}  // namespace nigh
