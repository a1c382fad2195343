// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// For tests: operator new counts what each thread allocates, and has no memory beyond a number that the test
// sets. With a sanitizer memory is its own, and nothing is counted or refused.
#pragma once

#include <cstddef>

namespace nigh::message::testing {

extern thread_local std::size_t news, most_news;

}  // namespace nigh::message::testing
