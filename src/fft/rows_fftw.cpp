// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rows by FFTW. Built into libnigh-fft-fftw.so, which links FFTW and so may be given away under the GPL only;
// nothing else of nigh links it. Planned by measuring (FFTW_PATIENT for rows that are short enough for that
// to take moments), in place, since rows lie in a core's cache when they come here.
#include <fftw3.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "fft/rows.hpp"

namespace nigh::fft {

namespace {
// FFTW's planner is not to be used by two threads at once.
std::mutex& planner() {
  static std::mutex one;
  return one;
}

// The functions for one precision under one name.
struct OfDouble {
  using Real = double;
  using Complex = fftw_complex;
  using Handle = fftw_plan;
  static Handle complex(int n, Complex* at, int sign, unsigned flags) {
    return fftw_plan_dft_1d(n, at, at, sign, flags);
  }
  static Handle forward(int n, Real* at, unsigned flags) {
    return fftw_plan_dft_r2c_1d(n, at, reinterpret_cast<Complex*>(at), flags);
  }
  static Handle backward(int n, Real* at, unsigned flags) {
    return fftw_plan_dft_c2r_1d(n, reinterpret_cast<Complex*>(at), at, flags);
  }
  static void run(Handle p, Complex* at) { fftw_execute_dft(p, at, at); }
  static void run_forward(Handle p, Real* at) { fftw_execute_dft_r2c(p, at, reinterpret_cast<Complex*>(at)); }
  static void run_backward(Handle p, Real* at) {
    fftw_execute_dft_c2r(p, reinterpret_cast<Complex*>(at), at);
  }
  static void destroy(Handle p) { fftw_destroy_plan(p); }
};
struct OfFloat {
  using Real = float;
  using Complex = fftwf_complex;
  using Handle = fftwf_plan;
  static Handle complex(int n, Complex* at, int sign, unsigned flags) {
    return fftwf_plan_dft_1d(n, at, at, sign, flags);
  }
  static Handle forward(int n, Real* at, unsigned flags) {
    return fftwf_plan_dft_r2c_1d(n, at, reinterpret_cast<Complex*>(at), flags);
  }
  static Handle backward(int n, Real* at, unsigned flags) {
    return fftwf_plan_dft_c2r_1d(n, reinterpret_cast<Complex*>(at), at, flags);
  }
  static void run(Handle p, Complex* at) { fftwf_execute_dft(p, at, at); }
  static void run_forward(Handle p, Real* at) {
    fftwf_execute_dft_r2c(p, at, reinterpret_cast<Complex*>(at));
  }
  static void run_backward(Handle p, Real* at) {
    fftwf_execute_dft_c2r(p, reinterpret_cast<Complex*>(at), at);
  }
  static void destroy(Handle p) { fftwf_destroy_plan(p); }
};

constexpr std::size_t patient_up_to = 16384, longest = 1U << 30;

template <class F>
class Plan final : public RowPlan {
  using Real = typename F::Real;
  using Complex = typename F::Complex;

 public:
  explicit Plan(const Transform& transform) : transform_(transform) {
    const std::size_t reals = 2 * std::max(transform.n, half(transform.n));
    const std::unique_ptr<Real[]> workspace(new Real[reals + 16]());
    const unsigned flags = (transform.n <= patient_up_to ? FFTW_PATIENT : FFTW_MEASURE) | FFTW_DESTROY_INPUT;
    const int n = static_cast<int>(transform.n);
    const std::lock_guard one(planner());
    switch (transform.kind) {
      case Kind::forward:
        handle_ = F::complex(n, reinterpret_cast<Complex*>(workspace.get()), FFTW_FORWARD, flags);
        break;
      case Kind::backward:
        handle_ = F::complex(n, reinterpret_cast<Complex*>(workspace.get()), FFTW_BACKWARD, flags);
        break;
      case Kind::real_forward: handle_ = F::forward(n, workspace.get(), flags); break;
      case Kind::real_backward: handle_ = F::backward(n, workspace.get(), flags); break;
    }
    if (handle_ == nullptr) throw std::bad_alloc();
  }
  ~Plan() override {
    const std::lock_guard one(planner());
    F::destroy(handle_);
  }

  void run(const RowsOf& rows) const override {
    // A row may be longer before than after; and FFTW's vectors want 16 bytes to begin at a multiple of them.
    const bool crooked = (reinterpret_cast<std::uintptr_t>(rows.to) | rows.to_stride) % 16 != 0;
    const bool through = crooked || (is_real(transform_.kind) && rows.from != rows.to);
    const std::unique_ptr<std::byte[]> workspace(
        through ? new std::byte[std::max(transform_.from_bytes(), transform_.to_bytes())] : nullptr);
    for (std::size_t i = 0; i < rows.count; ++i) {
      std::byte* to = rows.to + i * rows.to_stride;
      std::byte* at = through ? workspace.get() : to;
      if (at != rows.from + i * rows.from_stride)
        std::memcpy(at, rows.from + i * rows.from_stride, transform_.from_bytes());
      one(at);
      if (through) std::memcpy(to, at, transform_.to_bytes());
    }
  }

 private:
  void one(std::byte* at) const {
    switch (transform_.kind) {
      case Kind::real_forward: return F::run_forward(handle_, reinterpret_cast<Real*>(at));
      case Kind::real_backward: return F::run_backward(handle_, reinterpret_cast<Real*>(at));
      default: return F::run(handle_, reinterpret_cast<Complex*>(at));
    }
  }

  Transform transform_;
  typename F::Handle handle_ = nullptr;
};

std::unique_ptr<RowPlan> plan(const Transform& transform) {
  if (transform.n > longest) return nullptr;
  if (transform.precision == Precision::single_precision) return std::make_unique<Plan<OfFloat>>(transform);
  return std::make_unique<Plan<OfDouble>>(transform);
}
}  // namespace

}  // namespace nigh::fft

extern "C" __attribute__((visibility("default"))) const nigh::fft::Backend nigh_fft_rows_by_fftw;
const nigh::fft::Backend nigh_fft_rows_by_fftw{"FFTW", 0, nigh::fft::plan};
