// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The door to the OS: the injected root is honoured, files are replaced whole, masks are real ones.
#include "sys/os.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "sys/append.h"
#include "sys/test_tree.hpp"

namespace nigh::sys {
namespace {

TEST(Os, ReadsBelowItsRootOnly) {
  TestTree folder;
  folder.put("/sys/devices/system/node/node1/distance", "20 10\nrest\n");
  Os os = folder.os();
  EXPECT_EQ(os.read_line("/sys/devices/system/node/node1/distance").value(), "20 10");
  EXPECT_EQ(os.list("/sys/devices/system/node"), std::vector<std::string>{"node1"});
  EXPECT_TRUE(os.list("/sys/devices/system/cpu").empty());
  EXPECT_FALSE(os.exists("/proc/self"));
  auto missing = os.read("/proc/self/status");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Errc::io);
  EXPECT_NE(missing.error().message.find(folder.root()), std::string::npos);
}

TEST(Os, WritingLeavesNoTemporaryBehind) {
  TestTree folder;
  ASSERT_TRUE(write_file(folder.root() + "/a", "one"));
  ASSERT_TRUE(write_file(folder.root() + "/a", "two"));
  EXPECT_EQ(read_file(folder.root() + "/a").value(), "two");
  EXPECT_FALSE(write_file(folder.root() + "/no/such/folder/a", "x"));
  EXPECT_EQ(Os(folder.root()).list("/"), std::vector<std::string>{"a"});
}

std::string told(const std::string& path) {
  auto read = read_file(path);
  return read ? "" : read.error().message;
}

TEST(Os, OnlyFilesAreRead) {
  TestTree folder;
  const std::string fifo = folder.root() + "/fifo", large = folder.root() + "/large";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(told(fifo), "can't read " + fifo + ": it is a FIFO, not a file");
  EXPECT_EQ(told("/dev/zero"), "can't read /dev/zero: it is a device, not a file");
  EXPECT_EQ(told(folder.root()), "can't read " + folder.root() + ": it is a folder, not a file");
  ASSERT_TRUE(write_file(large, "x"));
  ASSERT_EQ(::truncate(large.c_str(), static_cast<off_t>(most_of_input) + 1), 0);
  EXPECT_EQ(told(large), "can't read " + large + ": it has more than 256 MiB, which is no file of ours");
  EXPECT_GT(read_file("/proc/self/status").value().size(), 100U);  // says that it has no size
}

TEST(Os, DevicesAndFifosAreWrittenInto) {
  TestTree folder;
  const std::string fifo = folder.root() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::string heard;
  std::thread reader([&] {
    std::FILE* file = std::fopen(fifo.c_str(), "r");
    char text[64] = "";
    heard.assign(text, std::fread(text, 1, sizeof text, file));
    std::fclose(file);
  });
  EXPECT_TRUE(write_file(fifo, "through it"));
  reader.join();
  EXPECT_EQ(heard, "through it");
  EXPECT_TRUE(write_file("/dev/null", "x"));
  struct stat facts{};
  ASSERT_EQ(::stat("/dev/null", &facts), 0);
  EXPECT_TRUE(S_ISCHR(facts.st_mode));
  EXPECT_EQ(Os(folder.root()).list("/"), std::vector<std::string>{"fifo"});
  EXPECT_FALSE(write_file("/dev/full", "x"));
}

// Text for an open descriptor goes on from where it is.
TEST(Os, ADescriptorIsWrittenTo) {
  TestTree folder;
  ASSERT_TRUE(write_file(folder.root() + "/out", "before "));
  const int fd = ::open((folder.root() + "/out").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(write_file("/dev/fd/" + std::to_string(fd), "after"));
  ::close(fd);
  EXPECT_EQ(read_file(folder.root() + "/out").value(), "before after");
  EXPECT_FALSE(write_file("/dev/fd/" + std::to_string(fd), "x"));
}

TEST(Os, AReplacedFileKeepsItsPermissionsAndANewOneHasTheUsual) {
  TestTree folder;
  const std::string path = folder.root() + "/a";
  struct stat facts{};
  const mode_t before = ::umask(027);
  ASSERT_TRUE(write_file(path, "one"));
  ::umask(before);
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0640U);
  ASSERT_EQ(::chmod(path.c_str(), 0604), 0);
  ASSERT_TRUE(write_file(path, "two"));
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0604U);
  ASSERT_TRUE(write_file(folder.root() + "/" + std::string(250, 'n'), "a long name"));
}

TEST(Os, AnOwnLinkLeadsToItsFile) {
  TestTree folder;
  folder.put("/far/real", "old");
  ASSERT_EQ(::symlink("far/real", (folder.root() + "/link").c_str()), 0);
  ASSERT_EQ(::symlink("far/none", (folder.root() + "/new").c_str()), 0);
  ASSERT_EQ(::symlink("loop", (folder.root() + "/loop").c_str()), 0);
  EXPECT_TRUE(write_file(folder.root() + "/link", "new"));
  EXPECT_TRUE(write_file(folder.root() + "/new", "made"));
  EXPECT_FALSE(write_file(folder.root() + "/loop", "x"));
  EXPECT_EQ(read_file(folder.root() + "/far/real").value(), "new");
  EXPECT_EQ(read_file(folder.root() + "/far/none").value(), "made");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.root() + "/link"));
}

// In a folder of all, names that we will use can be taken before.
TEST(Os, WhatOthersHavePlantedIsNotWrittenTo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's link";
  TestTree folder;
  folder.put("/secret", "ours");
  const std::string open = folder.root() + "/open", link = open + "/out", secret = folder.root() + "/secret";
  std::filesystem::create_directory(open);
  ASSERT_EQ(::chmod(open.c_str(), 01777), 0);
  ASSERT_EQ(::symlink(secret.c_str(), link.c_str()), 0);
  ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
  auto written = write_file(link, "overwritten");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "can't write " + link + ": another user has put a link there");
  EXPECT_EQ(nigh_open_append(link.c_str()), -1);
  ASSERT_EQ(::link(secret.c_str(), (open + "/hard").c_str()), 0);
  EXPECT_EQ(nigh_open_append((open + "/hard").c_str()), -1);
  EXPECT_TRUE(write_file(open + "/hard", "replaced"));
  EXPECT_EQ(read_file(secret).value(), "ours");
}

TEST(Os, AFifoThatNobodyReadsHoldsNoLogUp) {
  TestTree folder;
  const std::string fifo = folder.root() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(nigh_open_append(fifo.c_str()), -1);
  const int fd = nigh_open_append((folder.root() + "/log").c_str());
  ASSERT_GE(fd, 0);
  EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  ::close(fd);
}

TEST(Os, AffinityIsReadAndSet) {
  auto all = affinity();
  ASSERT_TRUE(all.has_value());
  ASSERT_FALSE(all->empty());
  std::thread([&] {
    CpuSet one{all->first()};
    ASSERT_TRUE(set_affinity(one));
    EXPECT_EQ(affinity().value(), one);
    EXPECT_EQ(current_cpu(), all->first());
  }).join();
  EXPECT_EQ(affinity().value(), *all);
  EXPECT_FALSE(set_affinity(CpuSet{}));
}

}  // namespace
}  // namespace nigh::sys
