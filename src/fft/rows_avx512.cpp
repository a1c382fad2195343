// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// pocketfft for AVX-512; rows_avx2.cpp says why it is done so.
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
#pragma GCC target("avx2,fma,avx512f,avx512dq,avx512vl,avx512bw,avx512cd")
#ifndef __AVX__
#define __AVX__ 1
#endif
#ifndef __AVX512F__
#define __AVX512F__ 1
#endif
#define POCKETFFT_NO_MULTITHREADING
#define POCKETFFT_CACHE_SIZE 0
#define pocketfft nigh_pocketfft_avx512
#define NIGH_FFT_SET avx512
#include "fft/rows_pocketfft.hpp"

namespace nigh::fft {
const Backend pocketfft_avx512{"pocketfft, AVX-512", 64, avx512::plan};
}  // namespace nigh::fft
#endif
