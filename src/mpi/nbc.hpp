// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Non-blocking collectives: a call of message::Group behind a request that is ours (request.hpp). Peers
// depend on its being driven whatever this rank waits for, so every wait of ours drives it, and so does the
// library's own progress where that can be hooked (nbc.cpp).
#pragma once

#include "mpi/coll.hpp"
#include "mpi/request.hpp"

namespace nigh::mpi::coll {

class Nbc : public Operation {
 public:
  Nbc(Coll& coll, MPI_Comm comm, int members, int member);
  virtual ~Nbc() = default;
  bool advance() override { return go_on(true); }
  // Without `may_call`, what only the library can unpack stays for later.
  bool go_on(bool may_call);
  int end(MPI_Status& status) override;
  void release() override;
  [[nodiscard]] bool complete() const {
    return outcome_.load(std::memory_order_relaxed) != message::Outcome::pending;
  }

  Prepared prepared;

 protected:
  void begin();        // what `prepared` says; this member is in `coll_`
  void forget_call();  // after end()

  Coll* coll_;
  MPI_Comm comm_;

 private:
  friend int start_nbc(Nbc* call, MPI_Comm comm, MPI_Request* request);
  friend void drop_nbc(Nbc* call);
  void ended(message::Outcome outcome);
  void land(message::Outcome outcome, bool may_call);

  message::Group::Pending* pending_ = nullptr;
  std::atomic<message::Outcome> outcome_ = message::Outcome::pending;
  bool landed_ = false;  // all is here, and not yet unpacked

 public:
  Nbc *next = nullptr, *before = nullptr;  // of those that were started and not released
};

// nullptr: no memory.
Nbc* new_nbc(CommState& state);
void drop_nbc(Nbc* call);  // one that was not started
// Starts what `call->prepared` says.
int start_nbc(Nbc* call, MPI_Comm comm, MPI_Request* request);

// From now on the library drives calls, if it can; else its functions that wait are called within an Away. A
// program without such calls pays for neither.
void let_library_drive();

// The communicator goes away: the group lives as long as the calls of it.
void retire(Coll* coll, CommState& state);

// Drives all calls as far as that goes without the library, for whoever stands within it. True: one ended.
bool drive_calls();
// The library calls drive_calls() while it waits.
bool library_drives();

}  // namespace nigh::mpi::coll
