// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The ranks of a communicator as a World: their memory, waits and transposes are those of
// nigh/transpose_mpi.h. Compiled for the ABI of each MPI library.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fft/plan.hpp"
#include "sys/os.hpp"
#pragma GCC visibility push(default)
#include <nigh/fft_mpi.h>
#pragma GCC visibility pop

namespace nigh::fft {

class Ranks final : public World {
 public:
  explicit Ranks(MPI_Comm comm) {
    MPI_Comm_dup(comm, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  ~Ranks() override { MPI_Comm_free(&comm_); }

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
  [[nodiscard]] std::string text() const override { return std::to_string(size_) + " ranks"; }

  // What rank 0 was asked, on all; and a share of the CPUs.
  [[nodiscard]] Demand of_rank_0(Demand demand) const {
    MPI_Bcast(&demand, sizeof demand, MPI_BYTE, 0, comm_);
    return demand;
  }
  [[nodiscard]] int share_of_cpus() const {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
    int neighbours = 1;
    MPI_Comm_size(node, &neighbours);
    auto cpus = sys::affinity();
    const int first = cpus ? cpus->first() : 0;
    std::vector<int> firsts(static_cast<std::size_t>(neighbours));
    MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, node);
    MPI_Comm_free(&node);
    const auto sharers = std::count(firsts.begin(), firsts.end(), first);
    return std::max(1, threads_of_process() / static_cast<int>(sharers));
  }

 private:
  static void give_back(std::byte* at) { nigh_transpose_free(at); }
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

}  // namespace nigh::fft
