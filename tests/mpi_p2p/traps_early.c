// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A message between the probe that reported it and its receive: order, wildcards, every kind of receive, and
// senders that wait to be received.
#include <time.h>

#include "traps.h"

enum { LARGE = 70000, SMALL = 100 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Started, not waited for: whoever looks for the last one of several may not hold up the first.
static char* sent[8];
static MPI_Request sends[8];
static int sending;
static void send_filled(int bytes, int tag, unsigned seed) {
  char* data = sent[sending] = heap((size_t)bytes);
  fill(data, (size_t)bytes, seed);
  MPI_Isend(data, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &sends[sending++]);
}
static void finish_sends(void) {
  MPI_Waitall(sending, sends, MPI_STATUSES_IGNORE);
  while (sending) free(sent[--sending]);
}

static int probed(int source, int tag) {
  MPI_Status status;
  MPI_Probe(source, tag, MPI_COMM_WORLD, &status);
  return count_of(&status);
}

static void expect(const char* in, const MPI_Status* status, int bytes, int tag, unsigned seed) {
  CHECK(count_of(status) == bytes && status->MPI_TAG == tag && status->MPI_SOURCE == 0);
  CHECK(filled(in, (size_t)bytes, seed));
}

static void receive(char* in, int source, int tag, int bytes, int real_tag, unsigned seed) {
  MPI_Status status;
  memset(in, 0xee, LARGE);
  MPI_Recv(in, LARGE, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
  expect(in, &status, bytes, real_tag, seed);
}

// A probe of the third message does not let it, or the second, overtake the first.
void early_order(void) {
  if (rank == 0) {
    send_filled(SMALL, 7, 1);
    send_filled(WIRE, 7, 2);
    send_filled(LARGE, 5, 3);
    send_filled(50, 5, 4);
    send_filled(LARGE - 1, 9, 5);
    send_filled(60, 8, 6);
    finish_sends();
  } else if (rank == 1) {
    char* in = heap(LARGE);
    MPI_Status status;
    MPI_Request request;
    int flag = 0;
    CHECK(probed(0, 5) == LARGE && probed(0, 9) == LARGE - 1 && probed(0, 5) == LARGE);
    CHECK(probed(0, MPI_ANY_TAG) == SMALL && probed(MPI_ANY_SOURCE, 7) == SMALL);
    receive(in, 0, MPI_ANY_TAG, SMALL, 7, 1);
    CHECK(probed(MPI_ANY_SOURCE, MPI_ANY_TAG) == WIRE);
    receive(in, MPI_ANY_SOURCE, MPI_ANY_TAG, WIRE, 7, 2);
    MPI_Irecv(in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Test(&request, &flag, &status);
    expect(in, &status, LARGE, 5, 3);
    CHECK(request == MPI_REQUEST_NULL);
    for (flag = 0; !flag;) MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    CHECK(count_of(&status) == 50 && status.MPI_TAG == 5);
    receive(in, 0, 8, 60, 8, 6);  // behind two others
    receive(in, 0, MPI_ANY_TAG, 50, 5, 4);
    receive(in, 0, MPI_ANY_TAG, LARGE - 1, 9, 5);
    free(in);
  }
}

// The same messages into one kind of receive after another.
static void take_by(int way, char* in, int room, int tag, MPI_Status* status) {
  MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message message = MPI_MESSAGE_NULL;
  int out = 4, back = 0, index = -1, flag = 0;
  switch (way) {
    case 0: MPI_Recv(in, room, MPI_BYTE, 0, tag, MPI_COMM_WORLD, status); break;
    case 1:
      MPI_Irecv(in, room, MPI_BYTE, 0, tag, MPI_COMM_WORLD, request);
      MPI_Wait(request, status);
      break;
    case 2:
      MPI_Sendrecv(&out, 1, MPI_INT, 1, 1000, in, room, MPI_BYTE, 0, tag, MPI_COMM_WORLD, status);
      MPI_Recv(&back, 1, MPI_INT, 1, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(back == out);
      break;
    case 3:
      MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, status);
      MPI_Mrecv(in, room, MPI_BYTE, &message, status);
      CHECK(message == MPI_MESSAGE_NULL);
      break;
    case 4:
      while (!flag) MPI_Improbe(0, tag, MPI_COMM_WORLD, &flag, &message, status);
      CHECK(MPI_Message_f2c(MPI_Message_c2f(message)) == message);
      MPI_Imrecv(in, room, MPI_BYTE, &message, request);
      MPI_Waitall(2, request, status);
      break;
    default:
      MPI_Irecv(in, room, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request[1]);
      MPI_Waitany(2, request, &index, status);
      CHECK(index == 1);
  }
}

void early_receives(void) {
  static const int lengths[] = {SMALL, WIRE, LARGE};
  for (int way = 0; way < 6; ++way) {
    if (rank == 0) {
      for (int i = 0; i < 3; ++i) send_filled(lengths[i], i, (unsigned)i);
      send_filled(LARGE, 9, 9);
      finish_sends();
    } else if (rank == 1) {
      char* in = heap(LARGE + 1);
      MPI_Status status[2];
      CHECK(probed(0, 9) == LARGE);
      for (int i = 2; i >= 0; --i) {
        memset(in, 0xee, LARGE + 1);
        take_by(way, in, LARGE, i, status);
        CHECK(count_of(status) == lengths[i] && status->MPI_TAG == i && status->MPI_SOURCE == 0);
        CHECK(filled(in, (size_t)lengths[i], (unsigned)i) && in[lengths[i]] == (char)0xee);
      }
      take_by(way, in, LARGE, 9, status);
      CHECK(count_of(status) == LARGE && filled(in, LARGE, 9));
      free(in);
    }
  }
}

// MPI_Sendrecv_replace, of a descriptor's length and others; a collective operation is pending meanwhile.
void early_replaced(void) {
  static const int lengths[] = {SMALL, WIRE, 5000, LARGE};
  for (int pending = 0; pending < 2; ++pending)
    for (int i = 0; i < 4; ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (pending) MPI_Ibarrier(MPI_COMM_WORLD, &request);
      if (rank < 2) {
        char* data = heap(LARGE);
        MPI_Request second;
        char* body = heap(LARGE);
        MPI_Status status;
        fill(data, (size_t)lengths[i], (unsigned)rank);
        fill(body, LARGE, 7);
        MPI_Isend(body, LARGE, MPI_BYTE, !rank, 3, MPI_COMM_WORLD, &second);
        MPI_Probe(!rank, 3, MPI_COMM_WORLD, &status);
        CHECK(count_of(&status) == LARGE);
        MPI_Sendrecv_replace(data, lengths[i], MPI_BYTE, !rank, 2, !rank, 2, MPI_COMM_WORLD, &status);
        CHECK(count_of(&status) == lengths[i] && filled(data, (size_t)lengths[i], (unsigned)!rank));
        char* in = heap(LARGE);
        MPI_Sendrecv_replace(in, LARGE, MPI_BYTE, MPI_PROC_NULL, 0, !rank, 3, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        free(in);
        MPI_Wait(&second, MPI_STATUS_IGNORE);
        free(data);
        free(body);
      }
      if (pending) MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
    }
}

// Persistent receives, of a small and of a large message: found by a probe in every other round.
void early_persistent(void) {
  char *small = heap(SMALL), *large = heap(LARGE);
  MPI_Request request[2];
  MPI_Status status[2];
  if (rank == 1) {
    MPI_Recv_init(small, SMALL, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Recv_init(large, LARGE, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &request[1]);
  }
  for (int round = 0; round < 6; ++round) {
    const int bytes = round == 3 ? WIRE : LARGE;
    if (rank == 0) {
      send_filled(SMALL, 1, (unsigned)round);
      send_filled(bytes, 2, (unsigned)round);
      finish_sends();
    } else if (rank == 1) {
      int index = -1, flag = 0, n = 0;
      if (round % 2) CHECK(probed(0, 2) == bytes);
      memset(small, 0, SMALL);
      memset(large, 0, LARGE);
      MPI_Startall(2, request);
      if (round < 2) {
        MPI_Waitall(2, request, status);
      } else if (round < 4) {
        for (int i = 0; i < 2; ++i) {
          MPI_Waitany(2, request, &index, &status[0]);
          CHECK(index >= 0 && status[0].MPI_TAG == index + 1);
        }
        MPI_Waitany(2, request, &index, &status[0]);
        CHECK(index == MPI_UNDEFINED);
        status[0].MPI_TAG = 1, status[1].MPI_TAG = 2;
      } else if (round == 4) {
        while (!flag) MPI_Testall(2, request, &flag, status);
      } else {
        int indices[2];
        for (int done = 0; done < 2; done += n) MPI_Waitsome(2, request, &n, indices, status);
        status[0].MPI_TAG = 1, status[1].MPI_TAG = 2;
      }
      CHECK(status[0].MPI_TAG == 1 && status[1].MPI_TAG == 2);
      CHECK(filled(small, SMALL, (unsigned)round) && filled(large, (size_t)bytes, (unsigned)round));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 1) {
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
  }
  free(small);
  free(large);
}

static int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

// Found by a probe, and then no room for it; what follows is not touched.
void early_truncated(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  static const int rooms[] = {0, SMALL, WIRE, LARGE - 1};
  char* data = heap(LARGE);
  for (int i = 0; i < 4; ++i)
    for (int way = 0; way < 3; ++way) {
      if (rank == 0) {
        fill(data, LARGE, 1);
        MPI_Isend(data, LARGE, MPI_BYTE, 1, 0, comm, &sends[0]);
        MPI_Isend(data, LARGE - 2, MPI_BYTE, 1, 0, comm, &sends[1]);
        MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
      } else if (rank == 1) {
        MPI_Status status;
        MPI_Request request;
        MPI_Message message;
        int error = MPI_SUCCESS;
        MPI_Probe(0, 0, comm, &status);
        CHECK(count_of(&status) == LARGE);
        memset(data, 0xee, LARGE);
        if (way == 0) error = MPI_Recv(data, rooms[i], MPI_BYTE, 0, 0, comm, &status);
        if (way == 1) {
          MPI_Irecv(data, rooms[i], MPI_BYTE, 0, 0, comm, &request);
          error = MPI_Wait(&request, &status);
        }
        if (way == 2) {
          MPI_Mprobe(0, 0, comm, &message, &status);
          error = MPI_Mrecv(data, rooms[i], MPI_BYTE, &message, &status);
        }
        CHECK(class_of(error) == MPI_ERR_TRUNCATE);
        CHECK(data[rooms[i]] == (char)0xee || !strict);
        MPI_Probe(0, 0, comm, &status);
        CHECK(count_of(&status) == LARGE - 2);
        MPI_Recv(data, LARGE, MPI_BYTE, 0, 0, comm, &status);
        CHECK(count_of(&status) == LARGE - 2 && filled(data, LARGE - 2, 1));
      }
    }
  free(data);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

// A receive that was posted before anybody set an error handler, refused; and the probe after it.
void early_refused(void) {
  char* data = heap(LARGE);
  MPI_Request request;
  MPI_Status status;
  if (rank == 1) MPI_Irecv(data, SMALL, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    send_filled(LARGE - 3, 5, 1);
    send_filled(LARGE, 5, 2);
    finish_sends();
  } else if (rank == 1) {
    CHECK(class_of(MPI_Wait(&request, &status)) == MPI_ERR_TRUNCATE);
    CHECK(probed(0, 5) == LARGE);
    receive(data, 0, 5, LARGE, 5, 2);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  free(data);
}

// A synchronous send ends when somebody receives, not when somebody probes.
void early_synchronous(void) {
  static const int lengths[] = {WIRE, LARGE};
  char* data = heap(LARGE);
  for (int i = 0; i < 2; ++i)
    for (int matched = 0; matched < 2; ++matched) {
      const int n = lengths[i];
      int token = 0, flag = 0;
      double when = 0;
      MPI_Request request;
      MPI_Status status;
      MPI_Message message = MPI_MESSAGE_NULL;
      if (rank == 0) {
        fill(data, (size_t)n, 3);
        MPI_Issend(data, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Recv(&token, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < 300 && !flag; ++k) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        pause_ms(2);
        if (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Send(&token, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Ssend(data, n, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
        when = now();
        MPI_Send(&when, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
      } else if (rank == 1) {
        if (matched)
          MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, &status);
        else
          MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
        CHECK(count_of(&status) == n);
        MPI_Send(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memset(data, 0, (size_t)n);
        if (matched)
          MPI_Mrecv(data, n, MPI_BYTE, &message, &status);
        else
          MPI_Recv(data, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
        CHECK(count_of(&status) == n && filled(data, (size_t)n, 3));
        CHECK(probed(0, 4) == n);
        pause_ms(5);
        const double before = now();
        MPI_Recv(data, n, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &status);
        MPI_Recv(&when, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(when >= before);
      }
    }
  free(data);
}
