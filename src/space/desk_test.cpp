// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The launcher's desk, with the ranks' side of the conversation written by hand.
#include "space/desk.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace nigh::space {
namespace {

class AtTheDesk : public testing::Test {
 protected:
  AtTheDesk() {
    const int pid = getpid();  // test programs may run side by side
    std::memcpy(job_.key, &pid, sizeof pid);
    job_.size = 4;
    desk_ = std::make_unique<Desk>(job_.key);
  }
  ~AtTheDesk() override {
    for (const int fd : open_) sys::close_fd(fd);
  }

  int connect() {
    const int fd = sys::connect_to(desk_name(job_.key));
    EXPECT_GE(fd, 0);
    open_.push_back(fd);
    return fd;
  }
  int join_as(int rank) {
    job_.rank = rank;
    const Card card = make_card(job_, CardKind::hello, -1);
    const int fd = connect();
    sys::send_record(fd, &card, sizeof card);
    desk_->serve();
    return fd;
  }
  void hand_in(int rank, bool joined, const std::string& text) {
    job_.rank = rank;
    AccountRecord record;
    record.card = make_card(job_, CardKind::account, -1);
    record.pid = 1000 + rank;
    record.joined = joined ? 1 : 0;
    std::snprintf(record.text, sizeof record.text, "%s", text.c_str());
    sys::send_record(connect(), &record, offsetof(AccountRecord, text) + text.size() + 1);
    desk_->serve();
  }
  // "2e" for rank 2 ended, "2w" for it went on; all that have come.
  static std::string heard(int fd) {
    std::string out;
    Notice notice;
    int passed = -1;
    while (sys::receive_record(fd, &notice, sizeof notice, passed) == static_cast<long>(sizeof notice))
      out += std::to_string(notice.rank) + (notice.what == Notice::What::ended ? "e" : "w");
    return out;
  }
  Job job_;
  std::unique_ptr<Desk> desk_;
  std::vector<int> open_;
};

TEST_F(AtTheDesk, TellsWhoHasEndedBeforeAndAfter) {
  desk_->note_end(2);
  const int first = join_as(0);
  EXPECT_EQ(heard(first), "2e");
  desk_->note_end(3);
  EXPECT_EQ(heard(first), "3e");
  EXPECT_EQ(heard(join_as(1)), "2e3e");
}

TEST_F(AtTheDesk, TellsWhoEndsItsJoin) {
  const int first = join_as(0), second = join_as(1);
  sys::hang_up(second);
  open_.pop_back();
  desk_->serve();
  EXPECT_EQ(heard(first), "1w");
}

TEST_F(AtTheDesk, WhoHasNotTheKeyIsSentAway) {
  Job other = job_;
  other.key[15] ^= 1;
  Card card = make_card(other, CardKind::hello, -1);
  const int fd = connect();
  sys::send_record(fd, &card, sizeof card);
  desk_->serve();
  desk_->note_end(1);
  char byte = 0;
  int passed = -1;
  EXPECT_EQ(sys::receive_record(fd, &byte, 1, passed), 0);  // hung up
  const int noise = connect();
  sys::send_record(noise, "noise", 5);
  desk_->serve();
  EXPECT_EQ(sys::receive_record(noise, &byte, 1, passed), 0);
  EXPECT_EQ(desk_->account().rank, -1);
}

TEST_F(AtTheDesk, KeepsTheBestAccount) {
  hand_in(1, false, "a script\n");
  EXPECT_EQ(desk_->account().rank, 1);
  hand_in(3, true, "three\n");
  EXPECT_EQ(desk_->account().rank, 3);
  hand_in(2, true, "two\n");
  hand_in(0, false, "another script\n");
  hand_in(3, true, "late\n");
  EXPECT_EQ(desk_->account().rank, 2);
  EXPECT_EQ(desk_->account().pid, 1002);
  EXPECT_EQ(desk_->account().text, "two\n");
}

TEST_F(AtTheDesk, AnAccountIsNoJoin) {
  const int first = join_as(0);
  hand_in(1, true, "one\n");
  sys::hang_up(open_.back());
  open_.pop_back();
  desk_->serve();
  EXPECT_EQ(heard(first), "");
}

}  // namespace
}  // namespace nigh::space
