// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A rank that waits inside a function which is the library's alone (a window's fence, a file's collective
// write, a receive under NIGH_MPI_P2P=off) still owes its peers its part of the non-blocking collectives that
// it has started. Where the library can't be made to drive them from within (MPICH), a stand-in does: one
// thread of ours that calls no MPI function, is made when it is first needed, and sleeps unless this rank is
// away with calls under way.
#pragma once

#include <atomic>

#include "mpi/handlers.hpp"

namespace nigh::mpi {

namespace coll {
// Non-blocking calls that have not ended; 0 for ever where the library drives them itself.
extern std::atomic<int> g_under_way;
}  // namespace coll

// Around a call of the library that may wait for peers; may be nested. Costs one load when nothing is under
// way.
class Away final : public Unsettled {
 public:
  Away() : out_(coll::g_under_way.load(std::memory_order_relaxed) != 0) {
    if (out_) [[unlikely]]
      leave();
  }
  ~Away() {
    if (out_ && !settled()) [[unlikely]]
      come_back();
  }

 private:
  void leave();
  static void come_back();
  void settle(int /*code*/) override { come_back(); }
  bool out_;
};

// With threads a call may begin while another thread is away already: the stand-in looks after all of them.
void call_stand_in();

}  // namespace nigh::mpi
