// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// For tests: a folder that stands for a machine's file system, or is just there to write in. It goes with its
// owner.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sys/os.hpp"

namespace nigh::sys {

class TestTree {
 public:
  TestTree() : root_(testing::TempDir() + "nigh-test-XXXXXX") {
    if (::mkdtemp(root_.data()) == nullptr) std::abort();  // mode 0700
  }
  ~TestTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TestTree(const TestTree&) = delete;
  TestTree& operator=(const TestTree&) = delete;

  // Paths begin with a slash, as on the machine that it stands for.
  const TestTree& put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    EXPECT_TRUE(write_file(root_ + path, text)) << path;
    return *this;
  }
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] Os os() const { return Os(root_); }

 private:
  std::string root_;
};

}  // namespace nigh::sys
