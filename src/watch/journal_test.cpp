// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The undo journal: what is written is read again, nothing damaged is believed, and undo gives back what is
// still ours and nothing else.
#include "watch/journal.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "sys/run_folder.hpp"
#include "sys/test_tree.hpp"

namespace nigh::watch {
namespace {

class Journals : public testing::Test {
 protected:
  void SetUp() override { folder_ = sys::private_folder(root_ + "/nigh/watch").value_or(""); }
  sys::TestTree tree_;
  const std::string& root_ = tree_.root();
  std::string folder_;
};

// A child that sleeps.
struct Sleeper {
  int pid;
  Sleeper() : pid(::fork()) {
    if (pid == 0)
      for (;;) ::pause();
  }
  ~Sleeper() { end(); }
  void end() {
    if (pid > 0) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
    pid = -1;
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  [[nodiscard]] sys::ProcessId id() const {
    return sys::process_id(sys::Os(), pid).value_or(sys::ProcessId{});
  }
};

CpuSet random_set(std::mt19937& random) {
  CpuSet out;
  for (unsigned i = random() % 6; i > 0; --i) out.set(static_cast<int>(random() % 300));
  return out;
}

TEST_F(Journals, WhatIsWrittenIsReadAgain) {
  std::mt19937 random(20150708);
  for (int round = 0; round < 200; ++round) {
    JournalRecord record;
    record.application = {static_cast<int>(random() % 4000000 + 1), random()};
    for (unsigned i = random() % 9; i > 0; --i) {
      MaskChange one{{static_cast<int>(random() % 4000000 + 1), 0},
                     static_cast<int>(random() % 3),
                     0,
                     random_set(random),
                     random_set(random)};
      one.tid == 0 ? one.process.start = random() : one.start = random();
      record.masks.push_back(one);
    }
    if (random() % 2 == 0)
      record.files.push_back({"/sys/fs/cgroup/job/cpuset.mems", random() % 2 == 0 ? "" : "0-7", "1"});
    if (random() % 2 == 0) record.frozen.push_back({7, random()});
    if (random() % 2 == 0) record.frozen_groups.emplace_back("/sys/fs/cgroup/job/cgroup.freeze");
    std::string text = to_text(record);
    auto again = parse_record(text, "journal");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(to_text(*again), text);
  }
}

TEST_F(Journals, NothingDamagedIsBelieved) {
  JournalRecord record;
  record.application = {42, 4711};
  record.masks.push_back({{42, 0}, 43, 99, CpuSet{0, 1}, CpuSet{1}});
  std::string text = to_text(record);
  ASSERT_TRUE(parse_record(text, "journal"));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(parse_record(bad, "journal")) << i;
    EXPECT_FALSE(parse_record(text.substr(0, i), "journal")) << "cut at " << i;
  }
}

TEST_F(Journals, DamagedAndForeignFilesAreToldAndStay) {
  ASSERT_TRUE(sys::write_file(folder_ + "/1-2.undo", "nigh-undo 1\njunk\n"));
  std::filesystem::create_symlink("/etc/passwd", folder_ + "/3-4.undo");
  auto report = undo_all(sys::Os(), folder_);
  EXPECT_EQ(report.sentences.size(), 2U);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/1-2.undo"));
  EXPECT_FALSE(Journal::open(folder_, {1, 2})) << "a damaged journal must not be written over";
}

TEST_F(Journals, TheFirstOldValueIsKept) {
  auto journal = Journal::open(folder_, {42, 1});
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->will_write({"/cg/cpuset.mems", "0-7", "1"}));
  auto later = Journal::open(folder_, {42, 1});  // another run of nigh
  ASSERT_TRUE(later);
  ASSERT_TRUE(later->will_write({"/cg/cpuset.mems", "1", "2"}));
  ASSERT_EQ(later->record().files.size(), 1U);
  EXPECT_EQ(later->record().files[0].old_value, "0-7");
  EXPECT_EQ(later->record().files[0].our_value, "2");
  EXPECT_FALSE(later->will_write({"/cg/a b", "1", "2"})) << "blanks can't be told apart";
}

TEST_F(Journals, MasksGoBackUnlessSomebodyElseChangedThem) {
  CpuSet all = sys::affinity().value_or(CpuSet{});
  if (all.count() < 2) GTEST_SKIP() << "one PU: a mask can't be another";
  Sleeper ours, theirs, gone;
  CpuSet first{all.first()}, second{all.next(all.first())};
  auto journal = Journal::open(folder_, ours.id());
  ASSERT_TRUE(journal);
  for (const Sleeper* one : {&ours, &theirs, &gone}) {
    ASSERT_TRUE(journal->will_bind({{one->id(), one->pid, one->id().start, all, first}}));
    ASSERT_TRUE(sys::set_affinity(first, one->pid));
  }
  ASSERT_TRUE(sys::set_affinity(second, theirs.pid));
  gone.end();
  auto report = undo_all(sys::Os(), folder_);
  EXPECT_EQ(report.restored, 1);
  EXPECT_EQ(report.left_alone, 1);
  EXPECT_EQ(report.gone, 1);
  EXPECT_EQ(report.sentences.size(), 1U);
  EXPECT_EQ(sys::affinity(ours.pid).value_or(CpuSet{}), all);
  EXPECT_EQ(sys::affinity(theirs.pid).value_or(CpuSet{}), second);
  EXPECT_TRUE(sys::Os().list(folder_).empty()) << "the journal stays";
}

TEST_F(Journals, AReusedNumberIsLeftAlone) {
  CpuSet all = sys::affinity().value_or(CpuSet{});
  Sleeper other;
  auto journal = Journal::open(folder_, {other.pid, 1});
  CpuSet one{all.first()};
  ASSERT_TRUE(journal->will_bind({{{other.pid, 1}, other.pid, 1, CpuSet{all.first()}, all}}));
  EXPECT_EQ(undo_all(sys::Os(), folder_).gone, 1);
  EXPECT_EQ(sys::affinity(other.pid).value_or(CpuSet{}), all);
}

TEST_F(Journals, WhatWasLeftFrozenGoesOn) {
  Sleeper app;
  ::kill(app.pid, SIGSTOP);
  ::waitpid(app.pid, nullptr, WUNTRACED);
  auto journal = Journal::open(folder_, app.id());
  ASSERT_TRUE(journal->will_freeze({app.id()}, ""));
  EXPECT_EQ(undo_all(sys::Os(), folder_).thawed, 1);
  int status = 0;
  EXPECT_EQ(::waitpid(app.pid, &status, WCONTINUED), app.pid);
  EXPECT_TRUE(WIFCONTINUED(status));
}

}  // namespace
}  // namespace nigh::watch
