// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that are ours. The user holds a placeholder: a handle that the library made (an inactive
// persistent send to nobody), unique for as long as we use it, valid for MPI_Request_c2f and comparisons, and
// recycled afterwards. The libraries' own handles can't serve: both hand one and the same out for all sends
// that were complete at once. MPI_Wait* and MPI_Test* of all forms find the operation behind a placeholder
// and drive it; what they are given else goes to the library.
#pragma once

#include <atomic>

#include "mpi/library.hpp"

namespace nigh::mpi {

// One operation behind a placeholder. With MPI_THREAD_MULTIPLE one thread at a time is in it, and none of
// these may wait for another operation.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Goes on as far as that needs no waiting; true: it has ended. Called again after that, until end().
  virtual bool advance() = 0;
  // The same when the caller waits for more than this: no need to end what could end by itself.
  virtual bool attend() { return advance(); }
  // It has ended, and the user learns of it now. `status` is never null and was made empty; returns what
  // becomes its MPI_ERROR; an error that the library has not raised yet is to be raised on `raise_on`.
  virtual int end(MPI_Status& status) = 0;
  // The user's handle is gone: after end(), after MPI_Request_free of one that has ended, or at MPI_Finalize.
  // Frees what it holds, itself included.
  virtual void release() = 0;
  // A persistent one becomes active. An error code was raised.
  virtual int start() { return MPI_ERR_REQUEST; }
  virtual void cancel() {}
  // Nobody but the operation itself can let it end now (all else that the caller waits for is there).
  virtual void hasten() {}

  MPI_Comm raise_on = MPI_COMM_NULL;
  bool persistent = false;  // end() makes it inactive, not free
  bool active = true;
  // Peers depend on its being driven whatever this rank waits for (a collective). Others (a send that was
  // offered) are looked at only when the user asks for them.
  bool driven = false;

 protected:
  ~Operation() = default;
};

// Makes *request a placeholder of the operation. False: the library gave no handle; nothing happened.
bool adopt(Operation* operation, MPI_Request* request);
// Undoes it: the operation could not be started; releases it. *request becomes MPI_REQUEST_NULL.
void disown(MPI_Request* request);

// Drives what must go on while this rank waits for something else: driven operations, and receives of large
// messages that were matched, so that their senders get their buffers back. For whoever waits for peers in a
// loop of his own. Does nothing when called from within itself.
void drive();

// A request of the library's that is complete, for what is over already. False: an error.
bool completed(MPI_Request* request);

// The number of operations that can't wait for the user's next call about them.
extern std::atomic<int> g_driven;
inline bool must_drive() { return g_driven.load(std::memory_order_relaxed) != 0; }

}  // namespace nigh::mpi
