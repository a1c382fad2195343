// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Wait, MPI_Test and what else is done with a single request. When no request of the process is ours,
// which one load tells, they are the library's.
#include "mpi/ours.hpp"
#include "mpi/p2p.hpp"
#include "mpi/receives_small.hpp"

namespace nigh::mpi {
namespace {

// The library's wait, and a look at the status for the sake of receives_small.hpp.
inline int plain_wait(MPI_Request* request, MPI_Status* status) {
  if (!g_small_posted) [[likely]]
    return real().Wait(request, status);
  const MPI_Request was = *request;
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int error = real().Wait(request, status);
  return settle_other(was, *status, error);
}
inline int plain_test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!g_small_posted) [[likely]]
    return real().Test(request, flag, status);
  const MPI_Request was = *request;
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int error = real().Test(request, flag, status);
  return *flag ? settle_other(was, *status, error) : error;
}

// Waits in a loop of our own where others depend on what we must drive.
int library_wait(MPI_Request* request, MPI_Status* status) {
  if (!must_drive()) return real().Wait(request, status);
  Patiently patience;
  for (;;) {
    int done = 0;
    const int error = real().Test(request, &done, status);
    if (error != MPI_SUCCESS || done) {
      drive();
      return error;
    }
    drive();
    patience.wait();
  }
}

// The common case of one thread: a request that is not ours, or a receive that brings no descriptor.
[[gnu::noinline]] int wait(MPI_Request* request, MPI_Status* status);
inline int wait_quickly(MPI_Request* request, MPI_Status* status) {
  if (process().multiple || must_drive() || handlers_made() || *request == MPI_REQUEST_NULL)
    return wait(request, status);
  Record* record = g_table.find(handle_bits_of(*request));
  if (!record) return plain_wait(request, status);
  if (record->placeholder || !record->active || record->persistent || record->delivered)
    return wait(request, status);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  record->pinned = true;
  const int error = real().Wait(request, status);
  if (error != MPI_SUCCESS || status_bytes(*status) == wire_bytes) [[unlikely]]
    return settle(*record, *status, error);
  end_large(*record);
  add(g_live, -1);
  drop(record->type);
  g_table.erase(record);
  return MPI_SUCCESS;
}

// A receive of ours in a call of the library's that a handler may leave. `ends`: what is not an error ends
// it.
template <class Call>
int held(Record& record, MPI_Status& status, Call&& call, bool ends, const int* flag = nullptr) {
  int error = MPI_SUCCESS;
  {
    Later none;  // the library raises it
    const Settled receive([&](int code) { settle(record, status, code, none); });
    error = call();
    if (receive.settled()) return error;
  }
  if (ends || *flag || error != MPI_SUCCESS) return settle(record, status, error);
  unpin(record);
  return MPI_SUCCESS;
}

[[gnu::noinline]] int wait(MPI_Request* request, MPI_Status* status) {
  Record* record = find_request(*request);
  if (record && !record->active) unpin(*record);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  if (!record || !record->active) {
    const MPI_Request was = *request;
    return settle_other(was, *status, library_wait(request, status));
  }
  if (!record->placeholder)
    return held(*record, *status, [&] { return library_wait(request, status); }, true);
  Patiently patience;
  while (!advance(*record->operation)) {
    drive();
    patience.wait();
  }
  Later later;
  const int error = conclude(*record, request, *status, later);
  if (must_drive()) drive();
  later.raise_now();
  return error;
}

[[gnu::noinline]] int test(MPI_Request* request, int* flag, MPI_Status* status) {
  Record* record = find_request(*request);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  int error = MPI_SUCCESS;
  Later later;
  if (!record || !record->active) {
    if (record) unpin(*record);
    error = plain_test(request, flag, status);
  } else if (!record->placeholder) {
    error = held(*record, *status, [&] { return real().Test(request, flag, status); }, false, flag);
  } else {
    *flag = advance(*record->operation) ? 1 : 0;
    if (*flag)
      error = conclude(*record, request, *status, later);
    else
      drive();
  }
  if (must_drive()) drive();
  later.raise_now();
  return error;
}

// The common case: the library may look first, and nothing has come yet.
[[gnu::noinline]] int test_again(MPI_Request was, MPI_Request* request, int* flag, MPI_Status* status,
                                 int error) {
  if (error == MPI_SUCCESS && !*flag && g_met.load(std::memory_order_relaxed)) {
    auto call = [&] { return real().Test(request, flag, status); };
    error = look_again(flag, call);
  }
  if (*flag || error != MPI_SUCCESS) return settle_found(was, *status, error);
  if (others_wait(was)) drive_now_and_then();
  return MPI_SUCCESS;
}

inline int test_first(MPI_Request* request, int* flag, MPI_Status* status) {
  const MPI_Request was = *request;
  MPI_Status own;
  MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
  const int error = real().Test(request, flag, told);
  const bool more =
      error != MPI_SUCCESS || *flag != 0 || others_wait(was) || g_met.load(std::memory_order_relaxed);
  if (__builtin_expect(more, 0)) return test_again(was, request, flag, told, error);
  return MPI_SUCCESS;
}

[[gnu::noinline]] int test_unusual(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!request || !flag || no_status(status)) return real().Test(request, flag, status);
  if (library_first(1, request)) return test_first(request, flag, status);
  return look(flag, [&] { return test(request, flag, status); });
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Wait(MPI_Request* request, MPI_Status* status) {
  if (!request || no_status(status)) [[unlikely]]
    return real().Wait(request, status);
  if (no_requests() && !must_drive()) [[likely]]
    return plain_wait(request, status);
  return wait_quickly(request, status);
}

// No address of an argument is taken here, so that they stay in registers.
int nigh_mpi_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!library_first() || !request || !flag || no_status(status)) [[unlikely]]
    return test_unusual(request, flag, status);
  return test_first(request, flag, status);
}

int nigh_mpi_Request_free(MPI_Request* request) {
  if (!request) return real().Request_free(request);
  forget_terms(*request);
  Record* record = find_request(*request);
  if (!record && promote_small(*request)) record = find_request(*request);
  if (!record) return real().Request_free(request);
  if (record->placeholder) {
    abandon(*record);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  if (record->active && !record->delivered) {
    abandon_receive(*record);  // its payload is still to come
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  untrack(*record);
  return real().Request_free(request);
}

int nigh_mpi_Cancel(MPI_Request* request) {
  if (!request) return real().Cancel(request);
  Record* record = find_request(*request);
  if (!record || !record->placeholder) {
    if (record) unpin(*record);
    return real().Cancel(request);
  }
  if (record->active) record->operation->cancel();
  return MPI_SUCCESS;
}
