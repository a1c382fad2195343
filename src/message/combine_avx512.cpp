// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels for x86-64 with AVX-512 (F, BW, DQ, VL); see combine_kernels.hpp. Only the flags of this file
// differ.
// gcc 12 turns products of complex numbers into fused ones here even where contraction is off, so those are
// left to the kernels for AVX2.
#define NIGH_FUSES_COMPLEX
#include "message/combine_table.hpp"

namespace nigh::message {
extern const Kernels avx512_kernels;
constinit const Kernels avx512_kernels = make_kernels();
}  // namespace nigh::message
