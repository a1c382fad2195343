// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The subjects of `nigh bench copy` with files of their own: FFTW, and matrices transposed in their own
// memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/batches.hpp"
#include "transpose/team.hpp"

namespace bench {

// FFTW's transposes of a matrix of rows x columns (row by row), planned with FFTW_MEASURE; planning writes
// over the matrices. FFTW is under the GPL: this program is linked with it where CMake finds it, the library
// never.
class FftwTranspose {
 public:
  static bool is_there();
  // Rows of `from` and of `to` are so many doubles apart; in place where they are one.
  FftwTranspose(double* from, std::size_t from_stride, double* to, std::size_t to_stride, std::size_t rows,
                std::size_t columns);
  ~FftwTranspose();
  FftwTranspose(const FftwTranspose&) = delete;
  FftwTranspose& operator=(const FftwTranspose&) = delete;
  void run() const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

// Squares and rectangles of doubles in place; memcpy and limit copy as many bytes. Nothing for other
// subjects. What was wrong; empty: nothing was.
std::string measure_in_place(const std::string& subject, nigh::transpose::Team& team, bool quick,
                             std::vector<Measured>& results);

}  // namespace bench
