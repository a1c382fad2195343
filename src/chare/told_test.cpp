// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The reports of the runtime on programs that are wrong, in the debug mode too, its options on their command
// line, and the names it gives to their types.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "chare/entries.hpp"
#include "chare/pe.hpp"
#include "chare/test_jobs.hpp"

namespace nigh::chare {
namespace {

// --- errors ---

struct Faulty : Element<Faulty> {
  explicit Faulty(int mode = 0) {
    if (mode == 1 && index().x == 2) throw std::runtime_error("no such mode");
  }
  void fail(int x) {
    if (index().x == x) throw std::out_of_range("too far");
  }
  void fail_oddly() { throw 3; }
  void outside() { array()(index().x + 100).send<&Faulty::fail>(0); }
  void unequal() {
    if (index().x == 0)
      contribute(1, sum, proxy().callback<&Faulty::take>());
    else
      contribute(1.0, sum, Callback());
  }
  void unfit() { contribute(1.0, sum, array()[0].callback<&Faulty::take>()); }
  void take(int) {}
  void keep() { kept.emplace_back(100); }
  void leak() {
    static std::unique_ptr<Buffer<int>> forgotten;  // until there is no pool any more
    if (index().x == 2) forgotten = std::make_unique<Buffer<int>>(10);
  }
  void write_after() {
    int* at = nullptr;
    {
      Buffer<int> gone(10);
      at = gone.data();
    }
    *at = 3;
    for (int i = 0; i < 100; ++i) Buffer<int>(10);
  }
  std::vector<Buffer<int>> kept;
};
template <auto Method, class... A>
std::string told_of(int status, bool debug, A... arguments) {
  return told_by([&] {
    EXPECT_EQ(run(Options{.pes = 2, .debug = debug},
                  [&] {
                    Array<Faulty>::create({4}).send<Method>(arguments...);
                    on_quiescence(finish_callback());
                  }),
              status);
  });
}
TEST(ChareErrors, AreToldWithTheirPlace) {
  EXPECT_EQ((told_of<&Faulty::fail>(1, false, 3)),
            "nigh chare: PE 1: Faulty::fail of element [3]: too far\n");
  const std::string odd = told_of<&Faulty::fail_oddly>(1, false);
  EXPECT_NE(odd.find("Faulty::fail_oddly of element ["), std::string::npos) << odd;
  EXPECT_NE(odd.find("]: an exception that is not a std::exception\n"), std::string::npos) << odd;
}
TEST(ChareErrors, InConstructorsAndMain) {
  EXPECT_EQ(told_by([] { EXPECT_EQ(run_on(2, [] { Array<Faulty>::create({4}, 1); }), 1); }),
            "nigh chare: PE 1: Faulty(int): no such mode\n");
  EXPECT_EQ(told_by([] { EXPECT_EQ(run_on(2, [] { throw std::runtime_error("main"); }), 1); }),
            "nigh chare: PE 0: main\n");
}
TEST(ChareErrors, OfUse) {
  EXPECT_NE(told_of<&Faulty::outside>(1, false).find("in an array of 4\n"), std::string::npos);
  EXPECT_NE(told_of<&Faulty::unequal>(1, false).find("contributions to one reduction differ"),
            std::string::npos);
  EXPECT_EQ(told_of<&Faulty::unfit>(1, false), "nigh chare: Faulty::take can't take a result of 8 bytes\n");
  const std::string large =
      told_by([] { EXPECT_EQ(run_on(1, [] { Array<Faulty>::create({1 << 20, 1 << 20}, 1); }), 1); });
  EXPECT_EQ(large,
            "nigh chare: an array of 1048576 x 1048576 elements can't be: between 0 and 2147483648 can\n");
  const std::string twice = told_by([] {
    EXPECT_EQ(run_on(2,
                     [] {
                       auto sparse = Array<Faulty>::create_sparse();
                       sparse.insert({3, -4}, 1), sparse.insert({3, -4}, 2);
                     }),
              1);
  });
  EXPECT_EQ(twice, "nigh chare: element [3, -4] of a sparse array was inserted twice\n");
}
TEST(Chare, NothingLeftToDoIsTold) {
  const std::string told = told_by([] { EXPECT_EQ(run_on(2, [] { Array<Faulty>::create({4}); }), 1); });
  EXPECT_EQ(told, "nigh chare: no message is left and no timer, but finish() was not called\n");
}
TEST(ChareErrors, OutsideOfRun) {
  EXPECT_THROW(static_cast<void>(pe()), std::logic_error);
  EXPECT_THROW(Array<Faulty>()[0].send<&Faulty::take>(1), std::logic_error);
  bool thrown = false;
  run_on(1, [&] {
    try {
      run(Options{}, [] {});
    } catch (const std::logic_error&) { thrown = true; }
    finish();
  });
  EXPECT_TRUE(thrown);
  EXPECT_EQ(told_by([] { EXPECT_EQ(run(Options{.pes = 100'000}, [] {}), 1); }),
            "nigh chare: at most 4096 PEs can be, not 100000\n");
}
TEST(ChareDebug, FindsWhatProgramsDoWrong) {
  const std::string leaks = told_of<&Faulty::leak>(0, true);
  EXPECT_NE(leaks.find("a buffer was made, but neither sent nor freed"), std::string::npos) << leaks;
  const std::string written = told_of<&Faulty::write_after>(1, true);
  EXPECT_NE(written.find("a buffer was written to after it was freed"), std::string::npos) << written;
  EXPECT_EQ(told_of<&Faulty::keep>(0, true), "") << "what elements hold goes with them";
}
// --- the command line ---

TEST(ChareCommandLine, IsTakenOut) {
  char words[][16] = {"app", "--pes", "3", "x", "--mode=threads", "--chare-debug", "--", "--pes"};
  char* argv[9] = {};
  for (int i = 0; i < 8; ++i) argv[i] = words[i];
  int argc = 8;
  core::Settings settings;
  EXPECT_TRUE(core::parse(argc, argv, settings));
  EXPECT_EQ(settings.pes, 3);
  EXPECT_TRUE(settings.debug);
  ASSERT_EQ(argc, 4);
  EXPECT_STREQ(argv[1], "x");
  EXPECT_STREQ(argv[2], "--");
  EXPECT_STREQ(argv[3], "--pes");
  EXPECT_EQ(argv[4], nullptr);
}
TEST(ChareCommandLine, WrongOnesAreTold) {
  for (const char* word : {"--pes=0", "--pes=x", "--pes", "--pes=5000", "--mode=fast"}) {
    std::string program("app"), option(word);
    char* argv[] = {program.data(), option.data(), nullptr};
    int argc = 2;
    const std::string told = told_by([&] { EXPECT_EQ(run(argc, argv, [] {}), 2); });
    EXPECT_TRUE(told.starts_with("nigh chare: --")) << told;
  }
}

// A small message goes as a copy in the receiver's queue, unless pointers begin a line there; by pointer it
// is read where its sender wrote it, in the chunk of the pool that the sender's buffers come from, too.
struct Reader : Element<Reader> {
  void read(const std::array<int, 4>& sent) {
    (chunk_of(&sent) == chunk ? in_place : copied) += pe() == 1 && sent[3] == 4 ? 1 : 0;
  }
  void send() {  // by the element of PE 0, when all is quiet
    const Buffer<int> mine(4);
    chunk = chunk_of(mine.data());
    for (int i = 0; i < 100; ++i) array()[1].send<&Reader::read>(std::array{1, 2, 3, 4});
    on_quiescence(finish_callback());
  }
  static std::uintptr_t chunk_of(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) / message::Pool::chunk_bytes;
  }
  static inline std::atomic<std::uintptr_t> chunk = 0;
  static inline std::atomic<int> in_place = 0, copied = 0;
};
TEST(ChareCommandLine, ByPointerLeavesSmallMessagesInPlace) {
  for (const bool by_pointer : {false, true}) {
    std::string program("app"), option("--by-pointer"), pes("--pes=2");
    char* argv[] = {program.data(), pes.data(), by_pointer ? option.data() : nullptr, nullptr};
    int argc = by_pointer ? 3 : 2;
    Reader::in_place = Reader::copied = 0;
    EXPECT_EQ(run(argc, argv, [] { on_quiescence(Array<Reader>::create({2})[0].callback<&Reader::send>()); }),
              0);
    EXPECT_EQ(Reader::in_place + Reader::copied, 100);
    EXPECT_EQ(Reader::copied > 0, !by_pointer);
  }
}

template <class T>
struct Judge : Element<Judge<T>> {
  void tell() {}
};

}  // namespace

// --- names ---

namespace inner {
struct Named : Element<Named> {
  explicit Named(int, const std::string&) {}
  void method(double) {}
};
}  // namespace inner
TEST(ChareEntries, HaveNames) {
  Entries::all();
  EXPECT_EQ(name_of(core::EntryOf<inner::Named, &inner::Named::method>::entry),
            "nigh::chare::inner::Named::method");
  EXPECT_EQ(name_of(core::EntryOf<Faulty, &Faulty::fail>::entry), "Faulty::fail");
  EXPECT_EQ(name_of(core::EntryOf<Judge<Faulty>, &Judge<Faulty>::tell>::entry), "Judge<Faulty>::tell");
  using Constructor = core::ConstructorOf<Faulty, int>;
  EXPECT_EQ(name_of(Constructor::entry), "Faulty(int)");
  std::set<std::uint16_t> numbers;
  for (const core::Entry* entry : Entries::all().entries) numbers.insert(entry->number);
  EXPECT_EQ(numbers.size(), Entries::all().entries.size());
  EXPECT_GT(numbers.size(), 20U);
}

}  // namespace nigh::chare
