// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving: blocking, later, persistent, after a probe, by a matched probe, by name or by wildcards; into
// layouts that need not be the sender's, with room to spare or none.

#include <algorithm>
#include <string>

#include "check.hpp"
#include "engine.hpp"

namespace soak {

namespace {
const char* const receive_names[] = {"Recv", "Irecv", "Recv_init", "Probe", "Iprobe", "Mprobe", "Improbe"};
enum class ReceiveMode { now, later, kept, probe, iprobe, mprobe, improbe };

ReceiveMode choose_mode(Rng& rng, bool may_block) {
  using enum ReceiveMode;
  int die = rng.below(100);
  if (!may_block) return die < 85 ? later : kept;
  return die < 35   ? now
         : die < 60 ? later
         : die < 66 ? kept
         : die < 74 ? probe
         : die < 82 ? iprobe
         : die < 91 ? mprobe
                    : improbe;
}
}  // namespace

std::shared_ptr<Arriving> Engine::prepare(const Receive& receive) {
  Rng& rng = local_;
  auto arriving = std::make_shared<Arriving>();
  arriving->receive = receive;
  Kind kind;
  int items;
  if (receive.wild >= 0) {
    const Wild& wild = wilds_[receive.wild];
    kind = wild.kind;
    items = wild.most_items;
    arriving->source = wild.any_source ? MPI_ANY_SOURCE : wild.source;
    arriving->tag = wild.any_tag ? MPI_ANY_TAG : wild.tag;
    arriving->slot = wild_results_[receive.wild].size();
    wild_results_[receive.wild].push_back({});
  } else {
    const Message& message = messages_[receive.message];
    kind = message.kind;
    items = message.items;
    arriving->source = message.source;
    arriving->tag = message.tag;
  }
  int inside = items == 0        ? rng.in(0, 5)
               : rng.percent(60) ? divisor(rng, items, items)
                                 : rng.in(1, std::min(items, 3000));
  int capacity = inside == 0 ? rng.in(0, 3) : (items + inside - 1) / inside;
  if (inside > 0 && rng.percent(35)) capacity += rng.in(1, 4);
  arriving->capacity = capacity;
  arriving->layout = Layout::make(rng, kind, inside);
  arriving->buffer = Buffer::make(rng, arenas_, arriving->layout, capacity);
  if (rng.percent(4)) arriving->bottom = at_bottom(arriving->layout, capacity, arriving->buffer.data());
  return arriving;
}

void Engine::receive(const Receive& receive, bool may_block) {
  Comm& comm = pool_[receive.comm];
  if (comm.me != receive.target) return;
  auto arriving = prepare(receive);
  using enum ReceiveMode;
  ReceiveMode mode = choose_mode(local_, may_block);
  char name[200];
  snprintf(name, sizeof name,
           "%s from %d on communicator %d (%d ranks), tag %d, message %04llx, room for %zu bytes, kind %d, "
           "layout %s of %zu runs%s",
           receive_names[static_cast<int>(mode)], arriving->source, comm.number, comm.size(), arriving->tag,
           receive.wild < 0 ? messages_[receive.message].id & 0xffffULL : 0ULL,
           arriving->layout.size * static_cast<std::size_t>(arriving->capacity),
           static_cast<int>(arriving->layout.kind), arriving->layout.shape.c_str(),
           arriving->layout.runs.size(), arriving->bottom == MPI_DATATYPE_NULL ? "" : ", at MPI_BOTTOM");
  operation("%s", name);
  if (mode == later || mode == kept) {
    MPI_Request request = MPI_REQUEST_NULL;
    Arriving& a = *arriving;
    if (mode == later) {
      MPI_OK(MPI_Irecv(a.address(), a.elements(), a.type(), a.source, a.tag, comm.handle, &request));
    } else {
      MPI_OK(MPI_Recv_init(a.address(), a.elements(), a.type(), a.source, a.tag, comm.handle, &request));
      MPI_OK(MPI_Start(&request));
    }
    std::string text = name;
    enlist(request, mode == kept, true, [this, arriving, text](const MPI_Status* status) {
      operation("%s, completed", text.c_str());
      arrived(*arriving, status);
    });
    return;
  }
  if (mode == now) {
    receive_blocking(arriving);
    return;
  }
  MPI_Status probed = fresh_status();
  MPI_Message handle = MPI_MESSAGE_NULL;
  int flag = 1;
  if (mode == probe) MPI_OK(MPI_Probe(arriving->source, arriving->tag, comm.handle, &probed));
  if (mode == mprobe) MPI_OK(MPI_Mprobe(arriving->source, arriving->tag, comm.handle, &handle, &probed));
  if (mode == iprobe || mode == improbe) {
    for (flag = 0; !flag;) {
      if (mode == iprobe)
        MPI_OK(MPI_Iprobe(arriving->source, arriving->tag, comm.handle, &flag, &probed));
      else
        MPI_OK(MPI_Improbe(arriving->source, arriving->tag, comm.handle, &flag, &handle, &probed));
    }
  }
  operation("%s, received after it", name);
  if (receive.wild < 0) {
    const Message& m = messages_[receive.message];
    check_status(probed, m.source, m.tag, item_bytes(m.kind) * static_cast<std::size_t>(m.items),
                 arriving->layout);
  }
  Arriving& a = *arriving;
  MPI_Status status = fresh_status();
  int want_source = probed.MPI_SOURCE;
  int want_tag = probed.MPI_TAG;
  if (mode == probe || mode == iprobe) {
    MPI_OK(MPI_Recv(a.address(), a.elements(), a.type(), want_source, want_tag, comm.handle, &status));
  } else if (local_.percent(50)) {
    MPI_OK(MPI_Mrecv(a.address(), a.elements(), a.type(), &handle, &status));
    EXPECT(handle == MPI_MESSAGE_NULL);
  } else {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_OK(MPI_Imrecv(a.address(), a.elements(), a.type(), &handle, &request));
    EXPECT(handle == MPI_MESSAGE_NULL);
    MPI_OK(MPI_Wait(&request, &status));
  }
  if (status.MPI_SOURCE != want_source || status.MPI_TAG != want_tag)
    fail("probed source %d tag %d, received source %d tag %d", want_source, want_tag, status.MPI_SOURCE,
         status.MPI_TAG);
  int probed_bytes = -1;
  int got_bytes = -2;
  MPI_OK(MPI_Get_elements(&probed, MPI_BYTE, &probed_bytes));
  MPI_OK(MPI_Get_elements(&status, MPI_BYTE, &got_bytes));
  if (probed_bytes != got_bytes) fail("probed %d bytes, received %d", probed_bytes, got_bytes);
  arrived(a, &status);
}

void Engine::receive_blocking(const std::shared_ptr<Arriving>& arriving) {
  Arriving& a = *arriving;
  MPI_Status status = fresh_status();
  bool ignore = a.receive.wild < 0 && local_.percent(20);
  MPI_OK(MPI_Recv(a.address(), a.elements(), a.type(), a.source, a.tag, pool_[a.receive.comm].handle,
                  ignore ? MPI_STATUS_IGNORE : &status));
  arrived(a, ignore ? nullptr : &status);
}

void Engine::arrived(Arriving& arriving, const MPI_Status* status) {
  if (arriving.receive.wild < 0) {
    verify(arriving, messages_[arriving.receive.message], status);
    return;
  }
  WildResult& result = wild_results_[arriving.receive.wild][arriving.slot];
  EXPECT(status != nullptr);
  result.status = *status;
  result.arriving = std::make_shared<Arriving>(std::move(arriving));
  arriving.bottom = MPI_DATATYPE_NULL;
}

void Engine::verify(Arriving& arriving, const Message& message, const MPI_Status* status) {
  std::vector<char> stream = stream_of(message.id, message.kind, message.items);
  if (status != nullptr) check_status(*status, message.source, message.tag, stream.size(), arriving.layout);
  arriving.buffer.expect(arriving.layout, stream.data(), stream.size());
  arriving.buffer.same("receive buffer");
  if (arriving.bottom != MPI_DATATYPE_NULL) MPI_OK(MPI_Type_free(&arriving.bottom));
  std::vector<char> got(stream.size());
  arriving.layout.gather(arriving.buffer.data(), got.size(), got.data());
  count(message.id, got.data(), got.size());
}

// Messages of one sender are matched in the order in which they were sent, whoever else sends.
void Engine::verify_wild() {
  for (std::size_t group = 0; group < wilds_.size(); ++group) {
    const Wild& wild = wilds_[group];
    if (pool_[wild.comm].me != wild.target) continue;
    std::vector<bool> taken(wild.order.size(), false);
    for (WildResult& result : wild_results_[group]) {
      operation("receive by wildcards on communicator %d", pool_[wild.comm].number);
      std::size_t next = 0;
      while (next < taken.size() &&
             (taken[next] || messages_[wild.order[next]].source != result.status.MPI_SOURCE))
        ++next;
      if (next == taken.size()) fail("one message too many from %d", result.status.MPI_SOURCE);
      taken[next] = true;
      verify(*result.arriving, messages_[wild.order[next]], &result.status);
    }
    wild_results_[group].clear();
  }
}

}  // namespace soak
