// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Handle -> what we know of that request: open addressing with records from a pool, so that Irecv and Wait
// pay a few nanoseconds and no allocation. In it are placeholders (request.hpp; they stay for ever, idle or
// used) and receives that the library matches for us and that may bring a descriptor: those with room for
// one. Receives can be looked after while the user waits for something else (deliver_posted); one that a
// thread is just waiting for is pinned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "message/atomic.hpp"
#include "mpi/handlers.hpp"
#include "mpi/p2p_wire.hpp"
#include "mpi/process.hpp"
#include "mpi/request.hpp"

namespace nigh::mpi {

struct Record {
  std::uintptr_t key = 0;
  MPI_Request handle = MPI_REQUEST_NULL;
  Operation* operation = nullptr;  // placeholders; nullptr: idle
  // Receives:
  void* buffer = nullptr;
  MPI_Count count = 0;
  TypeInfo* type = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
  std::uint64_t bytes = 0;  // once delivered
  int error = MPI_SUCCESS;
  bool placeholder = false;
  bool borrowed = false;  // a placeholder whose handle is a persistent request of the user's
  bool active = false;
  bool persistent = false;
  bool large = false;      // may bring a message that pays to be taken early
  bool delivered = false;  // the payload is in the buffer, and the library does not know
  bool abandoned = false;  // MPI_Request_free: nobody will ask again
  bool pinned = false;
  bool noted = false;     // of a note (receives_small.hpp), which may have been out of date
  bool detached = false;  // its handle is another request's by now; whoever has it pinned still settles it
  Record* next = nullptr;
  // In the list of receives to look after.
  Record *before = nullptr, *after = nullptr;
  bool posted = false;
};

// Locks the structures of this file, but only if threads may race.
class TableLock {
 public:
  TableLock() : locked_(g_process.multiple) {
    if (locked_)
      while (flag.exchange(true, std::memory_order_acquire)) message::yield_cpu();
  }
  explicit TableLock(bool /*try_only*/) : locked_(g_process.multiple) {
    if (locked_ && flag.exchange(true, std::memory_order_acquire)) locked_ = false, got_ = false;
  }
  ~TableLock() {
    if (locked_) flag.store(false, std::memory_order_release);
  }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;
  [[nodiscard]] bool got() const { return got_; }

 private:
  static std::atomic<bool> flag;
  bool locked_;
  bool got_ = true;
};

class Table {
 public:
  [[nodiscard]] Record* find(std::uintptr_t key) const {
    for (std::size_t i = home(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].record;
      if (slots_[i].key == 0) return nullptr;
    }
  }
  // The record of `key`; nullptr: no memory. There may be an old one: the library gives a handle out again as
  // soon as its request is complete, which with threads is before we have settled that. Such a one is
  // detached, others are taken over.
  Record* insert(std::uintptr_t key);
  void erase(Record* record);
  // Every record; f may erase the one that it is given, and only that.
  template <class F>
  void each(F&& f) {
    for (std::size_t i = 0; i <= mask_; ++i)
      while (slots_[i].key != 0) {
        const std::uintptr_t key = slots_[i].key;
        f(*slots_[i].record);
        if (slots_[i].key == key || slots_[i].key == 0) break;
      }
  }
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  struct Slot {
    std::uintptr_t key = 0;
    Record* record = nullptr;
  };
  [[nodiscard]] std::size_t home(std::uintptr_t key) const { return (key * 0x9e3779b97f4a7c15u) >> shift_; }
  bool grow();
  static Slot first_slots[256];
  Slot* slots_ = first_slots;
  std::size_t mask_ = 255, used_ = 0;
  unsigned shift_ = 56;
  Record* free_ = nullptr;
};

extern Table g_table;

// Active receives that nobody has heard of yet and that are worth a look while the user waits for something
// else. Under the TableLock.
extern Record* g_posted;
inline void unlist(Record& record) {
  if (!record.posted) return;
  (record.before ? record.before->after : g_posted) = record.after;
  if (record.after) record.after->before = record.before;
  record.posted = false;
}
inline void enlist(Record& record) {
  unlist(record);
  record.before = nullptr;
  record.after = g_posted;
  record.posted = true;
  if (g_posted) g_posted->before = &record;
  g_posted = &record;
}
// Requests of the user that Wait and Test must ask us about: active receives and used placeholders.
extern std::atomic<int> g_live;
// The count of placeholders, of operations that must be driven, and of threads (1 if several may be in MPI):
// one load for all that a failed MPI_Test must know (HPCC's RandomAccess makes one every 35 ns).
extern std::atomic<int> g_unusual;
// The placeholders among these.
extern std::atomic<int> g_placeholders;
// Active receives of large messages: worth a look while a send waits. And whether several of them may have
// one buffer, which MPI forbids and OSU's osu_bw does: counted by a hash of its address, so that others are
// suspected now and then; what was shared stays so until all of that hash are gone.
struct LargeReceives {
  std::atomic<int> count = 0;
  struct Buffers {
    unsigned short receives = 0;
    bool shared = false;
  };
  Buffers at[256];
  [[nodiscard]] Buffers& of(const void* buffer) {
    return at[(reinterpret_cast<std::uintptr_t>(buffer) * 0x9e3779b97f4a7c15u) >> 56];
  }
  [[nodiscard]] bool any() const { return count.load(std::memory_order_relaxed) != 0; }
};
extern LargeReceives g_large;

// Null where it must not be: the library says so.
inline bool no_status(const MPI_Status* status) { return !status && MPI_STATUS_IGNORE != nullptr; }
inline bool no_statuses(const MPI_Status* statuses) { return !statuses && MPI_STATUSES_IGNORE != nullptr; }
inline bool no_requests() { return g_live.load(std::memory_order_relaxed) == 0; }
inline void add(std::atomic<int>& counter, int by) {
  if (g_process.multiple)
    counter.fetch_add(by, std::memory_order_relaxed);
  else
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

// Under the TableLock.
inline void begin_large(Record& record) {
  record.large = true;
  add(g_large.count, 1);
  LargeReceives::Buffers& buffers = g_large.of(record.buffer);
  buffers.shared = buffers.shared || buffers.receives != 0;
  ++buffers.receives;
}
inline void end_large(Record& record) {
  if (!record.large) return;
  record.large = false;
  add(g_large.count, -1);
  LargeReceives::Buffers& buffers = g_large.of(record.buffer);
  if (--buffers.receives == 0) buffers.shared = false;
}

// True if a look at `request` that found nothing leaves another large receive without one.
inline bool others_wait(MPI_Request request) {
  return g_posted && (g_posted->after || g_posted->handle != request);
}
// One thread, and none of the user's requests is a placeholder: the library may look first, and we at what it
// found.
inline bool library_first() { return g_unusual.load(std::memory_order_relaxed) == 0; }
// The same for these requests: there are placeholders, which need no help, but elsewhere.
inline bool library_first(int count, const MPI_Request* requests) {
  const int unusual = g_unusual.load(std::memory_order_relaxed);
  if (unusual == 0) return true;
  if (unusual != g_placeholders.load(std::memory_order_relaxed)) return false;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    const Record* record = g_table.find(handle_bits_of(requests[i]));
    if (record && record->placeholder && record->active) return false;
  }
  return true;
}
// After a test that found nothing: large receives want a look although the user asks for something else. A
// look costs some 20 ns for each of them, in the library, so the more there are the rarer it is; a sender
// waits for microseconds before it copies. One thread only.
void drive_now_and_then();
// --- receives that are posted (request.cpp) ---
// Remembers a receive that was posted, or nothing if it can't bring a descriptor. `persistent`: not active
// yet. False: no memory.
bool track(MPI_Request handle, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
           bool persistent);
// The same, in any case in the table.
bool remember(MPI_Request handle, void* buffer, MPI_Count count, TypeInfo* info, MPI_Comm comm,
              bool persistent);
void activate(Record& record);
// The library has completed it with this status: brings the payload, corrects the status; returns its error,
// raised already if it is ours. The record is gone, or inactive if persistent.
int settle(Record& record, MPI_Status& status, int library_error);
// The same, but what is ours is raised later.
int settle(Record& record, MPI_Status& status, int library_error, Later& later);
// Takes what has come for large receives that nobody waits for just now, unless others are at it; for this
// one.
void deliver_posted();
void deliver(Record& record);
// The placeholder's operation has ended: tells the user; the handle becomes MPI_REQUEST_NULL unless
// persistent.
int conclude(Record& record, MPI_Request* request, MPI_Status& status, Later& later);
// Operation::advance, or attend, with the care that driven ones need.
bool advance(Operation& operation, bool attend = false);
// The library may have requests that go on by MPI calls of its own (ROMIO's non-blocking collective
// operations, MPICH). Its MPI_Waitall sees each of them to its end before it looks at the next, and those of
// one file, which share a communicator, depend on that; so ours does the same (files.cpp).
inline std::atomic<bool> g_in_turn = false;
// The user's own persistent request, which is not tracked, becomes a placeholder of the operation, for good.
// nullptr: no memory.
Record* carry(MPI_Request handle, Operation* operation);
// MPI_Request_free of a placeholder; of a receive that is tracked and active; of one that is not active.
void abandon(Record& record);
void abandon_receive(Record& record);
void untrack(Record& record);

// Found ones are pinned: the caller waits for it or tests it, and settles, concludes or unpins it. One that
// another thread has pinned is that thread's, whose request is complete; the handle is the library's again.
inline Record* find_request(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return nullptr;
  const TableLock lock;
  Record* record = g_table.find(handle_bits_of(request));
  if (!record || (record->placeholder && !record->operation)) return nullptr;
  if (g_process.multiple && record->pinned && !record->placeholder) return nullptr;
  record->pinned = true;
  return record;
}
inline void unpin(Record& record) {
  const TableLock lock;
  record.pinned = false;
}

// Between looks of a loop that waits for the library's or a peer's progress.
class Patiently {
 public:
  void wait() {
    ++looks_;
    message::Waiter& waiter = *g_process.waiter;
    const bool tired = looks_ >= limit_;  // of which looks each may cost a time slice
    if ((tired || looks_ % 64 == 0) && waiter.progress) waiter.progress(waiter.progress_argument);
    if (!tired)
      message::pause_cpu();
    else if (waiter.patience().spins_on)
      rests_.rest();
    else
      message::yield_cpu();
  }
  void reset() { looks_ = 0; }
  [[nodiscard]] int looks() const { return looks_; }

 private:
  int limit_ = g_process.waiter->patience().crowded ? 20 : 5000;
  int looks_ = 0;
  message::Rests rests_;
};

}  // namespace nigh::mpi
