// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that two ranks send each other, each into what the other's leaves free. Both have what they swap
// with each other in one order. To other nodes they go in pieces and on credit, as in mpi_exchange.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "transpose/mpi_pieces.hpp"

namespace nigh::transpose {

// `put` is called when both have gone.
struct Swap {
  int peer = 0;
  std::size_t out_bytes = 0, in_bytes = 0;  // at most message_limit
  std::byte* in = nullptr;                  // where it is received; nullptr: into a buffer
  std::function<void(std::byte* out)> get;
  std::function<void(const std::byte* in)> put;
};

class Swaps {
 public:
  static constexpr std::size_t message_limit = std::size_t{1} << 20;
  // piece: between these nodes (find_piece). Throws std::bad_alloc.
  Swaps(const Nodes& nodes, std::size_t piece);
  void run(const std::vector<Swap>& list);

 private:
  static constexpr std::size_t at_once = 4;
  struct Slot {
    const Swap* swap = nullptr;
    std::size_t piece = 0;  // bytes
    std::size_t left = 0;   // messages, those that are not yet sent included
    std::size_t sent = 0;   // pieces
    bool may_send = false;
  };
  [[nodiscard]] bool is_away(int rank) const;
  [[nodiscard]] std::byte* buffer(std::size_t slot, std::size_t in) const {
    return memory_.get() + (2 * slot + in) * message_limit;
  }
  // The requests of receives, sends and credits.
  [[nodiscard]] MPI_Request* requests_of(std::size_t slot) { return requests_.data() + slot * each_; }
  void start(std::size_t slot, const Swap& swap);
  std::size_t* next_to_send();  // of sending_; nullptr: none can go
  void send_pieces();

  MPI_Comm all_;
  std::vector<int> neighbours_;
  std::size_t piece_, pieces_, each_;  // bytes; of a message at most; requests of a slot
  std::unique_ptr<std::byte[]> memory_;
  std::vector<MPI_Request> requests_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> sending_;  // slots that have pieces to send, in the order of their swaps
  std::size_t pieces_out_ = 0;
};

}  // namespace nigh::transpose
