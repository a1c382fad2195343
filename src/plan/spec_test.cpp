// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The team spec: every wrong form gets exactly its sentence, every right one survives print and parse.
#include "plan/spec.hpp"

#include <gtest/gtest.h>

#include <random>

namespace nigh {
namespace {

std::string message_of(const std::string& text) {
  auto spec = TeamSpec::parse(text);
  return spec ? "accepted as " + spec->to_string() : spec.error().message;
}

TEST(TeamSpec, ReadsPairsOutermostFirst) {
  auto spec = TeamSpec::parse("4,scatter,2,subcompact");
  ASSERT_TRUE(spec);
  ASSERT_EQ(spec->levels.size(), 2u);
  EXPECT_EQ(spec->levels[0], (TeamLevel{4, Strategy::scatter}));
  EXPECT_EQ(spec->levels[1], (TeamLevel{2, Strategy::subcompact}));
}

TEST(TeamSpec, ToleratesBlanksAndUpperCase) {
  EXPECT_EQ(message_of(" 4 ,\tSCATTER, 2,SubCompact \n"), "accepted as 4,scatter,2,subcompact");
  EXPECT_EQ(message_of("65536,compact"), "accepted as 65536,compact");
  EXPECT_EQ(message_of("007,subscatter"), "accepted as 7,subscatter");
}

struct Wrong {
  const char* text;
  const char* message;
};

class WrongSpec : public testing::TestWithParam<Wrong> {};

TEST_P(WrongSpec, GetsItsSentence) {
  auto spec = TeamSpec::parse(GetParam().text);
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, Errc::invalid);
  EXPECT_EQ(spec.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Sentences, WrongSpec,
    testing::Values(
        Wrong{"", "the team spec is empty; expected size,strategy pairs, as in 4,scatter,2,subcompact"},
        Wrong{"  \t", "the team spec is empty; expected size,strategy pairs, as in 4,scatter,2,subcompact"},
        Wrong{"4",
              "token 1 ('4') of the team spec '4' has no strategy after it; expected compact, scatter, "
              "subcompact or subscatter as token 2"},
        Wrong{"4,scatter,2",
              "token 3 ('2') of the team spec '4,scatter,2' has no strategy after it; expected "
              "compact, scatter, subcompact or subscatter as token 4"},
        Wrong{"scatter,4",
              "token 1 ('scatter') of the team spec 'scatter,4' is a strategy, but a team size from "
              "1 to 65536 is expected there; the size comes first, as in 4,scatter"},
        Wrong{"4,2",
              "token 2 ('2') of the team spec '4,2' is a number, but a strategy is expected there: compact, "
              "scatter, subcompact or subscatter"},
        Wrong{"0,scatter",
              "token 1 ('0') of the team spec '0,scatter' is too small; expected a team size from 1 "
              "to 65536"},
        Wrong{"65537,scatter",
              "token 1 ('65537') of the team spec '65537,scatter' is too large; expected a team "
              "size from 1 to 65536"},
        Wrong{"4,scatter,99999999999999999999,compact",
              "token 3 ('99999999999999999999') of the team spec '4,scatter,99999999999999999999,compact' is "
              "too "
              "large; expected a team size from 1 to 65536"},
        Wrong{"-4,scatter",
              "token 1 ('-4') of the team spec '-4,scatter' is not a number; expected a team size "
              "from 1 to 65536"},
        Wrong{"4x,scatter",
              "token 1 ('4x') of the team spec '4x,scatter' is not a number; expected a team size "
              "from 1 to 65536"},
        Wrong{"4,scater",
              "token 2 ('scater') of the team spec '4,scater' is not a strategy; expected compact, "
              "scatter, subcompact or subscatter; did you mean scatter?"},
        Wrong{"4,scatter,2,subcomapct",
              "token 4 ('subcomapct') of the team spec '4,scatter,2,subcomapct' is not a strategy; expected "
              "compact, scatter, subcompact or subscatter; did you mean subcompact?"},
        Wrong{"4,close",
              "token 2 ('close') of the team spec '4,close' is not a strategy; expected compact, "
              "scatter, subcompact or subscatter"},
        Wrong{"4,scatter,",
              "token 3 of the team spec '4,scatter,' is empty; expected a team size from 1 to 65536, "
              "or no comma at the end"},
        Wrong{"4,",
              "token 2 of the team spec '4,' is empty; expected compact, scatter, subcompact or subscatter, "
              "or no comma at the end"},
        Wrong{",4,scatter",
              "token 1 of the team spec ',4,scatter' is empty; expected a team size from 1 to 65536 "
              "between the commas"},
        Wrong{"4,,scatter",
              "token 2 of the team spec '4,,scatter' is empty; expected compact, scatter, subcompact "
              "or subscatter between the commas"},
        Wrong{"4 scatter",
              "token 1 ('4 scatter') of the team spec '4 scatter' is not a number; expected a team "
              "size from 1 to 65536"},
        Wrong{"4,\x01scatter",
              "token 2 ('?scatter') of the team spec '4,?scatter' is not a strategy; expected "
              "compact, scatter, subcompact or subscatter; did you mean scatter?"}));

TEST(TeamSpec, LimitsItsDepth) {
  std::string deepest = "1,compact";
  for (int i = 1; i < TeamSpec::max_levels; ++i) deepest += ",1,compact";
  EXPECT_EQ(message_of(deepest), "accepted as " + deepest);
  EXPECT_EQ(
      message_of(deepest + ",1,compact"),
      "the team spec '1,compact,1,compact,1,compact,1,compact,1,compact,1,compact,...' has 17 levels; at "
      "most 16 are planned");
}

TEST(TeamSpec, RoundTrip) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    TeamSpec spec;
    for (int level = static_cast<int>(random() % TeamSpec::max_levels); level >= 0; --level)
      spec.levels.push_back(
          {static_cast<int>(1 + random() % TeamSpec::max_size), static_cast<Strategy>(random() % 4)});
    auto again = TeamSpec::parse(spec.to_string());
    ASSERT_TRUE(again) << spec.to_string();
    EXPECT_EQ(*again, spec);
  }
}

TEST(TeamSpec, WeightIsTheProductOfDeeperSizes) {
  auto spec = *TeamSpec::parse("2,scatter,3,compact,65536,compact");
  EXPECT_EQ(spec.weight(3, 1000000), 1);
  EXPECT_EQ(spec.weight(2, 1000000), 65536);
  EXPECT_EQ(spec.weight(1, 1000000), 196608);
  EXPECT_EQ(spec.threads(100), 100);
  EXPECT_EQ(spec.weight(7, 100), 1);
  EXPECT_EQ(spec.strategy(4), Strategy::subcompact);
}

}  // namespace
}  // namespace nigh
