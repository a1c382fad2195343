// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Sends and receives of every size and mode, exchanges that must not hang, and buffers of every kind.
#include <sys/wait.h>
#include <unistd.h>

#include "traps.h"

// 0 -> 1 -> 0 with MPI_Send and MPI_Recv.
void sizes_blocking(void) {
  for (int i = 0; i < size_count && rank < 2; ++i) {
    const int n = sizes[i];
    char *out = heap((size_t)n), *in = heap((size_t)n + 64);
    MPI_Status status;
    fill(out, (size_t)n, (unsigned)i);
    if (rank == 0) MPI_Send(out, n, MPI_BYTE, 1, i, MPI_COMM_WORLD);
    MPI_Recv(in, n + 64, MPI_BYTE, !rank, i, MPI_COMM_WORLD, &status);
    if (rank == 1) MPI_Send(out, n, MPI_BYTE, 0, i, MPI_COMM_WORLD);
    CHECK(filled(in, (size_t)n, (unsigned)i) && in[n] == (char)0xee);
    CHECK(count_of(&status) == n && status.MPI_SOURCE == !rank && status.MPI_TAG == i);
    say("%d bytes: count %d\n", n, count_of(&status));
    free(out);
    free(in);
  }
}

// All sizes under way at once, to every rank, received in the opposite order.
void sizes_nonblocking(void) {
  enum { most = 64 };
  MPI_Request requests[2 * most * 4];
  char *out[most * 4], *in[most * 4];
  int n = 0;
  for (int peer = 0; peer < ranks; ++peer)
    for (int i = size_count - 1; i >= 0; --i) {
      if (peer == rank || sizes[i] > 1048576) continue;
      in[n] = heap((size_t)sizes[i]);
      MPI_Irecv(in[n], sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[n]);
      ++n;
    }
  int m = 0;
  for (int peer = 0; peer < ranks; ++peer)
    for (int i = 0; i < size_count; ++i) {
      if (peer == rank || sizes[i] > 1048576) continue;
      out[m] = heap((size_t)sizes[i]);
      fill(out[m], (size_t)sizes[i], (unsigned)(100 * rank + i));
      MPI_Isend(out[m], sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[n + m]);
      ++m;
    }
  MPI_Waitall(n + m, requests, MPI_STATUSES_IGNORE);
  for (int k = 0; k < m; ++k) {
    memset(out[k], 0, 1);  // ours again
    free(out[k]);
  }
  for (int peer = 0, k = 0; peer < ranks; ++peer)
    for (int i = size_count - 1; i >= 0; --i) {
      if (peer == rank || sizes[i] > 1048576) continue;
      CHECK(filled(in[k], (size_t)sizes[i], (unsigned)(100 * peer + i)));
      free(in[k++]);
    }
}

// Synchronous sends end when they were matched and not before; ready ones find their receive.
void send_modes(void) {
  const int n = 50000;
  char *a = heap((size_t)n), *b = heap((size_t)n);
  MPI_Request request;
  int flag = 1, token = 0;
  if (rank == 0) {
    fill(a, (size_t)n, 1);
    MPI_Issend(a, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 100; ++i) {
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      CHECK(!flag);
    }
    MPI_Send(&token, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Ssend(a, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Rsend(a, n, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
    MPI_Irsend(a, n, MPI_BYTE, 1, 6, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Request ready[2];
    MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(b, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(filled(b, (size_t)n, 1));
    memset(b, 0, (size_t)n);
    MPI_Recv(b, n, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(filled(b, (size_t)n, 1));
    MPI_Irecv(a, n, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &ready[0]);
    MPI_Irecv(b, n, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &ready[1]);
    MPI_Send(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    MPI_Waitall(2, ready, MPI_STATUSES_IGNORE);
    CHECK(filled(a, (size_t)n, 1) && filled(b, (size_t)n, 1));
  }
  free(a);
  free(b);
}

// Irecv, Send, Wait on both sides; and a receiver that first waits for something else.
void legal_exchange(void) {
  for (int i = 0; i < size_count; ++i) {
    const int n = sizes[i], peer = rank ^ 1;
    char *out = heap((size_t)n), *in = heap((size_t)n);
    MPI_Request request;
    for (int round = 0; round < 5 && peer < ranks; ++round) {
      fill(out, (size_t)n, (unsigned)(rank + round));
      MPI_Irecv(in, n, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request);
      MPI_Send(out, n, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(filled(in, (size_t)n, (unsigned)(peer + round)));
    }
    free(out);
    free(in);
  }
  const int n = 200000;  // 1 has posted for 0 and waits for 2, which waits for 0, which sends to 1 first
  char *a = heap((size_t)n), *b = heap((size_t)n);
  MPI_Request request;
  fill(a, (size_t)n, 5);
  if (rank == 0) {
    MPI_Send(a, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Send(a, n, MPI_BYTE, 2, 1, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Irecv(a, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(b, n, MPI_BYTE, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(filled(a, (size_t)n, 5) && filled(b, (size_t)n, 5));
  } else if (rank == 2) {
    MPI_Recv(a, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(a, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  }
  free(a);
  free(b);
}

void self_send(void) {
  for (int i = 0; i < size_count; ++i) {
    const int n = sizes[i];
    char *out = heap((size_t)n), *in = heap((size_t)n);
    MPI_Request request;
    MPI_Status status;
    fill(out, (size_t)n, (unsigned)(i + rank));
    MPI_Isend(out, n, MPI_BYTE, rank, 3, MPI_COMM_WORLD, &request);
    MPI_Recv(in, n, MPI_BYTE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(filled(in, (size_t)n, (unsigned)(i + rank)) && count_of(&status) == n);
    free(out);
    free(in);
  }
}

// Stack and static memory on either side, as long and just as long as a descriptor.
void private_buffers(void) {
  static char still[100000];
  char stack[100000];
  char* shared = heap(sizeof still);
  char* buffers[] = {still, stack, shared};
  const int lengths[] = {WIRE, 100, 5000, (int)sizeof still};
  if (rank < 2)
    for (int from = 0; from < 3; ++from)
      for (int to = 0; to < 3; ++to)
        for (int i = 0; i < 4; ++i) {
          if (rank == 0) {
            fill(buffers[from], (size_t)lengths[i], (unsigned)(from + i));
            MPI_Send(buffers[from], lengths[i], MPI_BYTE, 1, 0, MPI_COMM_WORLD);
          } else {
            MPI_Recv(buffers[to], lengths[i], MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(filled(buffers[to], (size_t)lengths[i], (unsigned)(from + i)));
          }
        }
  free(shared);
}

// From static arrays to static arrays, in every form of a send; with NIGH_SHARE=data peers read them
// elsewhere than their owner does.
enum { STILL = 1 << 20 };
static char still_out[STILL], still_in[STILL];

static void still_check(int n, unsigned seed) {
  CHECK(filled(still_in, (size_t)n, seed));
  memset(still_in, 0xee, (size_t)n);
  fill(still_out, (size_t)n, (unsigned)rank + 1 + (unsigned)n);  // MPI_Sendrecv_replace changed it
}

static void still_round(int n, int peer) {
  const unsigned seed = (unsigned)peer + 1 + (unsigned)n;
  MPI_Request request[2];
  MPI_Datatype strided;
  fill(still_out, (size_t)n, (unsigned)rank + 1 + (unsigned)n);
  MPI_Sendrecv(still_out, n, MPI_BYTE, peer, 0, still_in, n, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  still_check(n, seed);
  MPI_Irecv(still_in, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request[0]);
  MPI_Send(still_out, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  still_check(n, seed);
  MPI_Irecv(still_in, n, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &request[0]);
  MPI_Issend(still_out, n, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &request[1]);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  still_check(n, seed);
  MPI_Recv_init(still_in, n, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &request[0]);
  MPI_Send_init(still_out, n, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &request[1]);
  for (int i = 0; i < 2; ++i) {
    MPI_Startall(2, request);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    still_check(n, seed);
  }
  MPI_Request_free(&request[0]);
  MPI_Request_free(&request[1]);
  MPI_Sendrecv_replace(still_out, n, MPI_BYTE, peer, 4, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(filled(still_out, (size_t)n, seed));
  still_check(0, 0);
  MPI_Type_vector(n / 16, 8, 16, MPI_BYTE, &strided);  // every other 8 bytes
  MPI_Type_commit(&strided);
  fill(still_out, (size_t)n, (unsigned)rank + 1 + (unsigned)n);
  memset(still_in, 0, (size_t)n);
  MPI_Sendrecv(still_out, 1, strided, peer, 5, still_in, 1, strided, peer, 5, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  fill(still_out, (size_t)n, seed);
  int wrong = 0;
  for (int i = 0; i < n / 16 * 16; ++i) wrong += still_in[i] != (i % 16 < 8 ? still_out[i] : 0);
  CHECK(wrong == 0);
  MPI_Type_free(&strided);
}

void static_buffers(void) {
  for (int i = 0; i < size_count; ++i)
    if (sizes[i] <= STILL && (rank ^ 1) < ranks) still_round(sizes[i], rank ^ 1);
  const int n = STILL / 4;
  fill(still_out, STILL, 9);
  MPI_Alltoall(still_out, n, MPI_BYTE, still_in, n, MPI_BYTE, MPI_COMM_WORLD);
  for (int i = 0; i < 4 && ranks == 4; ++i)
    CHECK(memcmp(still_in + i * n, still_out + rank * n, (size_t)n) == 0);
  if (rank != 1) memset(still_in, 0, STILL);
  if (rank == 1) fill(still_in, STILL, 10);
  MPI_Bcast(still_in, STILL, MPI_BYTE, 1, MPI_COMM_WORLD);
  CHECK(filled(still_in, STILL, 10));
}

// Small and large messages of three senders, one tag: those of each must come in their order.
// Whether a sender's next message has tag 0; else all may be blocked in a send of tag 1.
static int even_is_next(unsigned next[][2], unsigned messages) {
  for (int i = 1; i < ranks; ++i)
    if (next[i][0] < next[i][1] && next[i][0] < messages) return 1;
  return 0;
}

void order_with_wildcards(void) {
  enum { messages = 60 };
  const size_t room = 70000;
  unsigned* data = heap(room);
  if (rank != 0) {
    for (unsigned i = 0; i < messages; ++i) {
      const int n = i % 3 == 0 ? 16 : i % 3 == 1 ? WIRE : 4096 + (int)i * 1024;
      fill(data, (size_t)n, i);
      data[0] = i;
      MPI_Send(data, n, MPI_BYTE, 0, (int)(i % 2), MPI_COMM_WORLD);
    }
  } else {
    unsigned next[64][2] = {{0}};
    for (int i = 0; i < ranks; ++i) next[i][1] = 1;
    for (int k = 0; k < messages * (ranks - 1); ++k) {
      MPI_Status status;
      const int tag = k % 4 == 0 && even_is_next(next, messages) ? 0 : MPI_ANY_TAG;
      MPI_Recv(data, (int)room, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
      unsigned* expected = &next[status.MPI_SOURCE][status.MPI_TAG];
      const unsigned i = *expected;
      const int n = i % 3 == 0 ? 16 : i % 3 == 1 ? WIRE : 4096 + (int)i * 1024;
      CHECK(data[0] == i && count_of(&status) == n);
      fill(data, 4, i);
      CHECK(filled(data, (size_t)n, i));
      *expected += 2;
    }
  }
  free(data);
}

// A child that writes all over its copy of the buffers while messages are under way.
void fork_between(void) {
  const int n = 300000;
  char *out = heap((size_t)n), *in = heap((size_t)n);
  MPI_Request requests[2];
  const int peer = rank ^ 1;
  fill(out, (size_t)n, (unsigned)rank);
  MPI_Irecv(in, n, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, n, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[1]);
  const pid_t child = fork();
  if (child == 0) {
    memset(out, 0, (size_t)n);
    memset(in, 0, (size_t)n);
    _exit(0);
  }
  int status = -1;
  if (child > 0) waitpid(child, &status, 0);
  CHECK(status == 0);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(filled(in, (size_t)n, (unsigned)peer) && filled(out, (size_t)n, (unsigned)rank));
  free(out);
  free(in);
}

// A message of the reserved length whose bytes were once a descriptor, or look like one at the start.
void data_like_descriptors(void) {
  unsigned char data[WIRE], seen[WIRE];
  static const unsigned long words[2] = {0x9d1f6e6967682d6dul, 0x657361736765c1a7ul};
  memset(data, 0, sizeof data);
  memcpy(data, words, sizeof words);
  if (rank == 0) MPI_Send(data, WIRE, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(seen, WIRE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(memcmp(data, seen, WIRE) == 0);
  }
  MPI_Sendrecv(data, WIRE, MPI_BYTE, rank, 0, seen, WIRE, MPI_BYTE, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(memcmp(data, seen, WIRE) == 0);
}
