// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// How a rank waits for a line of memory to change: it spins while that is likely to be soon, gives its CPU
// away when ranks outnumber CPUs, and in the end sleeps on its doorbell (a futex), so that 8 ranks on 2 cores
// go as fast as the scheduler lets them. Nobody ever waits under a lock, and every long wait looks now and
// then whether the peer it waits for still lives. `progress` is how an MPI library is kept going meanwhile: a
// rank that sits in our barrier may owe its peer a message.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "space/space.hpp"
#include "sys/futex.hpp"

namespace nigh::message {

// One per rank, in memory of the space. `asleep` is read without a fence by those who ring: a ring can be
// missed in the width of a store buffer, which is why every sleep has a limit.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> asleep = 0;
  std::atomic<std::uint32_t> rings = 0;
};

struct Patience {
  int spins = 2000;           // looks before the first yield
  int yields = 50;            // yields before the first sleep
  long sleep_ns = 1'000'000;  // the limit of one sleep
};
// For `ranks` ranks on `cpus` usable CPUs; NIGH_WAIT=spin|yield|sleep overrides.
Patience patience_for(int ranks, int cpus);

enum class Waited { ready, peer_dead };

class Waiter {
 public:
  // Makes and publishes this rank's doorbell; those of peers are looked up when first needed. `cpus`: usable
  // by the job.
  Waiter(space::Space& space, int cpus);
  ~Waiter();

  void (*progress)(void* argument) = nullptr;
  void* progress_argument = nullptr;

  // Until ready() is true. `peer`: the rank of the space without which that can't happen, -1 when it is not
  // one alone.
  template <class Ready>
  Waited until(Ready&& ready, int peer = -1) {
    for (int i = 0; i < patience_.spins; ++i) {
      if (ready()) return Waited::ready;
      pause();
    }
    while (!ready())
      if (!tired(peer, ready_thunk<Ready>, &ready)) return ready() ? Waited::ready : Waited::peer_dead;
    return Waited::ready;
  }

  // After something was stored that `rank` may be waiting for. One load of a line that rarely changes.
  void ring(int rank);

 private:
  static void pause();
  template <class Ready>
  static bool ready_thunk(void* ready) {
    return (*static_cast<std::remove_reference_t<Ready>*>(ready))();
  }
  // One round of yielding or sleeping; false when `peer` has died.
  bool tired(int peer, bool (*ready)(void*), void* argument);

  space::Space& space_;
  Patience patience_;
  Doorbell* mine_ = nullptr;
  std::vector<Doorbell*> bells_;
};

}  // namespace nigh::message
