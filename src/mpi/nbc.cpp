// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See nbc.hpp. A rank may sit in a blocking function of the library while its peers need its part of a call
// that it has started: MPI promises that they get it. Functions of ours drive such calls themselves; Open MPI
// calls us back from within its own waiting, too (opal_progress_register, looked up by name because nothing
// of it is in mpi.h).
#include "mpi/nbc.hpp"

#include <dlfcn.h>

#include <new>

#include "message/atomic.hpp"

namespace nigh::mpi::coll {
namespace {

using message::Outcome;

// All that were started and not released. Whoever walks it holds it: nothing is released meanwhile.
std::atomic<bool> walked = false;
std::atomic<Nbc*> first = nullptr;

bool try_hold() {
  if (walked.load(std::memory_order_relaxed)) return false;
  return !walked.exchange(true, std::memory_order_acquire);
}
void let_go() { walked.store(false, std::memory_order_release); }

void enlist(Nbc* call) {
  while (!try_hold()) message::yield_cpu();
  Nbc* other = first.load(std::memory_order_relaxed);
  call->next = other;
  if (other != nullptr) other->before = call;
  first.store(call, std::memory_order_relaxed);
  let_go();
}

void delist(Nbc* call) {
  while (!try_hold()) message::yield_cpu();
  if (call->next != nullptr) call->next->before = call->before;
  if (call->before != nullptr)
    call->before->next = call->next;
  else
    first.store(call->next, std::memory_order_relaxed);
  let_go();
}

// From within the library's waiting: nothing here may call it back. Open MPI takes the sum of what was done.
int driven_by_library() {
  if (first.load(std::memory_order_relaxed) == nullptr || !try_hold()) return 0;
  int moved = 0;
  for (Nbc* call = first.load(std::memory_order_relaxed); call != nullptr; call = call->next)
    if (!call->complete()) moved += call->advance() ? 1 : 0;
  let_go();
  return moved;
}

using Register = int (*)(int (*)());

bool hooked = false;  // the library drives us

void start() {
  const auto add = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "opal_progress_register"));
  hooked = add != nullptr && add(driven_by_library) == 0;
}
void stop() {
  if (auto remove = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "opal_progress_unregister")))
    remove(driven_by_library);
}
const Hooks hooks(start, stop);

void bury(Coll* coll) {
  delete coll->group;
  delete coll;
}

}  // namespace

Nbc::Nbc(CommState& state) : coll_(coll_of(state)), comm_(state.comm) {
  driven = true;
  prepared.members = state.size;
  prepared.member = state.rank;
  prepared.outlives_call = true;
}

Nbc* new_nbc(CommState& state) { return new (std::nothrow) Nbc(state); }
void drop_nbc(Nbc* call) { delete call; }

int start_nbc(Nbc* call, MPI_Comm comm, MPI_Request* request) {
  Coll& coll = *call->coll_;
  Prepared& p = call->prepared;
  coll.enter();  // keeps others from driving it before it is started
  if (!adopt(call, request)) {
    coll.leave();
    drop_nbc(call);
    return raise(comm, Outcome::no_memory);
  }
  hold_types(p);
  enlist(call);
  coll.pending.fetch_add(1, std::memory_order_relaxed);
  if (p.nothing || p.no_memory) {
    call->ended(p.nothing ? Outcome::ok : Outcome::no_memory);
  } else {
    call->pending_ = coll.group->start(p.call);
    if (call->pending_ == nullptr) call->ended(Outcome::no_memory);
  }
  coll.leave();
  return MPI_SUCCESS;
}

// Under the lock of coll_.
void Nbc::ended(Outcome outcome) {
  pending_ = nullptr;
  outcome_ = outcome;
  coll_->pending.fetch_sub(1, std::memory_order_relaxed);
}

bool Nbc::advance() {
  if (outcome_ != Outcome::pending) return true;
  if (!coll_->try_enter()) return false;
  bool last = false;
  if (pending_ != nullptr) {
    const Outcome outcome = coll_->group->advance(pending_);
    if (outcome != Outcome::pending) {
      ended(outcome == Outcome::ok && !finish(prepared) ? Outcome::no_memory : outcome);
      last = coll_->orphan.load(std::memory_order_relaxed) &&
             coll_->pending.load(std::memory_order_relaxed) == 0;
    }
  }
  coll_->leave();
  if (last) bury(coll_);
  return outcome_ != Outcome::pending;
}

int Nbc::end(MPI_Status& /*status*/) {
  drop_types(prepared);
  return outcome_ == Outcome::ok ? MPI_SUCCESS : raise(comm_, outcome_.load());
}

void Nbc::release() {
  delist(this);
  delete this;
}

// All members do this or none: nobody knows who of the others has calls pending.
void arrive(MPI_Comm comm) {
  if (hooked) return;
  MPI_Request request = MPI_REQUEST_NULL;
  if (real().Ibarrier(comm, &request) != MPI_SUCCESS) return;
  for (int there = 0; !there;) {
    drive();
    if (real().Test(&request, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
  }
}

void retire(Coll* coll, CommState& state) {
  coll->enter();
  const bool idle = coll->pending.load(std::memory_order_relaxed) == 0;
  if (!idle) {
    state.group = nullptr;  // ours to delete from now on
    coll->orphan.store(true, std::memory_order_relaxed);
  }
  coll->leave();
  if (idle) delete coll;
}

}  // namespace nigh::mpi::coll
