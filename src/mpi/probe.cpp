// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Probes. The library's answer stands but for the length: where it is that of a descriptor, the message is
// taken out of the library and read (early.hpp), and what it says is the answer, now and for the receive that
// follows.
#include "mpi/early.hpp"
#include "mpi/ours.hpp"

namespace nigh::mpi {
namespace {

// A look every now and then, where something must be driven or other threads must not be kept out.
template <class Look>
int looking_probe(Look&& look) {
  Patiently patience;
  for (;;) {
    int flag = 0;
    const int error = look(&flag);
    if (must_drive()) drive();
    if (error != MPI_SUCCESS || flag) return error;
    patience.wait();
  }
}

void tell(const Early& early, MPI_Status& status) {
  const int kept = status.MPI_ERROR;  // not for calls that complete nothing to write
  status = early.status;
  status.MPI_ERROR = kept;
}

// Within the gate: what an early message says. False: there is none.
bool told_early(const Wanted& wanted, MPI_Status& status) {
  if (!look_early()) return false;
  Early* early = find_early(wanted);
  if (!early) return false;
  read_early(*early);
  tell(*early, status);
  return true;
}

// Within the gate: the library has told of this message, and it may be a descriptor. False: it is not there
// any more.
bool corrected(const Wanted& wanted, MPI_Status& status) {
  if (status_bytes(status) != wire_bytes || !comes_from_ours(wanted.comm, status)) return true;
  return take_out(wanted.comm, status) && told_early(wanted, status);
}

int iprobe(const Wanted& wanted, int* flag, MPI_Status& status) {
  const Gate gate(wanted.comm);
  if (told_early(wanted, status)) {
    *flag = 1;
    return MPI_SUCCESS;
  }
  const int error =
      look(flag, [&] { return real().Iprobe(wanted.source, wanted.tag, wanted.comm, flag, &status); });
  if (error == MPI_SUCCESS && *flag && !corrected(wanted, status)) *flag = 0;
  return error;
}

// One thread, and nothing to drive: the library waits.
int probe(const Wanted& wanted, MPI_Status& status) {
  for (;;) {
    if (told_early(wanted, status)) return MPI_SUCCESS;
    const int error = real().Probe(wanted.source, wanted.tag, wanted.comm, &status);
    if (error != MPI_SUCCESS || corrected(wanted, status)) return error;
  }
}

// The message is the user's now, with a handle of the library's.
int give(Early* early, MPI_Message* message, MPI_Status& status) {
  read_early(*early);
  tell(*early, status);
  const MPI_Comm comm = early->comm;
  return hand_out(early, message) ? MPI_SUCCESS : raise(comm, MPI_ERR_NO_MEM);
}

// `error` of a matched probe of the library's that found something, if `found`.
int give_found(MPI_Comm comm, int error, bool found, MPI_Message* message, MPI_Status& status) {
  if (error != MPI_SUCCESS || !found) return error;
  const bool noted = comm != MPI_COMM_WORLD;
  const bool read = status_bytes(status) == wire_bytes && comes_from_ours(comm, status);
  if (!noted && !read) return MPI_SUCCESS;
  Early* early = new_early(comm);
  if (!early) return MPI_SUCCESS;
  early->status = status;
  early->message = *message;
  return give(early, message, status);
}

int improbe(const Wanted& wanted, int* flag, MPI_Message* message, MPI_Status& status) {
  Early* early = nullptr;
  int error = MPI_SUCCESS;
  {
    const Gate gate(wanted.comm);
    if (look_early()) early = take_early(wanted);
    if (!early)
      error = look(flag, [&] {
        return real().Improbe(wanted.source, wanted.tag, wanted.comm, flag, message, &status);
      });
  }
  if (!early) return give_found(wanted.comm, error, *flag != 0, message, status);
  *flag = 1;
  return give(early, message, status);
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (must_drive()) drive();
  const Wanted wanted = {.comm = comm, .source = source, .tag = tag};
  if (!flag || !is_usual(wanted) || (status == MPI_STATUS_IGNORE && !look_early()))
    return look(flag, [&] { return real().Iprobe(source, tag, comm, flag, status); });
  MPI_Status own;
  return iprobe(wanted, flag, status == MPI_STATUS_IGNORE ? own : *status);
}

int nigh_mpi_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const Wanted wanted = {.comm = comm, .source = source, .tag = tag};
  const bool usual = is_usual(wanted);
  if (must_drive() || (usual && process().multiple)) [[unlikely]]
    return looking_probe([&](int* flag) { return nigh_mpi_Iprobe(source, tag, comm, flag, status); });
  if (!usual || (status == MPI_STATUS_IGNORE && !look_early()))
    return real().Probe(source, tag, comm, status);
  MPI_Status own;
  return probe(wanted, status == MPI_STATUS_IGNORE ? own : *status);
}

int nigh_mpi_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                     MPI_Status* status) {
  if (must_drive()) drive();
  const Wanted wanted = {.comm = comm, .source = source, .tag = tag};
  if (!flag || !message || !is_usual(wanted))
    return look(flag, [&] { return real().Improbe(source, tag, comm, flag, message, status); });
  MPI_Status own;
  return improbe(wanted, flag, message, status == MPI_STATUS_IGNORE ? own : *status);
}

int nigh_mpi_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  const Wanted wanted = {.comm = comm, .source = source, .tag = tag};
  const bool usual = message && is_usual(wanted);
  if (must_drive() || (usual && look_early())) [[unlikely]]
    return looking_probe(
        [&](int* flag) { return nigh_mpi_Improbe(source, tag, comm, flag, message, status); });
  if (!usual) return real().Mprobe(source, tag, comm, message, status);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  return give_found(comm, real().Mprobe(source, tag, comm, message, status), true, message, *status);
}

int nigh_mpi_Win_test(MPI_Win window, int* flag) {
  return look(flag, [&] { return real().Win_test(window, flag); });
}
