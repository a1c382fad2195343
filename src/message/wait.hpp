// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's wait for a line of memory to change: it spins while that is likely to be soon, gives its CPU away
// when ranks outnumber CPUs, and in the end sleeps on its doorbell (a futex), so that 8 ranks on 2 cores go
// as fast as the scheduler lets them. Under MPI a rank with a CPU of its own spins on, as MPI libraries do:
// beside other users' programs a rank that yields loses its time slice, and on virtual machines a sleep costs
// 20 to 50 us. Nobody ever waits under a lock, and every long wait looks now and then whether its peer still
// lives. `progress` keeps an MPI library going meanwhile: a rank that sits in our barrier may owe its peer a
// message.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "message/atomic.hpp"
#include "space/space.hpp"

namespace nigh::message {

// One per rank, in memory of the space. `asleep` is read without a fence by those who ring: a ring can be
// missed in the width of a store buffer, which is why every sleep has a limit.
struct alignas(64) Doorbell {
  atomic<std::uint32_t> asleep = 0;  // how many threads of the rank sleep
  atomic<std::uint32_t> rings = 0;
  atomic<int> cpu = -1;  // where the rank last had to wait; kept up only when ranks outnumber CPUs
};

// The words of this room that a rank shows its peers (Root::message); they stay as long as the rank lives.
// Several libraries of one process (our own API, an MPI half) share them, each with parts of its own.
struct RankWords {
  static constexpr int offer_books = 4, channel_sets = 2;
  Doorbell bell;
  atomic<void*> offers[offer_books] = {};     // struct Book of offer.cpp
  atomic<void*> channels[channel_sets] = {};  // struct Rings of channel.hpp
  unsigned long cpus[16] = {};                // where the rank may run
};

struct Patience {
  int spins = 2000;           // looks before the first yield
  int yields = 50;            // yields before the first sleep
  long sleep_ns = 1'000'000;  // the limit of one sleep
  bool spins_on = false;      // after `spins`, rests (see Rests) in place of yields and sleeps
  bool crowded = false;       // more ranks than CPUs: whoever spins keeps the one he waits for from running
};
// NIGH_WAIT: 0 spin, 1 yield, 2 sleep; -1: nothing of that kind.
int wanted_wait();
// For `ranks` ranks on `cpus` usable CPUs; NIGH_WAIT overrides.
Patience patience_for(int ranks, int cpus);

enum class Waited { ready, peer_dead };

// The short rests of one long wait that spins on: pauses, or yields while threads of this process want the
// CPU that the waiting one keeps busy (an OpenMP team with fewer CPUs than threads).
class Rests {
 public:
  void rest();

 private:
  static constexpr int pauses = 16, rests_a_look = 1024;
  struct Times {
    std::int64_t wall, process, thread;
  };
  void look();
  Times before_{};
  int count_ = 0;
  bool yields_ = false;
};

class Waiter {
 public:
  static constexpr int nobody = -1;   // the wait depends on no single peer
  static constexpr int anybody = -2;  // it ends as long as one of the peers lives

  // Makes and publishes this rank's doorbell; those of peers are looked up when first needed. `cpus`: usable
  // by the job.
  Waiter(space::Space& space, int cpus);
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // False: there was no memory for the doorbell; everything else must stand aside.
  [[nodiscard]] bool usable() const { return mine_ != nullptr; }

  void (*progress)(void* argument) = nullptr;
  void* progress_argument = nullptr;
  bool progress_yields = false;  // progress, when idle, may give the CPU away itself (Open MPI's)
  // Peers may need this rank's progress at any moment, for what never asks it: MPI's passive one-sided
  // transfers. While that is so, a wait that is not over at once gives it often, and sleeps only where peers
  // that wait in the library spin without giving their CPU away.
  void attend(bool on) { attentive_.store(on, std::memory_order_relaxed); }

  // Until ready() is true; it may do work of its own and is not called again then. `peer`: the rank of the
  // space without which that can't happen, or one of the above.
  template <class Ready>
  Waited until(Ready&& ready, int peer = nobody) {
    const int looks_a_poke = attentive_.load(std::memory_order_relaxed) ? attentive_looks : lone_looks;
    for (int i = 0; i < patience_.spins; ++i) {
      if (ready()) return Waited::ready;
      if (i < eager_looks) continue;
      pause();
      if (i % looks_a_poke == 0 && progress) progress(progress_argument);
    }
    void* argument = const_cast<void*>(static_cast<const void*>(&ready));
    Rests rests;
    for (long round = 0; !ready(); ++round) {
      const Rest rest = tired(rests, round, peer, ready_thunk<Ready>, argument);
      if (rest == Rest::ready) return Waited::ready;
      if (rest == Rest::hopeless) return ready() ? Waited::ready : Waited::peer_dead;
    }
    return Waited::ready;
  }

  // After something was stored that `rank` may be waiting for. One load of a line that rarely changes.
  void ring(int rank) {
    Doorbell* bell = bells_[rank].load(std::memory_order_relaxed);
    if (!bell || bell->asleep.load(std::memory_order_relaxed) != 0) ring_slow(rank);
  }

  // Ranks outnumber CPUs, and `rank` last waited on the very CPU that this one runs on: only by giving that
  // CPU away can we see what it does next.
  [[nodiscard]] bool in_the_way_of(int rank) const {
    return patience_.crowded && rank >= 0 && cpu_of(rank) == cpu_now_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] const Patience& patience() const { return patience_; }
  void set_patience(const Patience& patience) { patience_ = patience; }
  [[nodiscard]] RankWords& front() { return *mine_; }
  // nullptr: that rank has not made its own yet, or is not reachable.
  [[nodiscard]] RankWords* front_of(int rank) const;
  // On how many CPUs the ranks that have a front may run, all together: ranks are often bound to one each.
  [[nodiscard]] int cpus_of_job() const;
  // True if a wait for `peer` (a rank, nobody, anybody) has become hopeless. A system call.
  [[nodiscard]] bool hopeless(int peer) const;

 private:
  static constexpr int eager_looks = 200;  // the answer of a peer that is at it comes within these
  // The rhythm of progress: the peer may wait for something that only this brings.
  static constexpr int lone_looks = 1024, attentive_looks = 1, rounds_a_poke = 4;
  static constexpr int looks_across = 60;  // 1 to 3 microseconds
  static void pause() { pause_cpu(); }
  template <class Ready>
  static bool ready_thunk(void* ready) {
    return (*static_cast<std::remove_reference_t<Ready>*>(ready))();
  }
  // One round of resting, yielding or sleeping; ready: ready() has said so; hopeless: `peer` has died.
  enum class Rest { over, ready, hopeless };
  Rest tired(Rests& rests, long round, int peer, bool (*ready)(void*), void* argument);
  bool look_across(int peer, bool (*ready)(void*), void* argument);
  [[nodiscard]] int cpu_of(int rank) const {
    const Doorbell* bell = bells_[rank].load(std::memory_order_relaxed);
    return bell ? bell->cpu.load(std::memory_order_relaxed) : -1;
  }
  void ring_slow(int rank);

  space::Space& space_;
  Patience patience_;
  RankWords* mine_ = nullptr;
  atomic<int> cpu_now_ = 0;  // as of the last wait
  atomic<bool> attentive_ = false;
  std::unique_ptr<atomic<Doorbell*>[]> bells_;
};

}  // namespace nigh::message
