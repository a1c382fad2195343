// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers and words of the environment: what is one, and what anything else gets.
#include "sys/variables.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "sys/cpu_list.h"

namespace nigh::sys {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

const char* given = nullptr;  // what every variable has
const char* all_have_it(const char* name, void*) {
  return std::strncmp(name, "NIGH_TEST", 9) == 0 ? given : nullptr;
}

TEST(Variables, ANumberIsDigitsThatFit) {
  const auto number = [](const char* text, std::uint64_t least = 0, std::uint64_t most = largest) {
    std::uint64_t out = 0;
    return whole_number(text, least, most, out) ? std::to_string(out) : std::string("none");
  };
  EXPECT_EQ(number("0"), "0");
  EXPECT_EQ(number("007"), "7");
  EXPECT_EQ(number("18446744073709551615"), "18446744073709551615");
  for (const char* junk : {"", "abc", "-1", "+1", " 1", "1 ", "1\n", "0x10", "1e9", "1.5", "nan", "inf",
                           "4,5", "18446744073709551616", "99999999999999999999"})
    EXPECT_EQ(number(junk), "none") << '"' << junk << '"';
  EXPECT_EQ(number("4", 4, 5) + number("5", 4, 5), "45");
  EXPECT_EQ(number("3", 4, 5) + number("6", 4, 5), "nonenone");
}

TEST(Variables, WhatIsNoNumberIsToldOnceAndCountsAsNotSet) {
  testing::internal::CaptureStderr();
  given = "0x10";
  EXPECT_EQ(number_in_variable("NIGH_TEST_A", 1, 100, 7, all_have_it), 7U);
  EXPECT_EQ(number_in_variable("NIGH_TEST_A", 1, 100, 7, all_have_it), 7U);
  given = "\033[31m\n";
  EXPECT_EQ(number_in_variable("NIGH_TEST_B", 1, 100, 8, all_have_it), 8U);
  given = "42";
  EXPECT_EQ(number_in_variable("NIGH_TEST_C", 1, 100, 9, all_have_it), 42U);
  given = nullptr;
  EXPECT_EQ(number_in_variable("NIGH_TEST_D", 1, 100, 10, all_have_it), 10U);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "nigh: NIGH_TEST_A='0x10': it may be a whole number from 1 to 100; it counts as not set\n"
            "nigh: NIGH_TEST_B='?[31m?': it may be a whole number from 1 to 100; it counts as not set\n");
}

TEST(Variables, AWordIsOneOfThoseThatThereAre) {
  testing::internal::CaptureStderr();
  const auto word = [](const char* text) {
    given = text;
    return word_in_variable("NIGH_TEST_WORD", {"spin", "yield", "sleep"}, all_have_it);
  };
  EXPECT_EQ(word("spin"), 0);
  EXPECT_EQ(word("sleep"), 2);
  EXPECT_EQ(word(nullptr), -1);
  EXPECT_EQ(word(""), -1);
  EXPECT_EQ(word("Spin"), -1);
  EXPECT_EQ(word("spin "), -1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "nigh: NIGH_TEST_WORD='Spin': it may be spin, yield or sleep; it counts as not set\n");
}

TEST(Variables, OneRankOfANodeSpeaks) {
  testing::internal::CaptureStderr();
  const Lookup second = [](const char* name, void*) {
    return std::strcmp(name, "OMPI_COMM_WORLD_LOCAL_RANK") == 0 ? "1" : "junk";
  };
  EXPECT_EQ(number_in_variable("NIGH_TEST_RANKS", 1, 100, 7, second), 7U);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Variables, AListOfPusIsRangesOfDigits) {
  const auto list = [](const char* text) {
    std::string out;
    long first = 0, last = 0;
    while (nigh_next_cpus(&text, 99, &first, &last)) {
      out += std::to_string(first) + "-" + std::to_string(last) + ";";
      if (*text == '\0') return out;
    }
    return std::string("none");
  };
  EXPECT_EQ(list("3"), "3-3;");
  EXPECT_EQ(list("0-5,8,10-10"), "0-5;8-8;10-10;");
  for (const char* junk : {"", "abc", "-1", "1-", "1,", ",1", "5-3", "1 ", " 1", "0x10", "1e9", "1-2-3",
                           "100", "99999999999999999999", "1-99999999999999999999", "nan", "1,,2"})
    EXPECT_EQ(list(junk), "none") << '"' << junk << '"';
}

}  // namespace
}  // namespace nigh::sys
