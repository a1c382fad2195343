// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/in_child.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace nigh::sys {
namespace {

// The sentence for work that fails.
std::string sentence(const std::function<std::string()>& work, const ChildLimits& limits = {}) {
  auto answer = in_child("reading it", work, limits);
  return answer ? "answered " + *answer : answer.error().message;
}

TEST(InChild, GivesTheAnswerOfAnySize) {
  EXPECT_EQ(*in_child("x", [] { return std::string("yes"); }), "yes");
  EXPECT_EQ(*in_child("x", [] { return std::string(); }), "");
  EXPECT_EQ(*in_child("x", [] { return std::string("two\nlines\n"); }), "two\nlines\n");
  EXPECT_EQ(in_child("x", [] { return std::string(3'000'000, 'y'); })->size(), 3'000'000U);
}

TEST(InChild, WhatHappensThereStaysThere) {
  int here = 1;
  ASSERT_TRUE(in_child("x", [&] { return std::to_string(++here); }));
  EXPECT_EQ(here, 1);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
}

TEST(InChild, ACrashIsASentence) {
  EXPECT_NE(sentence([]() -> std::string {
              ::signal(SIGSEGV, SIG_DFL);
              ::raise(SIGSEGV);
              return "";
            }).find("reading it crashed (signal 11"),
            std::string::npos);
  EXPECT_NE(sentence([]() -> std::string {
              ::signal(SIGABRT, SIG_DFL);
              std::abort();
            }).find("crashed (signal 6"),
            std::string::npos);
  EXPECT_NE(sentence([]() -> std::string { throw std::runtime_error("no"); }).find("reading it failed"),
            std::string::npos);
  EXPECT_NE(sentence([]() -> std::string { _exit(3); }).find("reading it failed"), std::string::npos);
}

// A program's own handlers and masks of signals say nothing of it.
TEST(InChild, HandlersOfTheProgramAreNotCalled) {
  struct sigaction before = {}, ours = {};
  ours.sa_handler = [](int) { _exit(0); };
  ASSERT_EQ(sigaction(SIGFPE, &ours, &before), 0);
  EXPECT_NE(sentence([]() -> std::string {
              ::raise(SIGFPE);
              return "";
            }).find("crashed (signal 8"),
            std::string::npos);
  sigaction(SIGFPE, &before, nullptr);
}

TEST(InChild, TimeEnds) {
  const auto from = std::chrono::steady_clock::now();
  EXPECT_EQ(sentence(
                []() -> std::string {
                  ::sleep(100);
                  return "";
                },
                {10, 1, std::uint64_t{1} << 30}),
            "reading it took more than 1 seconds and was given up");
  EXPECT_EQ(sentence(
                []() -> std::string {
                  for (volatile int i = 0;;) i = 1 - i;
                },
                {1, 60, std::uint64_t{1} << 30}),
            "reading it took more than 1 seconds of a CPU and was given up");
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(20));
}

#ifndef NIGH_SANITIZED  // whose shadow has more addresses than any limit
TEST(InChild, MemoryEnds) {
  EXPECT_NE(sentence(
                [] {
                  std::vector<char> much(std::size_t{3} << 30);
                  return std::string(1, much.back());
                },
                {10, 60, std::uint64_t{1} << 30})
                .find("needs more memory than 1 GiB"),
            std::string::npos);
}
#endif

}  // namespace
}  // namespace nigh::sys
