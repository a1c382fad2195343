// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Several receives on one buffer. MPI forbids it, programs do it (osu_bw, osu_bibw), and with the libraries
// alone it works where all messages hold the same.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "engine.hpp"

namespace soak {

void Engine::exchange_on_one_buffer(Rng& rng, Comm& comm) {
  int me = comm.me;
  int size = comm.size();
  if (size == 1) return;
  int messages = rng.in(2, 40);
  int n = rng.percent(50) ? rng.in(200, 4000) : rng.in(4000, 100000);
  operation("%d messages of %d bytes on one buffer, communicator %d (%d ranks)", messages, n, comm.number,
            size);
  constexpr int tag = 997;
  int to = (me + 1) % size;
  int from = (me + size - 1) % size;
  std::vector<char> out(static_cast<std::size_t>(n), static_cast<char>(me * 5 + n));
  std::vector<char> in(static_cast<std::size_t>(n), -1);
  std::vector<MPI_Request> receives(static_cast<std::size_t>(messages));
  std::vector<MPI_Request> sends(receives.size());
  std::vector<MPI_Status> statuses(receives.size());
  for (MPI_Request& one : receives) MPI_OK(MPI_Irecv(in.data(), n, MPI_CHAR, from, tag, comm.handle, &one));
  for (MPI_Request& one : sends) MPI_OK(MPI_Isend(out.data(), n, MPI_CHAR, to, tag, comm.handle, &one));
  MPI_OK(MPI_Waitall(messages, sends.data(), MPI_STATUSES_IGNORE));
  MPI_OK(MPI_Waitall(messages, receives.data(), statuses.data()));
  for (const MPI_Status& status : statuses) {
    int bytes = -1;
    MPI_OK(MPI_Get_count(&status, MPI_CHAR, &bytes));
    if (bytes != n || status.MPI_SOURCE != from || status.MPI_TAG != tag)
      fail("%d bytes from %d with tag %d", bytes, status.MPI_SOURCE, status.MPI_TAG);
  }
  if (std::count(in.begin(), in.end(), static_cast<char>(from * 5 + n)) != n)
    fail("a buffer of several receives holds something else than all messages");
}

}  // namespace soak
