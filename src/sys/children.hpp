// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The processes that this one is the parent of, by number: what a launcher that adopts orphans has to end.
#pragma once

#include <vector>

namespace nigh::sys {

// The children of the calling process's main thread, and the adopted ones. Empty where the kernel does not
// tell.
std::vector<int> own_children();

}  // namespace nigh::sys
