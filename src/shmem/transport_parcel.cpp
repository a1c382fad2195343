// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Puts and gets as messages, like the atomics (decision 0014): an errand names the place, the bytes follow
// it, or come back with its ticket. The target receives and sends them from the place itself. Bytes of one PE
// arrive in the order of their errands, as MPI has it; an answer waits until all that its PE put before has
// arrived, so an answered errand still says that all before it are done.
#include <cstring>

#include "shmem/transport.hpp"

namespace nigh::shmem {

Transport::Errand Transport::bytes_errand(Kind kind, const void* at, std::size_t bytes) const {
  Errand errand = {};
  std::size_t offset = 0;
  errand.kind = kind;
  errand.part = part_of(at, bytes, offset);
  errand.offset = offset;
  errand.value = bytes;
  return errand;
}

Transport::Errand Transport::steps_errand(Kind kind, const void* at, const Steps& steps,
                                          std::ptrdiff_t step) const {
  Errand errand = bytes_errand(kind, at, steps.element);
  errand.bytes = static_cast<std::uint32_t>(steps.element);
  errand.value = steps.count;
  errand.condition = static_cast<std::uint64_t>(step);
  return errand;
}

void Transport::send(int pe, const Errand& errand, const void* source, const Cargo& cargo, bool blocking) {
  const bool inside = errand.bytes == 0 && errand.value <= most_inside;
  MPI_Request sent = MPI_REQUEST_NULL;
  bool enough = false;
  {
    std::lock_guard guard(lock_);
    enough = note_posted(pe);
    if (inside) {
      Letter letter;
      letter.errand = errand;
      letter.errand.ticket = 1;
      std::memcpy(letter.inside, source, errand.value);
      MPI_Send(&letter, static_cast<int>(sizeof errand + errand.value), MPI_BYTE, pe, errand_tag, talk_);
    } else {
      MPI_Send(&errand, sizeof errand, MPI_BYTE, pe, errand_tag, talk_);
      MPI_Isend(source, cargo.count, cargo.type, pe, parcel_tag, talk_, &sent);
      if (!blocking) puts_.push_back(sent);
    }
  }
  if (blocking && !inside) end(sent);
  if (enough) settle(pe);
}

void Transport::fetch(int pe, Errand errand, void* dest, const Cargo& cargo, bool blocking) {
  MPI_Request come = MPI_REQUEST_NULL;
  bool enough = false;
  {
    std::lock_guard guard(lock_);
    errand.ticket = next_ticket();
    MPI_Irecv(dest, cargo.count, cargo.type, pe, answer_tag + errand.ticket, talk_, &come);
    MPI_Send(&errand, sizeof errand, MPI_BYTE, pe, errand_tag, talk_);
    if (!blocking) gets_.push_back(come);
    enough = gets_.size() >= most_posted;
  }
  if (blocking) end(come);
  if (enough) end_all(gets_);
}

void Transport::take_bytes(const Letter& letter, int from) {
  const Errand& now = letter.errand;
  std::byte* at = windows_[static_cast<std::size_t>(now.part)].begin + now.offset;
  if (now.kind == put_kind && now.ticket > 0) {
    std::memcpy(at, letter.inside, now.value);
    return;
  }
  const auto carry = [&](const Cargo& cargo) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (now.kind == get_kind) {
      MPI_Isend(at, cargo.count, cargo.type, from, answer_tag + now.ticket, talk_, &request);
      given_.push_back(request);
      return;
    }
    MPI_Irecv(at, cargo.count, cargo.type, from, parcel_tag, talk_, &request);
    arriving_.push_back({from, request});
    ++arriving_from_[static_cast<std::size_t>(from)];
  };
  if (now.bytes == 0)
    carry(Cargo(now.value));
  else
    carry(Cargo(now.bytes, now.value, static_cast<std::ptrdiff_t>(now.condition)));
}

void Transport::tend() {
  for (std::size_t i = 0; i < arriving_.size();) {
    int done = 0;
    MPI_Test(&arriving_[i].request, &done, MPI_STATUS_IGNORE);
    if (!done) {
      ++i;
      continue;
    }
    const int from = arriving_[i].from;
    arriving_.erase(arriving_.begin() + static_cast<std::ptrdiff_t>(i));
    if (--arriving_from_[static_cast<std::size_t>(from)] > 0) continue;
    for (const Answer& held : held_)
      if (held.to == from) answer(held.to, held.ticket, held.old);
    std::erase_if(held_, [from](const Answer& held) { return held.to == from; });
  }
  if ((given_.empty() && puts_.empty()) || ++turns_ % 64 != 0) return;
  for (auto* requests : {&given_, &puts_}) {
    for (MPI_Request& request : *requests) {
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    std::erase(*requests, MPI_REQUEST_NULL);
  }
}

void Transport::end_all(std::vector<MPI_Request>& requests) {
  std::vector<MPI_Request> mine;
  {
    std::lock_guard guard(lock_);
    mine.swap(requests);
  }
  for (MPI_Request& request : mine) end(request);
}

}  // namespace nigh::shmem
