// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Other processes as /proc tells of them: names that try to fool the parser, recorded maps, a reused number;
// and which pages of a process are there, asked of this kernel.
#include "sys/task.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "sys/pages.hpp"
#include "sys/run_folder.hpp"
#include "sys/test_tree.hpp"

namespace nigh::sys {
namespace {

const std::string tail =
    " S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 8812 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 17 5 0\n";

TEST(Task, NamesCannotFoolTheParser) {
  for (const char* name : {"app", "a b", "evil) Z 1 1 1", "x\ny", "((", ""}) {
    auto facts = parse_task("42 (" + std::string(name) + ")" + tail);
    ASSERT_TRUE(facts) << name;
    EXPECT_EQ(facts->name, name);
    EXPECT_EQ(facts->state, 'S');
    EXPECT_EQ(facts->parent, 7);
    EXPECT_EQ(facts->threads, 3);
    EXPECT_EQ(facts->start, 8812U);
    EXPECT_EQ(facts->cpu, 5);
  }
  EXPECT_FALSE(parse_task("42 (app"));
  EXPECT_FALSE(parse_task(""));
  EXPECT_FALSE(parse_task("42 (app) S 1"));
}

TEST(Task, AReusedNumberIsAnotherProcess) {
  TestTree tree;
  tree.put("/proc/42/stat", "42 (app)" + tail);
  EXPECT_TRUE(lives(tree.os(), {42, 8812}));
  EXPECT_FALSE(lives(tree.os(), {42, 8811}));
  EXPECT_FALSE(lives(tree.os(), {43, 8812}));
}

TEST(Task, AZombieLivesWhileItHasOtherThreads) {
  TestTree tree;
  std::string text = "42 (app)" + tail;
  text.replace(text.find(" S "), 3, " Z ");
  tree.put("/proc/42/stat", text);
  EXPECT_TRUE(lives(tree.os(), {42, 8812}));
  text.replace(text.find(" 0 3 0 8812"), 5, " 0 1 ");
  tree.put("/proc/42/stat", text);
  EXPECT_FALSE(lives(tree.os(), {42, 8812}));
}

TEST(Task, ThreadsAndChildrenOfThisProcess) {
  Os os;
  std::thread other([] { ::usleep(200000); });
  EXPECT_EQ(threads_of(os, ::getpid()).size(), 2U);
  other.join();
  int child = ::fork();
  if (child == 0) ::usleep(500000), ::_exit(0);
  EXPECT_EQ(descendants_of(os, ::getpid()), std::vector<int>{child});
  EXPECT_TRUE(lives(os, *process_id(os, child)));
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_id(os, child));
}

TEST(Task, MapsAreRead) {
  TestTree tree;
  tree.put("/proc/42/maps",
           "55e0c000-55e0d000 r-xp 00000000 08:01 131 /usr/bin/my app\n"
           "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n"
           "7f0000800000-7f0000900000 rw-s 00000000 00:01 9 /dev/shm/x\n"
           "7ffd0000-7ffd2000 r-xp 00000000 00:00 0 [vdso]\n"
           "nonsense\n");
  auto maps = mappings(tree.os(), 42);
  ASSERT_TRUE(maps);
  ASSERT_EQ(maps->size(), 4U);
  EXPECT_EQ((*maps)[0].name, "/usr/bin/my app");
  EXPECT_FALSE((*maps)[0].writable);
  EXPECT_EQ((*maps)[1].last, 0x7f0000400000U);
  EXPECT_TRUE((*maps)[1].writable && !(*maps)[1].shared && (*maps)[1].inode == 0 && (*maps)[1].name.empty());
  EXPECT_TRUE((*maps)[2].shared);
  EXPECT_TRUE((*maps)[3].special());
}

TEST(Task, NumaMapsAreRead) {
  TestTree tree;
  tree.put("/proc/42/numa_maps",
           "7f0000000000 bind:0-1 anon=1024 dirty=1024 N0=1000 N1=24 kernelpagesize_kB=4\n"
           "7f0000800000 default file=/dev/hugepages/N5=7 huge anon=3 N2=3 kernelpagesize_kB=2048\n"
           "nonsense N1=1\n"
           "7f0000zz0000 default N1=1\n"
           "7f0000900000\n"
           "7ffd00000000 default N=5 N3x=5 N99999999999999=5 Nx=1 N7\n");
  auto maps = numa_mappings(tree.os(), 42);
  ASSERT_TRUE(maps);
  ASSERT_EQ(maps->size(), 3U);
  EXPECT_EQ((*maps)[0].policy, "bind:0-1");
  EXPECT_EQ((*maps)[0].by_node, (std::map<int, std::uint64_t>{{0, 1000}, {1, 24}}));
  EXPECT_EQ((*maps)[1].by_node, (std::map<int, std::uint64_t>{{2, 3}}));
  EXPECT_EQ((*maps)[1].page_bytes, 2048U << 10);
  EXPECT_TRUE((*maps)[2].by_node.empty());
}

TEST(Pages, OnlyThosePresentAreListedAndAsked) {
  std::size_t page = page_bytes();
  auto* data = static_cast<char*>(
      ::mmap(nullptr, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(data, MAP_FAILED);
  auto first = reinterpret_cast<std::uint64_t>(data);
  data[2 * page] = data[3 * page] = data[9 * page] = 1;
  [[maybe_unused]] volatile char zero = data[12 * page];  // the zero page: nothing to move
  std::vector<std::uint64_t> pages = {first, first + 2 * page, first + 9 * page + 17};
  std::vector<int> status(3);
  auto asked = query_pages(0, pages, status);
  if (!asked) GTEST_SKIP() << asked.error().message;
  EXPECT_EQ(status[0], -ENOENT);
  EXPECT_GE(status[1], 0);
  EXPECT_GE(status[2], 0);
  auto present = PresentPages::open(Os(), ::getpid());
  if (!present) GTEST_SKIP() << present.error().message;
  auto runs = present->scan(first, first + 16 * page);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0].first, first + 2 * page);
  EXPECT_EQ((*runs)[0].last, first + 4 * page);
  EXPECT_FALSE((*runs)[0].huge);
  EXPECT_EQ((*runs)[1].first, first + 9 * page);
  ::munmap(data, 16 * page);
}

TEST(RunFolder, IsPrivateAndOurs) {
  TestTree tree;
  auto folder = private_folder(tree.root() + "/nigh/watch");
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_TRUE(private_folder(*folder)) << "a second time";
  ASSERT_TRUE(write_file(*folder + "/a", "text"));
  EXPECT_EQ(read_own_file(*folder + "/a").value_or(""), "text");
  std::filesystem::permissions(*folder + "/a", std::filesystem::perms::all);
  EXPECT_FALSE(read_own_file(*folder + "/a")) << "others may write it";
  std::filesystem::create_symlink("/etc/passwd", *folder + "/b");
  EXPECT_FALSE(read_own_file(*folder + "/b")) << "a link";
  std::filesystem::permissions(*folder, std::filesystem::perms::all);
  EXPECT_FALSE(private_folder(*folder)) << "others may write to it";
  std::filesystem::create_directory_symlink(*folder, tree.root() + "/nigh/other");
  EXPECT_FALSE(private_folder(tree.root() + "/nigh/other")) << "a link";
}

// In a folder of all, somebody may have taken our name before us.
TEST(RunFolder, AnotherOneServesWhereTheNameWasTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's folder";
  TestTree tree;
  const std::string usual = tree.root() + "/nigh-" + std::to_string(::geteuid());
  auto first = folder_in_common(tree.root(), "watch");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*first, usual + "/watch");
  std::filesystem::remove_all(usual);
  ASSERT_EQ(::mkdir(usual.c_str(), 0777), 0);
  ASSERT_EQ(::chown(usual.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::symlink("/dev", (usual + "-AAAAAA").c_str()), 0);
  auto second = folder_in_common(tree.root(), "watch"), third = folder_in_common(tree.root(), "watch");
  ASSERT_TRUE(second && third);
  EXPECT_EQ(second->substr(0, usual.size() + 1), usual + "-");
  EXPECT_EQ(*second, *third) << "what was left there is found again";
  EXPECT_TRUE(std::filesystem::is_empty(usual));
}

}  // namespace
}  // namespace nigh::sys
