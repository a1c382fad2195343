// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Request_get_status and its forms for many (MPI 4.1): a look that ends nothing. The library must not see
// our placeholders, which are inactive requests to it and therefore complete; it sees null requests in their
// place.
#include <cstdlib>

#include "mpi/ours.hpp"
#include "mpi/p2p.hpp"
#include "mpi/receives_small.hpp"

namespace nigh::mpi {
namespace {

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Record* record = find_request(request);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  if (record && !record->active) unpin(*record);
  if (!record || !record->active) {
    const int error = real().Request_get_status(request, flag, status);
    if (error == MPI_SUCCESS && *flag) correct_status(nullptr, request, *status);
    return error;
  }
  if (record->placeholder) {
    *flag = advance(*record->operation) ? 1 : 0;
    make_empty(*status);
    if (!*flag) drive();
    return MPI_SUCCESS;
  }
  const int error = real().Request_get_status(request, flag, status);
  if (error == MPI_SUCCESS && *flag) correct_status(record, request, *status);
  unpin(*record);
  return error;
}

}  // namespace

void correct_status(Record* record, MPI_Request request, MPI_Status& status) {
  const bool may_be_descriptor = status_bytes(status) == wire_bytes;
  if (record) {
    if (may_be_descriptor) deliver(*record);
    if (record->delivered) set_status_bytes(status, record->bytes);
  } else if (g_small_posted && may_be_descriptor) {
    SmallReceive* receive = g_small_receives.find(handle_bits_of(request));
    Later none;
    if (receive) settle_small(*receive, status, none, true);
  }
}

namespace {

bool library_alone() { return no_requests() && !g_small_posted; }

// The user's array as the library may see it, and which of it are active placeholders. No memory: null.
class Look {
 public:
  Look(int count, const MPI_Request* requests) {
    seen_ = static_cast<MPI_Request*>(std::malloc(sizeof(MPI_Request) * static_cast<std::size_t>(count)));
    for (int i = 0; seen_ && i < count; ++i) {
      Record* record = find_request(requests[i]);
      const bool hidden = record && record->active && record->placeholder;
      seen_[i] = hidden ? MPI_REQUEST_NULL : requests[i];
      placeholders_ += hidden ? 1 : 0;
      if (record && !hidden) unpin(*record);
    }
  }
  ~Look() { std::free(seen_); }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;
  [[nodiscard]] const MPI_Request* seen() const { return seen_; }
  [[nodiscard]] bool hides(int i, const MPI_Request* requests) const {
    return seen_[i] == MPI_REQUEST_NULL && requests[i] != MPI_REQUEST_NULL;
  }
  [[nodiscard]] int placeholders() const { return placeholders_; }

 private:
  MPI_Request* seen_ = nullptr;
  int placeholders_ = 0;
};

int get_any(int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  const Look look(count, requests);
  if (!look.seen()) return raise(MPI_COMM_SELF, MPI_ERR_NO_MEM);
  const int error = real().Request_get_status_any(count, look.seen(), index, flag, status);
  if (error != MPI_SUCCESS) return error;
  if (*flag && *index != MPI_UNDEFINED) return get_status(requests[*index], flag, status);
  for (int i = 0; look.placeholders() != 0 && i < count; ++i) {
    if (!look.hides(i, requests)) continue;
    const int one = get_status(requests[i], flag, status);
    if (one == MPI_SUCCESS && !*flag) continue;
    *index = i;
    return one;
  }
  if (look.placeholders() != 0) *index = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int get_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  bool all = true;
  for (int i = 0; i < count; ++i) {
    int done = 0;
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
    const int error = get_status(requests[i], &done, status);
    if (error != MPI_SUCCESS) return error;
    all = all && done != 0;
  }
  *flag = all ? 1 : 0;
  return MPI_SUCCESS;
}

int get_some(int count, const MPI_Request* requests, int* ended, int* indices, MPI_Status* statuses) {
  const Look look(count, requests);
  if (!look.seen()) return raise(MPI_COMM_SELF, MPI_ERR_NO_MEM);
  const int error = real().Request_get_status_some(count, look.seen(), ended, indices, statuses);
  if (error != MPI_SUCCESS) return error;
  const bool wanted = statuses != MPI_STATUSES_IGNORE;
  const int libraries = *ended == MPI_UNDEFINED ? 0 : *ended;
  int found = 0;
  const auto look_at = [&](int i) {
    int done = 0;
    const int one = get_status(requests[i], &done, wanted ? statuses + found : MPI_STATUS_IGNORE);
    if (one == MPI_SUCCESS && done) indices[found++] = i;
    return one;
  };
  for (int k = 0; k < libraries; ++k)
    if (const int one = look_at(indices[k]); one != MPI_SUCCESS) return one;
  for (int i = 0; look.placeholders() != 0 && i < count; ++i)
    if (look.hides(i, requests))
      if (const int one = look_at(i); one != MPI_SUCCESS) return one;
  if (look.placeholders() != 0 || libraries != 0) *ended = found;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (library_alone() || !flag || no_status(status)) return real().Request_get_status(request, flag, status);
  return get_status(request, flag, status);
}

int nigh_mpi_Request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                                    MPI_Status* status) {
  if (library_alone() || count <= 0 || !requests || !index || !flag || no_status(status))
    return real().Request_get_status_any(count, requests, index, flag, status);
  return get_any(count, requests, index, flag, status);
}

int nigh_mpi_Request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (library_alone() || count <= 0 || !requests || !flag || no_statuses(statuses))
    return real().Request_get_status_all(count, requests, flag, statuses);
  return get_all(count, requests, flag, statuses);
}

int nigh_mpi_Request_get_status_some(int count, const MPI_Request* requests, int* ended, int* indices,
                                     MPI_Status* statuses) {
  if (library_alone() || count <= 0 || !requests || !ended || !indices || no_statuses(statuses))
    return real().Request_get_status_some(count, requests, ended, indices, statuses);
  return get_some(count, requests, ended, indices, statuses);
}
