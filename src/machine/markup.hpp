// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Markup: HTML or SVG into which no text of others gets unescaped, because no other way is there to make it.
// It begins with literals of ours, formats take values and escape those that are texts, and pieces of markup
// join. A std::string does not convert to it. Values stand between tags or in quoted attributes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace nigh {

// Markup of ours: what a compiler has seen.
class MarkupLiteral {
 public:
  template <std::size_t N>
  consteval MarkupLiteral(const char (&text)[N]) : text_(text, N - 1) {}
  [[nodiscard]] constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

class Markup {
 public:
  Markup() = default;
  Markup(MarkupLiteral literal) : text_(literal.text()) {}

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

  Markup& operator+=(const Markup& more) {
    text_ += more.text_;
    return *this;
  }
  Markup& operator+=(MarkupLiteral more) {
    text_ += more.text();
    return *this;
  }
  friend Markup operator+(Markup first, const Markup& second) { return std::move(first += second); }
  friend Markup operator+(Markup first, MarkupLiteral second) { return std::move(first += second); }

 private:
  friend Markup escaped(std::string_view text);
  template <class... Values>
  friend class MarkupFormat;

  std::string text_;
};

// A text as it may stand in text and in attributes. What is no character of a page, control characters but
// newlines and tabs, and bytes that are not UTF-8, becomes '?'.
Markup escaped(std::string_view text);

// The formatted form of a value: markup itself, the escaped form of a text, a number as it is.
inline Markup in_markup(Markup markup) { return markup; }
inline Markup in_markup(const std::same_as<char> auto& character) { return escaped({&character, 1}); }
template <class Text>
  requires std::convertible_to<const Text&, std::string_view>
Markup in_markup(const Text& text) {
  return escaped(text);
}
template <class Number>
  requires(std::is_arithmetic_v<Number> && !std::same_as<Number, char>)
Number in_markup(Number number) {
  return number;
}

}  // namespace nigh

// Without a width or a precision: they would cut entities.
template <>
struct fmt::formatter<nigh::Markup> {
  static constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  static auto format(const nigh::Markup& markup, fmt::format_context& context) {
    return std::copy(markup.text().begin(), markup.text().end(), context.out());
  }
};

namespace nigh {

// A literal that is checked against the values when it is compiled; there is none of a string.
template <class... Values>
class MarkupFormat {
 public:
  template <std::size_t N>
  consteval MarkupFormat(const char (&text)[N]) : text_(text) {}
  [[nodiscard]] Markup operator()(const Values&... values) const {
    Markup out;
    out.text_ = fmt::format(text_, in_markup(values)...);
    return out;
  }

 private:
  fmt::format_string<decltype(in_markup(std::declval<const Values&>()))...> text_;
};

// markup("<td class=\"n\">{:.1f}</td><td>{}</td>", number, text)
template <class... Values>
Markup markup(std::type_identity_t<MarkupFormat<Values...>> format, const Values&... values) {
  return format(values...);
}

}  // namespace nigh
