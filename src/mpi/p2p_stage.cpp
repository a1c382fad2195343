// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The largest message from private memory for which two copies of ours are faster than the library's one,
// which is a call of the kernel (process_vm_readv, "CMA"). That depends on the machine by a factor of ten:
// the distance of its cores, the price of a call. So it is measured, once, by the first such message, in some
// 30 us:
//
//     two copies     write: lines that the receiver has read; the receiver reads lines that we have written
//     the library's  call + page by page, and the receiver reads lines that we have written
//
// The messages by which the library prepares its copy are left out, so the limit is rather too low.
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "message/wait.hpp"
#include "mpi/p2p.hpp"
#include "sys/os.hpp"
#include "sys/raw_memory.hpp"
#include "sys/variables.hpp"

namespace nigh::mpi {

std::atomic<std::size_t> g_most_staged = 0;
std::size_t g_least_staged = 0;
std::atomic<bool> g_measures_staging = false;

namespace {

constexpr std::size_t piece = 4096, pieces = 4, sample_bytes = 2 * pieces * piece;
constexpr std::size_t most_measured =
    32768;  // beyond, cores that turn out to be far apart would cost too much

using Times = std::array<std::int64_t, pieces>;

template <class Copy>
double median_ns(Copy&& copy) {
  Times times{};
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::int64_t begun = message::now_ns();
    copy(i);
    times[i] = message::now_ns() - begun;
  }
  std::sort(times.begin(), times.end());
  return static_cast<double>(times[pieces / 2]);
}

template <class Copy>
double least_ns(Copy&& copy) {
  constexpr int times = 5;
  std::int64_t least = message::now_ns();
  for (int i = 0; i < times; ++i) {
    const std::int64_t begun = message::now_ns();
    copy();
    least = std::min(least, message::now_ns() - begun);
  }
  return static_cast<double>(least);
}

// The kernel copies so many bytes of ours to ourselves. False: it may not be asked.
bool call_copies(char* to, char* from, std::size_t bytes) {
  const ::iovec here = {.iov_base = to, .iov_len = bytes}, there = {.iov_base = from, .iov_len = bytes};
  const long self = nigh_raw_syscall3(SYS_getpid, 0, 0, 0);
  return nigh_raw_syscall6(SYS_process_vm_readv, self, reinterpret_cast<long>(&here), 1,
                           reinterpret_cast<long>(&there), 1, 0) == static_cast<long>(bytes);
}

// The size from which the library is faster; 0: it can't be told. `sample`: of the receiver, who wrote it.
std::size_t measured_limit(char* sample) {
  auto* const own = static_cast<char*>(std::malloc(sample_bytes));
  if (!own) return 0;
  char* const other = own + pieces * piece;
  // Pages are there before anything is timed; of his this costs a line each.
  std::memset(own, 1, sample_bytes);
  for (std::size_t at = 0; at < sample_bytes; at += piece) static_cast<volatile char*>(sample)[at] = 1;
  const double read =
      median_ns([&](std::size_t i) { std::memcpy(own + i * piece, sample + i * piece, piece); });
  char* const unread = sample + pieces * piece;
  const double write =
      median_ns([&](std::size_t i) { std::memcpy(unread + i * piece, other + i * piece, piece); });
  const double hot = least_ns([&] { std::memcpy(own, other, pieces * piece); }) / pieces;
  bool copied = true;
  const double one = least_ns([&] { copied = call_copies(own, other, piece) && copied; });
  const double all = least_ns([&] { copied = call_copies(own, other, pieces * piece) && copied; });
  std::free(own);
  if (!copied) return 0;
  const double page = (all - one) / (pieces - 1), call = one - page;
  // write + read < call / n + page + read - hot, for n pieces. Writing what was only written by the other is
  // no dearer than what he has read, too.
  const double excess = std::max(write, read) + hot - page;
  if (call <= 0) return 0;
  return excess <= 0 ? most_measured : static_cast<std::size_t>(call / excess * piece);
}

void start() {
  constexpr auto unset = ~std::size_t{0};
  const std::size_t set = sys::number_in_variable("NIGH_MPI_P2P_STAGED", 0, unset - 1, unset);
  const bool is_set = set != unset;
  // MPICH sends these eagerly up to there, in two copies of its own.
  g_least_staged = is_set || is_openmpi() ? 0 : 8192;
  g_most_staged = is_set ? set : is_openmpi() ? 6144 : 0;
  // Intel MPI's own shared memory is faster at these sizes; XPMEM copies once without a call.
  if (is_set || is_intel() || sys::Os().exists("/dev/xpmem")) return;
  auto* const sample = static_cast<char*>(process().space->alloc(sample_bytes, piece));
  if (!sample) return;
  std::memset(sample, 1, sample_bytes);
  process().page->sample.store(sample, std::memory_order_release);
  g_measures_staging = true;
}
void stop() { g_measures_staging = false; }
const Hooks hooks(start, stop);

}  // namespace

void measure_staging(int to) {
  const auto* page = static_cast<const Page*>(process().space->root(to, space::Root::mpi));
  char* const sample = page ? page->sample.load(std::memory_order_acquire) : nullptr;
  if (!sample || !g_measures_staging.exchange(false)) return;  // he has not begun yet
  const std::size_t limit = std::min(measured_limit(sample), most_measured);
  if (limit > g_most_staged) g_most_staged = limit;
}

bool may_be_staged(std::size_t bytes) { return bytes > g_least_staged && bytes <= most_measured; }

}  // namespace nigh::mpi
