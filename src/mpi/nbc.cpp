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

bool hooked = false;  // the library drives us, from our first call on: who makes none pays nothing for it
Register hook = nullptr;
std::atomic<bool> begun = false;

void start() {
  hook = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "opal_progress_register"));
  hooked = hook != nullptr;
}
void begin() {
  if (!hooked || begun.load(std::memory_order_relaxed) || begun.exchange(true)) return;
  hook(driven_by_library);  // fails without memory only; then our own waits still drive
}
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
  begin();
  coll.enter();  // keeps others from driving it before it is started
  if (!adopt(call, request)) {
    coll.leave();
    drop_nbc(call);
    return raise(comm, Outcome::no_memory);
  }
  hold_types(p);
  coll.holders.fetch_add(1, std::memory_order_relaxed);
  if (!hooked) g_under_way.fetch_add(1, std::memory_order_relaxed);
  enlist(call);
  if (p.nothing || p.no_memory) {
    call->ended(p.nothing ? Outcome::ok : Outcome::no_memory);
  } else {
    call->pending_ = coll.group->start(p.call);
    if (call->pending_ == nullptr) call->ended(Outcome::no_memory);
  }
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
  landed_ =
      outcome == Outcome::ok && !may_call && prepared.unpack_type != nullptr && prepared.unpack_type->opaque;
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

void Nbc::release() {
  delist(this);
  Coll* coll = coll_;
  delete this;
  if (coll->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  delete coll->group;  // the communicator has gone before
  delete coll;
}

void retire(Coll* coll, CommState& state) {
  if (coll->holders.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete coll;
  else
    state.group = nullptr;  // goes with the last call
}

}  // namespace nigh::mpi::coll
