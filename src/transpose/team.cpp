// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A round is a number that the others watch. They spin for some microseconds, give their CPU away for some
// more, then sleep on it in the kernel; so does the caller, on how many are still working.
#include "transpose/team.hpp"

#include <system_error>
#include <utility>

#include "sys/os.hpp"
#include "sys/threads.hpp"

namespace nigh::transpose {

namespace {
constexpr int spins = 2000, yields = 50;

// Until `word` is no longer what it was; what it is then.
template <class T>
T changed(const std::atomic<T>& word, T was) {
  for (int i = 0; i < spins + yields; ++i) {
    if (const T now = word.load(std::memory_order_acquire); now != was) return now;
    if (i < spins) {
      sys::spin_pause();
    } else {
      std::this_thread::yield();
    }
  }
  word.wait(was, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}
}  // namespace

Team::Team(int threads, std::vector<CpuSet> seats) : seats_(std::move(seats)) {
  for (int i = 1; i < threads; ++i) {
    const CpuSet seat =
        static_cast<std::size_t>(i) < seats_.size() ? seats_[static_cast<std::size_t>(i)] : CpuSet();
    try {
      others_.emplace_back([this, i, seat] { serve(i, seat); });
    } catch (const std::system_error&) {  // a limit: fewer do the same work
      break;
    }
  }
}

Team::~Team() {
  end_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& other : others_) other.join();
}

void Team::serve(int thread, const CpuSet& seat) {
  if (!seat.empty()) (void)sys::set_affinity(seat);
  for (std::uint32_t round = 0;;) {
    round = changed(round_, round);
    if (end_) return;
    (*work_)(thread);
    if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) working_.notify_one();
  }
}

void Team::run(const std::function<void(int)>& work) {
  if (others_.empty()) return work(0);
  work_ = &work;
  working_.store(static_cast<int>(others_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  work(0);
  for (int left = working_.load(std::memory_order_acquire); left != 0;) left = changed(working_, left);
}

}  // namespace nigh::transpose
