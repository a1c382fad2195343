// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Placeholders and posted receives: from the moment that a request is made to the one when the user has heard
// of its end; and what is driven in between.
#include "mpi/request.hpp"

#include <algorithm>
#include <cstdlib>

#include "mpi/receives_small.hpp"

namespace nigh::mpi {

std::atomic<int> g_driven = 0;

namespace {

void count_driven(int by) {
  add(g_driven, by);
  add(g_unusual, by);
}

// Serialises driven operations and deliveries when threads race; in one thread, keeps drive() out of itself.
std::atomic<bool> driving = false;
class Driving {
 public:
  explicit Driving(bool wait) {
    while (!(got_ = !driving.exchange(true, std::memory_order_acquire)) && wait && process().multiple)
      message::yield_cpu();
  }
  ~Driving() {
    if (got_) driving.store(false, std::memory_order_release);
  }
  Driving(const Driving&) = delete;
  Driving& operator=(const Driving&) = delete;
  [[nodiscard]] bool got() const { return got_; }

 private:
  bool got_ = false;
};

// Grows only; a list of what must be looked at.
struct List {
  Operation** data = nullptr;
  int count = 0, room = 0;
  bool add(Operation* operation) {
    if (count == room) {
      const int more = room == 0 ? 16 : 2 * room;
      void* grown = std::realloc(data, static_cast<std::size_t>(more) * sizeof(Operation*));
      if (!grown) return false;
      data = static_cast<Operation**>(grown);
      room = more;
    }
    data[count++] = operation;
    return true;
  }
  void remove(const Operation* operation) {
    for (int i = 0; i < count; ++i)
      if (data[i] == operation) {
        data[i] = data[--count];
        return;
      }
  }
};
List driven;   // active
List orphans;  // active, and their handles freed by the user

Record* idle = nullptr;  // placeholders

// To nobody; Intel MPI takes one to nobody for active before it was started, so there to this process.
Record* new_placeholder() {
  MPI_Request handle = MPI_REQUEST_NULL;
  const int to = is_intel() ? 0 : MPI_PROC_NULL;
  const MPI_Comm comm = is_intel() ? own_comm() : MPI_COMM_SELF;
  if (comm == MPI_COMM_NULL || real().Send_init(nullptr, 0, MPI_BYTE, to, 0, comm, &handle) != MPI_SUCCESS)
    return nullptr;
  const TableLock lock;
  Record* record = g_table.insert(handle_bits_of(handle));
  if (!record) return nullptr;
  *record = {.key = record->key, .handle = handle, .placeholder = true};
  return record;
}

void make_idle(Record& record) {
  const TableLock lock;
  record.operation = nullptr;
  record.active = record.pinned = false;
  if (record.borrowed) return g_table.erase(&record);
  record.next = idle;
  idle = &record;
}

void sweep_orphans() {
  for (int i = orphans.count; i-- > 0;) {
    Operation* operation = orphans.data[i];
    if (!operation->advance()) continue;
    MPI_Status ignored;
    make_empty(ignored);
    operation->end(ignored);
    if (operation->driven) count_driven(-1);
    orphans.data[i] = orphans.data[--orphans.count];
    operation->release();
  }
}

}  // namespace

bool completed(MPI_Request* request) {
  return real().Isend(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, own_comm(), request) == MPI_SUCCESS;
}

bool adopt(Operation* operation, MPI_Request* request) {
  if (orphans.count != 0)
    if (const Driving mine(false); mine.got()) sweep_orphans();
  Record* record = nullptr;
  {
    const TableLock lock;
    record = idle;
    if (record) idle = record->next;
  }
  if (!record) record = new_placeholder();
  if (!record) return false;
  record->operation = operation;
  *request = record->handle;
  if (operation->active) activate(*record);
  return true;
}

Record* carry(MPI_Request handle, Operation* operation) {
  const TableLock lock;
  Record* record = g_table.insert(handle_bits_of(handle));
  if (!record) return nullptr;
  *record = {
      .key = record->key, .handle = handle, .operation = operation, .placeholder = true, .borrowed = true};
  return record;
}

void activate(Record& record) {
  if (record.placeholder) {
    record.operation->active = true;
    add(g_unusual, 1);
    add(g_placeholders, 1);
    if (record.operation->driven) {
      const Driving mine(true);
      if (driven.add(record.operation)) count_driven(1);
    }
  } else {
    const TableLock lock;
    if (record.type->size * static_cast<std::size_t>(record.count) >= g_threshold) begin_large(record);
    if (record.large) enlist(record);
  }
  record.active = true;
  add(g_live, 1);
}

namespace {

// The opposite of activate().
void deactivate(Record& record) {
  if (record.placeholder) {
    record.operation->active = false;
    add(g_unusual, -1);
    add(g_placeholders, -1);
    if (record.operation->driven) {
      const Driving mine(true);
      driven.remove(record.operation);
      count_driven(-1);
    }
  } else {
    const TableLock lock;
    end_large(record);
    unlist(record);
    record.delivered = record.pinned = false;
  }
  record.active = false;
  add(g_live, -1);
}

}  // namespace

void disown(MPI_Request* request) {
  Record* record = find_request(*request);
  *request = MPI_REQUEST_NULL;
  if (!record) return;
  if (record->active) deactivate(*record);
  record->operation->release();
  make_idle(*record);
}

int conclude(Record& record, MPI_Request* request, MPI_Status& status, Later& later) {
  Operation* operation = record.operation;
  deactivate(record);
  make_empty(status);
  const int error = operation->end(status);
  if (error != MPI_SUCCESS && operation->raise_on != MPI_COMM_NULL) later.add(operation->raise_on, error);
  if (operation->persistent) return error;
  operation->release();
  make_idle(record);
  *request = MPI_REQUEST_NULL;
  return error;
}

bool advance(Operation& operation, bool attend) {
  if (!operation.driven) return attend ? operation.attend() : operation.advance();
  const Driving mine(true);
  return mine.got() && operation.advance();
}

void abandon(Record& record) {
  Operation* operation = record.operation;
  const bool counted = record.active && operation->driven;
  if (record.active) {
    deactivate(record);
    operation->active = true;
    const Driving mine(true);
    if (orphans.add(operation) && counted) count_driven(1);
  } else {
    operation->release();
  }
  make_idle(record);
}

void abandon_receive(Record& record) {
  const TableLock lock;
  record.abandoned = true;
  record.pinned = false;
  enlist(record);
  add(g_live, -1);
  count_driven(1);
}

bool track(MPI_Request handle, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
           bool persistent) {
  TypeInfo* info = type_info(type);
  if (!info || count < 0) return true;
  const std::size_t room = info->size * static_cast<std::size_t>(count);
  if (room < wire_bytes) return true;
  if (is_plain(*info) && room < g_threshold && room >= wire_bytes && !persistent && !process().multiple)
    return g_small_receives.note(handle, buffer, count, info, comm);
  return remember(handle, buffer, count, info, comm, persistent);
}

bool remember(MPI_Request handle, void* buffer, MPI_Count count, TypeInfo* info, MPI_Comm comm,
              bool persistent) {
  Record* record = nullptr;
  {
    const TableLock lock;
    record = g_table.insert(handle_bits_of(handle));
    if (!record) return false;
    unlist(*record);
    end_large(*record);
    record->handle = handle;
    record->buffer = buffer;
    record->count = count;
    record->type = info;
    record->comm = comm;
    record->persistent = persistent;
    record->placeholder = record->active = false;
    record->delivered = record->abandoned = record->pinned = record->noted = false;
  }
  hold(info);
  if (!persistent) activate(*record);
  return true;
}

// In one go: another thread may be waiting to use its handle again.
void untrack(Record& record) {
  TypeInfo* type = record.type;
  {
    const TableLock lock;
    if (record.active) end_large(record);
    if (record.active) add(g_live, -1);
    g_table.erase(&record);
  }
  drop(type);
}

int settle(Record& record, MPI_Status& status, int library_error) {
  Later later;
  const int error = settle(record, status, library_error, later);
  later.raise_now();
  return error;
}

int settle(Record& record, MPI_Status& status, int library_error, Later& later) {
  const Landing landing = {
      .buffer = record.buffer, .count = record.count, .type = record.type, .comm = record.comm};
  int error = library_error;
  if (record.delivered) {
    set_status_bytes(status, record.bytes);
    error = record.error;
    if (error != MPI_SUCCESS) later.add(record.comm, error);
  } else if (library_error == MPI_SUCCESS && status_bytes(status) == wire_bytes) {
    error = finish_receive(landing, status, later);
  }
  if (record.persistent)
    deactivate(record);
  else
    untrack(record);
  return error;
}

namespace {

// Looks at a request that the library may have completed and nobody has asked for yet. True: it was an
// abandoned one, and is done with.
bool look_at(Record& record) {
  int done = 0;
  MPI_Status status;
  make_empty(status);
  if (real().Request_get_status(record.handle, &done, &status) != MPI_SUCCESS || !done) return false;
  const Landing landing = {
      .buffer = record.buffer, .count = record.count, .type = record.type, .comm = record.comm};
  if (!record.delivered && status_bytes(status) == wire_bytes && !status_cancelled(status) &&
      (!record.noted || holds_descriptor(record.buffer)))
    record.delivered = land(landing, status, record.bytes, record.error);
  end_large(record);
  unlist(record);
  return record.abandoned;
}

}  // namespace

void deliver_posted() {
  const Driving mine(false);
  if (!mine.got()) return;
  const TableLock lock(true);
  if (!lock.got()) return;
  for (Record *record = g_posted, *next = nullptr; record; record = next) {
    next = record->after;
    if (record->pinned || !look_at(*record)) continue;
    real().Request_free(&record->handle);
    count_driven(-1);
    drop(record->type);
    g_table.erase(record);
  }
}

void deliver(Record& record) {
  const Driving mine(true);
  const TableLock lock;
  if (mine.got() && !record.delivered) look_at(record);
}

void drive() {
  if (g_large.any() || must_drive()) deliver_posted();
  if (!must_drive()) return;
  const Driving mine(false);
  if (!mine.got()) return;
  for (int i = driven.count; i-- > 0;) driven.data[i]->advance();
  sweep_orphans();
}

void drive_now_and_then() {
  constexpr int tests = 8;  // for each receive
  static int since = 0;
  if (!g_posted || ++since < tests * g_large.count.load(std::memory_order_relaxed)) return;
  since = 0;
  drive();
}

namespace {

void (*library_progress)(void*) = nullptr;
void* library_argument = nullptr;

void progress(void* /*argument*/) {
  if (library_progress) library_progress(library_argument);
  drive();
}

void start() {
  if (process().multiple) add(g_unusual, 1);
  library_progress = process().waiter->progress;
  library_argument = process().waiter->progress_argument;
  process().waiter->progress = progress;
}

void stop() {
  // Nothing of ours may be under way any more, except sends whose handles were freed.
  {
    const Driving mine(true);
    for (int i = 0; i < orphans.count; ++i) orphans.data[i]->hasten();
    sweep_orphans();
  }
  g_table.each([](Record& record) {
    if (!record.placeholder) return;
    if (record.operation) return record.operation->hasten();
    real().Request_free(&record.handle);
    g_table.erase(&record);
  });
  idle = nullptr;
  if (process().multiple) add(g_unusual, -1);
  process().waiter->progress = library_progress;
}
const Hooks hooks(start, stop);

}  // namespace
}  // namespace nigh::mpi
