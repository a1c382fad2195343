// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "fft/builder.hpp"

#include <climits>

#include "fft/real_line.hpp"

namespace nigh::fft {

namespace {
Array array_of(World& world, void* at, std::size_t bytes) {
  auto* data = static_cast<std::byte*>(at);
  return {data, bytes, world.reach(data, bytes)};
}
}  // namespace

Builder::Builder(nigh_fft& plan, const Shape& shape, const Arrays& arrays, const Local& local)
    : recipe_(plan, shape.precision(), local),
      shape_(shape),
      in_(array_of(recipe_.world(), arrays.in, arrays.in_bytes)),
      out_(array_of(recipe_.world(), arrays.out, arrays.out_bytes)),
      in_place_(arrays.in_place),
      me_(recipe_.world().rank()),
      ranks_(recipe_.world().ranks()),
      element_(shape.element()),
      near_(!in_.of_rank.empty() && !out_.of_rank.empty()) {}

Result<void> Builder::build() {
  auto done = steps();
  return done ? recipe_.finish() : done;
}

Result<void> Builder::steps() {
  if (shape_.one_dimension() && shape_.real()) return long_reals();
  if (shape_.one_dimension()) return shape_.has(NIGH_FFT_TRANSPOSED_IN) ? long_one_back() : long_one();
  if (shape_.has(NIGH_FFT_TRANSPOSED_IN)) return from_turned();
  return shape_.real() && !shape_.forward() ? columns_first() : rows_first();
}

// Natural order in; forward, or backward of complex numbers.
Result<void> Builder::rows_first() {
  const bool turned = shape_.has(NIGH_FFT_TRANSPOSED_OUT);
  Array rows = out_;
  if (turned && spoils() && !shape_.real() && !in_place_) {
    rows = in_;
  } else if (turned) {
    auto between = work_rows();
    if (!between) return tl::unexpected(between.error());
    rows = *between;
  }
  if (shape_.real()) {
    real_rows(in_, rows);
  } else {
    inner_dimension(shape_.dimensions().size() - 1, in_, rows);
  }
  inner_dimensions(rows);
  wait();
  if (auto done = down(rows, out_, turned, nullptr); !done) return done;
  wait();
  return {};
}

// Natural order in, backward to reals, which come last.
Result<void> Builder::columns_first() {
  Array rows = in_;
  if (!spoils()) {
    auto between = work_rows();
    if (!between) return tl::unexpected(between.error());
    rows = *between;
  }
  wait();
  if (auto done = down(in_, rows, false, nullptr); !done) return done;
  wait();
  inner_dimensions(rows);
  real_rows(rows, out_);
  return {};
}

Result<void> Builder::from_turned() {
  Array columns = in_, rows = out_;
  if (!spoils() || in_place_) {
    auto between = work_columns();
    if (!between) return tl::unexpected(between.error());
    columns = *between;
  }
  const bool to_reals = shape_.real(), finished = !to_reals || (shape_.dimensions().size() == 2 && near_);
  if (!finished) {
    auto between = work_rows();
    if (!between) return tl::unexpected(between.error());
    rows = *between;
  }
  turned_rows(in_, columns, nullptr);
  wait();
  if (auto done = turn_back(columns, rows, finished); !done) return done;
  wait();
  inner_dimensions(rows);
  if (!finished) real_rows(rows, out_);
  return {};
}

// x[j1 * n2 + j2] to X[k1 + n1 * k2]: down the columns, times the factors, along the rows.
Result<void> Builder::long_one() {
  const bool turned = shape_.has(NIGH_FFT_TRANSPOSED_OUT);
  Array rows = out_;
  if (!turned && spoils() && !in_place_) {
    rows = in_;
  } else if (!turned) {
    auto between = work_rows();
    if (!between) return tl::unexpected(between.error());
    rows = *between;
  }
  wait();
  if (auto done = down(in_, rows, false, recipe_.twiddles(shape_.rows() * shape_.columns(), shape_.sign()));
      !done)
    return done;
  wait();
  const std::size_t n2 = shape_.columns();
  if (turned || !near_) inner_dimension(1, rows, rows);
  if (turned) return {};
  if (near_) {
    Pass pass;
    pass.transform = transform(n2, kind());
    pass.lines = own_rows();
    pass.from = {{{rows.at, 0, n2}}, element_, n2 * element_, 0, 0};
    pass.to = columns_of_all(out_, shape_.deal_rows(ranks_).first(me_), 0);
    add(pass, "rows of " + std::to_string(n2) + ", put into columns");
  } else if (auto done = turn(rows, out_, false); !done) {
    return done;
  }
  wait();
  return {};
}

// The way back: along the rows, times the factors, down the columns.
Result<void> Builder::long_one_back() {
  Array rows = in_;
  if (!spoils()) {
    auto between = work_rows();
    if (!between) return tl::unexpected(between.error());
    rows = *between;
  }
  const std::size_t n2 = shape_.columns();
  Pass pass;
  pass.transform = transform(n2, kind());
  pass.lines = own_rows();
  pass.from = {{{in_.at, 0, n2}}, element_, n2 * element_, 0, 0};
  pass.to = {{{rows.at, 0, n2}}, element_, n2 * element_, 0, 0};
  pass.twiddles = recipe_.twiddles(shape_.rows() * shape_.columns(), shape_.sign());
  pass.first_line = shape_.deal_rows(ranks_).first(me_);
  add(pass, "rows of " + std::to_string(n2) + " with factors");
  wait();
  if (auto done = down(rows, out_, false, nullptr); !done) return done;
  wait();
  return {};
}

Result<void> Builder::long_reals() {
  if (shape_.forward()) {
    if (auto done = long_one(); !done) return done;
    return mix(out_, out_, shape_.deal_columns(ranks_), shape_.rows());
  }
  Array mixed = in_;
  if (!spoils()) {
    auto between = work_rows();
    if (!between) return tl::unexpected(between.error());
    mixed = *between;
  }
  wait();
  if (auto done = mix(in_, mixed, shape_.deal_rows(ranks_), shape_.columns()); !done) return done;
  std::swap(in_, mixed);
  return long_one();
}

Result<void> Builder::mix(const Array& from, const Array& to, const transpose::Deal& deal, std::size_t each) {
  const auto line = std::make_shared<RealLine>();
  line->precision = shape_.precision();
  line->forward = shape_.forward();
  for (std::size_t r = 0; r <= ranks_; ++r) line->blocks.first.push_back(deal.first(r) * each);
  line->twiddles = recipe_.twiddles(2 * line->blocks.m(), shape_.sign());
  transpose::Team& team = recipe_.team();
  if (near_) {
    const transpose::IndexRange mine = transpose::share(line->blocks.m() / 2 + 1, 1, me_, ranks_);
    recipe_.step({"elements and what stands opposite", [line, from, to, mine, &team]() -> Result<void> {
                    team.run([&](int thread) {
                      const transpose::IndexRange part =
                          transpose::share(mine.end - mine.first, 1, static_cast<std::size_t>(thread),
                                           static_cast<std::size_t>(team.threads()));
                      mix_pairs(*line, from.of_rank, to.of_rank,
                                {mine.first + part.first, mine.first + part.end});
                    });
                    return {};
                  }});
    wait();
    return {};
  }
  if (deal.most() > INT_MAX / each)
    return fail(Errc::unsupported, "a rank has more of the spectrum than a message takes: use more ranks");
  std::vector<transpose::IndexRange> have, want;
  for (std::size_t r = 0; r < ranks_; ++r) {
    have.push_back(line->blocks.of(r));
    want.push_back(line->blocks.mirror_of(r));
    if (shape_.forward()) have.back().end = line->blocks.first[r + 1];  // there is no element m yet
  }
  auto mirror = recipe_.memory((want[me_].end - want[me_].first) * element_);
  if (!mirror) return tl::unexpected(mirror.error());
  recipe_.step(
      {"what stands opposite is fetched", recipe_.world().fetch(element_, have, want, from.at, *mirror)});
  recipe_.step({"", [line, from, to, mirror = *mirror, me = me_, &team]() -> Result<void> {
                  team.run([&](int thread) {
                    mix_own(*line, me, from.at, mirror, to.at, static_cast<std::size_t>(thread),
                            static_cast<std::size_t>(team.threads()));
                  });
                  return {};
                }});
  return {};
}

void Builder::inner_dimension(std::size_t axis, const Array& from, const Array& to) {
  const std::vector<std::size_t>& n = shape_.dimensions();
  std::size_t inner = 1, outer = own_rows();
  for (std::size_t i = axis + 1; i < n.size(); ++i) inner *= n[i];
  for (std::size_t i = 1; i < axis; ++i) outer *= n[i];
  Pass pass;
  pass.transform = transform(n[axis], kind());
  const bool rows = inner == 1;
  pass.matrices = rows ? 1 : outer;
  pass.lines = rows ? outer : inner;
  pass.from = {{{from.at, 0, n[axis]}},
               inner * element_,
               (rows ? n[axis] : 1) * element_,
               n[axis] * inner * element_,
               0};
  pass.to = pass.from;
  pass.to.pieces[0].at = to.at;
  add(pass, (rows ? "rows of " : "lines within rows, of ") + std::to_string(n[axis]));
}

void Builder::inner_dimensions(const Array& array) {
  for (std::size_t axis = shape_.dimensions().size() - 2; axis >= 1; --axis)
    inner_dimension(axis, array, array);
}

void Builder::real_rows(const Array& from, const Array& to) {
  const std::size_t spectrum = shape_.dimensions().back() * element_;
  const std::size_t reals = shape_.row_of_reals(in_place_) * element_ / 2;
  const bool forward = shape_.forward();
  const Kind kind = forward ? Kind::real_forward : Kind::real_backward;
  Pass pass;
  pass.transform = transform(shape_.last(), kind);
  pass.lines = own_rows() * (shape_.columns() / shape_.dimensions().back());
  pass.from = {
      {{from.at, 0, shape_.last()}}, forward ? element_ / 2 : element_, forward ? reals : spectrum, 0, 0};
  pass.to = {
      {{to.at, 0, shape_.last()}}, forward ? element_ : element_ / 2, forward ? spectrum : reals, 0, 0};
  add(pass, "rows of " + std::to_string(shape_.last()) + " reals");
}

Result<void> Builder::down(const Array& from, const Array& to, bool turned, const Twiddles* twiddles) {
  const std::size_t first = shape_.deal_columns(ranks_).first(me_);
  if (near_) {
    Pass pass;
    pass.transform = transform(shape_.rows(), kind());
    pass.lines = own_columns();
    pass.from = rows_of_all(from, first);
    pass.to = turned ? own_columns(to) : rows_of_all(to, first);
    pass.twiddles = twiddles;
    pass.first_line = first;
    add(pass, "columns of " + std::to_string(shape_.rows()) + (turned ? ", put into rows" : ", put back"));
    return {};
  }
  Array columns = to;
  if (!turned) {
    auto between = work_columns();
    if (!between) return tl::unexpected(between.error());
    columns = *between;
  }
  if (auto done = turn(from, columns, false); !done) return done;
  turned_rows(columns, columns, twiddles);
  return turned ? Result<void>() : turn(columns, to, true);
}

void Builder::turned_rows(const Array& from, const Array& to, const Twiddles* twiddles) {
  Pass pass;
  pass.transform = transform(shape_.rows(), kind());
  pass.lines = own_columns();
  pass.from = own_columns(from);
  pass.to = own_columns(to);
  pass.twiddles = twiddles;
  pass.first_line = shape_.deal_columns(ranks_).first(me_);
  add(pass, "rows of " + std::to_string(shape_.rows()) + (twiddles != nullptr ? " with factors" : ""));
}

Result<void> Builder::turn_back(const Array& from, const Array& to, bool finished) {
  const std::vector<std::size_t>& n = shape_.dimensions();
  const bool straight_to_reals = shape_.real() && finished;
  if (!near_) {
    if (auto done = turn(from, to, true); !done) return done;
    if (!shape_.real()) inner_dimension(n.size() - 1, to, to);
    return {};
  }
  Pass pass;
  const Kind how = straight_to_reals ? Kind::real_backward : kind();
  pass.only_moves = !finished;
  pass.transform = transform(straight_to_reals ? shape_.last() : n.back(), how);
  pass.matrices = shape_.columns() / n.back();
  pass.lines = own_rows();
  pass.from = columns_of_all(from, shape_.deal_rows(ranks_).first(me_), n.back());
  const std::size_t reals = shape_.row_of_reals(in_place_) * element_ / 2;
  pass.to = straight_to_reals
                ? View{{{to.at, 0, shape_.last()}}, element_ / 2, reals, 0, 0}
                : View{{{to.at, 0, n.back()}}, element_, shape_.columns() * element_, n.back() * element_, 0};
  add(pass,
      "rows of " + std::to_string(pass.transform.n) + (!finished ? ", moved" : ", fetched from columns"));
  return {};
}

View Builder::rows_of_all(const Array& array, std::size_t first_column) const {
  View view{{}, shape_.columns() * element_, element_, 0, 0};
  const transpose::Deal deal = shape_.deal_rows(ranks_);
  for (std::size_t r = 0; r < ranks_; ++r)
    if (deal.count(r) > 0)  // else there need be no array
      view.pieces.push_back({array.of_rank[r] + first_column * element_, deal.first(r), deal.count(r)});
  return view;
}

View Builder::columns_of_all(const Array& array, std::size_t first_row, std::size_t flat) const {
  View view{{}, shape_.rows() * element_, element_, 0, flat};
  const transpose::Deal deal = shape_.deal_columns(ranks_);
  for (std::size_t r = 0; r < ranks_; ++r)
    if (deal.count(r) > 0)
      view.pieces.push_back({array.of_rank[r] + first_row * element_, deal.first(r), deal.count(r)});
  return view;
}

View Builder::own_columns(const Array& array) const {
  return {{{array.at, 0, shape_.rows()}}, element_, shape_.rows() * element_, 0, 0};
}

Result<void> Builder::turn(const Array& from, const Array& to, bool back) {
  const std::size_t rows = back ? shape_.columns() : shape_.rows(),
                    columns = back ? shape_.rows() : shape_.columns();
  auto action =
      recipe_.world().turn(rows, columns, element_, from.at, from.bytes, to.at, to.bytes, recipe_.threads());
  if (!action) return tl::unexpected(action.error());
  recipe_.step({"transpose of " + std::to_string(rows) + " x " + std::to_string(columns), *action});
  return {};
}

Result<Array> Builder::work(std::size_t bytes) {
  auto memory = recipe_.memory(bytes);
  if (!memory) return tl::unexpected(memory.error());
  Array array{*memory, bytes, {}};
  if (near_) {
    array.of_rank = recipe_.world().reach(array.at, bytes);
    if (array.of_rank.empty())
      return fail(Errc::io, "there is no shared memory for another array of " + std::to_string(bytes) +
                                " bytes (df /dev/shm), and NIGH_FFT_DESTROY_INPUT was not given");
  }
  return array;
}
Result<Array> Builder::work_rows() { return work(own_rows() * shape_.columns() * element_); }
Result<Array> Builder::work_columns() { return work(own_columns() * shape_.rows() * element_); }

}  // namespace nigh::fft
