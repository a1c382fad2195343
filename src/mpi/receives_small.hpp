// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Receives with room for a descriptor but not for a message that pays to go by one. All that a descriptor can
// bring them is a message of just wire_bytes bytes, or one that is too long: so rare that a record in the
// table of request_table.hpp, 10 to 30 ns each, was what a window of small receives had as its cost. Here one
// is a few stores when it is posted and one when it ends, however it ends: the library gives its handle to
// the next request, and where that is a send, its status may still say what the receive's did. A program that
// ends a receive where we do not see it (PMPI_Wait) leaves a note that is out of date, so notes are believed
// only where the buffer holds the descriptor of an open offer to us. Predefined datatypes (they need no
// reference) and one thread only.
#pragma once

#include "mpi/p2p.hpp"

namespace nigh::mpi {

// One cache line: half of the notes crossed two, which cost measurable time.
struct alignas(64) SmallReceive {
  std::uintptr_t key = 0;
  void* buffer = nullptr;  // nullptr: ended, or another request's by now
  MPI_Count count = 0;
  TypeInfo* type = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
  int error = MPI_SUCCESS;
  bool delivered = false;  // the payload is in the buffer, and the library does not know
};
static_assert(sizeof(SmallReceive) == 64);

// By handle: linear probing, at most half full. A library has as many handles as requests were ever under way
// at once, and uses them again: nothing is erased.
class SmallReceives {
 public:
  // False: no memory.
  bool note(MPI_Request handle, void* buffer, MPI_Count count, TypeInfo* type, MPI_Comm comm) {
    const std::uintptr_t key = handle_bits_of(handle);
    std::size_t i = home(key);
    while (notes_[i].key != key && notes_[i].key != 0) i = (i + 1) & mask_;
    if (notes_[i].key == 0 && !add(i, key)) [[unlikely]]
      return false;
    overlapping = overlapping || buffer == last_;
    last_ = buffer;
    active_ += notes_[i].buffer ? 0 : 1;
    notes_[i] = {.key = key, .buffer = buffer, .count = count, .type = type, .comm = comm};
    return true;
  }
  // nullptr: none that is active.
  [[nodiscard]] SmallReceive* find(std::uintptr_t key) const {
    for (std::size_t i = home(key); notes_[i].key != 0; i = (i + 1) & mask_)
      if (notes_[i].key == key) return notes_[i].buffer ? &notes_[i] : nullptr;
    return nullptr;
  }
  // The receive has ended, or is kept elsewhere.
  void end(SmallReceive& receive) {
    if (receive.buffer == last_) last_ = nullptr;
    active_ -= receive.buffer ? 1 : 0;
    receive.buffer = nullptr;
  }
  // True: some noted receive may be under way.
  [[nodiscard]] bool any() const { return active_ != 0; }
  bool overlapping = false;  // some were posted on one buffer at once, against MPI's rules

 private:
  [[nodiscard]] std::size_t home(std::uintptr_t key) const { return (key * 0x9e3779b97f4a7c15u) >> shift_; }
  bool add(std::size_t& at, std::uintptr_t key);
  static SmallReceive first_notes[256];
  SmallReceive* notes_ = first_notes;
  std::size_t mask_ = 255, used_ = 0, active_ = 0;
  unsigned shift_ = 56;
  const void* last_ = nullptr;
};
extern SmallReceives g_small_receives;
// There was one ever: all that ends must be looked at.
extern bool g_small_posted;

// The library has completed the receive, or says so (`keep`: MPI_Request_get_status), with wire_bytes bytes
// in its status: brings the payload if that was a descriptor, corrects the status, says what is to be raised
// and returns it.
int settle_small(SmallReceive& receive, MPI_Status& status, Later& later, bool keep = false);
// The library says `error`, which it returns: only where the message was too long is the receive over.
int settle_failed(SmallReceive& receive, int error);
// The library has completed `was`, which is not a receive of the table.
inline int settle_other(MPI_Request was, MPI_Status& status, int error, Later& later) {
  if (!g_small_posted || was == MPI_REQUEST_NULL) return error;
  SmallReceive* receive = g_small_receives.find(handle_bits_of(was));
  if (!receive) return error;
  if (error != MPI_SUCCESS) [[unlikely]]
    return settle_failed(*receive, error);
  if (status_bytes(status) == wire_bytes) [[unlikely]]
    return settle_small(*receive, status, later);
  g_small_receives.end(*receive);
  return MPI_SUCCESS;
}
inline int settle_other(MPI_Request was, MPI_Status& status, int error) {
  if (!g_small_posted) [[likely]]
    return error;
  Later later;
  const int code = settle_other(was, status, error, later);
  later.raise_now();
  return code;
}
// The library says that an active receive of the table, or another one (null), is complete, and has kept its
// request: brings the payload and corrects the status, ends nothing.
void correct_status(Record* record, MPI_Request request, MPI_Status& status);
// The library has completed the user's request that was `was`.
inline int settle_found(MPI_Request was, MPI_Status& status, int error) {
  Record* record = was == MPI_REQUEST_NULL ? nullptr : g_table.find(handle_bits_of(was));
  return record && record->active ? settle(*record, status, error) : settle_other(was, status, error);
}
inline int settle_found(MPI_Request was, MPI_Status& status, int error, Later& later) {
  Record* record = was == MPI_REQUEST_NULL ? nullptr : g_table.find(handle_bits_of(was));
  return record && record->active ? settle(*record, status, error, later)
                                  : settle_other(was, status, error, later);
}
// A request that is not in the table moves there if there is a note of it: MPI_Request_free, and its payload
// may still be to come. False: there is none, or no memory.
bool promote_small(MPI_Request handle);
// That of an open offer to us; the buffer may be gone.
bool holds_descriptor(const void* buffer);

}  // namespace nigh::mpi
