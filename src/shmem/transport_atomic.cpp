// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Atomics between nodes, and quiet. MPI's own atomics are atomic among themselves only, and by default only
// as long as all use one operation; so an atomic is an errand to the PE that holds the word, which does it
// with its processor as its neighbours on the node do. Errands of one PE to another are done in the order in
// which they were sent, hence an answered one says that all before it are done.
#include "shmem/transport.hpp"

namespace nigh::shmem {

namespace {

template <class Word>
std::uint64_t carry_out(Amo amo, Word* at, Word value, Word condition) {
  switch (amo) {
    case Amo::load: return __atomic_load_n(at, __ATOMIC_SEQ_CST);
    case Amo::store: __atomic_store_n(at, value, __ATOMIC_SEQ_CST); return 0;
    case Amo::swap: return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
    case Amo::compare_swap:
      __atomic_compare_exchange_n(at, &condition, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
      return condition;
    case Amo::add: return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
    case Amo::fetch_and: return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST);
    case Amo::fetch_or: return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);
    case Amo::fetch_xor: return __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST);
    default: return 0;  // Amo::count: only the answer is wanted
  }
}

}  // namespace

// At most a few at a time: the caller waits for something of its own.
void Transport::serve() {
  tend();
  for (int i = 0; i < 64; ++i) {
    int come = 0;
    MPI_Status status;
    MPI_Test(&coming_, &come, &status);
    if (!come) return;
    take(come_, status.MPI_SOURCE);
    MPI_Irecv(&come_, sizeof come_, MPI_BYTE, MPI_ANY_SOURCE, errand_tag, talk_, &coming_);
  }
}

void Transport::take(const Letter& letter, int from) {
  const Errand& now = letter.errand;
  if (now.kind == put_kind || now.kind == get_kind) return take_bytes(letter, from);
  std::uint64_t old = 0;
  if (now.kind < answer_kind) {
    std::byte* at = windows_[static_cast<std::size_t>(now.part)].begin + now.offset;
    const auto amo = static_cast<Amo>(now.kind);
    old = now.bytes == 4
              ? carry_out(amo, reinterpret_cast<std::uint32_t*>(at), static_cast<std::uint32_t>(now.value),
                          static_cast<std::uint32_t>(now.condition))
              : carry_out(amo, reinterpret_cast<std::uint64_t*>(at), now.value, now.condition);
  }
  if (now.ticket == 0) return;
  if (arriving_from_[static_cast<std::size_t>(from)] > 0)
    held_.push_back({from, now.ticket, old});
  else
    answer(from, now.ticket, old);
}

// The receive for it was posted before the errand was sent: this does not wait for the other's doing.
void Transport::answer(int to, int ticket, std::uint64_t old) {
  MPI_Send(&old, sizeof old, MPI_BYTE, to, answer_tag + ticket, talk_);
}

void Transport::poll() {
  if (!lock_.try_lock()) return;  // another thread is at it
  if (coming_ != MPI_REQUEST_NULL) serve();
  lock_.unlock();
}

Transport::Errand Transport::errand(const AmoCall& call) const {
  Errand errand = {};
  std::size_t offset = 0;
  errand.part = part_of(call.at, static_cast<std::size_t>(call.bytes), offset);
  errand.kind = static_cast<std::uint32_t>(call.amo);
  errand.bytes = static_cast<std::uint32_t>(call.bytes);
  errand.offset = offset;
  errand.value = call.value;
  errand.condition = call.condition;
  return errand;
}

std::uint64_t Transport::ask(int pe, Errand errand) {
  std::uint64_t old = 0, sent = 0;
  Posted& posted = posted_[static_cast<std::size_t>(pe)];
  run([&](MPI_Request* request) {
    errand.ticket = next_ticket();
    sent = posted.sent;
    MPI_Irecv(&old, sizeof old, MPI_BYTE, pe, answer_tag + errand.ticket, talk_, request);
    MPI_Send(&errand, sizeof errand, MPI_BYTE, pe, errand_tag, talk_);
  });
  std::lock_guard guard(lock_);
  if (posted.done < sent) {
    posted.done = sent;
    if (posted.done == posted.sent) --open_;
  }
  return old;
}

std::uint64_t Transport::amo(int pe, const AmoCall& call) { return ask(pe, errand(call)); }

void Transport::post(int pe, const AmoCall& call) {
  const Errand now = errand(call);
  bool enough = false;
  {
    std::lock_guard guard(lock_);
    enough = note_posted(pe);
    MPI_Send(&now, sizeof now, MPI_BYTE, pe, errand_tag, talk_);
  }
  if (enough) settle(pe);
}

// They lie in the target's memory until it serves them.
bool Transport::note_posted(int pe) {
  Posted& posted = posted_[static_cast<std::size_t>(pe)];
  if (posted.sent == posted.done) ++open_;
  ++posted.sent;
  return posted.sent - posted.done >= most_posted;
}

void Transport::settle(int pe) {
  bool open = false;
  {
    std::lock_guard guard(lock_);
    const Posted& posted = posted_[static_cast<std::size_t>(pe)];
    open = posted.done < posted.sent;
  }
  Errand nothing = {};
  nothing.kind = answer_kind;
  if (open) ask(pe, nothing);
}

void Transport::quiet_of(int pe) {
  {
    std::lock_guard guard(lock_);
    for (Window& window : windows_)
      if (window.dirty) MPI_Win_flush(pe, window.win);  // still dirty: other PEs
  }
  settle(pe);
}

void Transport::quiet() {
  bool open = false;
  {
    std::lock_guard guard(lock_);
    for (Window& window : windows_) {
      if (window.dirty) MPI_Win_flush_all(window.win);
      window.dirty = false;
    }
    open = open_ > 0 || !puts_.empty() || !gets_.empty();
  }
  if (!open) return poll();
  for (int pe = 0; pe < size_; ++pe) settle(pe);
  end_all(puts_);
  end_all(gets_);
}

}  // namespace nigh::shmem
