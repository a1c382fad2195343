// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/suggest.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nigh {
namespace {

TEST(Suggest, NamesTheNearestWord) {
  const std::vector<std::string> words = {"run", "compare", "doctor", "ps"};
  EXPECT_EQ(suggestion(words, "rnu"), "; did you mean run?");
  EXPECT_EQ(suggestion(words, "comapre"), "; did you mean compare?");
  EXPECT_EQ(suggestion(words, "docter"), "; did you mean doctor?");
}

TEST(Suggest, SaysNothingWhereNoneIsNear) {
  const std::vector<std::string> words = {"run", "compare", "doctor", "ps"};
  EXPECT_EQ(suggestion(words, "xyz"), "");
  EXPECT_EQ(suggestion(words, "frobnicate"), "");
  EXPECT_EQ(suggestion(words, std::string(1000, 'r')), "");
  EXPECT_EQ(suggestion({}, "run"), "");
}

}  // namespace
}  // namespace nigh
