// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The program's error handlers may leave a call for good, by longjmp or by an exception, from within the
// library, and then nothing of ours that is on the stack between is ever run again. So every handler that the
// program makes is called through one of ours, which first lets our frames settle what they hold (Unsettled):
// whether the handler comes back or not, what it and the program see is as after a call that failed. Programs
// that make no handler (MPI_ERRORS_RETURN is none of these) pay one load for it, and only where something is
// held.
//
// Frames of ours are compiled without cleanups (-fno-exceptions) but with unwind tables, so that whatever
// unwinder the program has passes them.
#pragma once

#include <atomic>

#include "mpi/library.hpp"

namespace nigh::mpi {

extern std::atomic<bool> g_handlers_made;  // by the program
inline bool handlers_made() { return g_handlers_made.load(std::memory_order_relaxed); }

// A handler is about to be called: all frames of this thread settle.
void settle_all(int code);

// The resources that a frame holds while it calls the library. Not for frames that call none.
class Unsettled {
 public:
  Unsettled(const Unsettled&) = delete;
  Unsettled& operator=(const Unsettled&) = delete;
  // A handler was called: what was to be done at the end of the call is done.
  [[nodiscard]] bool settled() const { return settled_; }

 protected:
  Unsettled() = default;
  ~Unsettled() {
    if (place_ >= 0) [[unlikely]]
      delist();
  }
  // From here on, until the object ends.
  void hold() {
    if (handlers_made()) [[unlikely]]
      enlist();
  }

 private:
  friend void settle_all(int code);
  // The library reports `code`, its own part of the call is over. Must raise nothing.
  virtual void settle(int code) = 0;
  void enlist();
  void delist();
  int place_ = -1;
  bool settled_ = false;
};

// The same for what a lambda does.
template <class Settle>
class Settled final : public Unsettled {
 public:
  explicit Settled(Settle settle) : settle_(settle) { hold(); }

 private:
  void settle(int code) override { settle_(code); }
  Settle settle_;
};

// For communicators whose errors only we are to see. MPI_ERRORS_RETURN, but with Intel MPI by the standard
// ABI a handler of our own that does nothing: 2021.18 and .19 take the value of MPI_ERRORS_RETURN for that of
// MPI_ERRORS_ABORT there. (With such a handler MPICH 5 returns MPI_SUCCESS.)
MPI_Errhandler errors_return();

// An error of ours that is to be raised when all is settled; of several the first.
struct Later {
  MPI_Comm comm = MPI_COMM_NULL;
  int code = MPI_SUCCESS;
  void add(MPI_Comm on, int error) {
    if (code == MPI_SUCCESS) *this = {.comm = on, .code = error};
  }
  void raise_now() const;
};

}  // namespace nigh::mpi
