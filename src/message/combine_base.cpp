// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels for any machine of this architecture; see combine_kernels.hpp. Only the flags of this file
// differ.
#include "message/combine_table.hpp"

namespace nigh::message {
extern const Kernels base_kernels;
constinit const Kernels base_kernels = make_kernels();
}  // namespace nigh::message
