// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Fourier transforms from C++: of one process, over ranks there and back, and that what is refused is thrown.
#include <mpi.h>
#include <nigh/fft.hpp>

#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

namespace {
using Complex = std::complex<double>;
int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "wrong: %s\n", what);
}

// A pulse in the second element of the last dimension: its spectrum turns once.
void alone() {
  std::vector<float> a(6 * 8);
  std::vector<std::complex<float>> b(6 * 5);
  a[1] = 1;
  nigh::Fft forward({6, 8}, NIGH_FFT_FORWARD, a, b, 0, 2);
  forward();
  bool right = true;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 5; ++j)
      right = right && std::abs(b[i * 5 + j] - std::polar(1.0F, -static_cast<float>(M_PI) *
                                                                    static_cast<float>(j) / 4)) < 1e-6F;
  expect(right, "the spectrum of a pulse");
  expect(forward.explain().find("6 x 8 floats") != std::string::npos, "what it says of itself");
  bool thrown = false;
  try {
    nigh::Fft large({7, 8}, NIGH_FFT_FORWARD, a, b);
  } catch (const nigh::FftError& error) { thrown = std::string(error.what()).find("in has 192 bytes") == 0; }
  expect(thrown, "an array that is too small");
}

void over_ranks() {
  const nigh::FftShape n = {20, 9, 14};
  const nigh::FftParts has(MPI_COMM_WORLD, n, NIGH_FFT_FORWARD, NIGH_FFT_TRANSPOSED_OUT);
  nigh::RankArray<Complex> a(has.in.rows * has.in.row, MPI_COMM_WORLD),
      b(has.out.rows * has.out.row, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = {double(i % 31), double(has.in.first)};
  nigh::Fft forward(MPI_COMM_WORLD, n, NIGH_FFT_FORWARD, a, b, NIGH_FFT_TRANSPOSED_OUT, 1);
  nigh::Fft backward(MPI_COMM_WORLD, n, NIGH_FFT_BACKWARD, b, a, NIGH_FFT_TRANSPOSED_IN, 1);
  forward();
  for (Complex& value : a) value = 0;
  backward();
  bool right = true;
  for (std::size_t i = 0; i < a.size(); ++i)
    right = right && std::abs(a[i] / 2520.0 - Complex(double(i % 31), double(has.in.first))) < 1e-12;
  expect(right, "there and back");
}
}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  alone();
  over_ranks();
  int rank = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) std::puts("all transforms are right");
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
