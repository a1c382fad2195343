// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Operations that only make sense between ranks that do them together: Sendrecv, persistent requests started
// again and again, ready sends, cancelling, truncation, communicators freed with messages under way, nobody
// as a partner.
#include <algorithm>
#include <numeric>
#include <string>

#include "check.hpp"
#include "engine.hpp"
#include "quirks.hpp"

namespace soak {

namespace {
// The pairs of senders and receivers: a permutation of the ranks, or of some of them.
struct Partners {
  int to = MPI_PROC_NULL;
  int from = MPI_PROC_NULL;
};
Partners draw_partners(Rng& rng, int size, int me, bool all) {
  std::vector<int> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  for (int i = size; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  std::vector<int> to(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) to[i] = order[i];
  if (!all && rng.percent(30)) to[rng.below(size)] = MPI_PROC_NULL;
  Partners partners;
  partners.to = to[me];
  for (int i = 0; i < size; ++i)
    if (to[i] == me) partners.from = i;
  return partners;
}
std::uint64_t of(std::uint64_t id, int rank, int round = 0) {
  return mix(id, static_cast<std::uint64_t>(rank) + 1000, static_cast<std::uint64_t>(round));
}
void check_nobody(const MPI_Status& status, const char* call) {
  int count = -1;
  MPI_OK(MPI_Get_count(&status, MPI_BYTE, &count));
  if (status.MPI_SOURCE != MPI_PROC_NULL || status.MPI_TAG != MPI_ANY_TAG || count != 0)
    fail("%s from nobody says source %d tag %d count %d", call, status.MPI_SOURCE, status.MPI_TAG, count);
}
}  // namespace

void Engine::exchange(std::uint64_t seed) {
  Rng rng(seed);
  Comm& comm = pool_[rng.below(pool_.count())];
  int which = rng.below(100);
  if (comm.me < 0) return;
  // These go on tags of their own, and on a communicator that nobody listens to by wildcards.
  for (const Wild& wild : wilds_)
    if (&pool_[wild.comm] == &comm) return;
  if (which < 40)
    exchange_sendrecv(rng, comm);
  else if (which < 58)
    exchange_persistent(rng, comm);
  else if (which < 62)
    exchange_wire_length(rng, comm);
  else if (which < 72)
    exchange_ready(rng, comm);
  else if (which < 82)
    exchange_cancel(rng, comm);
  else if (which < 86)
    exchange_truncated(rng, comm);
  else if (which < 93)
    exchange_freed(rng, comm);
  else if (which < 95)
    exchange_nobody(rng, comm);
  else if (which < 96)
    exchange_on_one_buffer(rng, comm);
  else if (which < 97)
    exchange_file(rng, comm);
  else
    exchange_window(rng, comm);
}

void Engine::exchange_sendrecv(Rng& rng, Comm& comm) {
  int me = comm.me;
  Partners partners = draw_partners(rng, comm.size(), me, false);
  Kind kind = static_cast<Kind>(rng.below(static_cast<int>(Kind::count)));
  budget_ = 3e6;
  int items = draw_items(rng, kind);
  bool replace = rng.percent(40);
  bool any = rng.percent(30);
  std::uint64_t id = rng.next();
  int tag = 1000 + static_cast<int>(id % 20000);  // nobody who is ahead may fall into MPI_ANY_SOURCE
  std::size_t bytes = item_bytes(kind) * static_cast<std::size_t>(items);
  operation("sendrecv%s on communicator %d (%d ranks), to %d from %d, %zu bytes", replace ? "_replace" : "",
            comm.number, comm.size(), partners.to, partners.from, bytes);
  std::vector<char> mine = stream_of(of(id, me), kind, items);
  bool nobody = partners.from == MPI_PROC_NULL;
  std::vector<char> theirs = stream_of(of(id, partners.from), kind, nobody ? 0 : items);
  int inside = items == 0 ? 1 : divisor(local_, items, items);
  Layout out = Layout::make(local_, kind, inside);
  Buffer from = Buffer::make(local_, arenas_, out, items / inside, mine.data(), bytes);
  MPI_Status status = fresh_status();
  int source = any && !nobody ? MPI_ANY_SOURCE : partners.from;
  if (replace) {
    MPI_OK(MPI_Sendrecv_replace(from.data(), items / inside, out.type, partners.to, tag, source, tag,
                                comm.handle, &status));
    from.expect(out, theirs.data(), theirs.size());
    from.same("replaced buffer");
    if (!nobody) check_status(status, partners.from, tag, theirs.size(), out);
  } else {
    int within = items == 0 ? 1 : divisor(local_, items, items);
    Layout in = Layout::make(local_, kind, within);
    Buffer to = Buffer::make(local_, arenas_, in, items / within + local_.below(2));
    MPI_OK(MPI_Sendrecv(from.data(), items / inside, out.type, partners.to, tag, to.data(), items / within,
                        in.type, source, tag, comm.handle, &status));
    to.expect(in, theirs.data(), theirs.size());
    to.same("receive buffer");
    from.same("send buffer");
    if (!nobody) check_status(status, partners.from, tag, theirs.size(), in);
  }
  if (nobody) check_nobody(status, "Sendrecv");
  count(of(id, me), theirs.data(), theirs.size());
}

// A halo exchange as codes do it: the requests are made once, started many times, the data changes in
// between.
void Engine::exchange_persistent(Rng& rng, Comm& comm) {
  int me = comm.me;
  int many = rng.in(1, 4);
  int rounds = rng.in(1, 5);
  std::uint64_t id = rng.next();
  operation("persistent exchange on communicator %d (%d ranks), %d pairs, %d rounds", comm.number,
            comm.size(), many, rounds);
  struct Way {
    Partners partners;
    Kind kind;
    int items;
    Layout out, in;
    Buffer from, to;
    int out_count, in_count;
  };
  std::vector<Way> ways(static_cast<std::size_t>(many));
  std::vector<MPI_Request> requests;
  for (int w = 0; w < many; ++w) {
    Way& way = ways[w];
    way.partners = draw_partners(rng, comm.size(), me, true);
    way.kind = static_cast<Kind>(rng.below(static_cast<int>(Kind::count)));
    budget_ = 1e6;
    way.items = draw_items(rng, way.kind);
    int inside = way.items == 0 ? 1 : divisor(local_, way.items, way.items);
    int within = way.items == 0 ? 1 : divisor(local_, way.items, way.items);
    way.out = Layout::make(local_, way.kind, inside);
    way.in = Layout::make(local_, way.kind, within);
    way.out_count = way.items / inside;
    way.in_count = way.items / within;
    way.from = Buffer::make(local_, arenas_, way.out, way.out_count);
    way.to = Buffer::make(local_, arenas_, way.in, way.in_count);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_OK(MPI_Recv_init(way.to.data(), way.in_count, way.in.type, way.partners.from, 700 + w, comm.handle,
                         &request));
    requests.push_back(request);
    bool sync = local_.percent(20);
    MPI_OK(sync ? MPI_Ssend_init(way.from.data(), way.out_count, way.out.type, way.partners.to, 700 + w,
                                 comm.handle, &request)
                : MPI_Send_init(way.from.data(), way.out_count, way.out.type, way.partners.to, 700 + w,
                                comm.handle, &request));
    requests.push_back(request);
  }
  int n = static_cast<int>(requests.size());
  int flag = 0;
  MPI_Status idle = fresh_status();
  MPI_OK(MPI_Test(&requests[0], &flag, &idle));  // inactive: complete and empty
  EXPECT(flag == 1 && requests[0] != MPI_REQUEST_NULL);
  std::string name = where.operation;
  for (int round = 0; round < rounds; ++round) {
    operation("%.200s, round %d", name.c_str(), round);
    for (Way& way : ways) {
      std::vector<char> stream =
          stream_of(of(id, me, round * 100 + static_cast<int>(&way - ways.data())), way.kind, way.items);
      way.out.scatter(stream.data(), stream.size(), way.from.data());
      way.from.snapshot();
    }
    if (local_.percent(60))
      MPI_OK(MPI_Startall(n, requests.data()));
    else
      for (MPI_Request& request : requests) MPI_OK(MPI_Start(&request));
    std::vector<MPI_Status> statuses(requests.size(), fresh_status());
    if (local_.percent(50)) {
      MPI_OK(MPI_Waitall(n, requests.data(), statuses.data()));
    } else {
      for (int i = n; i-- > 0;) MPI_OK(MPI_Wait(&requests[i], &statuses[i]));
    }
    for (int w = 0; w < many; ++w) {
      Way& way = ways[w];
      EXPECT(requests[2 * w] != MPI_REQUEST_NULL && requests[2 * w + 1] != MPI_REQUEST_NULL);
      std::vector<char> stream = stream_of(of(id, way.partners.from, round * 100 + w), way.kind, way.items);
      check_status(statuses[2 * w], way.partners.from, 700 + w, stream.size(), way.in);
      way.to.expect(way.in, stream.data(), stream.size());
      way.to.same("persistent receive buffer");
      way.from.same("persistent send buffer");
      count(of(id, me, round * 100 + w), stream.data(), stream.size());
    }
  }
  for (MPI_Request& request : requests) MPI_OK(MPI_Request_free(&request));
}

void Engine::exchange_ready(Rng& rng, Comm& comm) {
  int me = comm.me;
  Partners partners = draw_partners(rng, comm.size(), me, true);
  budget_ = 1e6;
  int bytes = draw_items(rng, Kind::byte);
  std::uint64_t id = rng.next();
  operation("ready send on communicator %d (%d ranks), to %d from %d, %d bytes", comm.number, comm.size(),
            partners.to, partners.from, bytes);
  Layout plain = Layout::make(local_, Kind::byte, 1, true);
  std::vector<char> mine = stream_of(of(id, me), Kind::byte, bytes);
  std::vector<char> theirs = stream_of(of(id, partners.from), Kind::byte, bytes);
  Buffer from = Buffer::make(local_, arenas_, plain, bytes, mine.data(), mine.size());
  Buffer to = Buffer::make(local_, arenas_, plain, bytes);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_OK(MPI_Irecv(to.data(), bytes, MPI_BYTE, partners.from, 800, comm.handle, &requests[0]));
  MPI_OK(MPI_Barrier(comm.handle));
  int how = local_.below(3);
  if (how == 0) MPI_OK(MPI_Rsend(from.data(), bytes, MPI_BYTE, partners.to, 800, comm.handle));
  if (how == 1) MPI_OK(MPI_Irsend(from.data(), bytes, MPI_BYTE, partners.to, 800, comm.handle, &requests[1]));
  if (how == 2) {
    MPI_OK(MPI_Rsend_init(from.data(), bytes, MPI_BYTE, partners.to, 800, comm.handle, &requests[1]));
    MPI_OK(MPI_Start(&requests[1]));
  }
  MPI_Status statuses[2] = {fresh_status(), fresh_status()};
  MPI_OK(MPI_Waitall(2, requests, statuses));
  if (how == 2) MPI_OK(MPI_Request_free(&requests[1]));
  check_status(statuses[0], partners.from, 800, theirs.size(), plain);
  to.expect_raw(theirs.data(), theirs.size(), 0);
  to.same("receive buffer");
  from.same("send buffer");
  count(of(id, me), theirs.data(), theirs.size());
}

// A receive that nothing matches must be cancelled; one that a message is on its way to is either, and then
// the message is still there. A send may be cancelled or not, and the receiver sees which.
void Engine::exchange_cancel(Rng& rng, Comm& comm) {
  int me = comm.me;
  Partners partners = draw_partners(rng, comm.size(), me, true);
  budget_ = 5e5;
  int bytes = draw_items(rng, Kind::byte);
  std::uint64_t id = rng.next();
  bool of_send = rng.percent(30);
  operation("cancel a %s on communicator %d (%d ranks), to %d from %d, %d bytes",
            of_send ? "send" : "receive", comm.number, comm.size(), partners.to, partners.from, bytes);
  Layout plain = Layout::make(local_, Kind::byte, 1, true);
  std::vector<char> mine = stream_of(of(id, me), Kind::byte, bytes);
  std::vector<char> theirs = stream_of(of(id, partners.from), Kind::byte, bytes);
  Buffer from = Buffer::make(local_, arenas_, plain, bytes, mine.data(), mine.size());
  Buffer to = Buffer::make(local_, arenas_, plain, bytes);
  MPI_Request never = MPI_REQUEST_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status = fresh_status();
  int cancelled = -1;
  MPI_OK(MPI_Irecv(to.data(), bytes, MPI_BYTE, MPI_ANY_SOURCE, 899, comm.handle, &never));
  MPI_OK(MPI_Cancel(&never));
  MPI_OK(MPI_Wait(&never, &status));
  MPI_OK(MPI_Test_cancelled(&status, &cancelled));
  if (!cancelled) fail("a receive that nothing matched was not cancelled");
  MPI_Request sent = MPI_REQUEST_NULL;
  MPI_OK(MPI_Irecv(to.data(), bytes, MPI_BYTE, partners.from, 801, comm.handle, &request));
  MPI_OK(MPI_Isend(from.data(), bytes, MPI_BYTE, partners.to, 801, comm.handle, &sent));
  int gone = 0;
  if (of_send) {
    MPI_OK(MPI_Cancel(&sent));
    MPI_Status left = fresh_status();
    MPI_OK(MPI_Wait(&sent, &left));
    MPI_OK(MPI_Test_cancelled(&left, &gone));
  }
  int came = 0;
  MPI_OK(MPI_Sendrecv(&gone, 1, MPI_INT, partners.to, 802, &came, 1, MPI_INT, partners.from, 802, comm.handle,
                      MPI_STATUS_IGNORE));
  bool expected = !(of_send && came);
  if (!of_send || !expected) MPI_OK(MPI_Cancel(&request));
  status = fresh_status();
  MPI_OK(MPI_Wait(&request, &status));
  MPI_OK(MPI_Test_cancelled(&status, &cancelled));
  if (!expected && !cancelled) fail("a receive was completed by a send that was cancelled");
  if (cancelled) to.same("buffer of a cancelled receive");
  if (cancelled && expected) {
    status = fresh_status();
    MPI_OK(MPI_Recv(to.data(), bytes, MPI_BYTE, partners.from, 801, comm.handle, &status));
  }
  if (expected) {
    check_status(status, partners.from, 801, theirs.size(), plain);
    to.expect_raw(theirs.data(), theirs.size(), 0);
  }
  to.same("receive buffer");
  if (!of_send) MPI_OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  from.same("send buffer");
}

// Too small a buffer: an error of that class, and not a byte behind the buffer.
void Engine::exchange_truncated(Rng& rng, Comm& comm) {
  if (!options_.errors || comm.size() < 2) return;
  int source = rng.below(comm.size());
  int target = (source + 1 + rng.below(comm.size() - 1)) % comm.size();
  budget_ = 5e5;
  int bytes = 8 + draw_items(rng, Kind::byte);
  if (quirks::truncates_behind && bytes > 3900) bytes = 8 + bytes % 3900;
  int room = rng.below(bytes);
  int how = rng.below(3);
  std::uint64_t id = rng.next();
  operation("%d bytes from %d into room for %d at %d on communicator %d, form %d", bytes, source, room,
            target, comm.number, how);
  Layout plain = Layout::make(local_, Kind::byte, 1, true);
  if (comm.me == source) {
    std::vector<char> stream = stream_of(id, Kind::byte, bytes);
    Buffer from = Buffer::make(local_, arenas_, plain, bytes, stream.data(), stream.size());
    MPI_OK(MPI_Send(from.data(), bytes, MPI_BYTE, target, 803, comm.handle));
    from.same("send buffer");
  }
  if (comm.me == target) {
    MPI_Errhandler old = MPI_ERRHANDLER_NULL;
    MPI_OK(MPI_Comm_get_errhandler(comm.handle, &old));
    MPI_OK(MPI_Comm_set_errhandler(comm.handle, MPI_ERRORS_RETURN));
    if (quirks::errors_of_the_world) MPI_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    Buffer to = Buffer::make(local_, arenas_, plain, room);
    MPI_Status status = fresh_status();
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    if (how == 0) {
      code = MPI_Recv(to.data(), room, MPI_BYTE, source, 803, comm.handle, &status);
    } else {
      MPI_OK(MPI_Irecv(to.data(), room, MPI_BYTE, source, 803, comm.handle, &request));
      code = how == 1 ? MPI_Wait(&request, &status) : MPI_Waitall(1, &request, &status);
      if (how == 2) {
        if (code != MPI_ERR_IN_STATUS) fail("MPI_Waitall returned %d for a truncated receive", code);
        code = status.MPI_ERROR;
      }
    }
    int kind = MPI_SUCCESS;
    MPI_OK(MPI_Error_class(code, &kind));
    if (kind != MPI_ERR_TRUNCATE) fail("a truncated receive returned class %d", kind);
    to.expect_anything_in_data(plain, room);
    to.same("buffer of a truncated receive");
    if (quirks::errors_of_the_world) MPI_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    MPI_OK(MPI_Comm_set_errhandler(comm.handle, old));
    if (old != MPI_ERRORS_ARE_FATAL && old != MPI_ERRORS_RETURN) MPI_OK(MPI_Errhandler_free(&old));
  }
}

// Messages under way when their communicator is freed still arrive.
void Engine::exchange_freed(Rng& rng, Comm& comm) {
  int me = comm.me;
  Partners partners = draw_partners(rng, comm.size(), me, true);
  budget_ = 1e6;
  int bytes = draw_items(rng, Kind::byte);
  std::uint64_t id = rng.next();
  operation("exchange on a freed dup of communicator %d (%d ranks), to %d from %d, %d bytes", comm.number,
            comm.size(), partners.to, partners.from, bytes);
  MPI_Comm dup = MPI_COMM_NULL;
  MPI_OK(MPI_Comm_dup(comm.handle, &dup));
  struct Both {
    Buffer from, to;
  };
  auto both = std::make_shared<Both>();
  auto plain = std::make_shared<Layout>(Layout::make(local_, Kind::byte, 1, true));
  std::vector<char> mine = stream_of(of(id, me), Kind::byte, bytes);
  both->from = Buffer::make(local_, arenas_, *plain, bytes, mine.data(), mine.size());
  both->to = Buffer::make(local_, arenas_, *plain, bytes);
  MPI_Request in = MPI_REQUEST_NULL;
  MPI_Request out = MPI_REQUEST_NULL;
  MPI_OK(MPI_Irecv(both->to.data(), bytes, MPI_BYTE, partners.from, 804, dup, &in));
  MPI_OK(MPI_Isend(both->from.data(), bytes, MPI_BYTE, partners.to, 804, dup, &out));
  MPI_OK(MPI_Comm_free(&dup));
  std::string name = where.operation;
  int from = partners.from;
  enlist(in, false, true, [this, both, plain, name, id, from, bytes, me](const MPI_Status* status) {
    operation("%.200s, completed", name.c_str());
    std::vector<char> theirs = stream_of(of(id, from), Kind::byte, bytes);
    check_status(*status, from, 804, theirs.size(), *plain);
    both->to.expect_raw(theirs.data(), theirs.size(), 0);
    both->to.same("receive buffer");
    count(of(id, me), theirs.data(), theirs.size());
  });
  enlist(out, false, false, [both](const MPI_Status*) { both->from.same("send buffer"); });
}

void Engine::exchange_nobody(Rng&, Comm& comm) {
  operation("MPI_PROC_NULL on communicator %d", comm.number);
  char bytes[300] = {};
  MPI_Status status = fresh_status();
  MPI_OK(MPI_Send(bytes, 300, MPI_CHAR, MPI_PROC_NULL, 1, comm.handle));
  MPI_OK(MPI_Recv(bytes, 300, MPI_CHAR, MPI_PROC_NULL, 1, comm.handle, &status));
  check_nobody(status, "Recv");
  MPI_Request requests[2];
  MPI_OK(MPI_Isend(bytes, 300, MPI_CHAR, MPI_PROC_NULL, 1, comm.handle, &requests[0]));
  MPI_OK(MPI_Irecv(bytes, 300, MPI_CHAR, MPI_PROC_NULL, MPI_ANY_TAG, comm.handle, &requests[1]));
  MPI_Status two[2] = {fresh_status(), fresh_status()};
  if (quirks::waitall_forgets_nobody) MPI_OK(MPI_Wait(&requests[1], &two[1]));
  MPI_OK(MPI_Waitall(2, requests, two));
  if (!quirks::waitall_forgets_nobody) check_nobody(two[1], "Irecv");
  status = fresh_status();
  MPI_OK(MPI_Probe(MPI_PROC_NULL, 3, comm.handle, &status));
  check_nobody(status, "Probe");
  MPI_Message message = MPI_MESSAGE_NULL;
  status = fresh_status();
  MPI_OK(MPI_Mprobe(MPI_PROC_NULL, 3, comm.handle, &message, &status));
  EXPECT(message == MPI_MESSAGE_NO_PROC);
  check_nobody(status, "Mprobe");
  status = fresh_status();
  MPI_OK(MPI_Mrecv(bytes, 300, MPI_CHAR, &message, &status));
  EXPECT(message == MPI_MESSAGE_NULL);
  check_nobody(status, "Mrecv");
  MPI_Request null = MPI_REQUEST_NULL;
  int flag = 0;
  MPI_OK(MPI_Test(&null, &flag, &status));
  EXPECT(flag == 1 && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
}

}  // namespace soak
