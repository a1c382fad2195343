// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The application that is moved about in the guest: threads that rewrite a buffer, pass after pass, such that
// its contents are a function of the number of passes alone. A page that was lost, torn or doubled by a move
// shows in the check sum, which the tool computes again for itself.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "sys/task.hpp"

namespace movers {

constexpr int most_threads = 8;

struct AppOptions {
  std::size_t bytes = std::size_t{16} << 20;
  int threads = 4;
  int node = 0;                // where its memory is at first
  bool huge = false;           // asks for huge pages
  bool bind = false;           // a memory policy (MPOL_BIND to the node) of its buffer, not just first touch
  int pinned_every = 0;        // every n-th base page is held by a pipe (vmsplice)
  bool private_passes = true;  // false: no work at all, for measuring moves
};

struct Shared {
  std::atomic<int> ready{0}, release{0}, ended{0};
  std::atomic<std::uint64_t> passes[most_threads];
  std::uint64_t sums[most_threads];
  std::uint64_t address = 0;
  int pinned = 0;
};

class App {
 public:
  explicit App(const AppOptions& options);
  ~App();  // kills it
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] nigh::sys::ProcessId id() const;
  [[nodiscard]] const Shared& shared() const { return *shared_; }
  [[nodiscard]] std::uint64_t total_passes() const;
  // True if any thread made a pass within the time.
  [[nodiscard]] bool goes_on(double seconds) const;
  [[nodiscard]] std::map<int, std::size_t> pages_by_node() const;  // of the buffer; -errno: not there
  // Lets it end; true: it ended by itself with status 0 and every check sum is right.
  bool ends_right();
  void kill_now() const;

 private:
  [[noreturn]] void run();
  AppOptions options_;
  Shared* shared_ = nullptr;
  pid_t pid_ = -1;
};

// The check sum of one thread's slice after so many passes, from scratch.
std::uint64_t expected_sum(std::size_t words, int thread, std::uint64_t passes);
double now();
void nap(double seconds);

// Prints "FAIL ..." and counts; "ok NAME" is printed by the caller when nothing failed.
bool check(bool good, const char* format, ...) __attribute__((format(printf, 2, 3)));
int failures();

}  // namespace movers
