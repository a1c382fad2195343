// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// include/nigh/message.h over the space of this process: one endpoint, made by the first init and kept until
// the process ends, because peers may write to its rings as long as it lives. The functions of the space are
// weak: a program that links this room without the space gets an error and no crash.
#include <atomic>
#include <cstddef>
#include <new>

#include "message/p2p.hpp"
#include "nigh/message.h"
#include "space/process_space.hpp"

extern "C" __attribute__((weak)) nigh::space::ProcessSpace* nigh_space_object(std::uint32_t version);
extern "C" __attribute__((weak)) int nigh_space_join(int timeout_ms);

namespace nigh::message {
namespace {

static_assert(static_cast<int>(Error::unreachable) == NIGH_ERR_UNREACHABLE);
static_assert(sizeof(nigh_layout) == sizeof(Layout) && sizeof(nigh_block) == sizeof(Block));
static_assert(offsetof(nigh_layout, element_bytes) == offsetof(Layout, element_bytes));
static_assert(any_source == NIGH_ANY_SOURCE && any_tag == NIGH_ANY_TAG);

struct Session {
  explicit Session(space::Space& s)
      : space(s), waiter(s, 1 << 20), offers(s, waiter), end(s, waiter, offers) {}
  space::Space& space;
  Waiter waiter;
  Offers offers;
  Endpoint end;
};

constinit Session* session = nullptr;
constinit std::atomic<bool> beginning = false;

// All that can be reached have their rings, so that whoever sends now finds them, and it is known on how many
// CPUs the job runs.
void meet(Session& s) {
  for (int rank = 0; rank < s.space.size(); ++rank) {
    if (!s.space.reachable(rank)) continue;
    const auto ready = [&] {
      RankWords* front = s.waiter.front_of(rank);
      return front && front->channels[0].load(std::memory_order_acquire);
    };
    s.waiter.until(ready, rank);
  }
  s.waiter.set_patience(patience_for(s.space.size(), s.waiter.cpus_of_job()));
}

int answer(Error error) { return static_cast<int>(error); }

void tell(nigh_status* to, const Status& from) {
  if (to)
    *to = {
        .source = from.source, .tag = from.tag, .bytes = from.bytes, .error = static_cast<int>(from.error)};
}

Request* of(nigh_request request) { return reinterpret_cast<Request*>(request); }
nigh_request of(Request* request) { return reinterpret_cast<nigh_request>(request); }

int receive(const Piece& piece, int from, int tag, nigh_status* status) {
  if (!session) return NIGH_ERR_NO_SPACE;
  Status got;
  got.error = session->end.receive(piece, from, tag, &got);
  tell(status, got);
  return answer(got.error);
}

// In memory of the space, so that peers can read it; the caller's own may be anywhere.
Layout layout_of(const nigh_layout* layout) {
  return {.blocks = reinterpret_cast<const Block*>(layout->blocks),
          .block_count = layout->block_count,
          .extent = layout->extent,
          .element_bytes = layout->element_bytes};
}

bool sound(const nigh_layout* layout, std::size_t bytes) {
  if (!layout) return false;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < layout->block_count; ++i) sum += layout->blocks[i].bytes;
  return sum == layout->element_bytes && (sum > 0 || bytes == 0);
}

}  // namespace
}  // namespace nigh::message

#pragma GCC visibility push(default)
using namespace nigh::message;

const char* nigh_error_text(int error) {
  switch (error) {
    case NIGH_OK: return "no error";
    case NIGH_ERR_TRUNCATED: return "the message was longer than the buffer";
    case NIGH_ERR_PEER_DEAD: return "the rank that was waited for has ended";
    case NIGH_ERR_NO_MEMORY: return "no memory left for a message";
    case NIGH_ERR_ARGUMENT: return "a rank, tag, pointer or layout can't be right";
    case NIGH_ERR_UNREACHABLE: return "that rank is not part of the space";
    case NIGH_ERR_NO_SPACE: return "there is no space: nigh_message_init() was not called or failed";
    default: return "not an error of nigh";
  }
}

int nigh_message_init(void) {
  if (session) return NIGH_OK;
  if (!nigh_space_object || !nigh_space_join || nigh_space_join(-1) != 0) return NIGH_ERR_NO_SPACE;
  nigh::space::ProcessSpace* space = nigh_space_object(nigh::space::abi_version);
  if (!space) return NIGH_ERR_NO_SPACE;
  if (beginning.exchange(true)) return NIGH_ERR_ARGUMENT;
  auto* made = new (std::nothrow) Session(*space);
  if (!made || !made->end.usable()) {
    delete made;
    beginning = false;
    return NIGH_ERR_NO_MEMORY;
  }
  meet(*made);
  session = made;
  return NIGH_OK;
}

int nigh_rank(void) { return session ? session->space.rank() : -1; }
int nigh_size(void) { return session ? session->space.size() : 0; }

int nigh_send(const void* data, size_t bytes, int to, int tag) {
  if (!session) return NIGH_ERR_NO_SPACE;
  return answer(session->end.send(piece(data, bytes), to, tag));
}

int nigh_recv(void* data, size_t bytes, int from, int tag, nigh_status* status) {
  return receive(piece(data, bytes), from, tag, status);
}

int nigh_send_layout(const void* data, const nigh_layout* layout, size_t bytes, int to, int tag) {
  if (!session) return NIGH_ERR_NO_SPACE;
  if (!sound(layout, bytes)) return NIGH_ERR_ARGUMENT;
  const Layout plain = layout_of(layout);
  return answer(session->end.send(piece(data, bytes, &plain), to, tag));
}

int nigh_recv_layout(void* data, const nigh_layout* layout, size_t bytes, int from, int tag,
                     nigh_status* status) {
  if (!sound(layout, bytes)) return NIGH_ERR_ARGUMENT;
  const Layout plain = layout_of(layout);
  return receive(piece(data, bytes, &plain), from, tag, status);
}

int nigh_isend(const void* data, size_t bytes, int to, int tag, nigh_request* request) {
  if (!session) return NIGH_ERR_NO_SPACE;
  if (!request) return NIGH_ERR_ARGUMENT;
  *request = of(session->end.start_send(piece(data, bytes), to, tag));
  return *request ? NIGH_OK : NIGH_ERR_ARGUMENT;
}

int nigh_irecv(void* data, size_t bytes, int from, int tag, nigh_request* request) {
  if (!session) return NIGH_ERR_NO_SPACE;
  if (!request) return NIGH_ERR_ARGUMENT;
  *request = of(session->end.start_receive(piece(data, bytes), from, tag));
  return *request ? NIGH_OK : NIGH_ERR_ARGUMENT;
}

int nigh_wait(nigh_request* request, nigh_status* status) {
  if (!session) return NIGH_ERR_NO_SPACE;
  if (!request) return NIGH_ERR_ARGUMENT;
  Status got;
  if (*request) got.error = session->end.wait(of(*request), &got);
  *request = nullptr;
  tell(status, got);
  return answer(got.error);
}

int nigh_test(nigh_request* request, int* ended, nigh_status* status) {
  if (!session) return NIGH_ERR_NO_SPACE;
  if (!request || !ended) return NIGH_ERR_ARGUMENT;
  Status got;
  *ended = !*request || session->end.test(of(*request), &got) ? 1 : 0;
  if (!*ended) return NIGH_OK;
  *request = nullptr;
  tell(status, got);
  return answer(got.error);
}

int nigh_waitall(size_t count, nigh_request* requests, nigh_status* statuses) {
  int first = NIGH_OK;
  for (size_t i = 0; i < count; ++i) {
    const int error = nigh_wait(&requests[i], statuses ? &statuses[i] : nullptr);
    if (first == NIGH_OK) first = error;
  }
  return first;
}

int nigh_sendrecv(const void* out, size_t out_bytes, int to, int out_tag, void* in, size_t in_bytes, int from,
                  int in_tag, nigh_status* status) {
  nigh_request requests[2] = {nullptr, nullptr};
  int error = nigh_irecv(in, in_bytes, from, in_tag, &requests[0]);
  if (error != NIGH_OK) return error;
  error = nigh_send(out, out_bytes, to, out_tag);
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the session does not end in between
  const int received = nigh_wait(&requests[0], status);
  return error != NIGH_OK ? error : received;
}

int nigh_probe(int from, int tag, nigh_status* status) {
  if (!session) return NIGH_ERR_NO_SPACE;
  Status there;
  const Error error = session->end.probe(from, tag, &there);
  tell(status, there);
  return answer(error);
}

int nigh_iprobe(int from, int tag, int* there, nigh_status* status) {
  if (!session) return NIGH_ERR_NO_SPACE;
  if (!there) return NIGH_ERR_ARGUMENT;
  Status found;
  *there = session->end.probe_now(from, tag, &found) ? 1 : 0;
  if (*there) tell(status, found);
  return NIGH_OK;
}
#pragma GCC visibility pop
