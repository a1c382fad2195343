/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Error handlers that leave the call for good: as C by longjmp, as C++ by an exception. handlers [multiple]:
 * wrong arguments and messages that are too long, in calls of all kinds; after each, everything must still
 * work.
 */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { large = 100000, wire = 240 };
static int rank, ranks, failures;
static volatile int left;
static char *out, *in;
static MPI_Comm comm;
static const char* volatile now = "";

#ifdef __cplusplus
static void leave(MPI_Comm* on, int* code, ...) {
  (void)on;
  throw *code;
}
#define LEAVES(call)                                   \
  do {                                                 \
    now = #call, left = 0;                             \
    try {                                              \
      call;                                            \
    } catch (int code) { left = code != MPI_SUCCESS; } \
    CHECK(left);                                       \
  } while (0)
#else
static jmp_buf back;
static void leave(MPI_Comm* on, int* code, ...) {
  (void)on, (void)code;
  longjmp(back, 1);
}
#define LEAVES(call)         \
  do {                       \
    now = #call, left = 0;   \
    if (setjmp(back) == 0) { \
      call;                  \
    } else {                 \
      left = 1;              \
    }                        \
    CHECK(left);             \
  } while (0)
#endif
#define CHECK(condition)                                                                            \
  do {                                                                                              \
    if (!(condition) && ++failures < 9)                                                             \
      fprintf(stderr, "rank %d, line %d, %s: %s does not hold\n", rank, __LINE__, now, #condition); \
  } while (0)

/* Messages of all sizes both ways, requests, probes, collectives. */
static void all_works(void) {
  const int sizes[] = {8, wire, 5000, large};
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  for (int i = 0; i < 4; ++i) {
    MPI_Request requests[2];
    MPI_Status status;
    int length = 0;
    memset(out, rank + i + 1, large), memset(in, 0, large);
    MPI_Isend(out, sizes[i], MPI_CHAR, to, 3, comm, &requests[0]);
    MPI_Probe(from, 3, comm, &status);
    MPI_Get_count(&status, MPI_CHAR, &length);
    CHECK(length == sizes[i]);
    MPI_Irecv(in, large, MPI_CHAR, from, 3, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in[0] == (char)(from + i + 1) && in[sizes[i] - 1] == in[0]);
  }
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == ranks);
}

static void wrong_arguments(void) {
  const int to = (rank + 1) % ranks;
  static MPI_Request request;
  static MPI_Comm made;
  static int size, one = 1;
  size = ranks * 100;
  LEAVES(MPI_Send(out, large, MPI_CHAR, to, -9, comm));
  LEAVES(MPI_Ssend(out, wire, MPI_CHAR, to, -9, comm));
  all_works();
  LEAVES(MPI_Isend(out, large, MPI_CHAR, to, -9, comm, &request));
  LEAVES(MPI_Send_init(out, large, MPI_CHAR, to, -9, comm, &request));
  LEAVES(MPI_Sendrecv(out, large, MPI_CHAR, to, -9, in, large, MPI_CHAR, MPI_ANY_SOURCE, 3, comm,
                      MPI_STATUS_IGNORE));
  all_works();
  LEAVES(
      MPI_Sendrecv(out, large, MPI_CHAR, to, 3, in, large, MPI_CHAR, ranks + 3, 3, comm, MPI_STATUS_IGNORE));
  LEAVES(MPI_Sendrecv_replace(out, large, MPI_CHAR, to, 3, ranks + 3, 3, comm, MPI_STATUS_IGNORE));
  LEAVES(MPI_Recv(in, large, MPI_CHAR, ranks + 3, 3, comm, MPI_STATUS_IGNORE));
  LEAVES(MPI_Irecv(in, large, MPI_CHAR, ranks + 3, 3, comm, &request));
  all_works();
  LEAVES(MPI_Bcast(out, large, MPI_CHAR, ranks + 3, comm));
  LEAVES(MPI_Ibcast(out, large, MPI_CHAR, ranks + 3, comm, &request));
  LEAVES(MPI_Allreduce(out, in, 1, MPI_CHAR, MPI_OP_NULL, comm));
  LEAVES(MPI_Cart_create(comm, 1, &size, &one, 0, &made));
  all_works();
#ifndef OPEN_MPI                                       /* which needs none for a message on the node */
  LEAVES(MPI_Bsend(out, wire, MPI_CHAR, to, 3, comm)); /* no buffer is attached */
  all_works();
#endif
}

/* A rank is told of its error when nobody else is in that call. */
static void alone(void) {
  static MPI_Comm made;
  static int size, one = 1;
  size = ranks * 100;
  if (rank == 0) LEAVES(MPI_Cart_create(comm, 1, &size, &one, 0, &made));
  all_works();
  CHECK(MPI_Comm_split(comm, 0, rank, &made) == MPI_SUCCESS);
  MPI_Comm was = comm;
  comm = made;
  all_works();
  MPI_Comm_free(&made);
  comm = was;
}

/* Messages of `bytes` bytes for receives of `room`. Where MPICH itself finds that a request's message is too
   long, it calls the handler of MPI_COMM_WORLD. */
static void too_long(int bytes, int room, int with_requests) {
  const int from = (rank + ranks - 1) % ranks, to = (rank + 1) % ranks;
  static MPI_Request requests[3], sent;
  static int index, flag, indices[3];
  memset(out, rank + 1, large);
#define SEND() MPI_Isend(out, bytes, MPI_CHAR, to, 5, comm, &sent)
#define SENT() MPI_Wait(&sent, MPI_STATUS_IGNORE), MPI_Barrier(MPI_COMM_WORLD), all_works()
  SEND();
  LEAVES(MPI_Recv(in, room, MPI_CHAR, from, 5, comm, MPI_STATUS_IGNORE));
  SENT();
  if (!with_requests) return;
  SEND();
  MPI_Irecv(in, room, MPI_CHAR, from, 5, comm, &requests[0]);
  LEAVES(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  SENT();
  SEND();
  MPI_Irecv(in, room, MPI_CHAR, from, 5, comm, &requests[0]);
  flag = 0;
  LEAVES(while (!flag) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
  SENT();
  /* A request that has not ended stays what it was. */
  MPI_Irecv(in, large, MPI_CHAR, from, 6, comm, &requests[0]);
  MPI_Irecv(in + large, room, MPI_CHAR, from, 5, comm, &requests[1]);
  SEND();
  requests[2] = MPI_REQUEST_NULL;
  LEAVES(MPI_Waitsome(3, requests, &index, indices, MPI_STATUSES_IGNORE));
  CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody sends before that was looked at */
  memset(out, rank + 1, large);
  MPI_Send(out, large, MPI_CHAR, to, 6, comm);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  CHECK(in[large - 1] == (char)(from + 1));
  SENT();
  MPI_Irecv(in, room, MPI_CHAR, from, 5, comm, &requests[0]);
  SEND();
  requests[1] = sent;
  LEAVES(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  sent = MPI_REQUEST_NULL;
  SENT();
  LEAVES(MPI_Sendrecv(out, bytes, MPI_CHAR, to, 5, in, room, MPI_CHAR, from, 5, comm, MPI_STATUS_IGNORE));
  SENT();
}

/* Handlers that return may be as many as a program likes. */
static int called;
#define ONE(n) \
  static void handler_##n(MPI_Comm* on, int* code, ...) { called += *on == comm && *code != MPI_SUCCESS; }
#define TEN(n) \
  ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define NAMES(n)                                                                                  \
  handler_##n##0, handler_##n##1, handler_##n##2, handler_##n##3, handler_##n##4, handler_##n##5, \
      handler_##n##6, handler_##n##7, handler_##n##8, handler_##n##9
TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) enum { made = 70 };

static void many(void) {
  static MPI_Comm_errhandler_function* const all[] = {NAMES(1), NAMES(2), NAMES(3), NAMES(4),
                                                      NAMES(5), NAMES(6), NAMES(7)};
  MPI_Errhandler was, handler;
  MPI_Comm_get_errhandler(comm, &was);
  for (int i = 0; i < made; ++i) {
    MPI_Comm_create_errhandler(all[i], &handler);
    MPI_Comm_set_errhandler(comm, handler);
    called = 0;
    MPI_Send(out, large, MPI_CHAR, (rank + 1) % ranks, -9, comm);
    CHECK(called == 1);
    MPI_Errhandler_free(&handler);
  }
  MPI_Comm_set_errhandler(comm, was);
  MPI_Errhandler_free(&was);
  all_works();
}

int main(int argc, char** argv) {
  int given = 0;
  MPI_Errhandler handler;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  out = (char*)malloc(large), in = (char*)malloc(2 * large);
  MPI_Comm_create_errhandler(leave, &handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  all_works();
  wrong_arguments();
  alone();
#ifdef OPEN_MPI
  const int library_raises = 1;
#else
  const int library_raises = 0;
#endif
  too_long(large, large / 2, 1);
  too_long(large, 100, library_raises);
  too_long(1000, 500, library_raises);
  many();
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) puts(all == 0 ? "ok" : "FAILED");
  MPI_Finalize();
  return all != 0;
}
