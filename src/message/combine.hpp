// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The table behind find_combine(): one row of kernels for each operation and element, built three times from
// the same source (combine_kernels.hpp) for three instruction sets, of which the machine's best is picked
// once. All three give the same bits: elements are combined one by one in the members' order, and the
// compiler may not fuse a multiplication with an addition.
#pragma once

#include <cstddef>

#include "message/collective.hpp"

namespace nigh::message {

struct Kernels {
  CombineKernel plain[static_cast<int>(Op::count)][static_cast<int>(Element::count)] = {};
  CombineKernel ordered[static_cast<int>(Op::count)][static_cast<int>(Element::count)] = {};
};

extern const Kernels base_kernels;
#if defined(__x86_64__)
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
#endif

// Bytes from one element to the next.
std::size_t element_bytes(Element element);
// The tables that this machine can run, best first; ends with nullptr. For tests: all must agree.
const Kernels* const* usable_kernels();

}  // namespace nigh::message
