// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The end of a broken invariant: say where, then stop with a core.
#include "base/result.hpp"

#include <cstdio>
#include <cstdlib>

namespace nigh {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "nigh: broken invariant %s at %s:%d; this is a bug in nigh, please report it\n",
               expression, file, line);
  std::abort();
}

}  // namespace nigh
