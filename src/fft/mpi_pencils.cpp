// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Arrays of three dimensions that are dealt along two of them: rows along one axis, a turn of the pencils to
// the next, rows along that. Each turn is a batch of transposes among the ranks of one line of the grid.
#include <optional>

#include "fft/builder.hpp"
#include "fft/mpi_ranks.hpp"

namespace nigh::fft {

namespace {
struct Grid {
  std::size_t n[3];  // of the spectrum
  int p, q;
};

class Pencils {
 public:
  Pencils(nigh_fft& plan, const Shape& shape, const Grid& grid, const Local& local, MPI_Comm comm)
      : recipe_(plan, shape.precision(), local), shape_(shape), grid_(grid), comm_(comm) {
    for (int axis = 0; axis < 3; ++axis) {
      std::size_t count[3];
      nigh_transpose_pencils_share(grid.n, grid.p, grid.q, axis, comm, nullptr, count);
      elements_[axis] = count[0] * count[1] * count[2];
    }
  }

  // In along axis 2 or, turned, 0; out the same.
  Result<void> build(std::byte* in, std::byte* out) {
    const bool from_0 = shape_.has(NIGH_FFT_TRANSPOSED_IN), to_0 = shape_.has(NIGH_FFT_TRANSPOSED_OUT);
    const bool to_reals = shape_.real() && !shape_.forward();
    std::byte* at = in;
    int along = from_0 ? 0 : 2;
    // Reals come out of rows along axis 2 at last; else those are first, unless the array begins along 0.
    const std::vector<int> axes = from_0     ? std::vector{0, 1, 2}
                                  : to_reals ? std::vector{1, 0}
                                             : std::vector{2, 1, 0};
    for (const int axis : axes) {
      if (axis != along) {
        if (auto turned = turn(at, along, axis, axis == 0 && to_0 ? Target(out) : std::nullopt); !turned)
          return turned;
      }
      if (axis == 2 && to_reals) continue;  // below
      if (auto done = rows(at, axis, axis == 2 && from_0 ? Target(out) : std::nullopt); !done) return done;
    }
    const bool back = !from_0 && !to_0;
    if (back) {
      if (auto turned = turn(at, along, 1, std::nullopt); !turned) return turned;
      if (auto turned = turn(at, along, 2, to_reals ? std::nullopt : Target(out)); !turned) return turned;
    }
    if (to_reals) recipe_.rows(shape_.last(), Kind::real_backward, lines(2), at, out);
    return recipe_.finish();
  }

 private:
  // The target; without one, memory of ours, which all ranks get together. A rank that has nothing may give
  // nullptr.
  using Target = std::optional<std::byte*>;

  [[nodiscard]] std::size_t lines(int axis) const {
    return elements_[axis] / std::max<std::size_t>(1, grid_.n[axis]);
  }
  [[nodiscard]] std::size_t bytes(int axis) const { return elements_[axis] * shape_.element(); }

  // An array that is read for the first time is not written; our own memory is transformed in place.
  Result<void> rows(std::byte*& at, int axis, Target to) {
    const bool reals = axis == 2 && shape_.real();
    const Kind kind = reals ? Kind::real_forward : shape_.forward() ? Kind::forward : Kind::backward;
    if (!to && ours_) to = at;
    if (!to) {
      auto memory = recipe_.memory(bytes(axis));
      if (!memory) return tl::unexpected(memory.error());
      to = *memory;
    }
    recipe_.rows(reals ? shape_.last() : grid_.n[axis], kind, lines(axis), at, *to);
    at = *to;
    ours_ = true;
    return {};
  }

  Result<void> turn(std::byte*& at, int& along, int axis, Target to) {
    if (!to) {
      auto memory = recipe_.memory(bytes(axis));
      if (!memory) return tl::unexpected(memory.error());
      to = *memory;
    }
    const std::shared_ptr<nigh_transpose> plan(
        nigh_transpose_pencils(grid_.n, grid_.p, grid_.q, along, axis, shape_.element(), at, bytes(along),
                               *to, bytes(axis), comm_, recipe_.threads()),
        nigh_transpose_destroy);
    if (plan == nullptr) return fail(Errc::io, nigh_transpose_why());
    recipe_.step({"pencils from axis " + std::to_string(along) + " to " + std::to_string(axis),
                  [plan]() -> Result<void> {
                    if (nigh_transpose_execute(plan.get()) != 0) return fail(Errc::io, nigh_transpose_why());
                    return {};
                  }});
    at = *to;
    along = axis;
    ours_ = true;
    return {};
  }

  Recipe recipe_;
  Shape shape_;
  Grid grid_;
  MPI_Comm comm_;
  std::size_t elements_[3] = {};
  bool ours_ = false;
};

// Bytes of what lies along 2 or, turned, 0.
std::size_t wanted(const Shape& shape, const Grid& grid, MPI_Comm comm, bool turned, bool reals) {
  std::size_t count[3];
  nigh_transpose_pencils_share(grid.n, grid.p, grid.q, turned ? 0 : 2, comm, nullptr, count);
  if (reals) return count[0] * count[1] * shape.last() * shape.element() / 2;
  return count[0] * count[1] * count[2] * shape.element();
}

Result<void> check(const Result<Shape>& shape, const Grid& grid, const Arrays& arrays, MPI_Comm comm) {
  if (!shape) return tl::unexpected(shape.error());
  if (nigh_transpose_pencils_share(grid.n, grid.p, grid.q, 2, comm, nullptr, nullptr) != 0)
    return fail(Errc::invalid, nigh_transpose_why());
  const std::size_t in = wanted(*shape, grid, comm, shape->has(NIGH_FFT_TRANSPOSED_IN),
                                shape->real() && shape->forward()),
                    out = wanted(*shape, grid, comm, shape->has(NIGH_FFT_TRANSPOSED_OUT),
                                 shape->real() && !shape->forward());
  return check_arrays(arrays, in, out, shape->element() / 2, false);
}

Result<std::unique_ptr<nigh_fft>> make_pencils(const Demand& demand, Grid grid, const Arrays& arrays,
                                               MPI_Comm comm, int threads) {
  if (auto usable = transpose::check_comm(comm); !usable) return tl::unexpected(usable.error());
  auto ranks = std::make_unique<Ranks>(comm);
  auto shape = Shape::make(demand);
  if (shape) std::copy_n(shape->dimensions().begin(), 3, grid.n);
  Demand all = demand;  // the grid in it
  all.n[3] = static_cast<std::uint64_t>(grid.p);
  all.n[4] = static_cast<std::uint64_t>(grid.q);
  Result<void> fine;
  if (ranks->of_rank_0(all) != all) fine = fail(Errc::invalid, "it has another transform to do than rank 0");
  if (fine) fine = check(shape, grid, arrays, comm);
  if (fine && (threads < 0 || threads > 4096))
    fine = fail(Errc::invalid, "threads is not a number from 0 to 4096");
  Result<Local> local;
  if (fine) local = find_local(*shape);
  if (!local) fine = tl::unexpected(local.error());
  fine = ranks->agree(fine);
  if (!fine) return tl::unexpected(fine.error());
  const int share = ranks->share_of_cpus();
  World& world = *ranks;
  auto plan = std::make_unique<nigh_fft>(std::move(ranks),
                                         shape->text() + ", pencils over " + std::to_string(grid.p) + " x " +
                                             std::to_string(grid.q) + " ranks\n",
                                         threads == 0 ? share : threads);
  Pencils pencils(*plan, *shape, grid, *local, comm);
  fine = pencils.build(static_cast<std::byte*>(arrays.in), static_cast<std::byte*>(arrays.out));
  fine = world.agree(fine);
  if (!fine) return tl::unexpected(fine.error());
  return plan;
}
}  // namespace

}  // namespace nigh::fft

using namespace nigh::fft;

nigh_fft* nigh_fft_mpi_pencils(const size_t n[3], int p, int q, int sign, unsigned flags, void* in,
                               size_t in_bytes, void* out, size_t out_bytes, MPI_Comm comm, int threads) {
  return made([&] {
    return make_pencils(demand_of(3, n, sign, flags), {{}, p, q}, {in, in_bytes, out, out_bytes}, comm,
                        threads);
  });
}
