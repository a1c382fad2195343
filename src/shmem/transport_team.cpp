// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Teams that span nodes: a communicator each, and MPI's non-blocking collectives, which we wait for ourselves
// since a member may still owe another an answer. Only the making of a communicator waits within MPI; before
// it the members meet, so that none of them still waits for one that no longer serves.
#include <climits>

#include "shmem/transport.hpp"

namespace nigh::shmem {

// A dissemination barrier of the members, over messages.
void Transport::meet(const int* pes, int count, int member) {
  for (int step = 1; step < count; step *= 2) {
    char in = 0, out = 0;
    MPI_Request sent = MPI_REQUEST_NULL;
    run([&](MPI_Request* request) {
      MPI_Irecv(&in, 1, MPI_CHAR, pes[(member + count - step) % count], meet_tag, talk_, request);
      MPI_Isend(&out, 1, MPI_CHAR, pes[(member + step) % count], meet_tag, talk_, &sent);
    });
    end(sent);
  }
}

void* Transport::make_team(const int* pes, int count) {
  int member = 0;
  while (member < count && pes[member] != rank_) ++member;
  meet(pes, count, member);
  auto team = std::make_unique<Team>();
  team->members = count;
  std::lock_guard guard(lock_);
  MPI_Group everyone = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
  MPI_Comm_group(all_, &everyone);
  MPI_Group_incl(everyone, count, pes, &members);
  MPI_Comm_create_group(all_, members, 0, &team->comm);
  MPI_Group_free(&members);
  MPI_Group_free(&everyone);
  return team.release();
}

void Transport::end_team(void* team) {
  std::unique_ptr<Team> owned(static_cast<Team*>(team));
  std::lock_guard guard(lock_);
  if (!windows_.empty()) MPI_Comm_free(&owned->comm);
}

void Transport::barrier(void* team) {
  run([&](MPI_Request* request) { MPI_Ibarrier(static_cast<Team*>(team)->comm, request); });
}

void Transport::bcast(void* team, void* data, std::size_t bytes, int root) {
  const Cargo block(bytes);
  run([&](MPI_Request* request) {
    MPI_Ibcast(data, block.count, block.type, root, static_cast<Team*>(team)->comm, request);
  });
}

void Transport::allgather(void* team, const void* send, void* receive, std::size_t bytes) {
  const Cargo block(bytes);
  run([&](MPI_Request* request) {
    MPI_Iallgather(send, block.count, block.type, receive, block.count, block.type,
                   static_cast<Team*>(team)->comm, request);
  });
}

void Transport::allgatherv(void* team, const void* send, void* receive, const std::size_t* sizes,
                           const std::size_t* offsets) {
  auto* of = static_cast<Team*>(team);
  int member = 0;
  MPI_Comm_rank(of->comm, &member);
  const auto members = static_cast<std::size_t>(of->members);
  if (offsets[members - 1] + sizes[members - 1] > INT_MAX) {  // beyond what its arguments can say
    for (std::size_t i = 0; i < members; ++i) {
      std::byte* at = static_cast<std::byte*>(receive) + offsets[i];
      if (static_cast<int>(i) == member && sizes[i] > 0 && at != send) __builtin_memcpy(at, send, sizes[i]);
      bcast(team, at, sizes[i], static_cast<int>(i));
    }
    return;
  }
  const std::vector<int> counts(sizes, sizes + members), places(offsets, offsets + members);
  run([&](MPI_Request* request) {
    MPI_Iallgatherv(send, counts[static_cast<std::size_t>(member)], MPI_BYTE, receive, counts.data(),
                    places.data(), MPI_BYTE, of->comm, request);
  });
}

void Transport::alltoall(void* team, const void* send, void* receive, std::size_t bytes) {
  const Cargo block(bytes);
  run([&](MPI_Request* request) {
    MPI_Ialltoall(send, block.count, block.type, receive, block.count, block.type,
                  static_cast<Team*>(team)->comm, request);
  });
}

namespace {

MPI_Op op_of(message::Op op) {
  switch (op) {
    case message::Op::sum: return MPI_SUM;
    case message::Op::prod: return MPI_PROD;
    case message::Op::min: return MPI_MIN;
    case message::Op::max: return MPI_MAX;
    case message::Op::band: return MPI_BAND;
    case message::Op::bor: return MPI_BOR;
    case message::Op::bxor: return MPI_BXOR;
    default: return MPI_OP_NULL;
  }
}

MPI_Datatype type_of(message::Element element) {
  using message::Element;
  switch (element) {
    case Element::i8: return MPI_INT8_T;
    case Element::i16: return MPI_INT16_T;
    case Element::i32: return MPI_INT32_T;
    case Element::i64: return MPI_INT64_T;
    case Element::u8: return MPI_UINT8_T;
    case Element::u16: return MPI_UINT16_T;
    case Element::u32: return MPI_UINT32_T;
    case Element::u64: return MPI_UINT64_T;
    case Element::f32: return MPI_FLOAT;
    case Element::f64: return MPI_DOUBLE;
    case Element::f80: return MPI_LONG_DOUBLE;
    case Element::c32: return MPI_C_FLOAT_COMPLEX;
    case Element::c64: return MPI_C_DOUBLE_COMPLEX;
    default: return MPI_DATATYPE_NULL;
  }
}

}  // namespace

bool Transport::reduce(void* team, const void* send, void* receive, std::size_t count, message::Op op,
                       message::Element element) {
  MPI_Op how = op_of(op);
  MPI_Datatype type = type_of(element);
  if (how == MPI_OP_NULL || type == MPI_DATATYPE_NULL) return false;
  constexpr std::size_t most = std::size_t{1} << 30;
  int size = 0;
  MPI_Type_size(type, &size);
  for (std::size_t done = 0; done < count; done += most) {
    const int now = static_cast<int>(count - done < most ? count - done : most);
    const std::size_t at = done * static_cast<std::size_t>(size);
    run([&](MPI_Request* request) {
      MPI_Iallreduce(send == receive ? MPI_IN_PLACE : static_cast<const std::byte*>(send) + at,
                     static_cast<std::byte*>(receive) + at, now, type, how, static_cast<Team*>(team)->comm,
                     request);
    });
  }
  return true;
}

}  // namespace nigh::shmem
