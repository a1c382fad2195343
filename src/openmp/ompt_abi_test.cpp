// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "openmp/ompt_abi.hpp"

#include <gtest/gtest.h>
#include <omp-tools.h>

#include <cstddef>
#include <type_traits>

namespace nigh::preload::ompt {
namespace {

// Most is proved when this is compiled.
template <class Ours, class Theirs>
constexpr bool alike = sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);

static_assert(alike<Data, ompt_data_t> && offsetof(Data, ptr) == offsetof(ompt_data_t, ptr));
static_assert(alike<Endpoint, ompt_scope_endpoint_t>);
static_assert(alike<StartToolResult, ompt_start_tool_result_t>);
static_assert(offsetof(StartToolResult, finalize) == offsetof(ompt_start_tool_result_t, finalize));
static_assert(offsetof(StartToolResult, tool) == offsetof(ompt_start_tool_result_t, tool_data));
static_assert(alike<SetCallback, ompt_set_callback_t> && sizeof(ompt_set_result_t) == sizeof(int));
static_assert(std::is_same_v<Function, ompt_callback_t> &&
              std::is_same_v<GetNumPlaces, ompt_get_num_places_t>);
static_assert(std::is_same_v<Lookup, ompt_function_lookup_t>);

TEST(OmptAbi, HasTheValuesOfTheStandard) {
  EXPECT_EQ(static_cast<int>(scope_begin), static_cast<int>(ompt_scope_begin));
  EXPECT_EQ(static_cast<int>(scope_end), static_cast<int>(ompt_scope_end));
  EXPECT_EQ(parallel_league, static_cast<int>(ompt_parallel_league));
  EXPECT_EQ(task_initial, static_cast<int>(ompt_task_initial));
  EXPECT_EQ(callback_parallel_begin, static_cast<int>(ompt_callback_parallel_begin));
  EXPECT_EQ(callback_implicit_task, static_cast<int>(ompt_callback_implicit_task));
}

}  // namespace
}  // namespace nigh::preload::ompt
