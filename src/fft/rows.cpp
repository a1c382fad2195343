// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The choice of a backend for the rows. The widest vectors are not always the fastest: as many rows as they
// have lanes are worked on at once, in two buffers, and those should fit a core's own cache.
#include "fft/rows.hpp"

#include <dlfcn.h>

#include <string>

#include "base/vectors.hpp"

namespace nigh::fft {

namespace {
#ifdef NIGH_FFT_VECTORS
constexpr std::size_t two_groups = std::size_t{512} << 10;  // bytes of two buffers
// The bytes that a group of rows fills, in two buffers.
std::size_t group_bytes(const Transform& transform, const Backend& backend) {
  return 4 * transform.n * backend.vector_bytes;
}
#endif

// Beside this library, else where the loader looks.
std::string beside_us(const char* name) {
  Dl_info here = {};
  if (dladdr(reinterpret_cast<const void*>(&beside_us), &here) == 0 || here.dli_fname == nullptr) return name;
  const std::string path = here.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
}
}  // namespace

const Backend& pocketfft_for([[maybe_unused]] const Transform& transform) {
#ifdef NIGH_FFT_VECTORS
  static const bool avx2 = has_avx2(), avx512 = has_avx512();
  if (avx512 && group_bytes(transform, pocketfft_avx512) <= two_groups) return pocketfft_avx512;
  if (avx2) return pocketfft_avx2;
#endif
  return pocketfft_base;
}

Result<const Backend*> fftw() {
  constexpr const char* name = "libnigh-fft-fftw.so.0";
  void* library = dlopen(beside_us(name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  const auto* found =
      library == nullptr ? nullptr : static_cast<const Backend*>(dlsym(library, "nigh_fft_rows_by_fftw"));
  if (found == nullptr)
    return fail(Errc::unsupported, std::string("FFTW's rows were asked for, and ") + name +
                                       " can't be loaded; it is built where FFTW 3 is installed");
  return found;
}

}  // namespace nigh::fft
