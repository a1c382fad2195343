// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The freezer's supervisor: the process that stops others and can't forget to let them go on. It is forked
// from a program that may have threads, so it allocates nothing and calls only what is safe after fork.
#pragma once

#include <array>
#include <cstdint>

namespace nigh::sys::supervisor {

constexpr int most_processes = 1024;

enum class Order : std::int32_t { freeze, thaw };

struct Target {
  std::int32_t pid = 0;
  std::uint64_t start = 0;
};
struct Request {
  Order order = Order::thaw;
  std::int32_t limit_ms = 0;
  std::int32_t count = 0;
  std::array<char, 512> cgroup_file{};  // path of cgroup.freeze; empty: signals
  std::array<Target, most_processes> targets{};
};
struct Reply {
  std::int32_t stopped = 0;
  std::int32_t skipped = 0;
  std::int32_t error = 0;    // errno of the last that could not be stopped
  std::int32_t expired = 0;  // thaw: the limit came first
  std::int64_t frozen_ms = 0;
};

// Never returns: serves the socket until its end, thaws and exits.
[[noreturn]] void serve(int socket);

// SIGSTOP to one process that is the one meant and not stopped yet; 0, or -errno (-EALREADY: it is stopped).
int stop(const Target& who);
// SIGCONT, if it is still the same process.
void go_on(const Target& who);
// "0" or "1" to cgroup.freeze; 0, or -errno.
int set_frozen(const char* file, bool frozen);

}  // namespace nigh::sys::supervisor
