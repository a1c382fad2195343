// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "fft/pass.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "fft/lane_pass.hpp"
#include "fft/panel.hpp"

namespace nigh::fft {

namespace {
using transpose::line;

constexpr std::size_t panel_bytes = std::size_t{512} << 10;
constexpr std::size_t least_lines = 4, most_lines = 16;
constexpr std::size_t ahead = 12;  // elements that are prefetched before they are wanted

// Elements of two or four words, between a panel's rows and lines that are next to each other.
template <class Element, bool in>
void turn(std::byte* outer, std::size_t outer_element, std::size_t outer_line, std::byte* rows,
          std::size_t row_stride, std::size_t begin, std::size_t end, std::size_t lines) {
  constexpr std::size_t size = sizeof(Element);
  for (std::size_t e = begin; e < end; ++e, outer += outer_element) {
    for (std::size_t l = 0; l < lines * size; l += line)
      __builtin_prefetch(outer + ahead * outer_element + l, in ? 0 : 1);
    std::byte* inner = rows + e * size;
    for (std::size_t l = 0; l < lines; ++l) {
      if constexpr (in) {
        std::memcpy(inner + l * row_stride, outer + l * outer_line, size);
      } else {
        std::memcpy(outer + l * outer_line, inner + l * row_stride, size);
      }
    }
  }
}

struct Complex8 {
  std::uint64_t words[1];
};
struct Complex16 {
  std::uint64_t words[2];
};

template <bool in>
void move_panel(const View& view, std::size_t n, std::size_t size, const Panel& panel, std::byte* rows,
                std::size_t row_stride) {
  each_piece(view, n, panel.matrix, [&](std::byte* at, std::size_t begin, std::size_t end) {
    at += panel.first * view.line;
    if (view.element == size) {  // runs
      for (std::size_t l = 0; l < panel.count; ++l) {
        std::byte *outer = at + l * view.line, *inner = rows + l * row_stride + begin * size;
        if constexpr (in) {
          std::memcpy(inner, outer, (end - begin) * size);
        } else {
          std::memcpy(outer, inner, (end - begin) * size);
        }
      }
    } else if (size == sizeof(Complex8)) {
      turn<Complex8, in>(at, view.element, view.line, rows, row_stride, begin, end, panel.count);
    } else {
      turn<Complex16, in>(at, view.element, view.line, rows, row_stride, begin, end, panel.count);
    }
  });
}

template <class T>
void multiply(const Pass& pass, const Panel& panel, std::byte* rows, std::size_t stride) {
  const Twiddles& w = *pass.twiddles;
  for (std::size_t l = 0; l < panel.count; ++l) {
    const std::size_t step = (panel.first + l + pass.first_line) % w.size();
    auto* row = reinterpret_cast<T*>(rows + l * stride);
    std::size_t exponent = 0;
    for (std::size_t k = 0; k < pass.transform.n; ++k) {
      const std::complex<double> factor = w.at(exponent);
      const double re = row[2 * k], im = row[2 * k + 1];
      row[2 * k] = static_cast<T>(re * factor.real() - im * factor.imag());
      row[2 * k + 1] = static_cast<T>(re * factor.imag() + im * factor.real());
      exponent += step;
      if (exponent >= w.size()) exponent -= w.size();
    }
  }
}

void twiddle(const Pass& pass, const Panel& panel, std::byte* rows, std::size_t stride) {
  if (pass.twiddles == nullptr) return;
  if (pass.transform.precision == Precision::single_precision) {
    multiply<float>(pass, panel, rows, stride);
  } else {
    multiply<double>(pass, panel, rows, stride);
  }
}

// Rows of a panel, whose equal elements do not meet in one set of a cache.
class Scratch {
 public:
  Scratch(std::size_t row_bytes, std::size_t rows)
      : stride_((row_bytes + line - 1) / line * line + line),
        memory_(new(std::align_val_t(line)) std::byte[stride_ * rows]) {}
  ~Scratch() { operator delete[](memory_, std::align_val_t(line)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::byte* at() const { return memory_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }

 private:
  std::size_t stride_;
  std::byte* memory_;
};

class Worker {
 public:
  explicit Worker(const Pass& pass, std::size_t lines)
      : pass_(pass),
        element_(bytes_of_complex(pass.transform.precision)),
        // The bytes of an element of a view: those of real rows are reals.
        from_rows_(pass.from.together(size_of(Kind::real_forward))),
        to_rows_(pass.to.together(size_of(Kind::real_backward))),
        scratch_(std::max(pass.transform.from_bytes(), pass.transform.to_bytes()),
                 from_rows_ && to_rows_ ? 0 : lines) {}

  void panel(const Panel& panel) const {
    const std::size_t n = pass_.transform.n;
    RowsOf rows{scratch_.at(), scratch_.stride(), scratch_.at(), scratch_.stride(), panel.count};
    if (from_rows_) {
      rows.from = pass_.from.pieces[0].at + panel.matrix * pass_.from.matrix + panel.first * pass_.from.line;
      rows.from_stride = pass_.from.line;
    } else {
      const std::size_t count = pass_.transform.kind == Kind::real_backward ? half(n) : n;
      move_panel<true>(pass_.from, count, size_of(Kind::real_forward), panel, scratch_.at(),
                       scratch_.stride());
    }
    if (to_rows_) {
      rows.to = pass_.to.pieces[0].at + panel.matrix * pass_.to.matrix + panel.first * pass_.to.line;
      rows.to_stride = pass_.to.line;
    }
    transform(rows);
    twiddle(pass_, panel, rows.to, rows.to_stride);
    if (to_rows_) return;
    const std::size_t count = pass_.transform.kind == Kind::real_forward ? half(n) : n;
    move_panel<false>(pass_.to, count, size_of(Kind::real_backward), panel, scratch_.at(), scratch_.stride());
  }

 private:
  [[nodiscard]] std::size_t size_of(Kind of_reals) const {
    return pass_.transform.kind == of_reals ? element_ / 2 : element_;
  }
  void transform(const RowsOf& rows) const {
    if (!pass_.only_moves) return pass_.rows->run(rows);
    for (std::size_t i = 0; i < rows.count; ++i)
      if (rows.from != rows.to)
        std::memcpy(rows.to + i * rows.to_stride, rows.from + i * rows.from_stride,
                    pass_.transform.from_bytes());
  }

  const Pass& pass_;
  std::size_t element_;
  bool from_rows_, to_rows_;
  Scratch scratch_;
};
}  // namespace

void run_part(const Pass& pass, int part, int parts) {
  if (pass.lanes != nullptr) return run_lanes(pass, part, parts);
  const std::size_t row = std::max(pass.transform.from_bytes(), pass.transform.to_bytes());
  const std::size_t lines = std::clamp(
      panel_bytes / std::max<std::size_t>(1, row) / least_lines * least_lines, least_lines, most_lines);
  std::unique_ptr<Worker> worker;
  each_panel(pass, lines, part, parts, [&](const Panel& panel) {
    if (worker == nullptr) worker = std::make_unique<Worker>(pass, lines);
    worker->panel(panel);
  });
}

}  // namespace nigh::fft
