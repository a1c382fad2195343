// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/plan.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <tuple>

#include "sys/os.hpp"
#include "transpose/seats.hpp"

namespace nigh::transpose {

namespace {
thread_local Why why;

// From rows x columns to columns x rows, `matrices` times; both with their strides.
struct Local {
  std::size_t matrices = 1, rows = 0, columns = 0, element = 8;
  From from;
  To to;
  [[nodiscard]] bool nothing() const { return matrices == 0 || rows == 0 || columns == 0; }
  [[nodiscard]] bool in_place() const { return from.at == to.at; }
  [[nodiscard]] bool square() const { return rows == columns && from.layout.stride == to.layout.stride; }
};

class LocalPlan final : public nigh_transpose {
 public:
  LocalPlan(const Local& local, int threads) : local_(local), team_(threads, seats(threads, {0, threads})) {}

  Result<void> execute() override {
    if (local_.nothing()) return {};  // however many there are of it
    const Slabs slabs{{local_.rows, 1}, {local_.columns, 1}, local_.element, local_.matrices};
    if (!local_.in_place()) {
      team_.run([&](int thread) {
        take(slabs, 0, local_.from, 0, local_.to, whole_of(slabs, 0), thread, team_.threads(), {});
      });
      return {};
    }
    if (!in_place())
      return fail(Errc::io, "no memory for the few rows that in place needs beside the matrix");
    return {};
  }
  [[nodiscard]] std::string explain() const override {
    return (local_.matrices == 1 ? "" : std::to_string(local_.matrices) + " matrices of ") +
           std::to_string(local_.rows) + " x " + std::to_string(local_.columns) + " elements of " +
           std::to_string(local_.element) + " bytes, " + (local_.in_place() ? "in place, " : "") +
           std::to_string(team_.threads()) + " threads" + seats_text(team_.seats()) + ", " + kernels().name +
           "\n";
  }

 private:
  // Few large matrices: all threads share each; many small ones are shared out.
  bool in_place() {
    const auto threads = static_cast<std::size_t>(team_.threads());
    bool enough = true;
    if (local_.matrices < 4 * threads) {
      for (std::size_t i = 0; i < local_.matrices; ++i) enough = in_place(i, team_) && enough;
      return enough;
    }
    std::atomic<bool> all = true;
    team_.run([&](int thread) {
      const IndexRange mine = share(local_.matrices, 1, static_cast<std::size_t>(thread), threads);
      for (std::size_t i = mine.first; i < mine.end; ++i)
        if (!in_place(i, alone_)) all = false;
    });
    return all;
  }
  bool in_place(std::size_t matrix, Team& team) const {
    std::byte* at = local_.to.at + matrix * local_.to.layout.apart * local_.element;
    if (local_.rows != local_.columns)
      return transpose_in_place(at, local_.rows, local_.columns, local_.element, team);
    transpose_square(at, local_.rows, local_.to.layout.stride, local_.element, team);
    return true;
  }

  Local local_;
  Team team_;
  Team alone_{1};  // of whoever calls it
};

Result<void> check_strides(const Local& local) {
  const Layout &from = local.from.layout, &to = local.to.layout;
  if (from.stride < local.columns || to.stride < local.rows)
    return fail(Errc::invalid, "rows overlap: from_stride is less than columns, or to_stride less than rows");
  const bool gaps = from.stride != local.columns || to.stride != local.rows;
  if (local.in_place() && gaps && !local.square())
    return fail(Errc::invalid, "in place a matrix may have gaps between its rows only if it is square");
  if (local.matrices > 1 && local.in_place() && from.apart != to.apart)
    return fail(Errc::invalid, "in place matrices stay where they are: from_apart and to_apart are the same");
  return {};
}

Result<std::unique_ptr<nigh_transpose>> make_local(const Local& local, int threads) {
  if (auto fine = check_local(local.element, threads); !fine) return tl::unexpected(fine.error());
  if (!local.nothing() && (local.from.at == nullptr || local.to.at == nullptr))
    return fail(Errc::invalid, "from or to is NULL");
  if (auto strides = check_strides(local); !strides) return tl::unexpected(strides.error());
  for (const auto& [name, layout, rows, columns] :
       {std::tuple("from", local.from.layout, local.rows, local.columns),
        {"to", local.to.layout, local.columns, local.rows}}) {
    auto bytes = bytes_used(name, layout, rows, columns, local.matrices, local.element);
    if (!bytes) return tl::unexpected(bytes.error());
  }
  return std::make_unique<LocalPlan>(local, threads_of(threads));
}
}  // namespace

void set_why(std::string_view text) noexcept { why.set(text); }

Result<std::size_t> matrix_bytes(std::size_t rows, std::size_t columns, std::size_t element) {
  std::size_t elements = 0, bytes = 0;
  if (__builtin_mul_overflow(rows, columns, &elements) || __builtin_mul_overflow(elements, element, &bytes) ||
      bytes > most_bytes)
    return fail(Errc::invalid, "no address space holds " + std::to_string(rows) + " x " +
                                   std::to_string(columns) + " elements of " + std::to_string(element) +
                                   " bytes");
  return bytes;
}

Result<std::size_t> extent(const char* name, const Layout& layout, std::size_t rows, std::size_t columns,
                           std::size_t matrices) {
  if (rows == 0 || columns == 0 || matrices == 0) return 0;
  std::size_t of_rows = 0, of_matrices = 0, all = 0;
  if (__builtin_mul_overflow(rows - 1, layout.stride, &of_rows) ||
      __builtin_mul_overflow(matrices - 1, layout.apart, &of_matrices) ||
      __builtin_add_overflow(of_rows, of_matrices, &all) || __builtin_add_overflow(all, columns, &all))
    return fail(Errc::invalid, std::string("no address space holds ") + name + " with these strides");
  if (rows > 1 && layout.stride < columns)
    return fail(Errc::invalid, std::string("rows of ") + name + " overlap: " + name + "_stride is too small");
  const bool one_by_one = layout.apart >= of_rows + columns;
  const bool woven = layout.apart >= columns && (rows == 1 || layout.stride >= of_matrices + columns);
  if (matrices > 1 && !one_by_one && !woven)
    return fail(Errc::invalid,
                std::string("matrices of ") + name + " overlap: " + name + "_apart is too small");
  return all;
}

Result<std::size_t> bytes_used(const char* name, const Layout& layout, std::size_t rows, std::size_t columns,
                               std::size_t matrices, std::size_t element) {
  auto used = extent(name, layout, rows, columns, matrices);
  return used ? matrix_bytes(*used, 1, element) : used;
}

Result<void> check_local(std::size_t element, int threads) {
  if (threads < 0 || threads > 4096) return fail(Errc::invalid, "threads is not a number from 0 to 4096");
  return check_element(element);
}

int threads_of(int asked) {
  if (asked > 0) return asked;
  auto cpus = sys::affinity();
  return cpus ? cpus->count() : 1;
}

Result<void> check_element(std::size_t element) {
  if (is_element(element)) return {};
  return fail(Errc::invalid, "elements have 4, 8 or 16 bytes, not " + std::to_string(element));
}

}  // namespace nigh::transpose

using namespace nigh;
using namespace nigh::transpose;

nigh_transpose* nigh_transpose_local_many(size_t matrices, size_t rows, size_t columns, size_t element_bytes,
                                          const void* from, size_t from_stride, size_t from_apart, void* to,
                                          size_t to_stride, size_t to_apart, int threads) {
  return made([&] {
    return make_local({matrices,
                       rows,
                       columns,
                       element_bytes,
                       {static_cast<const std::byte*>(from), whole({from_stride, from_apart}, rows, columns)},
                       {static_cast<std::byte*>(to), whole({to_stride, to_apart}, columns, rows)}},
                      threads);
  });
}

nigh_transpose* nigh_transpose_local(size_t rows, size_t columns, size_t element_bytes, const void* from,
                                     size_t from_stride, void* to, size_t to_stride, int threads) {
  return made([&] {
    return make_local({1,
                       rows,
                       columns,
                       element_bytes,
                       {static_cast<const std::byte*>(from), {from_stride, 0}},
                       {static_cast<std::byte*>(to), {to_stride, 0}}},
                      threads);
  });
}

int nigh_transpose_execute(nigh_transpose* plan) {
  return guarded(
      [&] {
        const auto done = plan == nullptr ? fail(Errc::invalid, "there is no plan") : plan->execute();
        if (!done) set_why(done.error().message);
        return done ? 0 : -1;
      },
      set_why, -1);
}

void nigh_transpose_destroy(nigh_transpose* plan) { delete plan; }

int nigh_transpose_explain(const nigh_transpose* plan, char* text, size_t bytes) {
  return guarded(
      [&] {
        const std::string all = plan == nullptr ? "" : plan->explain();
        return std::snprintf(text, bytes, "%s", all.c_str());
      },
      set_why, -1);
}

const char* nigh_transpose_why(void) { return why.get(); }
