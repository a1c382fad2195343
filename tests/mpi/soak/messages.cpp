// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Sending: every mode, from any memory, in any layout; types freed while they are in use, buffers shared by
// several sends, packed data, absolute addresses.
#include <algorithm>
#include <string>

#include "check.hpp"
#include "engine.hpp"

namespace soak {

namespace {
struct Leaving {
  Layout layout;
  Buffer buffer;
  MPI_Datatype bottom = MPI_DATATYPE_NULL;
  int count = 0;
  ~Leaving() {
    if (bottom != MPI_DATATYPE_NULL) MPI_Type_free(&bottom);
  }
};

const char* const send_names[] = {"Send",   "Ssend",     "Bsend",      "Isend",     "Issend",
                                  "Ibsend", "Send_init", "Ssend_init", "Bsend_init"};
enum SendMode {
  standard,
  synchronous,
  buffered,
  later,
  later_synchronous,
  later_buffered,
  kept,
  kept_synchronous,
  kept_buffered
};

SendMode choose_mode(Rng& rng, bool may_block, bool may_buffer) {
  for (;;) {
    int die = rng.below(100);
    SendMode mode = die < 35   ? standard
                    : die < 45 ? synchronous
                    : die < 53 ? buffered
                    : die < 80 ? later
                    : die < 87 ? later_synchronous
                    : die < 91 ? later_buffered
                    : die < 95 ? kept
                    : die < 98 ? kept_synchronous
                               : kept_buffered;
    if (!may_block && (mode == standard || mode == synchronous)) continue;
    if (!may_buffer && (mode == buffered || mode == later_buffered || mode == kept_buffered)) continue;
    return mode;
  }
}

MPI_Request start(SendMode mode, const void* data, int count, MPI_Datatype type, int to, int tag,
                  MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (mode) {
    case standard: MPI_OK(MPI_Send(data, count, type, to, tag, comm)); break;
    case synchronous: MPI_OK(MPI_Ssend(data, count, type, to, tag, comm)); break;
    case buffered: MPI_OK(MPI_Bsend(data, count, type, to, tag, comm)); break;
    case later: MPI_OK(MPI_Isend(data, count, type, to, tag, comm, &request)); break;
    case later_synchronous: MPI_OK(MPI_Issend(data, count, type, to, tag, comm, &request)); break;
    case later_buffered: MPI_OK(MPI_Ibsend(data, count, type, to, tag, comm, &request)); break;
    case kept: MPI_OK(MPI_Send_init(data, count, type, to, tag, comm, &request)); break;
    case kept_synchronous: MPI_OK(MPI_Ssend_init(data, count, type, to, tag, comm, &request)); break;
    case kept_buffered: MPI_OK(MPI_Bsend_init(data, count, type, to, tag, comm, &request)); break;
  }
  if (mode >= kept) MPI_OK(MPI_Start(&request));
  return request;
}
}  // namespace

MPI_Datatype at_bottom(const Layout& layout, int count, char* data) {
  if (layout.kind == Kind::mixed || layout.runs.empty()) return MPI_DATATYPE_NULL;
  if (count * static_cast<std::ptrdiff_t>(layout.runs.size()) > 300) return MPI_DATATYPE_NULL;
  std::vector<int> lengths;
  std::vector<MPI_Aint> addresses;
  for (int i = 0; i < count; ++i)
    for (const Run& run : layout.runs) {
      MPI_Aint address = 0;
      MPI_OK(MPI_Get_address(data + i * layout.extent + run.offset, &address));
      addresses.push_back(address);
      lengths.push_back(static_cast<int>(run.bytes / item_bytes(layout.kind)));
    }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_OK(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), addresses.data(),
                                  basic(layout.kind), &type));
  MPI_OK(MPI_Type_commit(&type));
  return type;
}

void Engine::send(const Message& message, bool may_block) {
  Comm& comm = pool_[message.comm];
  if (comm.me != message.source) return;
  Rng& rng = local_;
  auto leaving = std::make_shared<Leaving>();
  int inside = message.items == 0 ? rng.in(0, 5) : divisor(rng, message.items, message.items);
  leaving->layout = Layout::make(rng, message.kind, inside);
  leaving->count = message.items == 0 ? (inside == 0 ? rng.in(0, 3) : 0) : message.items / inside;
  std::vector<char> stream = stream_of(message.id, message.kind, message.items);
  leaving->buffer = Buffer::make(rng, arenas_, leaving->layout, leaving->count, stream.data(), stream.size());
  int bytes = static_cast<int>(stream.size());
  bool may_buffer = options_.threads == 1 && bytes < 40000 && bytes + 2000 < budget_buffered_;
  SendMode mode = choose_mode(rng, may_block, may_buffer);
  if (mode == buffered || mode == later_buffered || mode == kept_buffered) budget_buffered_ -= bytes + 2000;
  int die = rng.below(100);
  if (die >= 4 && die < 8)
    leaving->bottom = at_bottom(leaving->layout, leaving->count, leaving->buffer.data());
  operation(
      "%s to %d of communicator %d (%d ranks), tag %d, message %04llx, %d bytes, kind %d, layout %s of %zu "
      "runs%s",
      send_names[mode], message.target, comm.number, comm.size(), message.tag, message.id & 0xffffULL, bytes,
      static_cast<int>(message.kind), leaving->layout.shape.c_str(), leaving->layout.runs.size(),
      die < 4                                ? ", packed"
      : leaving->bottom != MPI_DATATYPE_NULL ? ", from MPI_BOTTOM"
                                             : "");
  const void* data = leaving->buffer.data();
  int count = leaving->count;
  MPI_Datatype type = leaving->layout.type;
  std::shared_ptr<std::vector<char>> packed;
  if (die < 4) {
    int room = 0;
    int at = 0;
    MPI_OK(MPI_Pack_size(count, type, comm.handle, &room));
    packed = std::make_shared<std::vector<char>>(static_cast<std::size_t>(room) + 1);
    MPI_OK(MPI_Pack(data, count, type, packed->data(), room, &at, comm.handle));
    data = packed->data();
    count = at;
    type = MPI_PACKED;
  } else if (leaving->bottom != MPI_DATATYPE_NULL) {
    data = MPI_BOTTOM;
    count = 1;
    type = leaving->bottom;
  }
  if (rng.percent(30)) leaving->buffer.protect();
  this->count(mix(message.id, 3), stream.data(), stream.size());
  MPI_Request request = start(mode, data, count, type, message.target, message.tag, comm.handle);
  if (die >= 8 && die < 16) leaving->layout.free_type();
  if (request == MPI_REQUEST_NULL) {
    leaving->buffer.same("send buffer");
    return;
  }
  std::string name = where.operation;
  enlist(request, mode >= kept, false, [leaving, packed, name](const MPI_Status*) {
    operation("%.200s, completed", name.c_str());
    leaving->buffer.same("send buffer");
  });
}

}  // namespace soak
