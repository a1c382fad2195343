/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point of MPI_THREAD_MULTIPLE: four threads of each of two ranks send, receive, probe and wait at
 * once, each on a communicator of its own by wildcards, and all on one that they share, told apart by tags.
 * Sizes lie on both sides of what goes by descriptor. Every byte depends on sender, thread, round and place.
 * Then one thread receives while another one probes.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 40, MANY = 5, MOST = 100000 };
static const int sizes[] = {0, 1, 100, 239, 240, 241, 3999, 4000, 8191, 8192, 20000, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int rank, peer;
static MPI_Comm own[THREADS], shared;

static void wrong(int thread, int round, const char* what) {
  fprintf(stderr, "threads: rank %d thread %d round %d: %s\n", rank, thread, round, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static uint32_t key(int sender, int thread, int round, int i) {
  return (uint32_t)(((sender * 7 + thread) * 1009 + round) * 31 + i) * 2654435761u;
}
static int size_of(uint32_t key) { return sizes[(key >> 9) % SIZES]; }
static void fill(unsigned char* data, int bytes, uint32_t key) {
  for (int i = 0; i < bytes; ++i) data[i] = (unsigned char)((key + (uint32_t)i * 40503u) >> 7);
}
static int filled(const unsigned char* data, int bytes, uint32_t key) {
  for (int i = 0; i < bytes; ++i)
    if (data[i] != (unsigned char)((key + (uint32_t)i * 40503u) >> 7)) return 0;
  return 1;
}

struct place {
  unsigned char *out[MANY], *in[MANY];
};

static void check(int thread, int round, const unsigned char* data, uint32_t key, const MPI_Status* status,
                  int tag) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  if (status->MPI_SOURCE != peer) wrong(thread, round, "another source");
  if (status->MPI_TAG != tag) wrong(thread, round, "another tag");
  if (count != size_of(key)) wrong(thread, round, "another length");
  if (!filled(data, count, key)) wrong(thread, round, "other bytes");
}

/* One rank sends in order, the other takes whatever comes: on a communicator of its own that is the same
 * order. */
static void by_wildcards(int thread, int round, struct place* p, int sends) {
  const MPI_Comm comm = own[thread];
  MPI_Request request[MANY];
  MPI_Message message;
  MPI_Status status;
  for (int i = 0; sends && i < MANY; ++i) {
    const uint32_t k = key(rank, thread, round, i);
    fill(p->out[i], size_of(k), k);
    if (i % 2)
      MPI_Send(p->out[i], size_of(k), MPI_BYTE, peer, (int)(k % 6), comm), request[i] = MPI_REQUEST_NULL;
    else
      MPI_Isend(p->out[i], size_of(k), MPI_BYTE, peer, (int)(k % 6), comm, &request[i]);
  }
  if (sends) MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
  for (int i = 0; !sends && i < MANY; ++i) {
    const uint32_t k = key(peer, thread, round, i);
    int probed = -1;
    if ((round + i) % 3 == 0) {
      MPI_Recv(p->in[i], MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    } else if ((round + i) % 3 == 1) {
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
      MPI_Get_count(&status, MPI_BYTE, &probed);
      if (probed != size_of(k)) wrong(thread, round, "a probe says another length");
      MPI_Mrecv(p->in[i], MOST, MPI_BYTE, &message, &status);
    } else {
      MPI_Irecv(p->in[i], MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request[0]);
      for (int done = 0; !done;) MPI_Test(&request[0], &done, &status);
    }
    check(thread, round, p->in[i], k, &status, (int)(k % 6));
  }
}

/* Both ways at once, on the communicator of all threads. */
static void by_tags(int thread, int round, struct place* p) {
  MPI_Request request[2 * MANY];
  MPI_Status status[2 * MANY];
  const int first = 1000 * thread + round % 7 * MANY;
  for (int i = 0; i < MANY; ++i)
    MPI_Irecv(p->in[i], MOST, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : peer, first + i, shared, &request[i]);
  for (int i = 0; i < MANY; ++i) {
    const uint32_t k = key(rank, thread, round, i + 50);
    fill(p->out[i], size_of(k), k);
    MPI_Isend(p->out[i], size_of(k), MPI_BYTE, peer, first + i, shared, &request[MANY + i]);
  }
  if (round % 2) {
    MPI_Waitall(2 * MANY, request, status);
  } else {
    for (int i = 0; i < 2 * MANY; ++i) {
      int which = -1;
      MPI_Status one;
      MPI_Waitany(2 * MANY, request, &which, &one);
      status[which] = one;
    }
  }
  for (int i = 0; i < MANY; ++i)
    check(thread, round, p->in[i], key(peer, thread, round, i + 50), &status[i], first + i);
  const uint32_t to = key(rank, thread, round, 99), from = key(peer, thread, round, 99);
  fill(p->out[0], size_of(to), to);
  MPI_Sendrecv(p->out[0], size_of(to), MPI_BYTE, peer, first + 900, p->in[0], MOST, MPI_BYTE, peer,
               first + 900, shared, &status[0]);
  check(thread, round, p->in[0], from, &status[0], first + 900);
}

/* One thread waits for a receive that was posted before; another one probes for what comes behind it. */
enum { BESIDE = 60, BIG = 2000000, LITTLE = 30000 };
static unsigned char *big, *little;

static void* probes_behind(void* argument) {
  const int round = *(int*)argument;
  MPI_Status status;
  int said = -1, got = -1;
  if (round % 2) {
    MPI_Message message;
    MPI_Mprobe(peer, 5, shared, &message, &status);
    MPI_Get_count(&status, MPI_BYTE, &said);
    MPI_Mrecv(little, BIG, MPI_BYTE, &message, &status);
  } else {
    MPI_Probe(peer, 5, shared, &status);
    MPI_Get_count(&status, MPI_BYTE, &said);
    MPI_Recv(little, BIG, MPI_BYTE, peer, 5, shared, &status);
  }
  MPI_Get_count(&status, MPI_BYTE, &got);
  if (said != LITTLE || got != LITTLE) wrong(0, round, "a probe tells of what another thread receives");
  if (!filled(little, LITTLE, (uint32_t)round + 1)) wrong(0, round, "other bytes behind a probe");
  return NULL;
}

static void probe_beside_receive(int round) {
  MPI_Request request[2];
  MPI_Status status;
  int count = -1;
  char token = 0;
  if (rank == 0) {
    fill(big, BIG, (uint32_t)round);
    fill(little, LITTLE, (uint32_t)round + 1);
    MPI_Recv(&token, 1, MPI_BYTE, peer, 6, shared, MPI_STATUS_IGNORE);
    MPI_Isend(big, BIG, MPI_BYTE, peer, 5, shared, &request[0]);
    MPI_Isend(little, LITTLE, MPI_BYTE, peer, 5, shared, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    return;
  }
  pthread_t prober;
  MPI_Irecv(big, BIG, MPI_BYTE, peer, 5, shared, &request[0]);
  pthread_create(&prober, NULL, probes_behind, &round);
  MPI_Send(&token, 1, MPI_BYTE, peer, 6, shared);
  MPI_Wait(&request[0], &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  if (count != BIG || !filled(big, BIG, (uint32_t)round)) wrong(1, round, "the first of two is another");
  pthread_join(prober, NULL);
}

/* One thread takes numbered messages as they come, another one probes for large ones between them. */
enum { NUMBERS = 400, EVERY = 8 };

static void* takes_numbers(void* argument) {
  for (int i = 0; i < NUMBERS; ++i) {
    int number[2] = {-1, -1};
    MPI_Recv(number, 2, MPI_INT, i % 2 ? MPI_ANY_SOURCE : peer, 1, shared, MPI_STATUS_IGNORE);
    if (number[0] != i) wrong(0, i, "a message has overtaken another beside a probe");
  }
  return argument;
}

static void order_beside_probe(void) {
  if (rank == 0) {
    for (int i = 0; i < NUMBERS; ++i) {
      const int number[2] = {i, 0};
      MPI_Send(number, 2, MPI_INT, peer, 1, shared);
      if (i % EVERY == 0) MPI_Send(big, LITTLE + i, MPI_BYTE, peer, 2, shared);
    }
    return;
  }
  pthread_t taker;
  pthread_create(&taker, NULL, takes_numbers, NULL);
  for (int i = 0; i < NUMBERS; i += EVERY) {
    MPI_Status status;
    int said = -1;
    MPI_Probe(peer, 2, shared, &status);
    MPI_Get_count(&status, MPI_BYTE, &said);
    if (said != LITTLE + i) wrong(1, i, "a probe says another length");
    MPI_Recv(big, said, MPI_BYTE, peer, 2, shared, MPI_STATUS_IGNORE);
  }
  pthread_join(taker, NULL);
}

static void* work(void* argument) {
  const int thread = *(int*)argument;
  struct place p;
  for (int i = 0; i < MANY; ++i) p.out[i] = malloc(MOST), p.in[i] = malloc(MOST);
  for (int round = 0; round < ROUNDS; ++round) {
    long mine = rank + round, sum = -1;
    MPI_Request pending = MPI_REQUEST_NULL;
    if (round % 4 == 0) MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, own[thread], &pending);
    by_wildcards(thread, round, &p, rank == round % 2);
    by_tags(thread, round, &p);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    if (round % 4 == 0 && sum != 2 * round + 1) wrong(thread, round, "a sum");
  }
  for (int i = 0; i < MANY; ++i) free(p.out[i]), free(p.in[i]);
  return NULL;
}

int main(int argc, char** argv) {
  int provided, size, number[THREADS];
  pthread_t thread[THREADS];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided != MPI_THREAD_MULTIPLE || size != 2) {
    if (rank == 0) printf("SKIP: no two ranks with MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 77;
  }
  peer = 1 - rank;
  MPI_Comm_dup(MPI_COMM_WORLD, &shared);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]), number[i] = i;
  for (int i = 0; i < THREADS; ++i) pthread_create(&thread[i], NULL, work, &number[i]);
  for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
  big = malloc(BIG), little = malloc(BIG);
  for (int round = 0; round < BESIDE; ++round) probe_beside_receive(round);
  for (int i = 0; i < 5; ++i) order_beside_probe();
  free(big), free(little);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&own[i]);
  MPI_Comm_free(&shared);
  if (rank == 0) printf("threads: right\n");
  MPI_Finalize();
  return 0;
}
