// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Reading a team spec. The text is cut at commas first and judged token by token, so that a message can say
// which token is wrong rather than that something is.
#include "plan/spec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>

#include "base/suggest.hpp"

namespace nigh {

namespace {
constexpr std::array<const char*, 4> names = {"compact", "scatter", "subcompact", "subscatter"};
constexpr const char* strategies_text = "compact, scatter, subcompact or subscatter";
constexpr const char* size_text = "a team size from 1 to 65536";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Cuts at commas, trims, lowers ASCII letters.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (auto& token : out) {
    while (!token.empty() && is_blank(token.back())) token.pop_back();
    token.erase(token.begin(), std::find_if_not(token.begin(), token.end(), is_blank));
  }
  return out;
}

// The quotation in a message: printable and short, whatever was typed.
std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string out = "'";
  for (char c : text.substr(0, longest)) out += (c >= ' ' && c <= '~') ? c : '?';
  return out + (text.size() > longest ? "...'" : "'");
}

std::optional<Strategy> strategy_of(std::string_view token) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (token == names[i]) return static_cast<Strategy>(i);
  return std::nullopt;
}

bool all_digits(std::string_view token) {
  return !token.empty() &&
         std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Reader {
  std::string_view text;
  std::vector<std::string> tokens;

  [[nodiscard]] tl::unexpected<Error> wrong(std::size_t index, const std::string& what) const {
    return fail(Errc::invalid, "token " + std::to_string(index + 1) + " (" + quoted(tokens[index]) +
                                   ") of the team spec " + quoted(text) + ' ' + what);
  }

  [[nodiscard]] tl::unexpected<Error> empty(std::size_t index, const char* expected) const {
    bool last = index + 1 == tokens.size();
    return fail(Errc::invalid, "token " + std::to_string(index + 1) + " of the team spec " + quoted(text) +
                                   " is empty; expected " + expected +
                                   (last ? ", or no comma at the end" : " between the commas"));
  }

  [[nodiscard]] Result<int> size(std::size_t index) const {
    const auto& token = tokens[index];
    if (token.empty()) return empty(index, size_text);
    if (strategy_of(token))
      return wrong(index, std::string("is a strategy, but ") + size_text +
                              " is expected there; the size comes first, as in 4,scatter");
    int value = 0;
    auto [end, ec] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (!all_digits(token)) return wrong(index, std::string("is not a number; expected ") + size_text);
    if (ec != std::errc() || value > TeamSpec::max_size)
      return wrong(index, std::string("is too large; expected ") + size_text);
    if (value < 1) return wrong(index, std::string("is too small; expected ") + size_text);
    return value;
  }

  [[nodiscard]] Result<Strategy> strategy(std::size_t index) const {
    if (index >= tokens.size())
      return wrong(index - 1, "has no strategy after it; expected " + std::string(strategies_text) +
                                  " as token " + std::to_string(index + 1));
    const auto& token = tokens[index];
    if (token.empty()) return empty(index, strategies_text);
    if (auto found = strategy_of(token)) return *found;
    if (all_digits(token))
      return wrong(index, "is a number, but a strategy is expected there: " + std::string(strategies_text));
    return wrong(index, "is not a strategy; expected " + std::string(strategies_text) +
                            suggestion(std::vector<std::string>(names.begin(), names.end()), token));
  }
};
}  // namespace

const char* strategy_name(Strategy strategy) { return names[static_cast<std::size_t>(strategy)]; }

Result<TeamSpec> TeamSpec::parse(std::string_view text) {
  Reader reader{text, tokens_of(text)};
  if (reader.tokens.size() == 1 && reader.tokens[0].empty())
    return fail(Errc::invalid,
                "the team spec is empty; expected size,strategy pairs, as in 4,scatter,2,subcompact");
  if (reader.tokens.size() > std::size_t{2} * max_levels)
    return fail(Errc::invalid, "the team spec " + quoted(text) + " has " +
                                   std::to_string((reader.tokens.size() + 1) / 2) + " levels; at most " +
                                   std::to_string(max_levels) + " are planned");
  TeamSpec spec;
  for (std::size_t i = 0; i < reader.tokens.size(); i += 2) {
    auto size = reader.size(i);
    if (!size) return tl::unexpected(size.error());
    auto strategy = reader.strategy(i + 1);
    if (!strategy) return tl::unexpected(strategy.error());
    spec.levels.push_back({*size, *strategy});
  }
  return spec;
}

std::string TeamSpec::to_string() const {
  std::string out;
  for (const auto& level : levels)
    out += (out.empty() ? "" : ",") + std::to_string(level.size) + ',' + strategy_name(level.strategy);
  return out;
}

Strategy TeamSpec::strategy(int level) const {
  auto index = static_cast<std::size_t>(level - 1);
  return index < levels.size() ? levels[index].strategy : Strategy::subcompact;
}

int TeamSpec::weight(int level, int limit) const {
  std::int64_t product = 1;
  for (auto i = static_cast<std::size_t>(level); i < levels.size(); ++i)
    product = std::min<std::int64_t>(product * levels[i].size, limit);
  return static_cast<int>(product);
}

}  // namespace nigh
