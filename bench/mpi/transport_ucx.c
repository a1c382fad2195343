/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The patterns by UCX's tag matching (UCP) without an MPI library above it: the peer that MPICH itself runs
 * on. Two processes made by fork exchange worker addresses through shared memory; UCX picks its transports
 * (UCX_TLS of the environment wins). */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "patterns.h"

enum { most_address = 4096, most_requests = 64 };

typedef struct shared {
  meeting place;
  char address[2][most_address];
  size_t address_bytes[2];
} shared;

static transport* self;
static ucp_worker_h worker;
static ucp_ep_h peer;

static void must(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
  exit(2);
}

static void finish(ucs_status_ptr_t request) {
  if (request == NULL) return;
  if (UCS_PTR_IS_ERR(request)) must(UCS_PTR_STATUS(request), "ucp tag operation");
  for (unsigned n = 1; ucp_request_check_status(request) == UCS_INPROGRESS; n++)
    if (ucp_worker_progress(worker) == 0 && n % 4096 == 0) sched_yield();
  must(ucp_request_check_status(request), "ucp tag operation");
  ucp_request_free(request);
}

static const ucp_request_param_t plain;

static ucs_status_ptr_t start_send(const void* data, size_t bytes) {
  return ucp_tag_send_nbx(peer, data, bytes, 1, &plain);
}
static ucs_status_ptr_t start_receive(void* data, size_t bytes) {
  return ucp_tag_recv_nbx(worker, data, bytes, 1, ~(ucp_tag_t)0, &plain);
}

static void* get(size_t bytes) { return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096); }
static void send_one(const void* data, size_t bytes, int to) {
  (void)to;
  finish(start_send(data, bytes));
}
static void receive_one(void* data, size_t bytes, int from) {
  (void)from;
  finish(start_receive(data, bytes));
}
static void exchange(const void* out, void* in, size_t bytes, int to, int from) {
  (void)to, (void)from;
  ucs_status_ptr_t receiving = start_receive(in, bytes), sending = start_send(out, bytes);
  finish(receiving);
  finish(sending);
}
static void send_many(const void* data, size_t bytes, int count, int to) {
  ucs_status_ptr_t requests[most_requests];
  (void)to;
  for (int i = 0; i < count; i++) requests[i] = start_send((const char*)data + (size_t)i * bytes, bytes);
  for (int i = 0; i < count; i++) finish(requests[i]);
}
static void receive_many(void* data, size_t bytes, int count, int from) {
  ucs_status_ptr_t requests[most_requests];
  (void)from;
  for (int i = 0; i < count; i++) requests[i] = start_receive((char*)data + (size_t)i * bytes, bytes);
  for (int i = 0; i < count; i++) finish(requests[i]);
}

static void end(void) {
  int status = 0;
  if (self->rank == 0 && wait(&status) > 0 && status != 0) fprintf(stderr, "the other rank failed\n");
}

static void connect_peers(shared* common) {
  ucp_config_t* config;
  ucp_context_h context;
  ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
  ucp_worker_params_t single = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                .thread_mode = UCS_THREAD_MODE_SINGLE};
  must(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
  must(ucp_init(&params, config, &context), "ucp_init");
  ucp_config_release(config);
  must(ucp_worker_create(context, &single, &worker), "ucp_worker_create");
  ucp_address_t* address;
  size_t bytes;
  must(ucp_worker_get_address(worker, &address, &bytes), "ucp_worker_get_address");
  if (bytes > most_address) exit((fprintf(stderr, "UCX's address has %zu bytes\n", bytes), 2));
  memcpy(common->address[self->rank], address, bytes);
  common->address_bytes[self->rank] = bytes;
  meet(self);
  ucp_ep_params_t to = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                        .address = (const ucp_address_t*)common->address[1 - self->rank]};
  must(ucp_ep_create(worker, &to, &peer), "ucp_ep_create");
  /* wire-up happens on the first messages */
  char byte = 0, other = 0;
  for (int i = 0; i < 10; i++) exchange(&byte, &other, 1, 0, 0);
}

void transport_begin(transport* t, const char* kind, int ranks) {
  (void)kind;
  if (ranks != 2) exit((fprintf(stderr, "this program measures UCX between 2 ranks\n"), 2));
  *t = (transport){.size = 2,
                   .alloc = get,
                   .send = send_one,
                   .receive = receive_one,
                   .exchange = exchange,
                   .send_many = send_many,
                   .receive_many = receive_many,
                   .end = end};
  self = t;
  shared* common = mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (common == MAP_FAILED) exit((fprintf(stderr, "mmap: %s\n", strerror(errno)), 2));
  t->place = &common->place;
  pid_t child = fork();
  if (child < 0) exit((fprintf(stderr, "fork: %s\n", strerror(errno)), 2));
  t->rank = child == 0;
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  sit(t->rank, 2);
  connect_peers(common);
}
