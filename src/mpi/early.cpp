// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/early.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "mpi/ours.hpp"

namespace nigh::mpi {

std::atomic<int> g_early = 0;

namespace {

// Those of the communicators with one hash.
struct alignas(64) List : message::EarlyList<Early> {};
constexpr unsigned list_count = 64;
List lists[list_count];
List& list_of(MPI_Comm comm) { return lists[comm_cache_index(handle_bits(comm))]; }
static_assert(comm_cache_size == list_count);

int tag_limit = 0x7fffffff;

bool matches(const Early& early, const Wanted& wanted) {
  return early.comm == wanted.comm &&
         (wanted.source == MPI_ANY_SOURCE || early.status.MPI_SOURCE == wanted.source) &&
         (wanted.tag == MPI_ANY_TAG || early.status.MPI_TAG == wanted.tag);
}

message::Offer* offer_of(const unsigned char* bytes) {
  Descriptor wire;
  std::memcpy(&wire, bytes, wire_bytes);
  const auto& space = *process().space;
  if (!wire.sealed() || wire.to != space.rank() || wire.from < 0 || wire.from >= space.size()) return nullptr;
  message::Offer* offer = process().offers->find(wire.from, wire.name);
  return offer && message::Offers::bytes_of(offer) == wire.bytes ? offer : nullptr;
}

Page* page_of(int rank) { return static_cast<Page*>(process().space->root(rank, space::Root::mpi)); }

}  // namespace

bool comes_from_ours(MPI_Comm comm, const MPI_Status& status) {
  const CommState* state = comm_state(comm);
  if (!state || status.MPI_SOURCE < 0 || status.MPI_SOURCE >= state->peers) return false;
  const int from = state->space[static_cast<std::size_t>(status.MPI_SOURCE)];
  return from >= 0 && from != process().space->rank();
}

bool is_usual(const Wanted& wanted) {
  const CommState* state = comm_state(wanted.comm);
  return state && (wanted.source == MPI_ANY_SOURCE || (wanted.source >= 0 && wanted.source < state->peers)) &&
         (wanted.tag == MPI_ANY_TAG || (wanted.tag >= 0 && wanted.tag <= tag_limit));
}

bool is_usual(const void* buffer, MPI_Count count, MPI_Datatype type) {
  const TypeInfo* info = type_info(type);
  return info && count >= 0 && (buffer || count == 0 || !info->named);
}

Gate::Gate(MPI_Comm comm) : EarlyGate(g_process.multiple ? &list_of(comm).gate : nullptr) {}

Early* find_early(const Wanted& wanted) {
  return list_of(wanted.comm).find([&](const Early& early) { return matches(early, wanted); });
}

Early* take_early(const Wanted& wanted) {
  Early* early = list_of(wanted.comm).take([&](const Early& one) { return matches(one, wanted); });
  if (early) add(g_early, -1);
  return early;
}

Early* new_early(MPI_Comm comm) {
  void* memory = std::malloc(sizeof(Early));
  if (!memory) return nullptr;
  auto* early = new (memory) Early;
  early->comm = comm;
  make_empty(early->status);
  early->status.MPI_ERROR = MPI_SUCCESS;
  return early;
}

bool take_out(MPI_Comm comm, const MPI_Status& probed) {
  List& list = list_of(comm);
  for (;;) {
    Early* early = new_early(comm);
    if (!early) return false;
    int flag = 0;
    if (real().Improbe(probed.MPI_SOURCE, MPI_ANY_TAG, comm, &flag, &early->message, &early->status) !=
            MPI_SUCCESS ||
        !flag) {
      std::free(early);
      return false;
    }
    list.append(early);
    add(g_early, 1);
    if (early->status.MPI_TAG == probed.MPI_TAG) return true;
  }
}

// Its sender must not take this for a receive: while `reading` says that we read, and afterwards by the mark
// on the offer, it knows that nobody has asked for the message (only_probed).
void read_early(Early& early) {
  if (early.message == MPI_MESSAGE_NULL || status_bytes(early.status) != wire_bytes ||
      !comes_from_ours(early.comm, early.status))
    return;
  const message::EarlyReading reading(process().page->reading);
  MPI_Status status;
  real().Mrecv(early.plain, wire_bytes, MPI_BYTE, &early.message, &status);
  early.message = MPI_MESSAGE_NULL;
  early.offer = offer_of(early.plain);
  if (early.offer) {
    message::Offers::reserve(early.offer);
    set_status_bytes(early.status, message::Offers::bytes_of(early.offer));
  }
}

bool only_probed(const message::Offer* offer, int to) {
  const Page* page = page_of(to);
  return page && message::only_probed(page->reading, offer);
}

int bring_early(Early* early, const Landing& landing, MPI_Status& status) {
  const int kept = status.MPI_ERROR;
  const std::size_t room = landing.type->size * static_cast<std::size_t>(landing.count);
  std::uint64_t bytes = std::min(wire_bytes, room);
  int error = MPI_SUCCESS;
  status = early->status;
  status.MPI_ERROR = kept;
  if (early->offer)
    bring(early->offer, landing, bytes, error);
  else if (!unpack(early->plain, bytes, landing.buffer, landing.count, *landing.type))
    error = MPI_ERR_NO_MEM;
  else if (room < wire_bytes)
    error = MPI_ERR_TRUNCATE;
  set_status_bytes(status, bytes);
  std::free(early);
  return error;
}

namespace {

// A receive that found its message here: over before it began.
class EarlyReceive final : public Operation {
 public:
  bool advance() override { return true; }
  int end(MPI_Status& status) override {
    const int kept = status.MPI_ERROR;
    status = status_;
    status.MPI_ERROR = kept;
    return error_;
  }
  void release() override {
    this->~EarlyReceive();
    std::free(this);
  }
  void take(Early* early, const Landing& landing) {
    raise_on = landing.comm;
    make_empty(status_);
    error_ = bring_early(early, landing, status_);
  }

 private:
  MPI_Status status_;
  int error_ = MPI_SUCCESS;
};

}  // namespace

int start_early(Early* early, const Landing& landing, MPI_Request* request) {
  void* memory = std::malloc(sizeof(EarlyReceive));
  auto* operation = memory ? new (memory) EarlyReceive : nullptr;
  if (!operation || !adopt(operation, request)) {
    if (operation) operation->release();
    free_early(early);
    return raise(landing.comm, MPI_ERR_NO_MEM);
  }
  operation->take(early, landing);
  return MPI_SUCCESS;
}

MPI_Message release_early(Early* early) {
  const MPI_Message message = early->message;
  std::free(early);
  return message;
}

// A rank that is gone has no use for it; its offers are done with.
void free_early(Early* early) {
  if (early->message != MPI_MESSAGE_NULL) {
    const std::uint64_t bytes = status_bytes(early->status);
    void* nowhere = bytes <= 0x7fffffff ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr;
    if (nowhere) real().Mrecv(nowhere, static_cast<int>(bytes), MPI_BYTE, &early->message, MPI_STATUS_IGNORE);
    std::free(nowhere);
  }
  char nothing = 0;
  if (early->offer) process().offers->take(early->offer, &nothing, nullptr, 0);
  std::free(early);
}

namespace {

// Messages matched by a probe and not yet received: few, so a list will do.
struct Note {
  MPI_Message message;
  Matched matched;
  Note* next;
};
Note* notes = nullptr;
std::atomic<int> note_count = 0;
MPI_Comm to_self = MPI_COMM_NULL;  // where handles come from
std::atomic<bool> making = false;

bool note(MPI_Message message, const Matched& matched) {
  auto* one = static_cast<Note*>(std::malloc(sizeof(Note)));
  if (!one) return false;
  const TableLock lock;
  *one = {.message = message, .matched = matched, .next = notes};
  notes = one;
  add(note_count, 1);
  return true;
}

// A handle that the library knows, so that MPI_Message_c2f and comparisons do what they should: of an empty
// message to ourselves.
bool new_handle(MPI_Message* message, MPI_Request* request) {
  while (making.exchange(true, std::memory_order_acquire)) message::yield_cpu();
  int flag = 0;
  int error = real().Isend(nullptr, 0, MPI_BYTE, 0, 0, to_self, request);
  while (error == MPI_SUCCESS && !flag)
    error = real().Improbe(0, 0, to_self, &flag, message, MPI_STATUS_IGNORE);
  making.store(false, std::memory_order_release);
  return error == MPI_SUCCESS;
}

}  // namespace

bool hand_out(Early* early, MPI_Message* message) {
  read_early(*early);
  Matched matched = {.comm = early->comm, .early = early};
  if (early->message != MPI_MESSAGE_NULL) {
    *message = early->message;
    std::free(early);
    if (matched.comm == MPI_COMM_WORLD) return true;
    matched.early = nullptr;
  } else if (!new_handle(message, &matched.request)) {
    free_early(early);
    return false;
  }
  if (note(*message, matched) || !matched.early) return true;
  close_matched(matched, message);
  free_early(early);
  return false;
}

Matched find_matched(MPI_Message message) {
  if (note_count.load(std::memory_order_relaxed) == 0) return {};
  const TableLock lock;
  for (const Note* at = notes; at; at = at->next)
    if (at->message == message) return at->matched;
  return {};
}

void forget_matched(MPI_Message message) {
  if (note_count.load(std::memory_order_relaxed) == 0) return;
  const TableLock lock;
  for (Note** at = &notes; *at; at = &(*at)->next) {
    if ((*at)->message != message) continue;
    Note* one = *at;
    *at = one->next;
    std::free(one);
    add(note_count, -1);
    return;
  }
}

void close_matched(const Matched& matched, MPI_Message* message) {
  real().Mrecv(nullptr, 0, MPI_BYTE, message, MPI_STATUS_IGNORE);
  MPI_Request request = matched.request;
  real().Wait(&request, MPI_STATUS_IGNORE);
}

namespace {

void forget_comm(MPI_Comm comm) {
  for (;;) {
    Early* early = nullptr;
    {
      const Gate gate(comm);
      early = take_early({.comm = comm, .source = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG});
    }
    if (!early) return;
    free_early(early);
  }
}

void freed(CommState& state) {
  if (look_early()) forget_comm(state.comm);
}
const CommHooks comm_hooks(nullptr, freed);

void start() {
  void* most = nullptr;
  int found = 0;
  if (real().Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found) == MPI_SUCCESS && found)
    tag_limit = *static_cast<int*>(most);
  real().Comm_dup(MPI_COMM_SELF, &to_self);
  if (process().multiple) add(g_early, 1);
}
void stop() {
  if (process().multiple) add(g_early, -1);
  for (List& list : lists)
    while (Early* early = list.take([](const Early&) { return true; })) {
      add(g_early, -1);
      free_early(early);
    }
  if (to_self != MPI_COMM_NULL) real().Comm_free(&to_self);
}
const Hooks hooks(start, stop);

}  // namespace
}  // namespace nigh::mpi
