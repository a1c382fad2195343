// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Requests in all their uses: starting them again, cancelling and freeing them, waiting and testing in all
// ways.
#include "traps.h"

// Started many times, the buffer changed in between; a buffer on the stack; synchronous and ready ones.
void persistent(void) {
  const int lengths[] = {100, WIRE, 5000, 200000};
  char stack[5000];
  for (int i = 0; i < 5 && rank < 2; ++i) {
    const int n = i == 4 ? 5000 : lengths[i];
    char *mine = heap((size_t)n), *out = i == 4 ? stack : mine, *in = heap((size_t)n);
    MPI_Request to[2], from[2];
    MPI_Status status;
    int token = 0;
    MPI_Send_init(out, n, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &to[0]);
    MPI_Ssend_init(out, n, MPI_BYTE, !rank, 2, MPI_COMM_WORLD, &to[1]);
    MPI_Recv_init(in, n, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &from[0]);
    MPI_Recv_init(in, n, MPI_BYTE, !rank, 2, MPI_COMM_WORLD, &from[1]);
    MPI_Wait(&to[0], &status);  // inactive: at once
    CHECK(to[0] != MPI_REQUEST_NULL);
    for (int round = 0; round < 12; ++round) {
      const int k = round % 2;
      fill(out, (size_t)n, (unsigned)(10 * round + rank));
      memset(in, 0, (size_t)n);
      MPI_Start(&from[k]);
      MPI_Start(&to[k]);
      MPI_Wait(&from[k], &status);
      CHECK(filled(in, (size_t)n, (unsigned)(10 * round + !rank)) && count_of(&status) == n);
      MPI_Wait(&to[k], MPI_STATUS_IGNORE);
      CHECK(to[k] != MPI_REQUEST_NULL && from[k] != MPI_REQUEST_NULL);
    }
    for (int k = 0; k < 2; ++k) {
      MPI_Request_free(&to[k]);
      MPI_Request_free(&from[k]);
      CHECK(to[k] == MPI_REQUEST_NULL);
    }
    if (rank == 0) {
      MPI_Rsend_init(out, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &to[0]);
      MPI_Recv(&token, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Start(&to[0]);
      MPI_Request_free(&to[0]);
    } else {
      MPI_Irecv(in, n, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &from[0]);
      MPI_Send(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
      MPI_Wait(&from[0], MPI_STATUS_IGNORE);
      CHECK(filled(in, (size_t)n, (unsigned)(10 * 11)));
    }
    MPI_Sendrecv(&token, 1, MPI_INT, !rank, 5, &token, 1, MPI_INT, !rank, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    free(mine);
    free(in);
  }
}

// Startall over all kinds at once, waited for by Waitall, Waitsome and Testall in turn.
void persistent_mixed(void) {
  enum { each = 4 };
  const int lengths[each] = {64, WIRE, 20000, 150000};
  char *out[each], *in[each];
  MPI_Request requests[2 * each];
  const int peer = (rank + 1) % ranks, source = (rank + ranks - 1) % ranks;
  for (int i = 0; i < each; ++i) {
    out[i] = heap((size_t)lengths[i]);
    in[i] = heap((size_t)lengths[i]);
    MPI_Recv_init(in[i], lengths[i], MPI_BYTE, source, i, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Send_init(out[i], lengths[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < each; ++i) fill(out[i], (size_t)lengths[i], (unsigned)(100 * round + 10 * rank + i));
    MPI_Startall(2 * each, requests);
    if (round % 3 == 0) {
      MPI_Waitall(2 * each, requests, MPI_STATUSES_IGNORE);
    } else if (round % 3 == 1) {
      int left = 2 * each, done, indices[2 * each];
      MPI_Status statuses[2 * each];
      while (left > 0) {
        MPI_Waitsome(2 * each, requests, &done, indices, statuses);
        CHECK(done > 0 && done <= left);
        for (int k = 0; k < done; ++k)
          if (indices[k] % 2 == 0) CHECK(count_of(&statuses[k]) == lengths[indices[k] / 2]);
        left -= done;
      }
      MPI_Waitsome(2 * each, requests, &done, indices, statuses);
      CHECK(done == MPI_UNDEFINED);
    } else {
      int flag = 0;
      while (!flag) MPI_Testall(2 * each, requests, &flag, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < each; ++i)
      CHECK(filled(in[i], (size_t)lengths[i], (unsigned)(100 * round + 10 * source + i)));
  }
  for (int i = 0; i < 2 * each; ++i) MPI_Request_free(&requests[i]);
  for (int i = 0; i < each; ++i) {
    free(out[i]);
    free(in[i]);
  }
}

// Waits for at most 64 requests in one of three ways.
static void end_all(int way, int count, MPI_Request* requests) {
  int done = 0, indices[64];
  if (way == 0) MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int flag = 0; way == 1 && !flag;) MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
  while (way == 2 && done != MPI_UNDEFINED)
    MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
}

// The handle of a receive that has ended is a send's next, and a library need not write the status of a send,
// which then tells of what was there before, a receive of WIRE bytes for example: such a send must not take
// the message that is on its way for another receive. Receives on one buffer, as OSU's benchmarks post them,
// are the hard case.
void handles_again(void) {
  enum { window = 32, few = 64, room = 1000 };
  const int peer = rank ^ 1;
  char *in = heap(room), *out = heap(room), *wire = heap(WIRE), *got = heap(WIRE * window);
  MPI_Request requests[2 * window];
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < window; ++i) {
      MPI_Irecv(in, room, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[i]);
      MPI_Isend(out, 100, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[window + i]);
    }
    MPI_Waitall(2 * window, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < window; ++i) {
      MPI_Recv_init(got + WIRE * i, WIRE, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[i]);
      MPI_Send_init(wire, WIRE, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[window + i]);
    }
    for (int way = 0; way < 3; ++way) {
      MPI_Startall(2 * window, requests);
      end_all(way, 2 * window, requests);
    }
    for (int i = 0; i < 2 * window; ++i) MPI_Request_free(&requests[i]);
    for (int i = 0; i < window; ++i) {
      MPI_Send_init(out, few, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[i]);
      MPI_Recv_init(out, few, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[window + i]);
    }
    for (int way = 0; way < 3; ++way) {
      const unsigned seed = (unsigned)(100 * round + 10 * way);
      MPI_Request large;
      fill(wire, WIRE, seed + (unsigned)rank);
      MPI_Isend(wire, WIRE, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &large);
      MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, 4, NULL, 0, MPI_BYTE, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Startall(2 * window, requests);
      end_all(way, 2 * window, requests);
      MPI_Recv(got, WIRE, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(filled(got, WIRE, seed + (unsigned)peer));
      MPI_Wait(&large, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 2 * window; ++i) MPI_Request_free(&requests[i]);
  }
  free(in);
  free(out);
  free(wire);
  free(got);
}

// Receives that nobody sends for, one of them beside one that is sent for.
void cancel_receive(void) {
  const int n = 40000;
  char *a = heap((size_t)n), *b = heap((size_t)n);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int flag = 0;
  const int peer = rank ^ 1;
  fill(a, (size_t)n, 1);
  MPI_Irecv(b, n, MPI_BYTE, peer, 99, MPI_COMM_WORLD, &requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], &statuses[0]);
  MPI_Test_cancelled(&statuses[0], &flag);
  CHECK(flag);
  MPI_Irecv(b, n, MPI_BYTE, peer, 98, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(a, n, MPI_BYTE, peer, 97, MPI_COMM_WORLD, &requests[1]);
  MPI_Cancel(&requests[0]);
  MPI_Recv(b, n, MPI_BYTE, peer, 97, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(filled(b, (size_t)n, 1));
  MPI_Waitall(2, requests, statuses);
  MPI_Test_cancelled(&statuses[0], &flag);
  CHECK(flag);
  MPI_Test_cancelled(&statuses[1], &flag);
  CHECK(!flag);
  MPI_Recv_init(b, n, MPI_BYTE, peer, 96, MPI_COMM_WORLD, &requests[0]);
  for (int i = 0; i < 3; ++i) {
    MPI_Start(&requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &statuses[0]);
    MPI_Test_cancelled(&statuses[0], &flag);
    CHECK(flag && requests[0] != MPI_REQUEST_NULL);
  }
  MPI_Request_free(&requests[0]);
  free(a);
  free(b);
}

// Either it was cancelled, then nothing comes, or it was not, then it comes. No longer than what every
// library sends without waiting for the receiver, since it is not said whether a cancelled send may wait for
// one.
void cancel_send(void) {
  const int lengths[] = {WIRE, 1000, 4000};
  char *a = heap(4000), *b = heap(4000);
  for (int i = 0; i < 3; ++i) {
    const int n = lengths[i];
    int cancelled = 0;
    if (rank == 0) {
      MPI_Request request;
      MPI_Status status;
      fill(a, (size_t)n, (unsigned)i);
      MPI_Isend(a, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
      MPI_Cancel(&request);
      MPI_Wait(&request, &status);
      MPI_Test_cancelled(&status, &cancelled);
      MPI_Send(&cancelled, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1) {
      int flag = 0;
      MPI_Recv(&cancelled, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (!cancelled) {
        MPI_Recv(b, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(filled(b, (size_t)n, (unsigned)i));
      }
      MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      CHECK(!flag || i < 2);
    }
  }
  free(a);
  free(b);
}

// Handles that are freed while the message is under way: it arrives, and another message tells so.
void request_free(void) {
  const int n = 90000;
  char *out = heap((size_t)n), *in = heap((size_t)n), *small = heap(400);
  MPI_Request request;
  const int peer = rank ^ 1;
  int token = rank;
  for (int round = 0; round < 5; ++round) {
    fill(out, (size_t)n, (unsigned)(round + rank));
    memset(in, 0, (size_t)n);
    // The handle of a small receive that has ended is the library's to give out again.
    MPI_Irecv(in, 300, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request);
    MPI_Send(out, 250, MPI_BYTE, peer, 4, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(in, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    // One that brings a descriptor after its handle was freed.
    MPI_Irecv(small, 400, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Send(out, WIRE, MPI_BYTE, peer, 5, MPI_COMM_WORLD);
    MPI_Isend(out, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Sendrecv(&rank, 1, MPI_INT, peer, 2, &token, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(filled(in, (size_t)n, (unsigned)(round + peer)));
    CHECK(filled(small, WIRE, (unsigned)(round + peer)));
    MPI_Sendrecv(&rank, 1, MPI_INT, peer, 3, &token, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  free(out);
  free(in);
  free(small);
}

void get_status(void) {
  const int lengths[] = {WIRE, 300, 70000};
  const int peer = rank ^ 1;
  for (int i = 0; i < 3; ++i) {
    const int n = lengths[i];
    char *out = heap((size_t)n), *in = heap((size_t)n);
    MPI_Request requests[2];
    MPI_Status status;
    int flag = 0;
    fill(out, (size_t)n, (unsigned)rank);
    MPI_Irecv(in, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
    while (!flag) MPI_Request_get_status(requests[0], &flag, &status);
    CHECK(filled(in, (size_t)n, (unsigned)peer) && count_of(&status) == n && requests[0] != MPI_REQUEST_NULL);
    flag = 0;
    while (!flag) MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE);
    memset(&status, 0, sizeof status);
    MPI_Wait(&requests[0], &status);
    CHECK(filled(in, (size_t)n, (unsigned)peer) && count_of(&status) == n && status.MPI_SOURCE == peer);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    free(out);
    free(in);
  }
}

// The forms for many (MPI 4.1): a synchronous send that nobody has received, beside a null request.
void get_status_of_many(void) {
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  enum { n = 300000 };
  const int peer = rank ^ 1;
  char *out = heap(n), *in = heap(n);
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  int flag = 1, index = 7, ended = 7, indices[3];
  fill(out, n, (unsigned)rank);
  MPI_Issend(out, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Request_get_status_any(3, requests, &index, &flag, statuses);
  CHECK(!flag && index == MPI_UNDEFINED);
  MPI_Request_get_status_all(3, requests, &flag, statuses);
  CHECK(!flag);
  MPI_Request_get_status_some(3, requests, &ended, indices, statuses);
  CHECK(ended == 0);
  MPI_Barrier(MPI_COMM_WORLD);  // from here on the peer may receive
  MPI_Irecv(in, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[2]);
  for (flag = 0; !flag;) MPI_Request_get_status_all(3, requests, &flag, statuses);
  CHECK(filled(in, n, (unsigned)peer) && count_of(&statuses[2]) == n && statuses[2].MPI_SOURCE == peer);
  MPI_Request_get_status_any(3, requests, &index, &flag, statuses);
  CHECK(flag && (index == 1 || index == 2));
  MPI_Request_get_status_some(3, requests, &ended, indices, statuses);
  CHECK(ended == 2 && indices[0] + indices[1] == 3);
  MPI_Waitall(3, requests, statuses);
  CHECK(count_of(&statuses[2]) == n);
  MPI_Request_get_status_any(3, requests, &index, &flag, statuses);
  CHECK(flag && index == MPI_UNDEFINED);
  free(out);
  free(in);
#endif
}

enum { in_flight = 24 };
struct Flight {
  char *out[in_flight], *in[in_flight];
  int bytes[in_flight], peer[in_flight];
  MPI_Request requests[2 * in_flight];
  int ended[2 * in_flight];
};

// Messages of many sizes to and from all ranks; the sizes are known to both sides.
static void take_off(struct Flight* f, int seed) {
  for (int i = 0; i < in_flight; ++i) {
    const int apart = 1 + (i + seed) % (ranks - 1);
    const int to = (rank + apart) % ranks, from = (rank + ranks - apart) % ranks;
    f->bytes[i] = sizes[(i * 7 + seed) % size_count] % 300000;
    f->peer[i] = from;
    f->out[i] = heap((size_t)f->bytes[i]);
    f->in[i] = heap((size_t)f->bytes[i]);
    fill(f->out[i], (size_t)f->bytes[i], (unsigned)(1000 * seed + 100 * rank + i));
    MPI_Irecv(f->in[i], f->bytes[i], MPI_BYTE, from, i, MPI_COMM_WORLD, &f->requests[2 * i]);
    MPI_Isend(f->out[i], f->bytes[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &f->requests[2 * i + 1]);
    f->ended[2 * i] = f->ended[2 * i + 1] = 0;
  }
}

static void touch_down(struct Flight* f, int k, const MPI_Status* status, int seed) {
  const int i = k / 2;
  CHECK(k >= 0 && k < 2 * in_flight && f->ended[k]++ == 0 && f->requests[k] == MPI_REQUEST_NULL);
  if (k % 2 == 1) {
    memset(f->out[i], 0, (size_t)f->bytes[i]);
    return;
  }
  CHECK(filled(f->in[i], (size_t)f->bytes[i], (unsigned)(1000 * seed + 100 * f->peer[i] + i)));
  CHECK(count_of(status) == f->bytes[i] && status->MPI_SOURCE == f->peer[i] && status->MPI_TAG == i);
}

static void park(struct Flight* f) {
  for (int i = 0; i < in_flight; ++i) {
    CHECK(f->ended[2 * i] == 1 && f->ended[2 * i + 1] == 1);
    free(f->out[i]);
    free(f->in[i]);
  }
}

void wait_mixes(void) {
  static struct Flight f;
  int indices[2 * in_flight];
  MPI_Status statuses[2 * in_flight];
  take_off(&f, 1);
  for (int k; MPI_Waitany(2 * in_flight, f.requests, &k, &statuses[0]), k != MPI_UNDEFINED;)
    touch_down(&f, k, &statuses[0], 1);
  park(&f);
  take_off(&f, 2);
  for (int n; MPI_Waitsome(2 * in_flight, f.requests, &n, indices, statuses), n != MPI_UNDEFINED;)
    for (int j = 0; j < n; ++j) touch_down(&f, indices[j], &statuses[j], 2);
  park(&f);
  take_off(&f, 3);
  MPI_Waitall(in_flight, f.requests, statuses);
  for (int k = 0; k < in_flight; ++k) touch_down(&f, k, &statuses[k], 3);
  for (int k = 2 * in_flight - 1; k >= in_flight; --k) {
    MPI_Wait(&f.requests[k], &statuses[0]);
    touch_down(&f, k, &statuses[0], 3);
  }
  park(&f);
}

void test_mixes(void) {
  static struct Flight f;
  int indices[2 * in_flight], flag = 0;
  MPI_Status statuses[2 * in_flight];
  take_off(&f, 4);
  for (int k = 0; k != MPI_UNDEFINED;) {
    MPI_Testany(2 * in_flight, f.requests, &k, &flag, &statuses[0]);
    if (flag && k != MPI_UNDEFINED) touch_down(&f, k, &statuses[0], 4);
    if (!flag) k = 0;
  }
  park(&f);
  take_off(&f, 5);
  for (int n = 0; n != MPI_UNDEFINED;) {
    MPI_Testsome(2 * in_flight, f.requests, &n, indices, statuses);
    for (int j = 0; n != MPI_UNDEFINED && j < n; ++j) touch_down(&f, indices[j], &statuses[j], 5);
  }
  park(&f);
  take_off(&f, 6);
  for (flag = 0; !flag;) MPI_Testall(2 * in_flight, f.requests, &flag, statuses);
  for (int k = 0; k < 2 * in_flight; ++k) touch_down(&f, k, &statuses[k], 6);
  park(&f);
  take_off(&f, 7);
  for (int k = 0, left = 2 * in_flight; left > 0; k = (k + 1) % (2 * in_flight)) {
    if (f.ended[k]) continue;
    MPI_Test(&f.requests[k], &flag, &statuses[0]);
    if (!flag) continue;
    touch_down(&f, k, &statuses[0], 7);
    --left;
  }
  park(&f);
}

// Null and inactive requests among large messages, and nothing else.
void empty_sets(void) {
  MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[4];
  const int n = 50000, peer = rank ^ 1;
  char *out = heap((size_t)n), *in = heap((size_t)n);
  int index = 0, flag = 0;
  MPI_Send_init(out, n, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitany(4, requests, &index, &statuses[0]);
  CHECK(index == MPI_UNDEFINED);
  MPI_Testall(4, requests, &flag, statuses);
  CHECK(flag);
  MPI_Irecv(in, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(out, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Waitall(4, requests, statuses);
  CHECK(statuses[0].MPI_SOURCE == MPI_ANY_SOURCE && statuses[0].MPI_TAG == MPI_ANY_TAG &&
        count_of(&statuses[0]) == 0);
  CHECK(statuses[3].MPI_SOURCE == MPI_ANY_SOURCE && count_of(&statuses[1]) == n);
  CHECK(requests[1] == MPI_REQUEST_NULL && requests[2] == MPI_REQUEST_NULL &&
        requests[3] != MPI_REQUEST_NULL);
  MPI_Request_free(&requests[3]);
  MPI_Isend(out, n, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(in, n, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  say("from nobody: count %d, source %d\n", count_of(&statuses[1]), statuses[1].MPI_SOURCE == MPI_PROC_NULL);
  free(out);
  free(in);
}

// More sends under way than any table starts with, received in the opposite order.
void many_outstanding(void) {
  enum { messages = 1500 };
  const int n = 9000;
  static MPI_Request requests[messages];
  char* data = heap((size_t)n * messages);
  if (rank == 0) {
    fill(data, (size_t)n * messages, 3);
    for (int i = 0; i < messages; ++i)
      MPI_Isend(data + (size_t)i * n, n, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    memset(data, 0, (size_t)n * messages);
  } else if (rank == 1) {
    pause_ms(5);
    for (int i = messages - 1; i >= 0; --i)
      MPI_Recv(data + (size_t)i * n, n, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(filled(data, (size_t)n * messages, 3));
  }
  free(data);
}

// A sender that only tests, a receiver that comes late: with a rendezvous the library's test may stay false
// until then, but once the receiver has come it must end; and its buffer must not be needed any more.
void starving_test(void) {
  const int n = 150000;
  char* data = heap((size_t)n);
  if (rank == 0) {
    MPI_Request request;
    int flag = 0;
    fill(data, (size_t)n, 8);
    MPI_Isend(data, n, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    memset(data, 0, (size_t)n);
  } else if (rank == 1) {
    pause_ms(10);
    MPI_Recv(data, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(filled(data, (size_t)n, 8));
  }
  free(data);
}
