// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Jobs of tests, and what their elements find wrong.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "nigh/chare.hpp"

namespace nigh::chare {

// The findings of elements; a thread each, so atomic or only written by one.
inline std::atomic<int> wrong = 0, seen = 0;
#define FIND(condition) (wrong += (condition) ? 0 : 1)

template <class Main>
int run_on(int pes, Main main) {
  wrong = seen = 0;
  return run(Options{.pes = pes}, main);
}
template <class Main>
std::string told_by(Main main) {
  testing::internal::CaptureStderr();
  main();
  return testing::internal::GetCapturedStderr();
}

}  // namespace nigh::chare
