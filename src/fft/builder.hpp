// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The steps of a transform. The array is a matrix of `rows` x `columns` complex numbers, dealt by rows; where
// it is turned, of columns x rows, dealt by columns. Along the rows every rank works alone; down the columns
// lines lie in the rows of all ranks, and one pass fetches them from there, if these are in reach.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "fft/plan.hpp"

namespace nigh::fft {

// A rank's part of an array, and the addresses of the others' parts (empty: out of reach).
struct Array {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
  std::vector<std::byte*> of_rank;
};

// The parts that steps are made of, for any plan.
class Recipe {
 public:
  Recipe(nigh_fft& plan, Precision precision, const Local& local)
      : plan_(plan), precision_(precision), local_(local) {}
  // The transform of its lines is chosen here. finish() reports one that can't be made.
  void pass(Pass pass, const std::string& says);
  void wait();  // for all ranks
  void step(Step step);
  // Rows that lie one after the other.
  void rows(std::size_t n, Kind kind, std::size_t count, std::byte* from, std::byte* to);
  const Twiddles* twiddles(std::size_t n, int sign);
  // After the last step.
  Result<void> finish();
  // Collective.
  Result<std::byte*> memory(std::size_t bytes);
  World& world();
  [[nodiscard]] int threads() const;
  transpose::Team& team();
  [[nodiscard]] Transform transform(std::size_t n, Kind kind) const { return {n, kind, precision_}; }

 private:
  nigh_fft& plan_;
  Precision precision_;
  template <class Make>
  void make(const Make& make);
  void make_pass(Pass pass, const std::string& says);
  const RowPlan* row_plan(const Transform& transform);
  const LanePlan* lane_plan(const Transform& transform);

  Local local_;
  Result<void> failed_;
  std::map<std::pair<std::size_t, Kind>, const RowPlan*> row_plans_;
  std::map<std::pair<std::size_t, Kind>, const LanePlan*> lane_plans_;
};

class Builder {
 public:
  Builder(nigh_fft& plan, const Shape& shape, const Arrays& arrays, const Local& local);
  // Collective.
  Result<void> build();

 private:
  Result<void> steps();
  // The array on its way: where it is now.
  Result<void> rows_first();
  Result<void> columns_first();
  Result<void> from_turned();
  Result<void> long_one();
  Result<void> long_one_back();
  Result<void> long_reals();

  // Transforms along the dimensions of a row, within an array.
  void inner_dimension(std::size_t axis, const Array& from, const Array& to);
  void inner_dimensions(const Array& array);  // all but the last
  void real_rows(const Array& from, const Array& to);
  // Between a long transform of neighbours taken as complex numbers and the spectrum of reals, in blocks of
  // rows or columns.
  Result<void> mix(const Array& from, const Array& to, const transpose::Deal& deal, std::size_t each);
  // Down the columns, of the matrix in `from` to the same of `to`, or to its transpose.
  Result<void> down(const Array& from, const Array& to, bool turned, const Twiddles* twiddles);
  // The rows of a turned array, each a column.
  void turned_rows(const Array& from, const Array& to, const Twiddles* twiddles);
  // From a turned array to rows; `finished`: transformed along the last dimension on the way, to reals if so
  // the result is.
  Result<void> turn_back(const Array& from, const Array& to, bool finished);

  View rows_of_all(const Array& array, std::size_t first_column) const;
  View columns_of_all(const Array& array, std::size_t first_row, std::size_t flat) const;
  View own_columns(const Array& array) const;

  void add(Pass pass, const std::string& says) { recipe_.pass(std::move(pass), says); }
  void wait() { recipe_.wait(); }
  Result<void> turn(const Array& from, const Array& to, bool back);
  Result<Array> work(std::size_t bytes);
  Result<Array> work_rows();
  Result<Array> work_columns();
  [[nodiscard]] Kind kind() const { return shape_.forward() ? Kind::forward : Kind::backward; }
  [[nodiscard]] Transform transform(std::size_t n, Kind kind) const { return {n, kind, shape_.precision()}; }
  [[nodiscard]] std::size_t own_rows() const { return shape_.deal_rows(ranks_).count(me_); }
  [[nodiscard]] std::size_t own_columns() const { return shape_.deal_columns(ranks_).count(me_); }
  [[nodiscard]] bool spoils() const { return in_place_ || shape_.has(NIGH_FFT_DESTROY_INPUT); }

  Recipe recipe_;
  Shape shape_;
  Array in_, out_;
  bool in_place_;  // pointers say nothing: those of a rank that has no rows may be anything
  std::size_t me_, ranks_, element_;
  bool near_ = true;
};

}  // namespace nigh::fft
