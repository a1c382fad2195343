/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Three bare ways for processes of one node to pass bytes, with nothing around them (no tags, no matching),
 * so that what a message library adds can be seen: "copy" (in and out of shared chunks, as every
 * shared-memory transport did), "cma" (process_vm_readv: one copy by the kernel), and "limit" (one pass over
 * a buffer that both have mapped, with nothing tuned: what a library should come close to). The first line of
 * each ordered pair's mailbox carries messages up to 48 bytes for all three. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patterns.h"

enum { chunk_bytes = 32768, chunks = 8, inline_bytes = 40, eager_bytes = 4096 };

/* One ordered pair. Counters only grow; each is written by one side. */
typedef struct mailbox {
  _Alignas(128) volatile uint64_t sent;
  const void* data;
  uint64_t bytes;
  char small[inline_bytes];
  _Alignas(128) volatile uint64_t taken;
  _Alignas(128) volatile uint64_t filled;
  _Alignas(128) volatile uint64_t emptied;
  _Alignas(128) char eager[eager_bytes];
  _Alignas(128) char chunk[chunks][chunk_bytes];
} mailbox;

static enum { by_copy, by_cma, by_limit } way;
static transport* self;
static mailbox* boxes; /* [from * size + to] */
static pid_t* pids;
static char *arena, *arena_end;
static ptrdiff_t stride;
static int children;

static mailbox* box_of(int from, int to) { return &boxes[from * self->size + to]; }

static void* get_shared(size_t bytes) {
  char* at = arena;
  arena += (bytes + 4095) / 4096 * 4096;
  return arena <= arena_end ? at : NULL;
}
static void* get_private(size_t bytes) { return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096); }

static void put(mailbox* m, volatile uint64_t* word, uint64_t value) {
  (void)m;
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void send_one(const void* data, size_t bytes, int to) {
  mailbox* m = box_of(self->rank, to);
  uint64_t turn = m->sent + 1;
  spin_until(&m->taken, turn - 1); /* the line is free */
  m->bytes = bytes;
  m->data = data;
  int small = bytes <= inline_bytes, eager = !small && bytes <= eager_bytes && way != by_limit;
  if (small) memcpy(m->small, data, bytes);
  if (eager) memcpy(m->eager, data, bytes);
  put(m, &m->sent, turn);
  if (small || eager) return;
  if (way == by_copy)
    for (size_t done = 0; done < bytes; done += chunk_bytes) {
      uint64_t next = m->filled + 1;
      if (next > chunks) spin_until(&m->emptied, next - chunks);
      size_t part = bytes - done < chunk_bytes ? bytes - done : chunk_bytes;
      memcpy(m->chunk[next % chunks], (const char*)data + done, part);
      put(m, &m->filled, next);
    }
  else
    spin_until(&m->taken, turn); /* the buffer is read in place: wait until it was */
}

static void read_peer(void* data, const void* from, size_t bytes, int rank) {
  for (size_t done = 0; done < bytes;) {
    struct iovec here = {(char*)data + done, bytes - done}, there = {(char*)from + done, bytes - done};
    ssize_t part = process_vm_readv(pids[rank], &here, 1, &there, 1, 0);
    if (part <= 0) {
      fprintf(stderr, "process_vm_readv: %s\n", strerror(errno));
      _exit(2);
    }
    done += (size_t)part;
  }
}

static void receive_one(void* data, size_t room, int from) {
  mailbox* m = box_of(from, self->rank);
  uint64_t turn = m->taken + 1;
  spin_until(&m->sent, turn);
  size_t bytes = m->bytes < room ? m->bytes : room;
  if (bytes <= inline_bytes)
    memcpy(data, m->small, bytes);
  else if (way == by_limit)
    memcpy(data, m->data, bytes);
  else if (bytes <= eager_bytes)
    memcpy(data, m->eager, bytes);
  else if (way == by_cma)
    read_peer(data, m->data, bytes, from);
  else
    for (size_t done = 0; done < bytes; done += chunk_bytes) {
      uint64_t next = m->emptied + 1;
      spin_until(&m->filled, next);
      size_t part = bytes - done < chunk_bytes ? bytes - done : chunk_bytes;
      memcpy((char*)data + done, m->chunk[next % chunks], part);
      put(m, &m->emptied, next);
    }
  put(m, &m->taken, turn);
}

/* Every rank's arena has the same buffers, `stride` bytes from the next one's. */
static void put_into(void* at, const void* data, size_t bytes, int to) {
  memcpy((char*)at + (to - self->rank) * stride, data, bytes);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void barrier(void) { meet(self); }

/* The limit of what moves bytes between two ranks: meet the other, one pass over its memory, meet again, as
 * its buffers may be rewritten then. Sums are added by what the compiler makes of the loop. */
static void meet_other(void) {
  mailbox* mine = box_of(self->rank, 1 - self->rank);
  uint64_t turn = mine->filled + 1;
  put(mine, &mine->filled, turn);
  spin_until(&box_of(1 - self->rank, self->rank)->filled, turn);
}
static const void* of_other(const void* at) { return (const char*)at + (1 - 2 * self->rank) * stride; }

static void exchange(const void* out, void* in, size_t bytes, int to, int from) {
  (void)to, (void)from;
  meet_other();
  memcpy(in, of_other(out), bytes);
  meet_other();
}
static void bcast(void* data, size_t bytes, int root) {
  meet_other();
  if (self->rank != root) memcpy(data, of_other(data), bytes);
  meet_other();
}
static void add(const double* restrict in, double* restrict out, size_t count) {
  const double* restrict other = of_other(in);
  for (size_t i = 0; i < count; i++) out[i] = in[i] + other[i];
}
static void reduce(const double* in, double* out, size_t count, int root) {
  meet_other();
  if (self->rank == root) add(in, out, count);
  meet_other();
}
static void allreduce(const double* in, double* out, size_t count) {
  meet_other();
  add(in, out, count);
  meet_other();
}
static void alltoall(const void* out, void* in, size_t bytes_each) {
  size_t mine = bytes_each * (size_t)self->rank, theirs = bytes_each - mine;
  meet_other();
  memcpy((char*)in + mine, (const char*)out + mine, bytes_each);
  memcpy((char*)in + theirs, (const char*)of_other(out) + mine, bytes_each);
  meet_other();
}

static void end(void) {
  int bad = 0, status;
  while (children-- > 0)
    if (wait(&status) > 0 && status != 0) bad = 1;
  if (bad) fprintf(stderr, "a rank failed\n");
}

static void start_ranks(int ranks) {
  self->rank = 0;
  pids[0] = getpid();
  pid_t parent = getpid();
  for (int r = 1; r < ranks && self->rank == 0; r++) {
    pid_t child = fork();
    if (child < 0) exit((fprintf(stderr, "fork: %s\n", strerror(errno)), 2));
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(2);
      self->rank = r;
      pids[r] = getpid();
      children = 0;
    } else {
      pids[r] = child;
      children++;
    }
  }
  sit(self->rank, ranks);
}

void transport_begin(transport* t, const char* kind, int ranks) {
  if (!strcmp(kind, "copy"))
    way = by_copy;
  else if (!strcmp(kind, "cma"))
    way = by_cma;
  else if (!strcmp(kind, "limit"))
    way = by_limit;
  else
    exit((fprintf(stderr, "--transport is copy, cma or limit\n"), 2));
  *t = (transport){.size = ranks,
                   .send = send_one,
                   .receive = receive_one,
                   .end = end,
                   .alloc = way == by_limit ? get_shared : get_private};
  if (way == by_limit) {
    t->barrier = barrier;
    t->window = get_shared;
    t->put = put_into;
  }
  if (way == by_limit && ranks == 2) {
    t->exchange = exchange;
    t->bcast = bcast;
    t->reduce = reduce;
    t->allreduce = allreduce;
    t->alltoall = alltoall;
  }
  self = t;
  size_t fixed = sizeof(meeting) + sizeof(mailbox) * (size_t)ranks * (size_t)ranks +
                 sizeof(pid_t) * (size_t)ranks + 4096;
  size_t each = (size_t)24 << 20;
  if (ranks > 2) each = (size_t)(10 * ranks) << 20;
  char* base =
      mmap(NULL, fixed + each * (size_t)ranks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) exit((fprintf(stderr, "mmap: %s\n", strerror(errno)), 2));
  t->place = (meeting*)base;
  boxes = (mailbox*)(base + (sizeof(meeting) + 127) / 128 * 128);
  pids = (pid_t*)(boxes + ranks * ranks);
  start_ranks(ranks);
  arena = base + (fixed + 4095) / 4096 * 4096 + each * (size_t)t->rank;
  stride = (ptrdiff_t)each + 0x11000;
  arena += (size_t)t->rank * 0x11000; /* not at the same address bits in every rank */
  arena_end = base + fixed + each * (size_t)(t->rank + 1);
  meet(t);
}
