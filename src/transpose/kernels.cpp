// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Compiles the kernels for each instruction set and picks. Highway is used as headers alone: its own dispatch
// would make its library a dependency of every program that transposes.
#include "transpose/kernels.hpp"

#include <type_traits>

#include "base/vectors.hpp"

// Its checks of indices, in sanitized builds, would want that library, too.
#define HWY_IS_DEBUG_BUILD 0
// Targets that are not worth a set of their own, or have no vectors of a size that the compiler knows.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transpose/kernels-inl.hpp"
#include <hwy/foreach_target.h>

#include "transpose/kernels-inl.hpp"

namespace nigh::transpose {

namespace {
std::vector<const Kernels*> find() {
  std::vector<const Kernels*> found{&HWY_STATIC_DISPATCH(table)};
#if HWY_TARGETS & HWY_AVX2 & ~HWY_STATIC_TARGET
  if (has_avx2()) found.push_back(&N_AVX2::table);
#endif
#if HWY_TARGETS & HWY_AVX3 & ~HWY_STATIC_TARGET
  if (has_avx512()) found.push_back(&N_AVX3::table);
#endif
  return found;
}
}  // namespace

const std::vector<const Kernels*>& all_kernels() {
  static const std::vector<const Kernels*> all = find();
  return all;
}

const Kernels& kernels() { return *all_kernels().back(); }

}  // namespace nigh::transpose
