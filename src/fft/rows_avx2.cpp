// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// pocketfft for AVX2. The standard's headers come first, without it: their templates are shared with code for
// CPUs that lack it.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "fft/rows.hpp"

#ifdef NIGH_FFT_VECTORS
#pragma GCC target("avx2,fma")
// g++ reads all of a file before it acts upon that line, so pocketfft would not see these.
#ifndef __AVX__
#define __AVX__ 1
#endif
#define POCKETFFT_NO_MULTITHREADING
#define POCKETFFT_CACHE_SIZE 0
#define pocketfft nigh_pocketfft_avx2
#define NIGH_FFT_SET avx2
#include "fft/rows_pocketfft.hpp"

namespace nigh::fft {
const Backend pocketfft_avx2{"pocketfft, AVX2", 32, avx2::plan};
}  // namespace nigh::fft
#endif
