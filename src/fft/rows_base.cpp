// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// pocketfft for every CPU of this architecture.
#define POCKETFFT_NO_MULTITHREADING
#define POCKETFFT_CACHE_SIZE 0
#define pocketfft nigh_pocketfft_base
#define NIGH_FFT_SET base
#include "fft/rows_pocketfft.hpp"

namespace nigh::fft {
const Backend pocketfft_base{"pocketfft", 16, base::plan};
}  // namespace nigh::fft
