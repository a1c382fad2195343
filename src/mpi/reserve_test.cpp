// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// When the address space is full, what was set aside is there for operator new, once, and again after the
// next filling.
#include "mpi/reserve.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <new>
#include <vector>

namespace nigh::mpi {
namespace {

constexpr std::size_t block = std::size_t{1} << 20;

// No more address space than is in use now.
class Full {
 public:
  Full() {
    taken_.reserve(10'000);
    getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<std::size_t>(getpagesize());
    setrlimit(RLIMIT_AS, &limit);
    while (void* more = std::malloc(block)) taken_.push_back(more);  // what the allocator still had
  }
  ~Full() {
    setrlimit(RLIMIT_AS, &before_);
    for (void* memory : taken_) std::free(memory);
  }
  Full(const Full&) = delete;
  Full& operator=(const Full&) = delete;

 private:
  rlimit before_ = {};
  std::vector<void*> taken_;
};

TEST(reserve, is_there_once_a_filling) {
#ifdef NIGH_SANITIZED
  GTEST_SKIP() << "memory is the sanitizer's";
#endif
  reserve_start(4 * block);
  for (int filling = 0; filling < 3; ++filling) {
    void *first = nullptr, *second = nullptr;
    bool refilled = false;
    {
      const Full full;
      first = ::operator new(block, std::nothrow);
      second = ::operator new(4 * block, std::nothrow);
      refilled = reserve_fill();
    }
    EXPECT_NE(first, nullptr) << filling;
    EXPECT_EQ(second, nullptr) << filling;
    EXPECT_FALSE(refilled) << filling;
    ::operator delete(first);
    ::operator delete(second);
    EXPECT_TRUE(reserve_fill()) << filling;
  }
  reserve_stop();
  const Full full;
  EXPECT_EQ(::operator new(4 * block, std::nothrow), nullptr);
}

}  // namespace
}  // namespace nigh::mpi
