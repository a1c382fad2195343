// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Start and end of a transport: MPI is begun unless the program has done so, and each part that all PEs
// have in common becomes a window, or what messages name (transport_parcel.cpp). Windows stay locked for all
// (MPI_Win_lock_all) until the end.
#include "shmem/transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nigh::shmem {

bool Transport::fail(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(text_, sizeof text_, format, args);
  va_end(args);
  why_ = text_;
  return false;
}

namespace {

// Open MPI 4.1: large puts by windows were now and then not yet there when a flush and a barrier had ended
// (decision 0014).
const bool sound_windows = std::strcmp(NIGH_MPI_ABI, "openmpi") != 0;

}  // namespace

bool Transport::begin_mpi(int rank, int size) {
  int begun = 0, over = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&over);
  if (over) return fail("the program has ended MPI (MPI_Finalize) before shmem_init");
  const char* wish = std::getenv("NIGH_SHMEM_BYTES");
  if (wish && std::strcmp(wish, "windows") != 0 && std::strcmp(wish, "messages") != 0)
    return fail("NIGH_SHMEM_BYTES is '%s': it may be windows or messages", wish);
  messages_ = wish ? wish[0] == 'm' : !sound_windows;
  if (!begun) setenv("OMPI_MCA_osc", "^pt2pt", 0);
  if (begun) {
    MPI_Query_thread(&level_);
  } else {
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level_) != MPI_SUCCESS)
      return fail("MPI_Init_thread has failed");
    ours_ = true;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (rank_ == rank && size_ == size) return true;
  return fail(
      "MPI says rank %d of %d, the launcher says %d of %d: this MPI library (%s) is not the launcher's; "
      "NIGH_SHMEM_MPI=openmpi or mpich names the right one",
      rank_, size_, rank, size, NIGH_MPI_ABI);
}

// The windows of PE 0 that all have: the order of the windows.
std::vector<std::uint64_t> Transport::numbers_of_all(const Segment* parts, int count) {
  MPI_Bcast(&count, 1, MPI_INT, 0, all_);
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(count) * 2);
  if (rank_ == 0)
    for (std::size_t i = 0; i < numbers.size() / 2; ++i) {
      numbers[2 * i] = parts[i].number;
      numbers[2 * i + 1] = parts[i].bytes;
    }
  MPI_Bcast(numbers.data(), 2 * count, MPI_UINT64_T, 0, all_);
  return numbers;
}

bool Transport::show(const Segment* parts, int count) {
  const std::vector<std::uint64_t> wanted = numbers_of_all(parts, count);
  std::vector<const Segment*> mine(wanted.size() / 2);
  std::vector<int> has(mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto* found = std::find_if(parts, parts + count, [&](const Segment& part) {
      return part.number == wanted[2 * i] && part.bytes == wanted[2 * i + 1];
    });
    mine[i] = found;
    has[i] = found != parts + count;
  }
  MPI_Allreduce(MPI_IN_PLACE, has.data(), static_cast<int>(has.size()), MPI_INT, MPI_MIN, all_);
  if (has.empty() || !has[0]) return fail("SHMEM_SYMMETRIC_SIZE differs between the PEs");
  MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (!has[i]) continue;
    Window window = {mine[i]->begin, mine[i]->bytes, MPI_WIN_NULL, false};
    if (messages_) {
      windows_.push_back(window);
      continue;
    }
    if (MPI_Win_create(window.begin, static_cast<MPI_Aint>(window.bytes), 1, MPI_INFO_NULL, all_,
                       &window.win) != MPI_SUCCESS)
      return fail("MPI (%s) offers no one-sided operations on this network", NIGH_MPI_ABI);
    int* model = nullptr;
    int found = 0;
    MPI_Win_get_attr(window.win, MPI_WIN_MODEL, &model, &found);
    if (!found || *model != MPI_WIN_UNIFIED)
      return fail("MPI (%s) offers no unified memory model for windows", NIGH_MPI_ABI);
    MPI_Win_set_errhandler(window.win, MPI_ERRORS_ARE_FATAL);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window.win);
    windows_.push_back(window);
  }
  MPI_Comm_set_errhandler(all_, MPI_ERRORS_ARE_FATAL);
  return true;
}

bool Transport::start(int rank, int size, const Segment* parts, int count, Wait wait) {
  wait_ = wait;
  if (!begin_mpi(rank, size)) return false;
  MPI_Comm_dup(MPI_COMM_WORLD, &all_);
  MPI_Comm_dup(MPI_COMM_WORLD, &talk_);
  MPI_Bcast(&messages_, sizeof messages_, MPI_BYTE, 0, all_);  // nodes may differ in their environment
  posted_.assign(static_cast<std::size_t>(size), {});
  arriving_from_.assign(static_cast<std::size_t>(size), 0);
  if (!show(parts, count)) return false;
  MPI_Irecv(&come_, sizeof come_, MPI_BYTE, MPI_ANY_SOURCE, errand_tag, talk_, &coming_);
  MPI_Barrier(all_);
  return true;
}

void Transport::finish() {
  std::lock_guard guard(lock_);
  MPI_Cancel(&coming_);
  MPI_Wait(&coming_, MPI_STATUS_IGNORE);
  for (auto* requests : {&puts_, &gets_, &given_})
    MPI_Waitall(static_cast<int>(requests->size()), requests->data(), MPI_STATUSES_IGNORE);
  for (Window& window : windows_) {
    if (window.win == MPI_WIN_NULL) continue;
    MPI_Win_unlock_all(window.win);
    MPI_Win_free(&window.win);
  }
  windows_.clear();
#ifdef NIGH_ABI_MPICH
  MPI_Barrier(all_);
#endif
  MPI_Comm_free(&talk_);
  MPI_Comm_free(&all_);
  int over = 0;
  MPI_Finalized(&over);
#ifdef NIGH_ABI_MPICH
  // Over UCX's TCP (4.0) a process that makes progress while another closes their connection waits for that
  // one in MPI_Finalize, forever. So all make none for a while, in which all have left the barrier.
  if (ours_ && !over) ::usleep(50'000);
#endif
  if (ours_ && !over) MPI_Finalize();
}

void Transport::abort(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

}  // namespace nigh::shmem

nigh::shmem::Away* nigh_shmem_away(std::uint32_t version) {
  static nigh::shmem::Transport transport;
  return version == nigh::shmem::away_version ? &transport : nullptr;
}
