// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/recorder.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "chare/entries.hpp"
#include "message/wait.hpp"
#include "sys/os.hpp"

namespace nigh::chare {

namespace {

std::string path() { return testing::TempDir() + "nigh-recorder-test"; }

// The values behind each occurrence of `word`.
std::vector<double> values(const std::string& text, const std::string& word) {
  std::vector<double> out;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    out.push_back(std::strtod(text.c_str() + at + word.size(), nullptr));
  return out;
}

double sum_of(const std::vector<double>& all) {
  double out = 0;
  for (const double one : all) out += one;
  return out;
}

}  // namespace

TEST(Recorder, IntervalsGrowWithTheJob) {
  Recorder recorder(0, 0);
  const std::int64_t begun = message::now_ns();
  constexpr int runs = 10'000;
  for (std::int64_t i = 0; i < runs; ++i)  // 20 s, half of it busy
    recorder.ran(0, i % 4 == 0 ? Recorder::From::far : Recorder::From::here, 1024, begun + i * 2'000'000,
                 1'000'000);
  ASSERT_TRUE(recorder.write(path()));
  const auto said = Recorder::merge(path(), 1, Entries::all());
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_NE(said->find(" 10000 messages, 25 % of them between PEs"), std::string::npos) << *said;
  const std::string text = sys::read_file(path()).value();
  std::remove(path().c_str());
  const std::vector<double> busy = values(text, "\"busy\":");
  EXPECT_GT(busy.size(), 2000U);
  EXPECT_LE(busy.size(), 4096U);
  const double width = 6.4;  // ms: 0.1 doubled until 4096 are 20 s
  EXPECT_NEAR(sum_of(busy) / 100 * width, 10'000, 20);
  EXPECT_NEAR(sum_of(values(text, "\"other processes\":")) * width, 2500 + 2500, 50);  // messages; KiB
  EXPECT_EQ(values(text, "\"dur\":").size(), std::size_t{runs});
}

TEST(Recorder, RunsThatItHasNoRoomForAreTold) {
  Recorder recorder(0, 0);
  const std::int64_t begun = message::now_ns();
  for (std::int64_t i = 0; i < 160'000; ++i)
    recorder.ran(0, Recorder::From::others, 64, begun + i * 3000, 2000);
  ASSERT_TRUE(recorder.write(path()));
  const auto said = Recorder::merge(path(), 1, Entries::all());
  std::remove(path().c_str());
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_NE(said->find("; 10000 runs of entry methods were left out"), std::string::npos) << *said;
}

TEST(Recorder, PartsThatAreNotThereAreTold) {
  Recorder recorder(0, 0);
  recorder.ran(0, Recorder::From::here, 64, message::now_ns(), 2000);
  ASSERT_TRUE(recorder.write(path()));
  const auto none = Recorder::merge(path(), 2, Entries::all());
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("PE 1's part is not there"), std::string::npos) << none.error().message;
  ASSERT_TRUE(recorder.write(path()));
  const std::string part = path() + ".0", text = sys::read_file(part).value();
  ASSERT_TRUE(sys::write_file(part, text.substr(0, text.size() - 1)));
  const auto cut = Recorder::merge(path(), 1, Entries::all());
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("is cut off"), std::string::npos) << cut.error().message;
}

}  // namespace nigh::chare
