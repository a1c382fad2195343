// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The C API over a communicator. Compiled for the ABI of each MPI library.
#include "fft/mpi_ranks.hpp"

namespace nigh::fft {

namespace {
Result<std::unique_ptr<nigh_fft>> make_mpi(const Demand& demand, Arrays arrays, MPI_Comm comm, int threads) {
  if (auto usable = nigh::transpose::check_comm(comm); !usable) return tl::unexpected(usable.error());
  auto ranks = std::make_unique<Ranks>(comm);
  Result<void> fine;
  if (ranks->of_rank_0(demand) != demand)
    fine = fail(Errc::invalid, "it has another transform to do than rank 0");
  const auto shape = Shape::make(demand);
  if (fine && !shape) fine = tl::unexpected(shape.error());
  fine = ranks->agree(fine);
  if (!fine) return tl::unexpected(fine.error());
  fine = ranks->agree(ranks->find_in_place(*shape, arrays));
  if (!fine) return tl::unexpected(fine.error());
  const int share = ranks->share_of_cpus();
  return make_plan(std::move(ranks), demand, arrays, threads == 0 ? share : threads);
}
}  // namespace

}  // namespace nigh::fft

using namespace nigh::fft;

nigh_fft* nigh_fft_mpi(int dimensions, const size_t* n, int sign, unsigned flags, void* in, size_t in_bytes,
                       void* out, size_t out_bytes, MPI_Comm comm, int threads) {
  return made([&] {
    return make_mpi(demand_of(dimensions, n, sign, flags), {in, in_bytes, out, out_bytes}, comm, threads);
  });
}

int nigh_fft_mpi_share(int dimensions, const size_t* n, int sign, unsigned flags, int in_place, MPI_Comm comm,
                       nigh_fft_part* in, nigh_fft_part* out) {
  const auto give = [](nigh_fft_part* where, const RankShare& part) {
    if (where != nullptr) *where = {part.first, part.rows, part.row, part.bytes};
  };
  give(in, {});
  give(out, {});
  return nigh::guarded(
      [&] {
        int rank = 0, size = 1;
        auto shape = Shape::make(demand_of(dimensions, n, sign, flags));
        if (auto usable = nigh::transpose::check_comm(comm); usable) {
          MPI_Comm_rank(comm, &rank);
          MPI_Comm_size(comm, &size);
        } else {
          shape = tl::unexpected(usable.error());
        }
        if (!shape) return set_why(shape.error().message), -1;
        const auto me = static_cast<std::size_t>(rank), ranks = static_cast<std::size_t>(size);
        give(in, shape->in(me, ranks, in_place != 0));
        give(out, shape->out(me, ranks, in_place != 0));
        return 0;
      },
      set_why, -1);
}

int nigh_fft_mpi_share_f(int dimensions, const size_t* n, int sign, unsigned flags, int in_place,
                         MPI_Fint comm, nigh_fft_part* in, nigh_fft_part* out) {
  return nigh_fft_mpi_share(dimensions, n, sign, flags, in_place, MPI_Comm_f2c(comm), in, out);
}
nigh_fft* nigh_fft_mpi_f(int dimensions, const size_t* n, int sign, unsigned flags, void* in, size_t in_bytes,
                         void* out, size_t out_bytes, MPI_Fint comm, int threads) {
  return nigh_fft_mpi(dimensions, n, sign, flags, in, in_bytes, out, out_bytes, MPI_Comm_f2c(comm), threads);
}
