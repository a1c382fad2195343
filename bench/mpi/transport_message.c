/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The patterns by nigh's own messages and collectives, as a program that links them would write them; started
 * by `nigh run -n`. */
#include <nigh/collectives.h>
#include <nigh/message.h>
#include <nigh/space.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"

enum { most_requests = 256 };

static void must(int error, const char* what) {
  if (error == NIGH_OK) return;
  fprintf(stderr, "%s: %s\n", what, nigh_error_text(error));
  exit(2);
}

static void* get(size_t bytes) { return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096); }
static void send_one(const void* data, size_t bytes, int to) {
  must(nigh_send(data, bytes, to, 1), "nigh_send");
}
static void receive_one(void* data, size_t bytes, int from) {
  must(nigh_recv(data, bytes, from, 1, NULL), "nigh_recv");
}
static void exchange(const void* out, void* in, size_t bytes, int to, int from) {
  must(nigh_sendrecv(out, bytes, to, 2, in, bytes, from, 2, NULL), "nigh_sendrecv");
}
static void send_many(const void* data, size_t bytes, int count, int to) {
  nigh_request requests[most_requests];
  for (int i = 0; i < count; i++)
    must(nigh_isend((const char*)data + (size_t)i * bytes, bytes, to, 3, &requests[i]), "nigh_isend");
  must(nigh_waitall((size_t)count, requests, NULL), "nigh_waitall");
}
static void receive_many(void* data, size_t bytes, int count, int from) {
  nigh_request requests[most_requests];
  for (int i = 0; i < count; i++)
    must(nigh_irecv((char*)data + (size_t)i * bytes, bytes, from, 3, &requests[i]), "nigh_irecv");
  must(nigh_waitall((size_t)count, requests, NULL), "nigh_waitall");
}
static void halo(const void* const* out, void* const* in, size_t bytes, int left, int right) {
  nigh_request r[4];
  must(nigh_irecv(in[0], bytes, left, 5, &r[0]), "nigh_irecv");
  must(nigh_irecv(in[1], bytes, right, 4, &r[1]), "nigh_irecv");
  must(nigh_isend(out[0], bytes, left, 4, &r[2]), "nigh_isend");
  must(nigh_isend(out[1], bytes, right, 5, &r[3]), "nigh_isend");
  must(nigh_waitall(4, r, NULL), "nigh_waitall");
}

static void share_place(transport* t) {
  if (t->rank == 0) {
    t->place = nigh_space_alloc(sizeof(meeting), 128);
    if (!t->place) must(NIGH_ERR_NO_MEMORY, "nigh_space_alloc");
    memset(t->place, 0, sizeof(meeting));
    nigh_space_publish(t->place);
  }
  while (!t->place) {
    t->place = nigh_space_published(0);
    if (!t->place) sched_yield();
  }
}

static nigh_group world;
static void barrier(void) { must(nigh_barrier(world), "nigh_barrier"); }
static void bcast(void* data, size_t bytes, int root) {
  must(nigh_bcast(world, data, bytes, root), "nigh_bcast");
}
static void reduce(const double* in, double* out, size_t count, int root) {
  must(nigh_reduce(world, in, out, count, NIGH_F64, NIGH_SUM, root), "nigh_reduce");
}
static void allreduce(const double* in, double* out, size_t count) {
  must(nigh_allreduce(world, in, out, count, NIGH_F64, NIGH_SUM), "nigh_allreduce");
}
static void alltoall(const void* out, void* in, size_t bytes) {
  must(nigh_alltoall(world, out, in, bytes), "nigh_alltoall");
}
static void end(void) { nigh_group_free(&world); }

void transport_begin(transport* t, const char* kind, int ranks) {
  (void)kind;
  must(nigh_message_init(), nigh_space_why());
  must(nigh_group_world(&world), "nigh_group_world");
  *t = (transport){.rank = nigh_rank(),
                   .size = nigh_size(),
                   .alloc = get,
                   .send = send_one,
                   .receive = receive_one,
                   .exchange = exchange,
                   .send_many = send_many,
                   .receive_many = receive_many,
                   .halo = halo,
                   .barrier = barrier,
                   .bcast = bcast,
                   .reduce = reduce,
                   .allreduce = allreduce,
                   .alltoall = alltoall,
                   .end = end};
  if (t->size != ranks) {
    fprintf(stderr, "started with %d ranks, not the %d of --teams\n", t->size, ranks);
    exit(2);
  }
  share_place(t);
}
