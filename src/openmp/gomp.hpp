// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// libgomp's entry points, as its ABI has them (symbol versions GOMP_1.0 to GOMP_5.0). No header of gcc
// declares them.
#pragma once

#include <type_traits>

#define REGION(ret, name, params, args, threads) extern "C" ret name params;
#define OLD_REGION(name, params, args, threads) extern "C" void name params;
#include "openmp/gomp_entries.inc"
extern "C" void GOMP_parallel_end(void);
