// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Isendrecv and MPI_Isendrecv_replace (MPI 4): a receive and a send of ours behind one placeholder. The
// library's own would receive a descriptor and not know it. The form that replaces sends a packed copy.
#include <climits>
#include <cstdlib>
#include <new>

#include "mpi/ours.hpp"
#include "mpi/p2p.hpp"

namespace nigh::mpi {
namespace {

class Pair final : public Operation {
 public:
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  void* copy = nullptr;  // what is sent, if it is ours

  bool advance() override {
    test(receive, received_, receive_status_);
    test(send, sent_, send_status_);
    return received_ && sent_;
  }
  int end(MPI_Status& status) override {
    const int kept = status.MPI_ERROR;
    status = receive_status_;
    status.MPI_ERROR = kept;
    return error_;
  }
  void release() override {
    std::free(copy);
    this->~Pair();
    std::free(this);
  }

 private:
  void test(MPI_Request& request, bool& done, MPI_Status& status) {
    if (done) return;
    int flag = 0;
    const int error = nigh_mpi_Test(&request, &flag, &status);
    if (error != MPI_SUCCESS) error_ = error;
    done = flag != 0 || error != MPI_SUCCESS;
  }
  MPI_Status receive_status_, send_status_;
  bool received_ = false, sent_ = false;
  int error_ = MPI_SUCCESS;
};

Pair* new_pair() {
  void* memory = std::malloc(sizeof(Pair));
  return memory ? new (memory) Pair : nullptr;
}

// Both are started, or an error was raised.
int finish_start(Pair* pair, int error, MPI_Comm comm, MPI_Request* request) {
  if (error == MPI_SUCCESS && adopt(pair, request)) return MPI_SUCCESS;
  if (pair->receive != MPI_REQUEST_NULL) {
    nigh_mpi_Cancel(&pair->receive);
    nigh_mpi_Request_free(&pair->receive);
  }
  if (pair->send != MPI_REQUEST_NULL) nigh_mpi_Wait(&pair->send, MPI_STATUS_IGNORE);
  pair->release();
  return error != MPI_SUCCESS ? error : raise(comm, MPI_ERR_NO_MEM);
}

template <class Isend, class Irecv, class Count>
int start_pair(Isend isend, Irecv irecv, const void* out, Count out_count, MPI_Datatype out_type, int dest,
               int out_tag, void* in, Count in_count, MPI_Datatype in_type, int source, int in_tag,
               MPI_Comm comm, MPI_Request* request) {
  Pair* pair = new_pair();
  if (!pair) return raise(comm, MPI_ERR_NO_MEM);
  int error = irecv(in, in_count, in_type, source, in_tag, comm, &pair->receive);
  if (error == MPI_SUCCESS) error = isend(out, out_count, out_type, dest, out_tag, comm, &pair->send);
  return finish_start(pair, error, comm, request);
}

template <class Isend, class Irecv, class Count>
int start_replace(Isend isend, Irecv irecv, void* buffer, Count count, MPI_Datatype type, int dest,
                  int out_tag, int source, int in_tag, MPI_Comm comm, MPI_Request* request) {
  TypeInfo* info = type_info(type);
  if (!info || count < 0) return raise(comm, info ? MPI_ERR_COUNT : MPI_ERR_TYPE);
  const std::size_t bytes = info->size * static_cast<std::size_t>(count);
  if (bytes > INT_MAX && sizeof(Count) == sizeof(int)) return raise(comm, MPI_ERR_COUNT);
  Pair* pair = new_pair();
  void* copy = pair ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr;
  if (!copy || !pack(copy, bytes, buffer, count, *info)) {
    std::free(copy);
    if (pair) pair->release();
    return raise(comm, MPI_ERR_NO_MEM);
  }
  pair->copy = copy;
  int error = irecv(buffer, count, type, source, in_tag, comm, &pair->receive);
  if (error == MPI_SUCCESS)
    error = isend(copy, static_cast<Count>(bytes), MPI_BYTE, dest, out_tag, comm, &pair->send);
  return finish_start(pair, error, comm, request);
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

#define NIGH_ISENDRECV(name, replace, suffix, Count)                                                         \
  int nigh_mpi_##name(const void* out, Count out_count, MPI_Datatype out_type, int dest, int out_tag,        \
                      void* in, Count in_count, MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm, \
                      MPI_Request* request) {                                                                \
    if (!request || !is_plain(out, out_count, out_type, dest, out_tag, comm, false) ||                       \
        !is_plain(in, in_count, in_type, source, in_tag, comm, true))                                        \
      return real().name(out, out_count, out_type, dest, out_tag, in, in_count, in_type, source, in_tag,     \
                         comm, request);                                                                     \
    return start_pair(nigh_mpi_Isend##suffix, nigh_mpi_Irecv##suffix, out, out_count, out_type, dest,        \
                      out_tag, in, in_count, in_type, source, in_tag, comm, request);                        \
  }                                                                                                          \
  int nigh_mpi_##replace(void* buffer, Count count, MPI_Datatype type, int dest, int out_tag, int source,    \
                         int in_tag, MPI_Comm comm, MPI_Request* request) {                                  \
    if (!request || !is_plain(buffer, count, type, dest, out_tag, comm, false) ||                            \
        !is_plain(buffer, count, type, source, in_tag, comm, true))                                          \
      return real().replace(buffer, count, type, dest, out_tag, source, in_tag, comm, request);              \
    return start_replace(nigh_mpi_Isend##suffix, nigh_mpi_Irecv##suffix, buffer, count, type, dest, out_tag, \
                         source, in_tag, comm, request);                                                     \
  }
NIGH_ISENDRECV(Isendrecv, Isendrecv_replace, , int)
NIGH_ISENDRECV(Isendrecv_c, Isendrecv_replace_c, _c, MPI_Count)
