// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// For tests: runs one function as several ranks that are threads of a ThreadSpace, each with its waiter, and
// a way to meet that none of the code under test takes part in.
#pragma once

#include <barrier>
#include <thread>
#include <vector>

#include "message/wait.hpp"
#include "space/thread_space.hpp"

namespace nigh::message {

struct ThreadRank {
  space::ThreadSpace& space;
  Waiter& waiter;
  std::barrier<>& meeting;
  int rank, size;
  void meet() { meeting.arrive_and_wait(); }
};

// `cpus`: what the waiters are told; 0: as many as this machine has.
template <class Body>
void run_ranks(int ranks, Body body, int cpus = 0) {
  if (cpus == 0) cpus = static_cast<int>(std::thread::hardware_concurrency());
  space::ThreadSpace::Common common(ranks);
  std::barrier<> meeting(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      space::ThreadSpace space(common, rank);
      Waiter waiter(space, cpus);
      meeting.arrive_and_wait();
      body(ThreadRank{space, waiter, meeting, rank, ranks});
      meeting.arrive_and_wait();  // nobody's memory goes while a peer may still ring
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace nigh::message
