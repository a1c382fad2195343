// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See nbc.hpp. A rank may sit in a blocking function of the library while its peers need its part of a call
// that it has started: MPI promises that they get it. Functions of ours drive such calls themselves; Open MPI
// calls us back from within its own waiting, too (opal_progress_register, looked up by name because nothing
// of it is in mpi.h); for the others there is a stand-in (away.hpp).
#include "mpi/nbc.hpp"

#include <dlfcn.h>

#include <new>

#include "message/atomic.hpp"
#include "mpi/away.hpp"
#include "mpi/comm_group.hpp"
#include "mpi/half.hpp"
#include "mpi/request_table.hpp"

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
  call->before = nullptr;
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

int driven_by_library() { return drive_calls() ? 1 : 0; }

using Register = int (*)(int (*)());

bool hooked = false;  // the library drives us, from our first call on: who makes none pays nothing
Register hook = nullptr;
std::atomic<bool> begun = false;

void start() {
  hook = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "opal_progress_register"));
  hooked = hook != nullptr;
}
}  // namespace

void let_library_drive() {
  if (begun.load(std::memory_order_relaxed) || begun.exchange(true)) return;
  if (hooked)
    hook(driven_by_library);  // fails without memory only; then our own waits still drive
  else
    cover_waiting();
}
namespace {

void stop() {
  auto remove = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "opal_progress_unregister"));
  if (remove && begun.exchange(false)) remove(driven_by_library);
}
const Hooks hooks(start, stop);

}  // namespace

std::atomic<int> g_under_way = 0;

bool library_drives() { return hooked; }

bool drive_calls() {
  if (first.load(std::memory_order_relaxed) == nullptr || !try_hold()) return false;
  bool moved = false;
  for (Nbc* call = first.load(std::memory_order_relaxed); call != nullptr; call = call->next)
    if (!call->complete()) moved = call->go_on(false) || moved;
  let_go();
  return moved;
}

Nbc::Nbc(Coll& coll, MPI_Comm comm, int members, int member) : coll_(&coll), comm_(comm) {
  driven = true;
  prepared.members = members;
  prepared.member = member;
  prepared.outlives_call = true;
}

Nbc* new_nbc(CommState& state) {
  return new (std::nothrow) Nbc(*coll_of(state), state.comm, state.size, state.rank);
}
void drop_nbc(Nbc* call) { delete call; }

void Nbc::begin() {
  hold_types(prepared);
  coll_->holders.fetch_add(1, std::memory_order_relaxed);
  if (!hooked) g_under_way.fetch_add(1, std::memory_order_relaxed);
  outcome_ = Outcome::pending;
  enlist(this);
  if (prepared.nothing || prepared.no_memory) {
    ended(prepared.nothing ? Outcome::ok : Outcome::no_memory);
  } else {
    pending_ = coll_->group->start(prepared.call);
    if (pending_ == nullptr) ended(Outcome::no_memory);
  }
}

int start_nbc(Nbc* call, MPI_Comm comm, MPI_Request* request) {
  Coll& coll = *call->coll_;
  let_library_drive();
  coll.enter();  // keeps others from driving it before it is started
  if (!adopt(call, request)) {
    coll.leave();
    drop_nbc(call);
    return raise(comm, Outcome::no_memory);
  }
  call->begin();
  coll.leave();
  if (process().multiple && !hooked) call_stand_in();
  return MPI_SUCCESS;
}

// Under the lock of coll_, as the next two.
void Nbc::ended(Outcome outcome) {
  outcome_ = outcome;
  if (!hooked) g_under_way.fetch_sub(1, std::memory_order_relaxed);
}

void Nbc::land(Outcome outcome, bool may_call) {
  pending_ = nullptr;
  landed_ = outcome == Outcome::ok && !may_call && unpacks_opaque(prepared);
  if (!landed_) ended(outcome == Outcome::ok && !finish(prepared) ? Outcome::no_memory : outcome);
}

bool Nbc::go_on(bool may_call) {
  if (outcome_ != Outcome::pending) return true;
  if (!coll_->try_enter()) return false;
  if (pending_ != nullptr) {
    const Outcome outcome = coll_->group->advance(pending_);
    if (outcome != Outcome::pending) land(outcome, may_call);
  } else if (landed_ && may_call) {
    landed_ = false;
    ended(finish(prepared) ? Outcome::ok : Outcome::no_memory);
  }
  coll_->leave();
  return outcome_ != Outcome::pending;
}

int Nbc::end(MPI_Status& /*status*/) {
  drop_types(prepared);
  raise_on = comm_;
  return code_of(comm_, outcome_.load());
}

void Nbc::forget_call() {
  delist(this);
  Coll* coll = coll_;
  if (coll->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (coll->group != nullptr) part(coll->group, coll->context);  // the communicator has gone before
  delete coll;
}

void Nbc::release() {
  forget_call();
  delete this;
}

void retire(Coll* coll, CommState& state) {
  if (coll->holders.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete coll;
  else
    state.group = nullptr;  // goes with the last call
}

}  // namespace nigh::mpi::coll
