// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/receives_small.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sys/raw_memory.hpp"

namespace nigh::mpi {

SmallReceive SmallReceives::first_notes[256];
SmallReceives g_small_receives;
bool g_small_posted = false;

bool SmallReceives::add(std::size_t& at, std::uintptr_t key) {
  if (2 * used_ > mask_) {
    const std::size_t room = 2 * (mask_ + 1);
    auto* notes =
        static_cast<SmallReceive*>(std::aligned_alloc(alignof(SmallReceive), room * sizeof(SmallReceive)));
    if (!notes) return false;
    std::memset(static_cast<void*>(notes), 0, room * sizeof(SmallReceive));  // keys and buffers of none
    SmallReceive* old = notes_;
    const std::size_t old_mask = mask_;
    notes_ = notes;
    mask_ = room - 1;
    --shift_;
    const auto place = [&](std::uintptr_t of) {
      std::size_t i = home(of);
      while (notes_[i].key != 0) i = (i + 1) & mask_;
      return i;
    };
    for (std::size_t i = 0; i <= old_mask; ++i)
      if (old[i].key != 0) notes_[place(old[i].key)] = old[i];
    if (old != first_notes) std::free(old);
    at = place(key);
  }
  ++used_;
  g_small_posted = true;
  return true;
}

namespace {

// A note may be out of date, and its buffer gone: the kernel says so where a load would be a signal. Where it
// may not be asked (seccomp), whether the pages are there has to do.
bool read_descriptor(const void* from, Descriptor& wire) {
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  const ::iovec here = {.iov_base = &wire, .iov_len = wire_bytes};
  const ::iovec there = {.iov_base = const_cast<void*>(from), .iov_len = wire_bytes};
  const long self = nigh_raw_syscall3(SYS_getpid, 0, 0, 0);
  const long got = nigh_raw_syscall6(SYS_process_vm_readv, self, reinterpret_cast<long>(&here), 1,
                                     reinterpret_cast<long>(&there), 1, 0);
  if (got != -ENOSYS && got != -EPERM) return got == static_cast<long>(wire_bytes);
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = at & ~(page - 1);
  unsigned char pages[2];
  if (sys::raw_resident(first, ((at + wire_bytes - 1) & ~(page - 1)) - first + page, pages) != 0)
    return false;
  std::memcpy(&wire, from, wire_bytes);
  return true;
}

// The open offer to us whose descriptor lies there.
message::Offer* offer_in(const void* buffer) {
  Descriptor wire;
  if (!read_descriptor(buffer, wire)) return nullptr;
  const auto& space = *process().space;
  if (!wire.sealed() || wire.to != space.rank() || wire.from < 0 || wire.from >= space.size()) return nullptr;
  message::Offer* offer = process().offers->find(wire.from, wire.name);
  return offer && message::Offers::bytes_of(offer) == wire.bytes ? offer : nullptr;
}

// Under payload that another receive brought there since.
message::Offer* offer_under(const SmallReceive& receive, const MPI_Status& status) {
  const CommState* state = g_small_receives.overlapping ? comm_state(receive.comm) : nullptr;
  if (!state || status.MPI_SOURCE < 0 || status.MPI_SOURCE >= state->peers) return nullptr;
  const int from = state->space[static_cast<std::size_t>(status.MPI_SOURCE)];
  if (from < 0 || from == process().space->rank()) return nullptr;
  message::Offer* offer = process().offers->oldest(from, state->context, status.MPI_TAG);
  return offer && message::Offers::bytes_of(offer) == wire_bytes ? offer : nullptr;
}

void take(SmallReceive& receive, message::Offer* offer) {
  const std::size_t room = receive.type->size * static_cast<std::size_t>(receive.count);
  receive.error = message::Offers::bytes_of(offer) > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  process().offers->take(offer, receive.buffer, nullptr, room);
  receive.delivered = true;
}

}  // namespace

int settle_small(SmallReceive& receive, MPI_Status& status, Later& later, bool keep) {
  if (!status_cancelled(status) && !receive.delivered) {
    message::Offer* offer = offer_in(receive.buffer);
    if (offer && message::Offers::envelope_of(offer).tag != status.MPI_TAG) offer = nullptr;
    if (!offer) offer = offer_under(receive, status);
    if (offer) take(receive, offer);
  }
  const int error = receive.delivered ? receive.error : MPI_SUCCESS;
  if (error != MPI_SUCCESS)
    set_status_bytes(status, receive.type->size * static_cast<std::size_t>(receive.count));
  if (keep) return MPI_SUCCESS;
  g_small_receives.end(receive);
  if (error != MPI_SUCCESS) later.add(receive.comm, error);
  return error;
}

int settle_failed(SmallReceive& receive, int error) {
  int error_class = MPI_SUCCESS;
  real().Error_class(error, &error_class);
  if (error_class == MPI_ERR_TRUNCATE) g_small_receives.end(receive);
  return error;
}

bool promote_small(MPI_Request handle) {
  if (!g_small_posted || handle == MPI_REQUEST_NULL) return false;
  SmallReceive* receive = g_small_receives.find(handle_bits_of(handle));
  if (!receive || receive->delivered ||
      !remember(handle, receive->buffer, receive->count, receive->type, receive->comm, false))
    return false;
  g_small_receives.end(*receive);
  g_table.find(handle_bits_of(handle))->noted = true;
  return true;
}

bool holds_descriptor(const void* buffer) { return offer_in(buffer) != nullptr; }

}  // namespace nigh::mpi
