// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The ranks of a communicator as a World: their memory, waits and transposes are those of
// nigh/transpose_mpi.h. Compiled for the ABI of each MPI library.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fft/plan.hpp"
#include "sys/os.hpp"
#include "transpose/mpi_check.hpp"
#pragma GCC visibility push(default)
#include <nigh/fft_mpi.h>
#pragma GCC visibility pop

namespace nigh::fft {

class Ranks final : public World {
 public:
  explicit Ranks(MPI_Comm comm) {
    MPI_Comm_dup(comm, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);  // no status is read, as in transpose::Nodes
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  ~Ranks() override {
    if (!transpose::mpi_has_ended()) MPI_Comm_free(&comm_);
  }

  [[nodiscard]] std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t ranks() const override { return static_cast<std::size_t>(size_); }

  Result<void> agree(const Result<void>& mine) override {
    int here = mine ? size_ : rank_, first = size_;
    MPI_Allreduce(&here, &first, 1, MPI_INT, MPI_MIN, comm_);
    if (first == size_) return {};
    struct Told {
      int code;
      char text[396];
    } told = {};
    if (!mine) {
      told.code = static_cast<int>(mine.error().code);
      std::strncpy(told.text, mine.error().message.c_str(), sizeof told.text - 1);
    }
    MPI_Bcast(&told, sizeof told, MPI_BYTE, first, comm_);
    const std::string who = size_ == 1 ? "" : "rank " + std::to_string(first) + ": ";
    return fail(static_cast<Errc>(told.code), who + told.text);
  }
  void wait() override { MPI_Barrier(comm_); }

  Memory memory(std::size_t bytes) override {
    if (void* shared = nigh_transpose_alloc(std::max<std::size_t>(bytes, 1), comm_))
      return {static_cast<std::byte*>(shared), give_back};
    // Other nodes, or nothing to share: ours alone, which transposes are content with.
    return plain_memory(bytes);
  }
  std::vector<std::byte*> reach(std::byte* at, std::size_t bytes) override {
    std::vector<void*> all(ranks());
    if (nigh_transpose_reach(at, bytes, comm_, all.data()) != 0) return {};
    std::vector<std::byte*> out;
    for (void* of_rank : all) out.push_back(static_cast<std::byte*>(of_rank));
    return out;
  }
  Result<Action> turn(std::size_t rows, std::size_t columns, std::size_t element, std::byte* from,
                      std::size_t from_bytes, std::byte* to, std::size_t to_bytes, int threads) override {
    const std::shared_ptr<nigh_transpose> plan(
        nigh_transpose_mpi(rows, columns, element, from, from_bytes, to, to_bytes, comm_, threads),
        nigh_transpose_destroy);
    if (plan == nullptr) return fail(Errc::io, nigh_transpose_why());
    return [plan]() -> Result<void> {
      if (nigh_transpose_execute(plan.get()) != 0) return fail(Errc::io, nigh_transpose_why());
      return {};
    };
  }
  Action fetch(std::size_t element, const std::vector<transpose::IndexRange>& have,
               const std::vector<transpose::IndexRange>& want, const std::byte* from,
               std::byte* to) override {
    struct Counts {
      std::vector<int> count, at;
      void add(const transpose::IndexRange& one, const transpose::IndexRange& other, std::size_t origin) {
        const std::size_t first = std::max(one.first, other.first), end = std::min(one.end, other.end);
        count.push_back(first < end ? static_cast<int>(end - first) : 0);
        at.push_back(first < end ? static_cast<int>(first - origin) : 0);
      }
    };
    Counts out, in;
    const transpose::IndexRange &mine = have[rank()], &wanted = want[rank()];
    for (std::size_t r = 0; r < ranks(); ++r) {
      out.add(mine, want[r], mine.first);
      in.add(have[r], wanted, wanted.first);
    }
    return [this, element, out, in, from, to]() -> Result<void> {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      MPI_Type_contiguous(static_cast<int>(element), MPI_BYTE, &type);
      MPI_Type_commit(&type);
      MPI_Alltoallv(from, out.count.data(), out.at.data(), type, to, in.count.data(), in.at.data(), type,
                    comm_);
      MPI_Type_free(&type);
      return {};
    };
  }
  [[nodiscard]] std::string text() const override { return std::to_string(size_) + " ranks"; }

  // True if the transform is done in place, by the ranks that have a part of both arrays: the last rank has.
  // A rank that lacks one gives the other for it. Collective.
  Result<void> find_in_place(const Shape& shape, Arrays& arrays) const {
    const bool in = shape.in(rank(), ranks(), false).bytes > 0,
               out = shape.out(rank(), ranks(), false).bytes > 0;
    const bool same = arrays.in == arrays.out;
    unsigned mine = !(in && out) ? 0U : same ? 2U : 1U, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED, MPI_BOR, comm_);
    arrays.in_place = all == 2;
    if (arrays.in_place && !in) {
      arrays.in = arrays.out;
      arrays.in_bytes = arrays.out_bytes;
    } else if (arrays.in_place && !out) {
      arrays.out = arrays.in;
      arrays.out_bytes = arrays.in_bytes;
    }
    if (all == 3 && mine == 2) return fail(Errc::invalid, "in is out, which is not so on all ranks");
    return {};
  }

  // The demand of rank 0, on all; and a share of the CPUs.
  [[nodiscard]] Demand of_rank_0(Demand demand) const {
    MPI_Bcast(&demand, sizeof demand, MPI_BYTE, 0, comm_);
    return demand;
  }
  [[nodiscard]] int share_of_cpus() const {
    return std::max(1, threads_of_process() / std::max(1, sharing(1).all));
  }
  // Among the ranks of this node that may use the same CPUs.
  [[nodiscard]] transpose::Sharing sharing(int threads) const override {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
    int here = 0, neighbours = 1;
    MPI_Comm_rank(node, &here);
    MPI_Comm_size(node, &neighbours);
    auto cpus = sys::affinity();
    std::uint64_t mine[2] = {std::hash<std::string>()(cpus ? cpus->to_list() : ""),
                             static_cast<std::uint64_t>(threads)};
    std::vector<std::uint64_t> all(2 * static_cast<std::size_t>(neighbours));
    MPI_Allgather(mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, node);
    MPI_Comm_free(&node);
    transpose::Sharing out{0, 0};
    for (int i = 0; i < neighbours; ++i) {
      const std::uint64_t* one = &all[2 * static_cast<std::size_t>(i)];
      if (one[0] != mine[0]) continue;
      if (i == here) out.first = out.all;
      out.all += static_cast<int>(one[1]);
    }
    return out;
  }

 private:
  static void give_back(std::byte* at) { nigh_transpose_free(at); }
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

}  // namespace nigh::fft
