/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between the ranks of a job on one node, over the space (nigh/space.h): small ones through a ring
 * of cache lines for each pair of ranks, large ones as a single copy from where they lie to where they go.
 * Start the program with `nigh run -n 8 -- ./app`, link with -lnigh-space, and call nigh_message_init() in
 * every rank.
 *
 * A receive takes the first message that fits its source and tag; messages of one source and tag arrive in
 * the order they were sent. A send has ended when its buffer may be used again, and ends whether or not the
 * receiver comes. Counts are size_t: there is no limit but memory. Large messages are fastest from the heap
 * (or anything else that nigh_space_global() knows); from a stack they are copied once more.
 *
 * One thread of a rank at a time. Nothing here aborts; every function says by its code what went wrong. */
#ifndef NIGH_MESSAGE_H
#define NIGH_MESSAGE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NIGH_ANY_SOURCE (-1)
#define NIGH_ANY_TAG (-1)

enum {
  NIGH_OK = 0,
  NIGH_ERR_TRUNCATED = 1, /* the message was longer than the buffer, which holds its beginning */
  NIGH_ERR_PEER_DEAD = 2, /* the rank that was waited for has ended */
  NIGH_ERR_NO_MEMORY = 3,
  NIGH_ERR_ARGUMENT = 4,    /* a rank, tag, pointer or layout that can't be right */
  NIGH_ERR_UNREACHABLE = 5, /* that rank is not part of the space */
  NIGH_ERR_NO_SPACE = 6     /* nigh_message_init() was not called or found no space: nigh_space_why() */
};
const char* nigh_error_text(int error);

typedef struct nigh_status {
  int source;
  int tag;
  size_t bytes; /* received */
  int error;
} nigh_status;

/* The layout of a message that is not in one piece: elements `extent` bytes apart, each of the same
 * blocks. Blocks must be in heap memory and stay until the message has been sent or received. */
typedef struct nigh_block {
  ptrdiff_t offset;
  size_t bytes;
} nigh_block;
typedef struct nigh_layout {
  const nigh_block* blocks;
  size_t block_count;
  ptrdiff_t extent;
  size_t element_bytes; /* the sum of the blocks */
} nigh_layout;

typedef struct nigh_request_data* nigh_request;

/* Collective: joins the space if that was not done, and returns when all ranks that can be reached are here,
 * or have died. Calling it again is fine. */
int nigh_message_init(void);
/* -1 and 0 before init. */
int nigh_rank(void);
int nigh_size(void);

int nigh_send(const void* data, size_t bytes, int to, int tag);
int nigh_recv(void* data, size_t bytes, int from, int tag, nigh_status* status);
int nigh_isend(const void* data, size_t bytes, int to, int tag, nigh_request* request);
int nigh_irecv(void* data, size_t bytes, int from, int tag, nigh_request* request);
/* `bytes` bytes of message, laid out at `data` as `layout` says (it is copied; its blocks are not). */
int nigh_send_layout(const void* data, const nigh_layout* layout, size_t bytes, int to, int tag);
int nigh_recv_layout(void* data, const nigh_layout* layout, size_t bytes, int from, int tag,
                     nigh_status* status);
int nigh_sendrecv(const void* out, size_t out_bytes, int to, int out_tag, void* in, size_t in_bytes, int from,
                  int in_tag, nigh_status* status);

/* Set the request to NULL when it has ended; NULL requests have. `status` may be NULL; of a send only its
 * error means something. */
int nigh_wait(nigh_request* request, nigh_status* status);
int nigh_test(nigh_request* request, int* ended, nigh_status* status);
/* The first error, if any; `statuses` holds `count`, or is NULL. */
int nigh_waitall(size_t count, nigh_request* requests, nigh_status* statuses);

/* The message that the next receive of that source and tag would get; nigh_iprobe does not wait for it. */
int nigh_probe(int from, int tag, nigh_status* status);
int nigh_iprobe(int from, int tag, int* there, nigh_status* status);

#ifdef __cplusplus
}
#endif
#endif
