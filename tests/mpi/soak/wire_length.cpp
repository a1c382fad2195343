// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of just the 240 bytes that a descriptor has, between others that are a little shorter or longer or
// go by descriptor themselves: received later into rooms of all sizes, some of them after a probe while
// others have come but were not asked for; and ended by every call there is.
#include <algorithm>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "engine.hpp"

namespace soak {

namespace {

struct Arrival {
  int bytes = 0;
  std::vector<char> room;
  MPI_Request request = MPI_REQUEST_NULL;
};

constexpr int tag = 996;

void check(const Arrival& one, std::uint64_t id, const MPI_Status& status, int from) {
  int bytes = -1;
  MPI_OK(MPI_Get_count(&status, MPI_CHAR, &bytes));
  if (bytes != one.bytes || status.MPI_SOURCE != from || status.MPI_TAG != tag)
    fail("%d bytes instead of %d from %d with tag %d", bytes, one.bytes, status.MPI_SOURCE, status.MPI_TAG);
  std::vector<char> wanted(one.room.size(), 0x55);
  content(id, wanted.data(), static_cast<std::size_t>(one.bytes));
  if (one.room != wanted) fail("a message of %d bytes holds something else", one.bytes);
}

// By one call or as many as it takes; each status goes where its request was.
void end_all(Rng& rng, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses) {
  int n = static_cast<int>(requests.size());
  std::vector<int> indices(requests.size());
  std::vector<MPI_Status> some(requests.size());
  int left = n;
  int flag = 0;
  int way = rng.below(8);
  while (left > 0) {
    int index = 0;
    int ended = 0;
    switch (way) {
      case 0: MPI_OK(MPI_Waitall(n, requests.data(), statuses.data())); return;
      case 1:
        for (flag = 0; !flag;) MPI_OK(MPI_Testall(n, requests.data(), &flag, statuses.data()));
        return;
      case 2:
      case 3:
        MPI_OK((way == 2 ? MPI_Waitsome : MPI_Testsome)(n, requests.data(), &ended, indices.data(),
                                                        some.data()));
        for (int k = 0; k < ended; ++k) statuses[indices[k]] = some[k];
        left -= ended;
        break;
      case 4:
        MPI_OK(MPI_Waitany(n, requests.data(), &index, some.data()));
        statuses[index] = some[0];
        --left;
        break;
      case 5:
        MPI_OK(MPI_Testany(n, requests.data(), &index, &flag, some.data()));
        if (flag) statuses[index] = some[0], --left;
        break;
      default:
        --left;
        if (rng.percent(40)) {
          for (flag = 0; !flag;) MPI_OK(MPI_Request_get_status(requests[left], &flag, some.data()));
          MPI_OK(MPI_Wait(&requests[left], &statuses[left]));
          int told = -1, is = -2;
          MPI_OK(MPI_Get_count(some.data(), MPI_CHAR, &told));
          MPI_OK(MPI_Get_count(&statuses[left], MPI_CHAR, &is));
          if (told != is) fail("MPI_Request_get_status tells of %d bytes, MPI_Wait of %d", told, is);
        } else if (way == 6) {
          MPI_OK(MPI_Wait(&requests[left], &statuses[left]));
        } else {
          for (flag = 0; !flag;) MPI_OK(MPI_Test(&requests[left], &flag, &statuses[left]));
        }
    }
  }
}

}  // namespace

void Engine::exchange_wire_length(Rng& rng, Comm& comm) {
  int me = comm.me;
  int size = comm.size();
  if (size == 1) return;
  std::vector<Arrival> arrivals(static_cast<std::size_t>(rng.in(1, 40)));
  operation("%zu messages of about 240 bytes, communicator %d (%d ranks)", arrivals.size(), comm.number,
            size);
  std::uint64_t number = rng.next();
  int to = (me + 1) % size;
  int from = (me + size - 1) % size;
  for (Arrival& one : arrivals) {
    int die = rng.below(10);
    one.bytes = die < 5 ? 240 : die < 8 ? rng.in(200, 300) : rng.in(3000, 12000);
  }
  std::size_t probed = arrivals.size();
  if (local_.percent(60)) probed = static_cast<std::size_t>(local_.below(static_cast<int>(arrivals.size())));
  std::vector<MPI_Request> requests;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    Arrival& one = arrivals[i];
    int more = local_.percent(30) ? 0 : local_.percent(70) ? local_.in(0, 2000) : local_.in(0, 20000);
    one.room.assign(static_cast<std::size_t>(one.bytes + more), 0x55);
    if (i >= probed) continue;
    MPI_OK(MPI_Irecv(one.room.data(), one.bytes + more, MPI_CHAR, local_.percent(50) ? from : MPI_ANY_SOURCE,
                     tag, comm.handle, &requests.emplace_back()));
  }
  std::vector<std::vector<char>> out;
  std::vector<MPI_Request> sends;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    std::vector<char>& data = out.emplace_back(static_cast<std::size_t>(arrivals[i].bytes));
    content(mix(number, static_cast<std::uint64_t>(me), i), data.data(), data.size());
    MPI_OK(MPI_Isend(data.data(), arrivals[i].bytes, MPI_CHAR, to, tag, comm.handle, &sends.emplace_back()));
  }
  const auto id = [&](std::size_t i) { return mix(number, static_cast<std::uint64_t>(from), i); };
  for (std::size_t i = probed; i < arrivals.size(); ++i) {
    Arrival& one = arrivals[i];
    MPI_Status status;
    int bytes = -1;
    MPI_OK(MPI_Probe(local_.percent(50) ? from : MPI_ANY_SOURCE, tag, comm.handle, &status));
    MPI_OK(MPI_Get_count(&status, MPI_CHAR, &bytes));
    if (bytes != one.bytes) fail("a probe tells of %d bytes, not %d", bytes, one.bytes);
    MPI_OK(MPI_Recv(one.room.data(), static_cast<int>(one.room.size()), MPI_CHAR, from, tag, comm.handle,
                    &status));
    check(one, id(i), status, from);
  }
  std::vector<MPI_Status> statuses(requests.size());
  end_all(local_, requests, statuses);
  for (std::size_t i = 0; i < requests.size(); ++i) check(arrivals[i], id(i), statuses[i], from);
  MPI_OK(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE));
}

}  // namespace soak
