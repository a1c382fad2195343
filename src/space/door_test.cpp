// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The doors of a rank: which one is used, who may stand before it, and that nothing is left behind.
#include "space/door.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "space/registry.hpp"

namespace nigh::space {
namespace {

namespace fs = std::filesystem;

class AtTheDoor : public testing::Test {
 protected:
  AtTheDoor() {
    const int pid = getpid();  // test programs may run side by side
    std::memcpy(job_.key, &pid, sizeof pid);
    job_.size = 4;
    first_ = folder_of(job_.key, 0).path;
    second_ = folder_of(job_.key, 1).path;
  }
  ~AtTheDoor() override {
    close_doors(job_, doors_);
    fs::remove_all(first_);
    fs::remove_all(second_);
  }
  void open_both() {
    ASSERT_EQ(open_doors(job_, doors_), 0);
    EXPECT_EQ(doors_.inner, -1);
    open_inner_door(job_, doors_);
  }
  // The door that a visitor finds: 'i' or 'o', '-': none.
  char visited() {
    const int fd = visit_rank(job_, job_.rank);
    if (fd < 0) return '-';
    char which = '-';
    if (const int inner = sys::accept_from(doors_.inner); inner >= 0) which = 'i', sys::close_fd(inner);
    if (const int outer = sys::accept_from(doors_.outer); outer >= 0) which = 'o', sys::close_fd(outer);
    sys::close_fd(fd);
    return which;
  }
  // The result for a process of another user that connects; 77: it can't become one.
  template <class F>
  static int as_nobody(F&& act) {
    const pid_t child = fork();
    if (child == 0) _exit(setuid(65534) == 0 ? act() : 77);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  Job job_;
  Doors doors_;
  std::string first_, second_;
};

TEST_F(AtTheDoor, TheOuterOneDoesWhereNobodyCrowds) {
  ASSERT_EQ(open_doors(job_, doors_), 0);
  EXPECT_EQ(visited(), 'o');
  EXPECT_FALSE(fs::exists(first_));
  EXPECT_FALSE(fs::exists(second_));
}

TEST_F(AtTheDoor, TheInnerOneIsVisitedAndNothingStays) {
  open_both();
  EXPECT_EQ(visited(), 'i');
  struct stat facts{};
  ASSERT_EQ(stat(first_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
  close_doors(job_, doors_);
  EXPECT_FALSE(fs::exists(first_));
  EXPECT_EQ(visited(), '-');
}

TEST_F(AtTheDoor, TheFolderGoesWithTheLastRank) {
  Doors other;
  Job second = job_;
  second.rank = 1;
  open_both();
  ASSERT_EQ(open_doors(second, other), 0);
  open_inner_door(second, other);
  close_doors(second, other);
  EXPECT_EQ(visited(), 'i');
}

TEST_F(AtTheDoor, ADeadRanksDoorIsReplacedALivingOnesIsNot) {
  fs::create_directory(first_);
  chmod(first_.c_str(), 0700);
  const int dead = sys::open_socket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s/0", first_.c_str());
  ASSERT_EQ(bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  sys::close_fd(dead);
  open_both();
  EXPECT_EQ(visited(), 'i');
  Doors second;
  EXPECT_EQ(open_doors(job_, second), -EADDRINUSE);
  EXPECT_EQ(visited(), 'i');
}

TEST_F(AtTheDoor, AFolderThatOthersMayEnterIsNotUsed) {
  fs::create_directory(first_);
  chmod(first_.c_str(), 0755);
  open_both();
  EXPECT_EQ(doors_.place, 1);
  EXPECT_EQ(visited(), 'i');
  close_doors(job_, doors_);
  EXPECT_FALSE(fs::exists(second_));
}

TEST_F(AtTheDoor, ALinkOrAFileInItsPlaceIsNotUsed) {
  fs::create_directory_symlink("/dev", first_);
  std::ofstream(second_) << "a file";
  open_both();
  EXPECT_EQ(doors_.inner, -1);
  EXPECT_EQ(visited(), 'o');
}

TEST_F(AtTheDoor, OnceShutTheOuterOneRefusesAndKeepsItsName) {
  open_both();
  const int fd = sys::connect_to(rank_name(job_, 0));
  EXPECT_GE(fd, 0);
  sys::close_fd(fd);
  sys::close_fd(sys::accept_from(doors_.outer));
  shut_outer(doors_);
  EXPECT_EQ(sys::connect_to(rank_name(job_, 0)), -ECONNREFUSED);
  EXPECT_EQ(visited(), 'i');
  Doors second;
  EXPECT_EQ(open_doors(job_, second), -EADDRINUSE);
}

TEST_F(AtTheDoor, AnotherUserStandsOutside) {
  open_both();
  const int seen = as_nobody([this] {
    const int fd = visit_rank(job_, 0);
    return fd < 0 ? 1 : 0;
  });
  if (seen == 77) GTEST_SKIP() << "only root can become another user";
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(sys::accept_from(doors_.inner), -EAGAIN);
  EXPECT_GE(sys::accept_from(doors_.outer), 3);
}

TEST_F(AtTheDoor, WhoTakesNamesFirstKeepsNobodyOut) {
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t squatter = fork();
  if (squatter == 0) {
    const bool other = setuid(65534) == 0;
    const int fd = sys::listen_at(rank_name(job_, 0), 1);
    const bool taken = fd >= 0 && mkdir(first_.c_str(), 0700) == 0;
    const char word = other && taken ? 'y' : 'n';
    if (write(ready[1], &word, 1) != 1) _exit(1);
    char end = 0;
    _exit(read(done[0], &end, 1) == 1 ? 0 : 1);
  }
  char word = 0;
  ASSERT_EQ(read(ready[0], &word, 1), 1);
  const int opened = word == 'y' ? open_doors(job_, doors_) : 0;
  const char found = visited();
  EXPECT_EQ(write(done[1], "e", 1), 1);
  waitpid(squatter, nullptr, 0);
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) close(fd);
  if (word != 'y') GTEST_SKIP() << "only root can become another user";
  EXPECT_EQ(opened, 0);
  EXPECT_EQ(doors_.place, 1);
  EXPECT_EQ(found, 'i');
}

}  // namespace
}  // namespace nigh::space
