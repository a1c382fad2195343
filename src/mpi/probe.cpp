// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Probes. The library's answer stands but for the length: where it is that of a descriptor, the message is
// the oldest offer of that sender to us in that communicator with that tag, since the library does not let
// messages overtake each other. Receives that were posted before and have got theirs are looked after first,
// so that their offers are no longer among the candidates; a matched probe takes its offer out of them.
#include <cstdlib>

#include "mpi/ours.hpp"
#include "mpi/p2p.hpp"

namespace nigh::mpi {
namespace {

// Messages matched by a probe and not yet received, with their communicators: few, so a list will do.
struct Matched {
  MPI_Message message;
  MPI_Comm comm;
  Matched* next;
};
Matched* matched = nullptr;
std::atomic<int> matched_count = 0;

void note_message(MPI_Message message, MPI_Comm comm) {
  if (message == MPI_MESSAGE_NO_PROC || message == MPI_MESSAGE_NULL || comm == MPI_COMM_WORLD) return;
  auto* one = static_cast<Matched*>(std::malloc(sizeof(Matched)));
  if (!one) return;
  const TableLock lock;
  *one = {.message = message, .comm = comm, .next = matched};
  matched = one;
  add(matched_count, 1);
}

// The status says wire_bytes: what it should say.
[[gnu::noinline]] void correct(MPI_Comm comm, MPI_Status& status, bool reserve) {
  const CommState* state = comm_state(comm);
  if (!state || status.MPI_SOURCE < 0 || status.MPI_SOURCE >= state->peers) return;
  const int from = state->space[static_cast<std::size_t>(status.MPI_SOURCE)];
  if (from < 0 || from == process().space->rank()) return;
  deliver_posted(true);
  message::Offer* offer = process().offers->oldest(from, state->context, status.MPI_TAG);
  if (!offer) return;
  set_status_bytes(status, message::Offers::bytes_of(offer));
  if (reserve) message::Offers::reserve(offer);
}

// A look every now and then, where something must be driven.
template <class Look>
int driven_probe(Look&& look) {
  Patiently patience;
  for (;;) {
    int flag = 0;
    const int error = look(&flag);
    drive();
    if (error != MPI_SUCCESS || flag) return error;
    patience.wait();
  }
}

}  // namespace

MPI_Comm forget_message(MPI_Message message) {
  if (matched_count.load(std::memory_order_relaxed) == 0) return MPI_COMM_WORLD;
  const TableLock lock;
  for (Matched** at = &matched; *at; at = &(*at)->next) {
    if ((*at)->message != message) continue;
    Matched* one = *at;
    const MPI_Comm comm = one->comm;
    *at = one->next;
    std::free(one);
    add(matched_count, -1);
    return comm;
  }
  return MPI_COMM_WORLD;
}

}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (must_drive()) drive();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int error = look(flag, [&] { return real().Iprobe(source, tag, comm, flag, status); });
  if (error == MPI_SUCCESS && *flag && status_bytes(*status) == wire_bytes && status != &own)
    correct(comm, *status, false);
  return error;
}

int nigh_mpi_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (must_drive()) [[unlikely]]
    return driven_probe([&](int* flag) { return nigh_mpi_Iprobe(source, tag, comm, flag, status); });
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int error = real().Probe(source, tag, comm, status);
  if (error == MPI_SUCCESS && status_bytes(*status) == wire_bytes && status != &own)
    correct(comm, *status, false);
  return error;
}

int nigh_mpi_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                     MPI_Status* status) {
  if (must_drive()) drive();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int error = look(flag, [&] { return real().Improbe(source, tag, comm, flag, message, status); });
  if (error != MPI_SUCCESS || !*flag || status_bytes(*status) != wire_bytes) return error;
  correct(comm, *status, true);
  note_message(*message, comm);
  return error;
}

int nigh_mpi_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  if (must_drive()) [[unlikely]]
    return driven_probe(
        [&](int* flag) { return nigh_mpi_Improbe(source, tag, comm, flag, message, status); });
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int error = real().Mprobe(source, tag, comm, message, status);
  if (error != MPI_SUCCESS || status_bytes(*status) != wire_bytes) return error;
  correct(comm, *status, true);
  note_message(*message, comm);
  return error;
}

int nigh_mpi_Win_test(MPI_Win window, int* flag) {
  return look(flag, [&] { return real().Win_test(window, flag); });
}
