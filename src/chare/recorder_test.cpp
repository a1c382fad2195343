// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "chare/entries.hpp"
#include "chare/test_jobs.hpp"
#include "message/wait.hpp"
#include "sys/os.hpp"
#include "sys/start.hpp"

namespace nigh::chare {

namespace {

// Tests run beside each other, each in a process: the names of the file and of its parts have the process in
// them.
std::string path() { return testing::TempDir() + "nigh-recorder-test-" + std::to_string(sys::own_pid()); }

Recorder::Goal goal() { return {path(), static_cast<std::uint64_t>(sys::own_pid())}; }

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
  ASSERT_TRUE(recorder.write(goal()));
  const auto said = Recorder::merge(goal(), 1, Entries::all());
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
  ASSERT_TRUE(recorder.write(goal()));
  const auto said = Recorder::merge(goal(), 1, Entries::all());
  std::remove(path().c_str());
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_NE(said->find("; 10000 runs of entry methods were left out"), std::string::npos) << *said;
}

TEST(Recorder, StampsTellThePeAndTheTime) {
  constexpr std::uint64_t now = 1'795'900'000'123'456'789, day = 86'400'000'000'000, second = 1'000'000'000;
  for (const std::uint64_t at : {now, now - 1000, now - second, now - 2 * day, now + second})
    for (const std::uint32_t pe : {0U, 7U, (1U << 20) - 1}) {
      const Stamp stamp = Stamp::of(Stamp::make(pe, at).as_next());
      ASSERT_TRUE(stamp.is_one());
      EXPECT_EQ(stamp.pe(), pe);
      EXPECT_EQ(stamp.time(now), at / 64 * 64);
      if (at + 2 * second < now) continue;  // what a line has no room for is less
      EXPECT_EQ(Stamp::of_short(pe, stamp.short_time(), now).bits, stamp.bits);
    }
  // Wherever the last 32 and 43 bits of the time begin again.
  for (const unsigned bits : {32U, Stamp::time_bits}) {
    const std::uint64_t turn = (now >> (Stamp::ns_bits + bits) << (Stamp::ns_bits + bits)) + 5000;
    const Stamp before = Stamp::make(3, turn - second);
    EXPECT_EQ(before.time(turn), (turn - second) / 64 * 64);
    EXPECT_EQ(Stamp::of_short(3, before.short_time(), turn).bits, before.bits);
  }
  EXPECT_FALSE(Stamp::make(1U << 20, now).is_one());
  const int here = 0;
  EXPECT_FALSE(Stamp::of(&here).is_one());
  EXPECT_FALSE(Stamp::of(nullptr).is_one());
}

TEST(Recorder, MessagesAreArrows) {
  Recorder first(0, 0), second(5, 1);
  const std::int64_t begun = message::now_ns();
  const Stamp sent = first.stamp(begun + 1'000'000);
  second.ran(0, Recorder::From::others, 64, begun + 3'000'000, 2000, {}, sent);
  second.ran(0, Recorder::From::others, 64, begun + 4'000'000, 500, {}, sent);  // short: not noted
  second.ran(0, Recorder::From::here, 64, begun + 5'000'000, 2000);
  second.ran(0, Recorder::From::far, 64, begun + 6'000'000, 2000, {}, Stamp::make(2, 0));  // of no such PE
  ASSERT_TRUE(first.write(goal()));
  ASSERT_TRUE(second.write(goal()));
  ASSERT_TRUE(Recorder::merge(goal(), 2, Entries::all()));
  const std::string text = sys::read_file(path()).value();
  std::remove(path().c_str());
  ASSERT_EQ(values(text, "\"ph\":\"s\"").size(), 1U) << text;
  ASSERT_EQ(values(text, "\"ph\":\"f\"").size(), 1U) << text;
  const double from =
      values(text, "\"ph\":\"s\",\"cat\":\"message\",\"id\":0,\"pid\":0,\"tid\":0,\"ts\":").at(0);
  const double to =
      values(text, "\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"message\",\"id\":0,\"pid\":5,\"tid\":1,\"ts\":")
          .at(0);
  EXPECT_NEAR(to - from, 2000, 10);  // us; what two readings of the clocks differ by
}

TEST(Recorder, PartsThatAreNotThereAreTold) {
  Recorder recorder(0, 0);
  recorder.ran(0, Recorder::From::here, 64, message::now_ns(), 2000);
  ASSERT_TRUE(recorder.write(goal()));
  const auto none = Recorder::merge(goal(), 2, Entries::all());
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("PE 1's part is not there"), std::string::npos) << none.error().message;
  ASSERT_TRUE(recorder.write(goal()));
  const std::string part = goal().part(0).value(), text = sys::read_file(part).value();
  ASSERT_TRUE(sys::write_file(part, text.substr(0, text.size() - 1)));
  const auto cut = Recorder::merge(goal(), 1, Entries::all());
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("is cut off"), std::string::npos) << cut.error().message;
}

// The accounts of a PE or of a thread beside the PEs, as a pool keeps them.
message::PoolAccounts accounts(std::uint32_t tag, std::uint64_t blocks, std::size_t size,
                               std::uint64_t held) {
  message::PoolAccounts out;
  for (std::uint64_t i = 0; i < blocks; ++i) out.of[tag].got(size), out.all.got(size);
  out.most_held = held;
  return out;
}

TEST(Recorder, FootprintsAreOfPesAndThreads) {
  constexpr std::uint64_t mib = 1 << 20;
  const std::int64_t begun = message::now_ns();
  message::PoolAccounts memory = accounts(buffer_tag, 3, 4096, 2 * mib);
  memory.of[first_system_entry].got(64);
  memory.bags.got(256);
  for (std::uint32_t pe = 0; pe < 2; ++pe) {
    Recorder recorder(pe, pe);
    recorder.ran(0, Recorder::From::here, 64, begun, 2000);
    ASSERT_TRUE(recorder.write(goal(), pe == 0 ? &memory : nullptr));
  }
  const message::PoolAccounts of_thread = accounts(message_tag, 5, 1088, 6 * mib);
  ASSERT_TRUE(Recorder(1, 2).write(goal(), &of_thread));
  const auto said = Recorder::merge(goal(), 2, Entries::all(), 1);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_NE(said->find("; process 0's communication thread held the most memory, 6.0 MiB; most at once: "
                       "buffers, 12.0 KiB on PE 0"),
            std::string::npos)
      << *said;
  const std::string text = sys::read_file(path()).value();
  std::remove(path().c_str());
  EXPECT_NE(
      text.find("{\"of\":\"PE 0\",\"process\":0,\"most in use\":12288,\"most held\":2097152,\"rows\":[\n"
                "{\"name\":\"buffers\",\"messages\":3,\"bytes\":12288,\"most bytes\":12288},\n"
                "{\"name\":\"the runtime\",\"messages\":1,\"bytes\":64,\"most bytes\":64},\n"
                "{\"name\":\"bags\",\"messages\":1,\"bytes\":256,\"most bytes\":256}]}"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("{\"of\":\"PE 1\",\"process\":1,\"most in use\":0,\"most held\":0,\"rows\":[]}"),
            std::string::npos);
  EXPECT_NE(text.find("{\"of\":\"process 0's communication thread\",\"process\":1,"), std::string::npos);
  EXPECT_NE(text.find("\"received\",\"messages\":5,\"bytes\":5440"), std::string::npos);
  EXPECT_EQ(values(text, "\"thread_name\"").size(), 2U) << "the thread has run no entry method";
}

TEST(Recorder, MemoryIsTheMostOfEachInterval) {
  std::optional<Recorder> made;
  std::int64_t begun = 0;
  constexpr std::int64_t step = 100'000;  // an interval
  do {                                    // until nothing has come between
    begun = message::now_ns();
    made.emplace(0, 0);
  } while (message::now_ns() - begun > 40'000);
  Recorder& recorder = *made;
  auto ran = [&](std::int64_t at, std::int64_t took, std::uint64_t in_use, std::uint64_t held) {
    recorder.ran(0, Recorder::From::here, 64, begun + at, took, {in_use, held});
  };
  ran(45 * step / 100, 500, 3072, 4096);
  ran(step / 2, 500, 1024, 8192);
  ran(3 * step + step / 2, 2 * step, 2048, 2048);  // three intervals; before it there was nothing in two
  ASSERT_TRUE(recorder.write(goal()));
  ASSERT_TRUE(Recorder::merge(goal(), 1, Entries::all()));
  const std::string text = sys::read_file(path()).value();
  std::remove(path().c_str());
  EXPECT_EQ(values(text, "\"in use\":"), (std::vector<double>{3, 2, 2, 2}));
  EXPECT_EQ(values(text, "\"held\":"), (std::vector<double>{8, 2, 2, 2}));
}

namespace {
struct Passing : Element<Passing> {
  static constexpr int elements = 12, hops = 400;
  void begin() {
    for (int i = 0; i < 5; ++i) pass(Buffer<int>(20 * static_cast<std::size_t>(index().x)), hops);
  }
  void pass(Buffer<int>&& data, int left) {
    if (left > 0)
      return array()[(index().x + left) % elements].send<&Passing::pass>(Buffer<int>(data), left - 1);
    contribute(array()[0].callback<&Passing::over>());
  }
  void over() {
    if (++times == 5) finish();
  }
  int times = 0;
};
}  // namespace

// The allocations of all PEs together are known, whoever has freed them.
TEST(Recorder, JobsKeepAccountOnAllPes) {
  for (const int pes : {1, 3, 8})
    for (const bool debug : {false, true}) {
      const std::string file = path();
      const std::string told = told_by([&] {
        EXPECT_EQ(run(Options{.pes = pes, .debug = debug, .trace = file.c_str()},
                      [] { Array<Passing>::create({Passing::elements}).send<&Passing::begin>(); }),
                  0);
      });
      EXPECT_NE(told.find(" held the most memory, 2.0 MiB; most at once: "), std::string::npos) << told;
      EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
      const std::string text = sys::read_file(file).value();
      std::remove(file.c_str());
      EXPECT_EQ(values(text, "{\"of\":").size(), static_cast<std::size_t>(pes));
      const double passed = Passing::elements * 5.0 * Passing::hops;
      EXPECT_EQ(sum_of(values(text, "{\"name\":\"Passing::pass\",\"messages\":")), passed);
      // An original for each, and its copies; those of element 0 have no items, but memory, too.
      EXPECT_EQ(sum_of(values(text, "{\"name\":\"buffers\",\"messages\":")),
                passed + Passing::elements * 5.0);
    }
}

}  // namespace nigh::chare
