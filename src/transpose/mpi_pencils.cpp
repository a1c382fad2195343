// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Arrays of three dimensions over a grid of ranks: each turn is a batch of transposes by the ranks of one row
// or column of the grid, which know nothing of the others.
#include <algorithm>
#include <string>

#include "transpose/mpi_demand.hpp"
#pragma GCC visibility push(default)
#include <nigh/transpose_mpi.h>
#pragma GCC visibility pop

namespace nigh::transpose {

namespace {
struct Grid {
  std::size_t n[3];
  std::size_t p, q;  // ranks
  std::size_t me;    // rank me is (me / q, me % q)
  [[nodiscard]] std::size_t first(std::size_t axis, int along) const {
    return deal(axis, along).first(at(axis, along));
  }
  [[nodiscard]] std::size_t count(std::size_t axis, int along) const {
    return deal(axis, along).count(at(axis, along));
  }

 private:
  // Pencils along 2 and along 1: axis 0 over p, the other over q. Along 0: axis 1 over p, axis 2 over q.
  [[nodiscard]] bool by_p(std::size_t axis, int along) const { return along == 0 ? axis == 1 : axis == 0; }
  [[nodiscard]] bool is_whole(std::size_t axis, int along) const {
    return axis == static_cast<std::size_t>(along);
  }
  [[nodiscard]] Deal deal(std::size_t axis, int along) const {
    return {n[axis], is_whole(axis, along) ? 1 : by_p(axis, along) ? p : q};
  }
  [[nodiscard]] std::size_t at(std::size_t axis, int along) const {
    return is_whole(axis, along) ? 0 : by_p(axis, along) ? me / q : me % q;
  }
};

Result<Grid> make_grid(const size_t n[3], int p, int q, MPI_Comm comm) {
  if (auto usable = check_comm(comm); !usable) return tl::unexpected(usable.error());
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (n == nullptr) return fail(Errc::invalid, "n is NULL");
  if (p < 1 || q < 1 || static_cast<long>(p) * q != size)
    return fail(Errc::invalid, "a grid of " + std::to_string(p) + " x " + std::to_string(q) +
                                   " is not that of " + std::to_string(size) + " ranks");
  return Grid{{n[0], n[1], n[2]},
              static_cast<std::size_t>(p),
              static_cast<std::size_t>(q),
              static_cast<std::size_t>(rank)};
}

Result<std::unique_ptr<nigh_transpose>> make_pencils(const Result<Grid>& grid, int from, int to,
                                                     std::size_t element, Arrays arrays, MPI_Comm comm,
                                                     int threads) {
  if (auto usable = check_comm(comm); !usable) return tl::unexpected(usable.error());
  std::string wrong = grid ? "" : grid.error().message;
  const bool last = (from == 2 && to == 1) || (from == 1 && to == 2),
             first = (from == 1 && to == 0) || (from == 0 && to == 1);
  if (wrong.empty() && !last && !first)
    wrong = "pencils are turned from axis 2 to 1, 1 to 0, 0 to 1 or 1 to 2, not from " +
            std::to_string(from) + " to " + std::to_string(to);
  {
    const Nodes nodes(comm);
    std::uint64_t mine[5] = {0, 0, 0, 0, 0}, rank_0[5];
    if (grid) {
      for (std::size_t axis = 0; axis < 3; ++axis) mine[axis] = grid->n[axis];
      mine[3] = grid->p;
      mine[4] = static_cast<std::uint64_t>(4L * from + to);
    }
    std::copy_n(mine, 5, rank_0);
    MPI_Bcast(rank_0, 5, MPI_UINT64_T, 0, nodes.all());
    if (wrong.empty() && !std::equal(mine, mine + 5, rank_0))
      wrong = "n, the grid or the axes are not those of rank 0";
    wrong = nodes.agree(wrong);
    if (!wrong.empty()) return fail(Errc::invalid, wrong);
  }
  // Along 2: [0][1][2], along 1: [0][2][1], along 0: [2][1][0], the last of each whole. So turning 2 and 1 is
  // a transpose for each of 0; turning 1 and 0 one for each of 2, which lie woven in [0][2][1].
  const std::size_t third = first ? 2 : 0;
  const std::size_t matrices = grid->count(third, 1);
  const Layout woven{matrices * grid->n[1], grid->n[1]};
  if (first && from == 1) arrays.a_layout = woven;
  if (first && to == 1) arrays.b_layout = woven;
  // The stride of no rows at all is of no use, but 0 would mean another.
  MPI_Comm line_of_ranks = MPI_COMM_NULL;
  const auto row = static_cast<int>(grid->me / grid->q), column = static_cast<int>(grid->me % grid->q);
  MPI_Comm_split(comm, first ? column : row, first ? row : column, &line_of_ranks);
  auto plan = make_mpi({grid->n[to], grid->n[from], element, matrices}, arrays, line_of_ranks, threads);
  MPI_Comm_free(&line_of_ranks);
  const Nodes nodes(comm);
  wrong = nodes.agree(plan ? "" : "in its line of the grid, " + plan.error().message);
  if (!wrong.empty()) return fail(plan ? Errc::invalid : plan.error().code, wrong);
  return plan;
}
}  // namespace

}  // namespace nigh::transpose

using namespace nigh::transpose;

nigh_transpose* nigh_transpose_pencils(const size_t n[3], int p, int q, int from_axis, int to_axis,
                                       size_t element_bytes, const void* a, size_t a_bytes, void* b,
                                       size_t b_bytes, MPI_Comm comm, int threads) {
  return made([&] {
    return make_pencils(make_grid(n, p, q, comm), from_axis, to_axis, element_bytes,
                        {a, a_bytes, {}, b, b_bytes, {}}, comm, threads);
  });
}

int nigh_transpose_pencils_share(const size_t n[3], int p, int q, int axis, MPI_Comm comm, size_t first[3],
                                 size_t count[3]) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (first != nullptr) first[i] = 0;
    if (count != nullptr) count[i] = 0;
  }
  return nigh::guarded(
      [&] {
        auto grid = make_grid(n, p, q, comm);
        if (grid && (axis < 0 || axis > 2)) grid = nigh::fail(nigh::Errc::invalid, "axis is not 0, 1 or 2");
        if (!grid) return set_why(grid.error().message), -1;
        for (std::size_t i = 0; i < 3; ++i) {
          if (first != nullptr) first[i] = grid->first(i, axis);
          if (count != nullptr) count[i] = grid->count(i, axis);
        }
        return 0;
      },
      set_why, -1);
}

int nigh_transpose_pencils_share_f(const size_t n[3], int p, int q, int axis, MPI_Fint comm, size_t first[3],
                                   size_t count[3]) {
  return nigh_transpose_pencils_share(n, p, q, axis, MPI_Comm_f2c(comm), first, count);
}
nigh_transpose* nigh_transpose_pencils_f(const size_t n[3], int p, int q, int from_axis, int to_axis,
                                         size_t element_bytes, const void* a, size_t a_bytes, void* b,
                                         size_t b_bytes, MPI_Fint comm, int threads) {
  return nigh_transpose_pencils(n, p, q, from_axis, to_axis, element_bytes, a, a_bytes, b, b_bytes,
                                MPI_Comm_f2c(comm), threads);
}
