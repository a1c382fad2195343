// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Files are the library's. What they need of us is that requests of theirs be waited for in turn (g_in_turn).
#include "mpi/away.hpp"
#include "mpi/ours.hpp"
#include "mpi/request_table.hpp"

namespace nigh::mpi {
namespace {

template <class Call>
int begin(Call&& call) {
  const Away away;
  g_in_turn.store(true, std::memory_order_relaxed);
  return call();
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_File_iread_all(MPI_File file, void* buffer, int count, MPI_Datatype type, MPI_Request* request) {
  return begin([&] { return real().File_iread_all(file, buffer, count, type, request); });
}

int nigh_mpi_File_iread_at_all(MPI_File file, MPI_Offset offset, void* buffer, int count, MPI_Datatype type,
                               MPI_Request* request) {
  return begin([&] { return real().File_iread_at_all(file, offset, buffer, count, type, request); });
}

int nigh_mpi_File_iwrite_all(MPI_File file, const void* buffer, int count, MPI_Datatype type,
                             MPI_Request* request) {
  return begin([&] { return real().File_iwrite_all(file, buffer, count, type, request); });
}

int nigh_mpi_File_iwrite_at_all(MPI_File file, MPI_Offset offset, const void* buffer, int count,
                                MPI_Datatype type, MPI_Request* request) {
  return begin([&] { return real().File_iwrite_at_all(file, offset, buffer, count, type, request); });
}

int nigh_mpi_File_iread_all_c(MPI_File file, void* buffer, MPI_Count count, MPI_Datatype type,
                              MPI_Request* request) {
  return begin([&] { return real().File_iread_all_c(file, buffer, count, type, request); });
}

int nigh_mpi_File_iread_at_all_c(MPI_File file, MPI_Offset offset, void* buffer, MPI_Count count,
                                 MPI_Datatype type, MPI_Request* request) {
  return begin([&] { return real().File_iread_at_all_c(file, offset, buffer, count, type, request); });
}

int nigh_mpi_File_iwrite_all_c(MPI_File file, const void* buffer, MPI_Count count, MPI_Datatype type,
                               MPI_Request* request) {
  return begin([&] { return real().File_iwrite_all_c(file, buffer, count, type, request); });
}

int nigh_mpi_File_iwrite_at_all_c(MPI_File file, MPI_Offset offset, const void* buffer, MPI_Count count,
                                  MPI_Datatype type, MPI_Request* request) {
  return begin([&] { return real().File_iwrite_at_all_c(file, offset, buffer, count, type, request); });
}
