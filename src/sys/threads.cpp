// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A worker sleeps on a condition variable between jobs: an idle crew must not disturb what others measure.
#include "sys/threads.hpp"

#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "sys/os.hpp"

namespace nigh::sys {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double thread_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double process_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void sleep_seconds(double seconds) {
  timespec t{};
  t.tv_sec = static_cast<time_t>(seconds);
  t.tv_nsec = static_cast<long>((seconds - static_cast<double>(t.tv_sec)) * 1e9);
  ::nanosleep(&t, nullptr);
}

struct Crew::Worker {
  explicit Worker(int where) : pu(where), thread([this] { serve(); }) {}
  ~Worker() {
    give(nullptr);
    thread.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void give(std::function<void()> next) {
    std::lock_guard hold(lock);
    job = std::move(next);
    busy = true;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock hold(lock);
    changed.wait(hold, [this] { return !busy; });
  }
  void serve() {
    Result<void> binding = set_affinity(CpuSet{pu});
    std::unique_lock hold(lock);
    bound = std::move(binding);
    busy = false;
    changed.notify_all();
    while (true) {
      changed.wait(hold, [this] { return busy; });
      if (!job) return;
      hold.unlock();
      job();
      hold.lock();
      busy = false;
      changed.notify_all();
    }
  }

  int pu;
  std::mutex lock;
  std::condition_variable changed;
  std::function<void()> job;
  bool busy = true;  // until it has bound itself
  Result<void> bound;
  std::thread thread;  // last: it uses all of the above
};

Crew::Crew() = default;
Crew::~Crew() = default;

Result<Crew::Worker*> Crew::worker(int pu) {
  for (auto& known : workers_)
    if (known->pu == pu) return known.get();
  std::unique_ptr<Worker> fresh;
  try {
    fresh = std::make_unique<Worker>(pu);
  } catch (const std::system_error& error) {
    return fail(Errc::io, std::string("can't start a thread: ") + error.what(), error.code().value());
  }
  fresh->wait();
  if (!fresh->bound) return tl::unexpected(fresh->bound.error());
  workers_.push_back(std::move(fresh));
  return workers_.back().get();
}

Result<void> Crew::run(const std::vector<int>& pus, const std::function<void(std::size_t)>& work) {
  std::vector<Worker*> chosen;
  for (int pu : pus) {
    auto found = worker(pu);
    if (!found) return tl::unexpected(found.error());
    for (Worker* other : chosen) NIGH_CHECK(other != *found);
    chosen.push_back(*found);
  }
  for (std::size_t k = 0; k < chosen.size(); ++k) chosen[k]->give([&work, k] { work(k); });
  for (Worker* one : chosen) one->wait();
  return {};
}

void StartLine::wait() {
  missing_.fetch_sub(1, std::memory_order_acq_rel);
  for (unsigned spins = 1; missing_.load(std::memory_order_acquire) != 0; ++spins) {
    spin_pause();
    if (spins % 4096 == 0) ::sched_yield();
  }
}

namespace {
std::atomic<bool> interrupted{false};
std::atomic<int> interrupted_by{0};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");
void note_interrupt(int signal) {
  interrupted_by.store(signal);
  interrupted.store(true);
}
}  // namespace

struct Interrupt::Saved {
  struct sigaction on_int, on_term;
};

Interrupt::Interrupt() : saved_(std::make_unique<Saved>()) {
  interrupted.store(false);
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  ::sigaction(SIGINT, &action, &saved_->on_int);
  ::sigaction(SIGTERM, &action, &saved_->on_term);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &saved_->on_int, nullptr);
  ::sigaction(SIGTERM, &saved_->on_term, nullptr);
}

const std::atomic<bool>& Interrupt::flag() { return interrupted; }

int Interrupt::by() { return interrupted_by.load(); }

}  // namespace nigh::sys
