// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Wait and MPI_Test of many requests. Placeholders are taken out of the user's array while the library
// looks at it (a null request is nothing to it) and are driven beside it. Receives come first: whoever has a
// large message for us waits for his buffer, as we may wait for ours. What is not ours is the library's in
// one call, and when nothing in the array is ours, so is the whole call.
#include <cstdlib>

#include "mpi/ours.hpp"
#include "mpi/request_batch.hpp"

namespace nigh::mpi {
namespace {

// MPI_Test/Waitsome on what the library sees and what it does not: the number that ended, MPI_UNDEFINED when
// nothing was active. Errors of single requests are in the statuses; `failed` tells that there are some.
// `attend`: all must end, so that sends can wait while there is something to receive. `wait`: the library
// may.
int some(Batch& batch, int count, int* indices, MPI_Status* statuses, int& failed, bool attend,
         bool wait = false) {
  int ended = 0;
  MPI_Status* library = batch.statuses();
  const int error = attend && g_in_turn.load(std::memory_order_relaxed) ? batch.look_in_turn(ended)
                                                                        : batch.look(ended, wait);
  if (batch.settled()) return failed = error, 0;
  const bool nothing = ended == MPI_UNDEFINED;
  if (error != MPI_SUCCESS) failed = error;
  if (nothing || (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS)) ended = 0;
  for (int k = 0; k < ended; ++k) {
    const int i = batch.indices()[k];
    const int one =
        batch.received(i, library[k], error == MPI_ERR_IN_STATUS ? library[k].MPI_ERROR : MPI_SUCCESS);
    if (one != MPI_SUCCESS) failed = MPI_ERR_IN_STATUS;
    library[k].MPI_ERROR = one;
    indices[k] = i;
    statuses[k] = library[k];
  }
  const bool active = batch.placeholders != 0;
  for (int i = 0; batch.placeholders != 0 && i < count; ++i) {
    MPI_Status status;
    const int one = batch.try_placeholder(i, status, attend && !nothing);
    if (one == -1) continue;
    if (one != MPI_SUCCESS) failed = MPI_ERR_IN_STATUS;
    status.MPI_ERROR = one;
    indices[ended] = i;
    statuses[ended++] = status;
  }
  return nothing && !active ? MPI_UNDEFINED : ended;
}

// Statuses that the user does not want still have to be somewhere.
class Statuses {
 public:
  Statuses(int count, MPI_Status* wanted) : data_(wanted) {
    if (wanted != MPI_STATUSES_IGNORE) return;
    data_ = count <= few
                ? first_
                : static_cast<MPI_Status*>(std::malloc(sizeof(MPI_Status) * static_cast<std::size_t>(count)));
    heap_ = count > few;
  }
  ~Statuses() {
    if (heap_) std::free(data_);
  }
  Statuses(const Statuses&) = delete;
  Statuses& operator=(const Statuses&) = delete;
  MPI_Status* get() { return data_; }

 private:
  MPI_Status* data_;
  bool heap_ = false;
  MPI_Status first_[few];
};

void keep_error(MPI_Status& to, const MPI_Status& from, bool failed, int error) {
  const int kept = to.MPI_ERROR;
  to = from;
  to.MPI_ERROR = failed ? error : kept;
}

// The library waits for all at once; then the payloads. For receives that hardly are descriptors.
int wait_direct(Batch& batch, int count, MPI_Request* requests, MPI_Status* statuses) {
  batch.written.statuses = statuses;
  const int error = real().Waitall(count, requests, statuses);
  if (batch.settled()) return error;
  const bool in_status = error == MPI_ERR_IN_STATUS;
  if (error != MPI_SUCCESS && !in_status) return error;
  bool failed = false;
  for (int i = 0; i < count; ++i) {
    if (in_status && statuses[i].MPI_ERROR == MPI_ERR_PENDING) continue;
    const int one = batch.received(i, statuses[i], in_status ? statuses[i].MPI_ERROR : MPI_SUCCESS);
    if (one != MPI_SUCCESS && !failed && !in_status)
      for (int k = 0; k < count; ++k) statuses[k].MPI_ERROR = MPI_SUCCESS;
    if (one == MPI_SUCCESS) continue;
    failed = true;
    statuses[i].MPI_ERROR = one;
  }
  return failed ? MPI_ERR_IN_STATUS : error;
}

int wait_all(Batch& batch, int count, MPI_Status* statuses) {
  Statuses found(count, MPI_STATUSES_IGNORE), results(count, MPI_STATUSES_IGNORE);
  if (!found.get() || !results.get()) return MPI_ERR_NO_MEM;
  int* indices = batch.more_indices();
  int failed = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    make_empty(results.get()[i]);
    results.get()[i].MPI_ERROR = MPI_SUCCESS;
  }
  Patiently patience;
  for (;;) {
    const int ended = some(batch, count, indices, found.get(), failed, true);
    if (batch.settled()) return failed;
    if (ended == MPI_UNDEFINED || (failed != MPI_SUCCESS && failed != MPI_ERR_IN_STATUS)) break;
    for (int k = 0; k < ended; ++k) results.get()[indices[k]] = found.get()[k];
    if (ended != 0) continue;
    drive();
    patience.wait();
  }
  if (must_drive()) drive();
  const bool told = failed == MPI_ERR_IN_STATUS;
  for (int i = 0; i < count; ++i) keep_error(statuses[i], results.get()[i], told, results.get()[i].MPI_ERROR);
  return failed;
}

int waitall(int count, MPI_Request* requests, MPI_Status* wanted, Later& later) {
  Batch batch(count, requests, later);
  if (!batch.ok() || batch.whole()) return real().Waitall(count, requests, wanted);
  Statuses statuses(count, wanted);
  if (!statuses.get()) return MPI_ERR_NO_MEM;
  if (batch.placeholders == 0 && batch.large == 0 && !must_drive())
    return wait_direct(batch, count, requests, statuses.get());
  return wait_all(batch, count, statuses.get());
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* wanted, Later& later) {
  Batch batch(count, requests, later);
  if (!batch.ok() || batch.whole()) return real().Testall(count, requests, flag, wanted);
  Statuses statuses(count, wanted);
  if (!statuses.get()) return MPI_ERR_NO_MEM;
  *flag = 0;
  int error = MPI_SUCCESS;
  batch.written.statuses = statuses.get();
  if (batch.all_placeholders_ended()) error = real().Testall(count, requests, flag, statuses.get());
  if (batch.settled()) return error;
  const bool in_status = error == MPI_ERR_IN_STATUS;
  if (!*flag && !in_status) {
    for (int i = 0; i < count; ++i)
      if (batch.at(i)) unpin(*batch.at(i));
    drive();
    return error;
  }
  int failed = error;
  for (int i = 0; i < count; ++i) {
    MPI_Status& status = statuses.get()[i];
    if (in_status && status.MPI_ERROR == MPI_ERR_PENDING) continue;
    const int before = status.MPI_ERROR;
    if (!*flag && batch.keeps(i)) {  // MPICH 5 and Intel MPI end none of them where one failed
      if (before == MPI_SUCCESS) batch.correct(i, status);
      continue;
    }
    const bool placeholder = batch.at(i) && batch.at(i)->placeholder;
    const int one = placeholder ? batch.conclude_at(i, status)
                                : batch.received(i, status, in_status ? before : MPI_SUCCESS);
    status.MPI_ERROR = before;
    if (one == MPI_SUCCESS) continue;
    if (failed == MPI_SUCCESS)
      for (int k = 0; k < count; ++k) statuses.get()[k].MPI_ERROR = MPI_SUCCESS;
    failed = MPI_ERR_IN_STATUS;
    status.MPI_ERROR = one;
  }
  if (must_drive()) drive();
  return failed;
}

int somes(bool wait, int count, MPI_Request* requests, int* ended, int* indices, MPI_Status* wanted,
          Later& later) {
  Batch batch(count, requests, later);
  if (!batch.ok() || batch.whole())
    return (wait ? real().Waitsome : real().Testsome)(count, requests, ended, indices, wanted);
  Statuses statuses(count, MPI_STATUSES_IGNORE);
  if (!statuses.get()) return MPI_ERR_NO_MEM;
  int failed = MPI_SUCCESS;
  Patiently patience;
  for (;;) {
    *ended = some(batch, count, indices, statuses.get(), failed, false, wait && batch.none());
    if (batch.settled()) return failed;
    if (*ended != 0 || !wait || failed != MPI_SUCCESS) break;
    drive();
    patience.wait();
  }
  if (*ended == 0 || must_drive()) drive();
  for (int k = 0; wanted != MPI_STATUSES_IGNORE && *ended != MPI_UNDEFINED && k < *ended; ++k)
    keep_error(wanted[k], statuses.get()[k], failed == MPI_ERR_IN_STATUS, statuses.get()[k].MPI_ERROR);
  return failed;
}

// True: something ended, or nothing was active (index MPI_UNDEFINED).
bool any_once(Batch& batch, bool wait, int count, MPI_Request* requests, int* index, MPI_Status& status,
              int& error) {
  int flag = wait ? 1 : 0;
  const bool active = batch.placeholders != 0;
  const int one_ended = 1;
  batch.written = {.statuses = &status, .indices = index, .ended = &one_ended};
  error = wait ? real().Waitany(count, requests, index, &status)
               : real().Testany(count, requests, index, &flag, &status);
  batch.written = {};
  if (batch.settled()) return true;
  // The library may leave the index as it was where it refuses the call as a whole.
  if (*index >= 0 && *index < count && (flag || error != MPI_SUCCESS)) {
    error = batch.received(*index, status, error);
    return true;
  }
  if (error != MPI_SUCCESS) return true;
  for (int i = 0; batch.placeholders != 0 && i < count; ++i) {
    const int one = batch.try_placeholder(i, status);
    if (one == -1) continue;
    *index = i;
    error = one;
    return true;
  }
  return flag && !active;
}

int any(bool wait, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status,
        Later& later) {
  Batch batch(count, requests, later);
  if (!batch.ok() || batch.whole())
    return wait ? real().Waitany(count, requests, index, status)
                : real().Testany(count, requests, index, flag, status);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  int error = MPI_SUCCESS;
  Patiently patience;
  for (;;) {
    *flag = any_once(batch, wait && batch.none(), count, requests, index, *status, error) ? 1 : 0;
    if (batch.settled()) return error;
    if (*flag || !wait) break;
    drive();
    patience.wait();
  }
  if (!*flag) *index = MPI_UNDEFINED;
  if (!*flag || must_drive()) drive();
  return error;
}

// Calls it; the array is the user's again when an error of ours is raised.
template <class Call>
[[gnu::noinline]] int raising_after(Call&& call) {
  Later later;
  const int error = call(later);
  later.raise_now();
  return error;
}

// --- the common case: the library may look first (library_first()), and nothing has come yet ---
// For so many requests; beyond, what it would cost to keep their handles is little beside the call.
constexpr int most_first = few;

// The library has completed `number` of the requests that were `were`: those at `indices`, or all. `ended`:
// it has ended them; else only those that are not in the array any more (MPICH 5 and Intel MPI end none where
// one failed).
int settle_several(const MPI_Request* were, const MPI_Request* requests, const int* indices, int number,
                   MPI_Status* statuses, int error, bool ended) {
  bool told = error == MPI_ERR_IN_STATUS;
  if (error != MPI_SUCCESS && !told) return error;
  Later later;
  for (int k = 0; k < number; ++k) {
    MPI_Status& status = statuses[k];
    const int before = status.MPI_ERROR;
    if (told && before == MPI_ERR_PENDING) continue;
    const int i = indices ? indices[k] : k;
    if (!ended && requests[i] != MPI_REQUEST_NULL) {
      Record* record = g_table.find(handle_bits_of(were[i]));
      if (before == MPI_SUCCESS) correct_status(record && record->active ? record : nullptr, were[i], status);
      continue;
    }
    const int one = settle_found(were[i], status, told ? before : MPI_SUCCESS, later);
    status.MPI_ERROR = before;
    if (one == MPI_SUCCESS) continue;
    for (int other = 0; !told && other < number; ++other) statuses[other].MPI_ERROR = MPI_SUCCESS;
    told = true;
    status.MPI_ERROR = one;
  }
  later.raise_now();
  return told ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

// The handles that the library takes out of the array when it completes requests.
inline void keep_handles(MPI_Request* were, const MPI_Request* requests, int count) {
  if (count <= 2) {  // no call
    were[0] = requests[0];
    were[1] = requests[count - 1];
    return;
  }
  std::memcpy(were, requests, sizeof(MPI_Request) * static_cast<std::size_t>(count));
}

[[gnu::noinline]] int testany_several_again(const MPI_Request* were, int count, MPI_Request* requests,
                                            int* index, int* flag, MPI_Status* status, int error) {
  if (error == MPI_SUCCESS && !*flag && g_met.load(std::memory_order_relaxed)) {
    auto call = [&] { return real().Testany(count, requests, index, flag, status); };
    error = look_again(flag, call);
  }
  if (*flag || error != MPI_SUCCESS)
    return *index >= 0 && *index < count ? settle_found(were[*index], *status, error) : error;
  drive_now_and_then();
  return MPI_SUCCESS;
}

[[gnu::noinline]] int testall_first(int count, MPI_Request* requests, int* flag, MPI_Status* wanted) {
  MPI_Request were[most_first];
  keep_handles(were, requests, count);
  Statuses statuses(count, wanted);
  const int error = look(flag, [&] { return real().Testall(count, requests, flag, statuses.get()); });
  if (*flag || error != MPI_SUCCESS)
    return settle_several(were, requests, nullptr, count, statuses.get(), error, *flag != 0);
  drive_now_and_then();
  return MPI_SUCCESS;
}

// None of the requests is in the table; some may be small receives, of which there are notes. Less of the
// stack is touched than by a Batch.
[[gnu::noinline]] int waitall_small(int count, MPI_Request* requests, MPI_Status* wanted) {
  MPI_Request were[most_first];
  keep_handles(were, requests, count);
  Statuses statuses(count, wanted);
  const int error = real().Waitall(count, requests, statuses.get());
  bool usual = error == MPI_SUCCESS;
  for (int i = 0; i < count && usual; ++i) {
    SmallReceive* receive =
        were[i] == MPI_REQUEST_NULL ? nullptr : g_small_receives.find(handle_bits_of(were[i]));
    if (!receive) continue;
    usual = status_bytes(statuses.get()[i]) != wire_bytes;
    if (usual) g_small_receives.end(*receive);
  }
  return usual ? MPI_SUCCESS : settle_several(were, requests, nullptr, count, statuses.get(), error, true);
}

[[gnu::noinline]] int testsome_first(int count, MPI_Request* requests, int* ended, int* indices,
                                     MPI_Status* wanted) {
  MPI_Request were[most_first];
  keep_handles(were, requests, count);
  Statuses statuses(count, wanted);
  const int error = real().Testsome(count, requests, ended, indices, statuses.get());
  if (*ended > 0 && *ended <= count)
    return settle_several(were, requests, indices, *ended, statuses.get(), error, true);
  if (error == MPI_SUCCESS) drive_now_and_then();
  return error;
}

[[gnu::noinline]] int testany_again(MPI_Request was, MPI_Request* request, int* index, int* flag,
                                    MPI_Status* status, int error) {
  if (error == MPI_SUCCESS && !*flag && g_met.load(std::memory_order_relaxed)) {
    auto call = [&] { return real().Testany(1, request, index, flag, status); };
    error = look_again(flag, call);
  }
  if (*flag || error != MPI_SUCCESS)
    return *index != MPI_UNDEFINED ? settle_found(was, *status, error) : error;
  if (others_wait(was)) drive_now_and_then();
  return MPI_SUCCESS;
}

[[gnu::noinline]] int testany_otherwise(int count, MPI_Request* requests, int* index, int* flag,
                                        MPI_Status* status) {
  if (!requests || !index || !flag || no_status(status))
    return real().Testany(count, requests, index, flag, status);
  if ((no_requests() && !g_small_posted && !must_drive()) || count <= 0)
    return look(flag, [&] { return real().Testany(count, requests, index, flag, status); });
  return look(flag, [&] {
    return raising_after(
        [&](Later& later) { return any(false, count, requests, index, flag, status, later); });
  });
}

inline int testany_one(MPI_Request* request, int* index, int* flag, MPI_Status* status) {
  const MPI_Request was = *request;
  MPI_Status own;
  MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
  const int error = real().Testany(1, request, index, flag, told);
  const bool more =
      error != MPI_SUCCESS || *flag != 0 || others_wait(was) || g_met.load(std::memory_order_relaxed);
  if (__builtin_expect(more, 0)) return testany_again(was, request, index, flag, told, error);
  return MPI_SUCCESS;
}

inline int testany_some(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  MPI_Request were[most_first];
  keep_handles(were, requests, count);
  MPI_Status own;
  MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
  const int error = real().Testany(count, requests, index, flag, told);
  const bool more = error != MPI_SUCCESS || *flag != 0 || g_posted || g_met.load(std::memory_order_relaxed);
  if (__builtin_expect(more, 0))
    return testany_several_again(were, count, requests, index, flag, told, error);
  return MPI_SUCCESS;
}

// Several requests, or one while a send of ours is under way.
[[gnu::noinline]] int testany_several(int count, MPI_Request* requests, int* index, int* flag,
                                      MPI_Status* status) {
  if (!requests || !index || !flag || no_status(status) || count <= 0 || count > most_first ||
      (no_requests() && !g_small_posted) || !library_first(count, requests))
    return testany_otherwise(count, requests, index, flag, status);
  return count == 1 ? testany_one(requests, index, flag, status)
                    : testany_some(count, requests, index, flag, status);
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if ((no_requests() && !g_small_posted && !must_drive()) || count <= 0 || !requests || no_statuses(statuses))
      [[likely]]
    return real().Waitall(count, requests, statuses);
  if (no_requests() && !must_drive() && count <= most_first)
    return g_small_receives.any() ? waitall_small(count, requests, statuses)
                                  : real().Waitall(count, requests, statuses);
  return raising_after([&](Later& later) { return waitall(count, requests, statuses, later); });
}
int nigh_mpi_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  if ((no_requests() && !g_small_posted && !must_drive()) || count <= 0 || !requests || !flag ||
      no_statuses(statuses)) [[likely]]
    return flag ? look(flag, [&] { return real().Testall(count, requests, flag, statuses); })
                : real().Testall(count, requests, flag, statuses);
  if (count <= most_first && library_first(count, requests)) [[likely]]
    return testall_first(count, requests, flag, statuses);
  return look(flag, [&] {
    return raising_after([&](Later& later) { return testall(count, requests, flag, statuses, later); });
  });
}
int nigh_mpi_Waitsome(int count, MPI_Request requests[], int* ended, int indices[], MPI_Status statuses[]) {
  if ((no_requests() && !g_small_posted && !must_drive()) || count <= 0 || !requests || !ended || !indices ||
      no_statuses(statuses)) [[likely]]
    return real().Waitsome(count, requests, ended, indices, statuses);
  return raising_after(
      [&](Later& later) { return somes(true, count, requests, ended, indices, statuses, later); });
}
int nigh_mpi_Testsome(int count, MPI_Request requests[], int* ended, int indices[], MPI_Status statuses[]) {
  if ((no_requests() && !g_small_posted && !must_drive()) || count <= 0 || !requests || !ended || !indices ||
      no_statuses(statuses)) [[likely]]
    return real().Testsome(count, requests, ended, indices, statuses);
  if (count <= most_first && library_first(count, requests)) [[likely]]
    return testsome_first(count, requests, ended, indices, statuses);
  return raising_after(
      [&](Later& later) { return somes(false, count, requests, ended, indices, statuses, later); });
}
int nigh_mpi_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  if ((no_requests() && !g_small_posted && !must_drive()) || count <= 0 || !requests || !index ||
      no_status(status)) [[likely]]
    return real().Waitany(count, requests, index, status);
  int flag = 0;
  return raising_after([&](Later& later) { return any(true, count, requests, index, &flag, status, later); });
}
// No address of an argument is taken here, so that they stay in registers.
int nigh_mpi_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  if (count != 1 || !library_first() || !requests || !index || !flag || no_status(status)) [[unlikely]]
    return testany_several(count, requests, index, flag, status);
  return testany_one(requests, index, flag, status);
}
