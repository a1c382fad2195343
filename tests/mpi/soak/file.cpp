// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Files, which are the library's: but ROMIO's non-blocking collective operations are made of non-blocking
// collectives and messages, which are ours, driven from within the waits of the program.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "check.hpp"
#include "engine.hpp"

namespace soak {

// All ranks write their blocks in two operations that are under way at once, and read their neighbour's.
void Engine::exchange_file(Rng& rng, Comm& comm) {
  if (options_.threads > 1) return;
  int me = comm.me;
  int size = comm.size();
  int n = rng.in(1, 5000);
  operation("file on communicator %d (%d ranks), 2 x %d ints a rank", comm.number, size, n);
  int maker = getpid();
  MPI_OK(MPI_Bcast(&maker, 1, MPI_INT, 0, comm.handle));
  const char* folder = getenv("TMPDIR");
  std::string name = std::string(folder != nullptr ? folder : "/tmp") + "/nigh-soak." + std::to_string(maker);
  MPI_File file = MPI_FILE_NULL;
  MPI_OK(MPI_File_open(comm.handle, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &file));
  std::vector<int> first(static_cast<std::size_t>(n), 2 * me);
  std::vector<int> second(static_cast<std::size_t>(n), 2 * me + 1);
  auto place = [&](int block) {
    return static_cast<MPI_Offset>(block) * n * static_cast<MPI_Offset>(sizeof(int));
  };
  MPI_Request requests[3];
  int sum = 0;
  MPI_OK(MPI_File_iwrite_at_all(file, place(me), first.data(), n, MPI_INT, &requests[0]));
  MPI_OK(MPI_File_iwrite_at_all(file, place(size + me), second.data(), n, MPI_INT, &requests[1]));
  MPI_OK(MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm.handle, &requests[2]));
  MPI_OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  if (sum != size * (size - 1) / 2) fail("a sum beside file operations is wrong");
  MPI_OK(MPI_File_sync(file));
  MPI_OK(MPI_Barrier(comm.handle));
  MPI_OK(MPI_File_sync(file));
  int from = (me + 1) % size;
  MPI_OK(MPI_File_iread_at_all(file, place(from), first.data(), n, MPI_INT, &requests[0]));
  MPI_OK(MPI_File_iread_at_all(file, place(size + from), second.data(), n, MPI_INT, &requests[1]));
  MPI_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < n; ++i)
    if (first[static_cast<std::size_t>(i)] != 2 * from || second[static_cast<std::size_t>(i)] != 2 * from + 1)
      fail("a file doesn't hold what was written to it");
  MPI_OK(MPI_File_close(&file));
}

}  // namespace soak
