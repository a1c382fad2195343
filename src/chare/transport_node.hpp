// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Processes that mpirun has started: those of this node by rings in shared memory, the others by MPI. All
// messages from one process to another go one way, so that their order is kept.
#pragma once

#include <memory>
#include <optional>

#include "chare/transport_shm.hpp"

namespace nigh::chare {

class NodeTransport final : public Transport {
 public:
  // By all processes at the same time. Where a node's can't share memory (containers, a full /dev/shm) MPI
  // serves them, too. NIGH_MPI_FAKE_NODES=N: as if the processes were on N nodes, in blocks. Without
  // `framing` it is measured between nodes.
  NodeTransport(std::unique_ptr<Transport> mpi, const std::optional<Framing>& framing);

  std::vector<std::string> exchange(const std::string& mine) override { return mpi_->exchange(mine); }
  void send(std::uint32_t to, core::Header* message, Owner& owner) override;
  void* room(std::uint32_t to, std::size_t bytes) override;
  [[nodiscard]] bool attaches(std::uint32_t to, std::size_t bytes) const override {
    return in_node_[to] == away && mpi_->attaches(to, bytes);
  }
  void attach(std::uint32_t to, void* data, std::size_t bytes, std::size_t offset) override {
    mpi_->attach(to, data, bytes, offset);
  }
  [[nodiscard]] std::string told() const override { return told_; }
  void flush() override;
  bool progress(Owner& owner) override;
  [[nodiscard]] bool all_sent() const override { return mpi_->all_sent() && (!shm_ || shm_->all_sent()); }
  [[nodiscard]] bool is_dead(std::uint32_t process) override { return mpi_->is_dead(process); }
  void abandon() override { mpi_->abandon(); }

 private:
  [[nodiscard]] Framing measured(const std::vector<std::string>& nodes);

  static constexpr std::uint32_t away = UINT32_MAX;
  std::unique_ptr<Transport> mpi_;
  std::unique_ptr<ShmTransport> shm_;
  std::vector<std::uint32_t> in_node_;  // of each process: its number among those of this node, or away
  bool has_away_ = false;
  std::string told_;
  unsigned rounds_ = 0;
};

}  // namespace nigh::chare
