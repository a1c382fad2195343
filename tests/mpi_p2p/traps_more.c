// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Exchanges in one call, buffered sends, communicators of all sorts, collectives under way, and what MPI 4
// added.
#include "traps.h"

void sendrecv_ring(void) {
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  for (int i = 0; i < size_count; ++i)
    for (int k = 0; k < 2; ++k) {
      const int n = sizes[i], m = k == 0 ? n : sizes[size_count - 1 - i];  // even ranks send n, odd ones m
      const int mine = rank % 2 == 0 ? n : m, theirs = from % 2 == 0 ? n : m;
      char *out = heap((size_t)mine), *in = heap((size_t)theirs + 32);
      MPI_Status status;
      fill(out, (size_t)mine, (unsigned)(rank + i));
      MPI_Sendrecv(out, mine, MPI_BYTE, to, 1, in, theirs + 32, MPI_BYTE, from, 1, MPI_COMM_WORLD, &status);
      CHECK(filled(in, (size_t)theirs, (unsigned)(from + i)) && count_of(&status) == theirs);
      CHECK(filled(out, (size_t)mine, (unsigned)(rank + i)));
      free(out);
      free(in);
    }
  char *out = heap(100000), *in = heap(100000);  // the ends of a chain
  MPI_Status status;
  fill(out, 100000, (unsigned)rank);
  MPI_Sendrecv(out, 100000, MPI_BYTE, rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, 1, in, 100000, MPI_BYTE,
               rank > 0 ? rank - 1 : MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  CHECK(rank == 0 ? status.MPI_SOURCE == MPI_PROC_NULL && count_of(&status) == 0
                  : filled(in, 100000, (unsigned)(rank - 1)));
  free(out);
  free(in);
}

void sendrecv_replace(void) {
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  for (int i = 0; i < size_count; ++i) {
    const int n = sizes[i];
    char* data = heap((size_t)n);
    MPI_Status status;
    fill(data, (size_t)n, (unsigned)(rank + i));
    for (int round = 1; round <= 3; ++round)
      MPI_Sendrecv_replace(data, n, MPI_BYTE, to, 1, from, 1, MPI_COMM_WORLD, &status);
    CHECK(filled(data, (size_t)n, (unsigned)((rank + 4 * ranks - 3) % ranks + i)) && count_of(&status) == n);
    free(data);
  }
  char stack[30000];
  fill(stack, sizeof stack, (unsigned)rank);
  MPI_Sendrecv_replace(stack, sizeof stack, MPI_BYTE, to, 1, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(filled(stack, sizeof stack, (unsigned)from));
}

// Buffered sends, also of the reserved length, overtaken by nothing and seen rightly by probes.
void buffered(void) {
  const int lengths[] = {WIRE, 100, WIRE, 30000, WIRE, 64};
  char* data = heap(30000);
  if (rank == 0) {
    const int room = 200000;
    char* attached = heap((size_t)room);
    void* detached;
    int size;
    MPI_Buffer_attach(attached, room);
    for (int i = 0; i < 6; ++i) {
      fill(data, (size_t)lengths[i], (unsigned)i);
      if (i % 3 == 0) {
        MPI_Bsend(data, lengths[i], MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      } else if (i % 3 == 1) {
        MPI_Request request;
        MPI_Ibsend(data, lengths[i], MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Request request;
        MPI_Bsend_init(data, lengths[i], MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
      }
      memset(data, 0, (size_t)lengths[i]);
    }
    MPI_Send(data, 20000, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Buffer_detach(&detached, &size);
    free(attached);
  } else if (rank == 1) {
    MPI_Status status;
    for (int i = 0; i < 6; ++i) {
      MPI_Probe(0, 0, MPI_COMM_WORLD, &status);
      CHECK(count_of(&status) == lengths[i]);
      MPI_Recv(data, 30000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status);
      CHECK(filled(data, (size_t)lengths[i], (unsigned)i) && count_of(&status) == lengths[i]);
    }
    MPI_Recv(data, 30000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status);
    CHECK(count_of(&status) == 20000);
  }
  free(data);
}

// Sends n bytes round the group and checks them.
static void round_trip(MPI_Comm comm, int n) {
  int me, size;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  char *out = heap((size_t)n), *in = heap((size_t)n);
  MPI_Request request;
  fill(out, (size_t)n, (unsigned)me);
  MPI_Irecv(in, n, MPI_BYTE, (me + size - 1) % size, 3, comm, &request);
  MPI_Send(out, n, MPI_BYTE, (me + 1) % size, 3, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(filled(in, (size_t)n, (unsigned)((me + size - 1) % size)));
  free(out);
  free(in);
}

void communicators(void) {
  MPI_Comm split, turned, copy, grid, idle;
  MPI_Request request;
  int dims[2] = {2, ranks / 2}, periods[2] = {1, 1};
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &split);
  MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &turned);
  MPI_Comm_dup(turned, &copy);
  MPI_Comm_idup(MPI_COMM_WORLD, &idle, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  MPI_Comm all[] = {split, turned, copy, idle, grid, MPI_COMM_SELF, MPI_COMM_WORLD};
  for (int i = 0; i < 7; ++i)
    if (all[i] != MPI_COMM_NULL) {
      round_trip(all[i], 100);
      round_trip(all[i], WIRE);
      round_trip(all[i], 100000);
    }
  // The same tag on two communicators: each gets its own.
  char *a = heap(50000), *b = heap(50000);
  if (rank == 0) {
    fill(a, 50000, 1);
    fill(b, 50000, 2);
    MPI_Request requests[2];
    MPI_Isend(a, 50000, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(b, 40000, MPI_BYTE, ranks - 2, 0, copy, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else if (rank == 1) {
    MPI_Status status;
    MPI_Probe(ranks - 1, 0, copy, &status);
    CHECK(count_of(&status) == 40000);
    MPI_Recv(b, 50000, MPI_BYTE, ranks - 1, 0, copy, MPI_STATUS_IGNORE);
    MPI_Recv(a, 50000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(filled(a, 50000, 1) && filled(b, 40000, 2));
  }
  free(a);
  free(b);
  for (int i = 0; i < 5; ++i)
    if (all[i] != MPI_COMM_NULL) MPI_Comm_free(&all[i]);
}

void communicator_freed(void) {
  const int n = 80000;
  char *out = heap((size_t)n), *in = heap((size_t)n);
  const int peer = rank ^ 1;
  for (int round = 0; round < 4; ++round) {
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    fill(out, (size_t)n, (unsigned)(rank + round));
    MPI_Irecv(in, n, MPI_BYTE, peer, 0, comm, &requests[0]);
    MPI_Isend(out, n, MPI_BYTE, peer, 0, comm, &requests[1]);
    MPI_Comm_free(&comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(filled(in, (size_t)n, (unsigned)(peer + round)));
  }
  free(out);
  free(in);
}

void intercommunicator(void) {
  MPI_Comm half, both;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 17, &both);
  for (int i = 0; i < size_count; ++i) {
    const int n = sizes[i], peer = rank / 2;
    char *out = heap((size_t)n), *in = heap((size_t)n);
    MPI_Status status;
    fill(out, (size_t)n, (unsigned)(rank + i));
    MPI_Sendrecv(out, n, MPI_BYTE, peer, 0, in, n, MPI_BYTE, peer, 0, both, &status);
    CHECK(filled(in, (size_t)n, (unsigned)((rank ^ 1) + i)) && count_of(&status) == n);
    free(out);
    free(in);
  }
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

// A non-blocking collective must get on while its members wait for something else.
void collective_underneath(void) {
  for (int round = 0; round < 10; ++round) {
    MPI_Request request;
    int one = 1, sum = 0;
    const int n = 60000;
    char* data = heap((size_t)n);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank == 0) {  // waits for the collective first, and only then sends what the others wait for
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      fill(data, (size_t)n, (unsigned)round);
      for (int r = 1; r < ranks; ++r)
        MPI_Send(data, round % 2 == 0 ? n : 100, MPI_BYTE, r, 0, MPI_COMM_WORLD);
    } else {
      MPI_Status status;
      if (round % 3 == 1) MPI_Probe(0, 0, MPI_COMM_WORLD, &status);
      MPI_Recv(data, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status);
      CHECK(filled(data, (size_t)count_of(&status), (unsigned)round));
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(sum == ranks);
    free(data);
  }
}

static void says(const char* call, int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  say("%s: class %d\n", call, class);
}

// Pointers to nowhere, and requests that can't be started: the library's own errors. Open MPI ends the job,
// or crashes, over most of them.
void null_arguments(void) {
  if (rank != 0) return;
  char byte = 0;
  MPI_Request requests[2];
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Recv_init(&byte, 1, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &requests[0]);
  requests[1] = MPI_REQUEST_NULL;
  says("Startall of -1", MPI_Startall(-1, requests));
  says("Startall of a null request", MPI_Startall(2, requests));
  MPI_Request_free(&requests[0]);
#ifndef OPEN_MPI
  int flag = 0;
  MPI_Status status;
  MPI_Message message = MPI_MESSAGE_NO_PROC;
  says("Mrecv", MPI_Mrecv(&byte, 1, MPI_BYTE, NULL, &status));
  says("Imrecv", MPI_Imrecv(&byte, 1, MPI_BYTE, NULL, requests));
  says("Imrecv without request", MPI_Imrecv(&byte, 1, MPI_BYTE, &message, NULL));
  says("Iprobe", MPI_Iprobe(1, 9, MPI_COMM_WORLD, NULL, &status));
  says("Improbe", MPI_Improbe(1, 9, MPI_COMM_WORLD, NULL, &message, &status));
  says("Improbe without message", MPI_Improbe(1, 9, MPI_COMM_WORLD, &flag, NULL, &status));
  says("Mprobe", MPI_Mprobe(MPI_PROC_NULL, 9, MPI_COMM_WORLD, NULL, &status));
#endif
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

// Nothing but receives, tested again and again while others that nobody asks for are to be taken, too: with
// and without statuses, by MPI_Testany, MPI_Testall and MPI_Testsome, of two or many.
void polled_receives(void) {
  enum { most = 12, unasked = 200000 };
  const int lengths[most] = {64, WIRE, 5000, 200000, 0, 9000, WIRE, 50000, 1, 300, 20000, WIRE};
  char* data[most];
  char* other = heap(unasked);
  const int peer = rank ^ 1;
  for (int i = 0; i < most; ++i) data[i] = heap((size_t)lengths[i]);
  for (int round = 0; round < 12; ++round) {
    const int way = round % 3, count = round < 6 ? most : 2, told = round % 2;
    const unsigned seed = (unsigned)(100 * round);
    if (rank % 2 == 0) {
      fill(other, unasked, seed + 99);
      MPI_Send(other, unasked, MPI_BYTE, peer, 99, MPI_COMM_WORLD);  // taken before what is asked for comes
      for (int i = count; i-- > 0;) {
        fill(data[i], (size_t)lengths[i], seed + (unsigned)i);
        MPI_Send(data[i], lengths[i], MPI_BYTE, peer, i, MPI_COMM_WORLD);
        if (i == count / 2) pause_ms(1);
      }
      continue;
    }
    MPI_Request requests[most], large;
    MPI_Status statuses[most];
    int indices[most], left = count;
    MPI_Irecv(other, unasked, MPI_BYTE, peer, 99, MPI_COMM_WORLD, &large);
    for (int i = 0; i < count; ++i) {
      memset(data[i], 0, (size_t)lengths[i]);
      MPI_Irecv(data[i], lengths[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    }
    while (left > 0) {
      int flag = 0, ended = 0;
      if (way == 0) {
        MPI_Testany(count, requests, indices, &flag, told ? statuses : MPI_STATUS_IGNORE);
        CHECK(flag || indices[0] == MPI_UNDEFINED);
        ended = flag;
      } else if (way == 1) {
        MPI_Testall(count, requests, &flag, told ? statuses : MPI_STATUSES_IGNORE);
        ended = flag ? count : 0;
        for (int i = 0; i < count; ++i) indices[i] = i;
      } else {
        MPI_Testsome(count, requests, &ended, indices, told ? statuses : MPI_STATUSES_IGNORE);
      }
      CHECK(ended >= 0 && ended <= left);
      for (int k = 0; k < ended; ++k) {
        const int i = indices[k];
        CHECK(requests[i] == MPI_REQUEST_NULL && filled(data[i], (size_t)lengths[i], seed + (unsigned)i));
        if (told) CHECK(count_of(&statuses[k]) == lengths[i] && statuses[k].MPI_TAG == i);
      }
      left -= ended;
    }
    MPI_Wait(&large, &statuses[0]);
    CHECK(filled(other, unasked, seed + 99) && count_of(&statuses[0]) == unasked);
  }
  for (int i = 0; i < most; ++i) free(data[i]);
  free(other);
}

void mpi4(void) {
#if MPI_VERSION >= 4
  const int n = 120000;
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  char *out = heap((size_t)n), *in = heap((size_t)n);
  MPI_Request request, requests[2];
  MPI_Status status;
  MPI_Count large = 0;
  fill(out, (size_t)n, (unsigned)rank);
  MPI_Isendrecv(out, n, MPI_BYTE, to, 1, in, n, MPI_BYTE, from, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  CHECK(filled(in, (size_t)n, (unsigned)from));  // MPICH 4.0 leaves the status empty
  MPI_Isendrecv_replace(out, n, MPI_BYTE, to, 1, from, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  CHECK(filled(out, (size_t)n, (unsigned)from));
  fill(out, (size_t)n, (unsigned)rank);
  MPI_Irecv_c(in, n, MPI_BYTE, from, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend_c(out, n, MPI_BYTE, to, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(filled(in, (size_t)n, (unsigned)from));
  MPI_Sendrecv_c(out, WIRE, MPI_BYTE, to, 3, in, n, MPI_BYTE, from, 3, MPI_COMM_WORLD, &status);
  MPI_Get_count_c(&status, MPI_BYTE, &large);
  CHECK(large == WIRE && filled(in, WIRE, (unsigned)from));
  MPI_Psend_init(out, 4, n / 4, MPI_BYTE, to, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in, 4, n / 4, MPI_BYTE, from, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 3; ++round) {
    memset(in, 0, (size_t)n);
    MPI_Startall(2, requests);
    for (int i = 0; i < 4; ++i) MPI_Pready(3 - i, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(filled(in, (size_t)n, (unsigned)from));
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  free(out);
  free(in);
#endif
}
