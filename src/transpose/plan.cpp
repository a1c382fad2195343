// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/plan.hpp"

#include <cstdio>
#include <new>

#include "sys/os.hpp"
#include "transpose/local.hpp"

namespace nigh::transpose {

namespace {
thread_local std::string why;

class LocalPlan final : public nigh_transpose {
 public:
  LocalPlan(const Block& block, std::size_t element, int threads)
      : block_(block), element_(element), team_(threads) {}

  Result<void> execute() override {
    if (block_.from != block_.to) {
      transpose::transpose(block_, element_, team_);
    } else if (block_.rows == block_.columns) {
      transpose_square(block_.to, block_.rows, block_.to_stride, element_, team_);
    } else if (!transpose_in_place(block_.to, block_.rows, block_.columns, element_, team_)) {
      return fail(Errc::io, "no memory for a row and a few columns of the matrix");
    }
    return {};
  }
  [[nodiscard]] std::string explain() const override {
    return std::to_string(block_.rows) + " x " + std::to_string(block_.columns) + " elements of " +
           std::to_string(element_) + " bytes, " + (block_.from == block_.to ? "in place, " : "") +
           std::to_string(team_.threads()) + " threads, " + kernels().name + "\n";
  }

 private:
  Block block_;
  std::size_t element_;
  Team team_;
};

Result<void> check_strides(const Block& block) {
  if (block.from_stride < block.columns || block.to_stride < block.rows)
    return fail(Errc::invalid, "rows overlap: from_stride is less than columns, or to_stride less than rows");
  const bool gaps = block.from_stride != block.columns || block.to_stride != block.rows;
  const bool square = block.rows == block.columns && block.from_stride == block.to_stride;
  if (block.from == block.to && gaps && !square)
    return fail(Errc::invalid, "in place a matrix may have gaps between its rows only if it is square");
  return {};
}

Result<std::unique_ptr<nigh_transpose>> make_local(const Block& block, std::size_t element, int threads) {
  if (auto known = check_element(element); !known) return tl::unexpected(known.error());
  if (threads < 0 || threads > 4096) return fail(Errc::invalid, "threads is not a number from 0 to 4096");
  if (block.rows > 0 && block.columns > 0 && (block.from == nullptr || block.to == nullptr))
    return fail(Errc::invalid, "from or to is NULL");
  if (auto strides = check_strides(block); !strides) return tl::unexpected(strides.error());
  for (const auto& [rows, stride] :
       {std::pair(block.rows, block.from_stride), {block.columns, block.to_stride}})
    if (auto bytes = matrix_bytes(rows, stride, element); !bytes) return tl::unexpected(bytes.error());
  if (threads == 0) {
    auto cpus = sys::affinity();
    threads = cpus ? cpus->count() : 1;
  }
  return std::make_unique<LocalPlan>(block, element, threads);
}
}  // namespace

void set_why(const std::string& text) { why = text; }

Result<std::size_t> matrix_bytes(std::size_t rows, std::size_t columns, std::size_t element) {
  std::size_t elements = 0, bytes = 0;
  if (__builtin_mul_overflow(rows, columns, &elements) || __builtin_mul_overflow(elements, element, &bytes))
    return fail(Errc::invalid, "no address space holds " + std::to_string(rows) + " x " +
                                   std::to_string(columns) + " elements of " + std::to_string(element) +
                                   " bytes");
  return bytes;
}

Result<void> check_element(std::size_t element) {
  if (is_element(element)) return {};
  return fail(Errc::invalid, "elements have 4, 8 or 16 bytes, not " + std::to_string(element));
}

}  // namespace nigh::transpose

using namespace nigh;
using namespace nigh::transpose;

nigh_transpose* nigh_transpose_local(size_t rows, size_t columns, size_t element_bytes, const void* from,
                                     size_t from_stride, void* to, size_t to_stride, int threads) {
  return made([&] {
    return make_local({static_cast<const std::byte*>(from), from_stride, static_cast<std::byte*>(to),
                       to_stride, rows, columns},
                      element_bytes, threads);
  });
}

int nigh_transpose_execute(nigh_transpose* plan) {
  try {
    if (plan == nullptr) {
      set_why("there is no plan");
      return -1;
    }
    const auto done = plan->execute();
    if (!done) set_why(done.error().message);
    return done ? 0 : -1;
  } catch (const std::exception& error) {
    set_why(error.what());
    return -1;
  }
}

void nigh_transpose_destroy(nigh_transpose* plan) { delete plan; }

int nigh_transpose_explain(const nigh_transpose* plan, char* text, size_t bytes) {
  const std::string all = plan == nullptr ? "" : plan->explain();
  return std::snprintf(text, bytes, "%s", all.c_str());
}

const char* nigh_transpose_why(void) { return why.c_str(); }
