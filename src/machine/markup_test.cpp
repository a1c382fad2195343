// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Markup: what can't be made of a string, what is escaped, and what is passed on as it is.
#include "machine/markup.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "machine/draw.hpp"

namespace nigh {
namespace {

template <class Text>
constexpr bool is_no_markup =
    !std::is_constructible_v<Markup, Text> && !std::is_assignable_v<Markup&, Text> &&
    !std::is_constructible_v<MarkupLiteral, Text> && !std::is_constructible_v<MarkupFormat<int>, Text>;
template <class Text>
concept Appendable = requires(Markup markup, Text text) { markup += text; };
template <class Text>
concept Joinable = requires(Markup markup, Text text) { markup + text; };
template <class Value>
concept Formattable = requires(Value value) { in_markup(value); };

static_assert(is_no_markup<std::string> && is_no_markup<std::string_view> && is_no_markup<const char*>);
static_assert(is_no_markup<fmt::basic_runtime<char>> && is_no_markup<fmt::format_string<int>>);
static_assert(!Appendable<std::string> && !Appendable<std::string_view> && !Appendable<const char*>);
static_assert(!Appendable<char> && !Joinable<std::string> && !Joinable<const char*>);
static_assert(Appendable<Markup> && Joinable<Markup>);
static_assert(!Formattable<void*> && !Formattable<std::vector<std::string>>);
static_assert(!std::is_convertible_v<Markup, std::string> &&
              !std::is_convertible_v<Markup, std::string_view>);

TEST(Markup, LiteralsAreOurs) {
  Markup page("<p>");
  page += "{} & <br>";
  page = page + Markup("<i>") + "</i>";
  EXPECT_EQ(page.text(), "<p>{} & <br><i></i>");
  EXPECT_TRUE(Markup().empty());
  EXPECT_FALSE(page.empty());
}

TEST(Markup, TextsAreEscapedWhateverTheyAreHeldIn) {
  const std::string text = "<a href=\"x\">'&";
  const std::string expected = "&lt;a href=&quot;x&quot;&gt;&#39;&amp;";
  const char* pointer = text.c_str();
  EXPECT_EQ(escaped(text).text(), expected);
  EXPECT_EQ(markup("<b>{}</b>", text).text(), "<b>" + expected + "</b>");
  EXPECT_EQ(markup("{0}{0}", std::string_view(text)).text(), expected + expected);
  EXPECT_EQ(markup("{}", pointer).text(), expected);
  EXPECT_EQ(markup("{}{}", "<", '<').text(), "&lt;&lt;");
  EXPECT_EQ(markup("{}", fmt::format("{}", markup("<b>{}", text).text())).text().find('<'),
            std::string::npos);
}

TEST(Markup, NumbersAndMarkupPass) {
  const Markup inner = markup("<i>{}</i>", "<");
  EXPECT_EQ(markup("<td title=\"{2}\">{0:.1f}{1}</td>{{}}", 1.25, inner, 7U).text(),
            "<td title=\"7\">1.2<i>&lt;</i></td>{}");
  EXPECT_EQ(markup("{:+.{}f} {:>3} {}", 2.5, 2, 4, std::size_t{1} << 40).text(), "+2.50   4 1099511627776");
}

TEST(Markup, WhatIsNoCharacterOfAPageBecomesAQuestionMark) {
  EXPECT_EQ(escaped("a\x1b[31mb\n\tc\r\x7f").text(), "a?[31mb\n\tc??");
  EXPECT_EQ(escaped(std::string_view("\0<", 2)).text(), "?&lt;");
  EXPECT_EQ(escaped("\xff\xc0\x80 \xe2\x82 µ → 😀").text(), "??? ?? µ → 😀");
  EXPECT_EQ(escaped("\xc2\x85 \xed\xa0\x80 \xef\xbf\xbe").text(), "?? ??? ???");
  EXPECT_EQ(printable("a\n\tb"), "a??b");
  EXPECT_EQ(printable("a\n\tb\x01", "\n"), "a\n?b?");
}

}  // namespace
}  // namespace nigh
