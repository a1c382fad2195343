// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/mpi_swaps.hpp"

#include <algorithm>

namespace nigh::transpose {

Swaps::Swaps(const Nodes& nodes, std::size_t piece)
    : all_(nodes.all()),
      neighbours_(nodes.neighbours()),
      piece_(piece),
      pieces_(count_pieces(message_limit, piece)),
      each_(2 * pieces_ + 2),
      memory_(new std::byte[2 * at_once * message_limit]),
      requests_(at_once * each_, MPI_REQUEST_NULL),
      slots_(at_once) {}

bool Swaps::is_away(int rank) const {
  return std::find(neighbours_.begin(), neighbours_.end(), rank) == neighbours_.end();
}

void Swaps::start(std::size_t index, const Swap& swap) {
  const bool on_credit = piece_ != no_pieces && is_away(swap.peer);
  const std::size_t piece = on_credit ? piece_ : no_pieces, in = count_pieces(swap.in_bytes, piece),
                    out = count_pieces(swap.out_bytes, piece);
  slots_[index] = {&swap, piece, in + out + (on_credit ? 2 : 0), 0, !on_credit};
  MPI_Request* const requests = requests_of(index);
  std::byte* const to = swap.in != nullptr ? swap.in : buffer(index, 1);
  swap.get(buffer(index, 0));
  for (std::size_t k = 0; k < in; ++k)
    MPI_Irecv(to + k * piece, static_cast<int>(std::min(piece, swap.in_bytes - k * piece)), MPI_BYTE,
              swap.peer, data_tag, all_, requests + k);
  if (on_credit) {
    MPI_Isend(nullptr, 0, MPI_BYTE, swap.peer, credit_tag, all_, requests + 2 * pieces_);
    MPI_Irecv(nullptr, 0, MPI_BYTE, swap.peer, credit_tag, all_, requests + 2 * pieces_ + 1);
  }
  sending_.push_back(index);
}

// To one rank in the order in which it receives, whichever credit is told of first; to several by turns, lest
// all ranks send to the same one.
std::size_t* Swaps::next_to_send() {
  std::size_t* next = nullptr;
  for (std::size_t& i : sending_) {
    const auto first = std::find_if(sending_.begin(), sending_.end(), [&](std::size_t j) {
      return slots_[j].swap->peer == slots_[i].swap->peer;
    });
    if (*first == i && slots_[i].may_send && (next == nullptr || slots_[i].sent < slots_[*next].sent))
      next = &i;
  }
  return next;
}

void Swaps::send_pieces() {
  while (std::size_t* const next = next_to_send()) {
    Slot& slot = slots_[*next];
    const std::size_t bytes = slot.swap->out_bytes, k = slot.sent;
    if (slot.piece != no_pieces && pieces_out_ == most_pieces_out) return;
    MPI_Isend(buffer(*next, 0) + k * slot.piece,
              static_cast<int>(std::min(slot.piece, bytes - k * slot.piece)), MPI_BYTE, slot.swap->peer,
              data_tag, all_, requests_of(*next) + pieces_ + k);
    if (slot.piece != no_pieces) ++pieces_out_;
    if (++slot.sent == count_pieces(bytes, slot.piece))
      sending_.erase(sending_.begin() + (next - sending_.data()));
  }
}

void Swaps::run(const std::vector<Swap>& list) {
  std::size_t next = 0, left = list.size();
  for (std::size_t i = 0; i < at_once && next < list.size(); ++i) start(i, list[next++]);
  while (left > 0) {
    send_pieces();
    int which = 0;
    MPI_Waitany(static_cast<int>(requests_.size()), requests_.data(), &which, MPI_STATUS_IGNORE);
    const std::size_t index = static_cast<std::size_t>(which) / each_,
                      request = static_cast<std::size_t>(which) % each_;
    Slot& slot = slots_[index];
    if (request == 2 * pieces_ + 1) slot.may_send = true;
    if (request >= pieces_ && request < 2 * pieces_ && slot.piece != no_pieces) --pieces_out_;
    if (--slot.left > 0) continue;
    if (slot.swap->put) slot.swap->put(buffer(index, 1));
    --left;
    if (next < list.size()) start(index, list[next++]);
  }
}

}  // namespace nigh::transpose
