// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/census_protocol.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nigh::sys {
namespace {

const std::string token = "000102030405060708090a0b0c0d0eff";

TEST(CensusPlace, IsATokenAndAddresses) {
  CensusPlace place;
  ASSERT_TRUE(parse_census_place((token + "@10.0.0.1:4711,[fe80::1]:80").c_str(), place));
  EXPECT_EQ(place.token[1], 1);
  EXPECT_EQ(place.token[15], 255);
  ASSERT_EQ(place.count, 2u);
  EXPECT_EQ(place.addresses[0].ss_family, AF_INET);
  EXPECT_EQ(ntohs(reinterpret_cast<const sockaddr_in&>(place.addresses[0]).sin_port), 4711);
  EXPECT_EQ(place.addresses[1].ss_family, AF_INET6);
  EXPECT_EQ(ntohs(reinterpret_cast<const sockaddr_in6&>(place.addresses[1]).sin6_port), 80);
}

TEST(CensusPlace, IsNothingElse) {
  CensusPlace place;
  EXPECT_FALSE(parse_census_place(nullptr, place));
  std::string nine = token + "@1.1.1.1:1";
  for (int i = 0; i < 8; ++i) nine += ",1.1.1.1:1";
  for (const std::string& text :
       {std::string(), std::string("@1.1.1.1:1"), token, token + "@", token + "@1.1.1.1",
        token + "@1.1.1.1:0", token + "@1.1.1.1:65536", token + "@1.1.1.1:1,", token + "@,1.1.1.1:1",
        token + "@host:1", token + "@fe80::1:1", token + "@[fe80::1:1", token + "@]:1", token + "@:1",
        token + "@" + std::string(100, '1') + ":1", "g" + token.substr(1) + "@1.1.1.1:1", nine})
    EXPECT_FALSE(parse_census_place(text.c_str(), place)) << text;
}

}  // namespace
}  // namespace nigh::sys
