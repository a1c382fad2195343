// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels for x86-64 with AVX2; see combine_kernels.hpp. Only the flags of this file differ.
#include "message/combine_table.hpp"

namespace nigh::message {
extern const Kernels avx2_kernels;
constinit const Kernels avx2_kernels = make_kernels();
}  // namespace nigh::message
