// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "space/common_range.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace nigh::space {
namespace {

int* at(const CommonRange& range, std::size_t offset) {
  return reinterpret_cast<int*>(range.first() + offset);  // NOLINT(performance-no-int-to-ptr)
}

TEST(CommonRange, ItsBytesAreThoseOfTheProcess) {
  CommonRange range;
  ASSERT_TRUE(range.settle_alone());
  const std::size_t far = range.bytes() - 4096;
  EXPECT_TRUE(range.use(at(range, 0), 4096));
  EXPECT_TRUE(range.use(at(range, far), 4096));
  EXPECT_TRUE(range.use(at(range, (std::size_t{64} << 20) - 64), 128));  // two slabs
  EXPECT_FALSE(range.use(at(range, far), 4097));
  EXPECT_FALSE(range.use(&far, 8));
  *at(range, 0) = 5;
  *at(range, far) = 6;
  at(range, (std::size_t{64} << 20))[1] = 7;
  const pid_t child = ::fork();
  if (child == 0) {
    *at(range, 0) = 9;
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(*at(range, 0), 5);
  range.discard(at(range, 0), 4096);
  EXPECT_EQ(*at(range, 0), 0);
  EXPECT_EQ(*at(range, far), 6);
}

TEST(CommonRange, AFileOfMemoryIsSeenByAll) {
  CommonRange range;
  ASSERT_TRUE(range.settle_alone());
  if (range.bytes() != CommonRange::most_bytes) GTEST_SKIP() << "a sanitizer has these places";
  const std::string file = range.make_file();
  ASSERT_FALSE(file.empty());
  ASSERT_TRUE(range.share(file));
  EXPECT_TRUE(range.use(at(range, 1 << 20), 4096));
  *at(range, 1 << 20) = 5;
  const pid_t child = ::fork();
  if (child == 0) {
    *at(range, 1 << 20) += 4;
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(*at(range, 1 << 20), 9);
  range.discard(at(range, 1 << 20), 4096);
  EXPECT_EQ(*at(range, 1 << 20), 0);
}

TEST(CommonRange, TheFirstPlaceThatIsFreeInAll) {
  CommonRange one;
  const std::uint32_t free = one.free_places() & (one.free_places() - 1);  // the first is not, elsewhere
  if (free == 0) GTEST_SKIP() << "a sanitizer has these places";
  ASSERT_TRUE(one.settle(free));
  std::size_t second = 0;
  while (!(free >> second & 1)) ++second;
  EXPECT_EQ(one.first(), CommonRange::places[second]);
  CommonRange other;  // in the same process: all but that
  EXPECT_EQ(other.free_places() >> second & 1, 0U);
  EXPECT_FALSE(other.settle(0));
  EXPECT_FALSE(other.settled());
  EXPECT_FALSE(other.use(at(one, 0), 8));
  EXPECT_FALSE(other.share("/dev/null"));
}

}  // namespace
}  // namespace nigh::space
