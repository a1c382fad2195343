// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The part of OMPT that we use, as OpenMP 5.2 fixes it (chapter 19): building nigh needs no header of an
// OpenMP compiler. A test compares every size and value with those of omp-tools.h.
#pragma once

#include <stdint.h>

namespace nigh::preload::ompt {

union Data {
  uint64_t value;
  void* ptr;
};

struct Frame;

enum Endpoint : int { scope_begin = 1, scope_end = 2 };

constexpr int parallel_league = 0x40000000;  // flags of a parallel region
constexpr int task_initial = 0x1;            // flags of a task

constexpr int callback_parallel_begin = 3;
constexpr int callback_implicit_task = 7;

using Function = void (*)();
using Lookup = Function (*)(const char* name);
using SetCallback = int (*)(int event, Function callback);
using GetNumPlaces = int (*)();

struct StartToolResult {
  int (*initialize)(Lookup lookup, int initial_device, Data* tool);
  void (*finalize)(Data* tool);
  Data tool;
};

}  // namespace nigh::preload::ompt
