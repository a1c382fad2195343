// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rows copied from where they lie to where they should: what a transpose does without turning. Haan's
// local reorder is one, of as many matrices as ranks, whose rows are woven on one side and without gaps on
// the other.
#include "transpose/plan.hpp"
#include "transpose/seats.hpp"

namespace nigh::transpose {

namespace {
struct Copies {
  std::size_t matrices, rows, columns, element;
  From from;
  To to;
};

class CopyPlan final : public nigh_transpose {
 public:
  CopyPlan(const Copies& copies, int threads)
      : copies_(copies), team_(threads, seats(threads, {0, threads})) {}

  // Each thread writes the same rows of all matrices, or, of many small ones, all rows of some.
  Result<void> execute() override {
    if (copies_.rows == 0 || copies_.columns == 0) return {};  // however many there are of it
    const auto threads = static_cast<std::size_t>(team_.threads());
    const bool many = copies_.matrices >= 4 * threads;
    const std::size_t bytes = copies_.matrices * copies_.rows * copies_.columns * copies_.element;
    const CopyOptions way{streams({}, bytes, team_.threads()) ? Stores::streamed : Stores::cached, 0,
                          nullptr};
    team_.run([&](int thread) {
      const IndexRange mine = many ? share(copies_.matrices, 1, static_cast<std::size_t>(thread), threads)
                                   : IndexRange{0, copies_.matrices};
      for (std::size_t i = mine.first; i < mine.end; ++i)
        copy_part(rows_of(i), many ? 0 : thread, many ? 1 : team_.threads(), way);
    });
    return {};
  }
  [[nodiscard]] std::string explain() const override {
    return std::to_string(copies_.matrices) + " x " + std::to_string(copies_.rows) + " rows of " +
           std::to_string(copies_.columns) + " elements of " + std::to_string(copies_.element) +
           " bytes copied, " + std::to_string(team_.threads()) + " threads" + seats_text(team_.seats()) +
           ", " + kernels().name + "\n";
  }

 private:
  [[nodiscard]] Rows rows_of(std::size_t matrix) const {
    const Layout &from = copies_.from.layout, &to = copies_.to.layout;
    return {copies_.from.at + matrix * from.apart * copies_.element,
            from.stride * copies_.element,
            copies_.to.at + matrix * to.apart * copies_.element,
            to.stride * copies_.element,
            copies_.rows,
            copies_.columns * copies_.element};
  }
  Copies copies_;
  Team team_;
};

Result<std::unique_ptr<nigh_transpose>> make_copies(const Copies& copies, int threads) {
  const Layout &a = copies.from.layout, &b = copies.to.layout;
  if (auto fine = check_local(copies.element, threads); !fine) return tl::unexpected(fine.error());
  auto from = bytes_used("from", a, copies.rows, copies.columns, copies.matrices, copies.element),
       to = bytes_used("to", b, copies.rows, copies.columns, copies.matrices, copies.element);
  if (!from || !to) return tl::unexpected((from ? to : from).error());
  if (*from > 0 && (copies.from.at == nullptr || copies.to.at == nullptr))
    return fail(Errc::invalid, "from or to is NULL");
  return std::make_unique<CopyPlan>(copies, threads_of(threads));
}
}  // namespace

}  // namespace nigh::transpose

using namespace nigh::transpose;

nigh_transpose* nigh_transpose_copy_many(size_t matrices, size_t rows, size_t columns, size_t element_bytes,
                                         const void* from, size_t from_stride, size_t from_apart, void* to,
                                         size_t to_stride, size_t to_apart, int threads) {
  return made([&] {
    return make_copies(
        {matrices,
         rows,
         columns,
         element_bytes,
         {static_cast<const std::byte*>(from), whole({from_stride, from_apart}, rows, columns)},
         {static_cast<std::byte*>(to), whole({to_stride, to_apart}, rows, columns)}},
        threads);
  });
}
