/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives between the ranks of a job on one node, in place on their memory (see nigh/message.h for how a
 * program gets there). Every member of a group makes the same calls in the same order, blocking or not. Sizes
 * are bytes, of reductions numbers of elements; NIGH_IN_PLACE stands where MPI_IN_PLACE would. Buffers on the
 * heap are read and written where they lie; others are staged by their rank. Every function returns a code of
 * nigh/message.h. */
#ifndef NIGH_COLLECTIVES_H
#define NIGH_COLLECTIVES_H

#include <stddef.h>

#include "nigh/message.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NIGH_IN_PLACE ((void*)-1)

typedef struct nigh_group_data* nigh_group;
typedef struct nigh_call_data* nigh_call;

typedef enum nigh_op {
  NIGH_SUM,
  NIGH_PROD,
  NIGH_MIN,
  NIGH_MAX,
  NIGH_LAND,
  NIGH_LOR,
  NIGH_LXOR,
  NIGH_BAND,
  NIGH_BOR,
  NIGH_BXOR,
  NIGH_MINLOC,
  NIGH_MAXLOC
} nigh_op;
/* C<n>: complex of two floats. <value>_INT and the like: pairs for MINLOC and MAXLOC, laid out as C does. */
typedef enum nigh_element {
  NIGH_I8,
  NIGH_I16,
  NIGH_I32,
  NIGH_I64,
  NIGH_U8,
  NIGH_U16,
  NIGH_U32,
  NIGH_U64,
  NIGH_F32,
  NIGH_F64,
  NIGH_F80,
  NIGH_C32,
  NIGH_C64,
  NIGH_C80,
  NIGH_F32_INT,
  NIGH_F64_INT,
  NIGH_I64_INT,
  NIGH_I32_INT,
  NIGH_I16_INT,
  NIGH_F80_INT,
  NIGH_F32_F32,
  NIGH_F64_F64,
  NIGH_I32_I32,
  NIGH_BOOL
} nigh_element;

/* All ranks that this one can reach; collective. And the members of the same `colour`, in order of `key`,
 * then of their number in the parent; a negative colour gets NULL. All members get the new group, or all get
 * NIGH_ERR_NO_MEMORY when it ends for one of them. Free is local and waits for nobody. */
int nigh_group_world(nigh_group* group);
int nigh_group_split(nigh_group parent, int colour, int key, nigh_group* group);
void nigh_group_free(nigh_group* group);
int nigh_group_rank(nigh_group group);
int nigh_group_size(nigh_group group);
/* The same bits whatever the placement and whichever member holds which operand; all members alike. */
void nigh_group_set_reproducible(nigh_group group, int on);

int nigh_barrier(nigh_group group);
int nigh_bcast(nigh_group group, void* buffer, size_t bytes, int root);
int nigh_reduce(nigh_group group, const void* send, void* receive, size_t count, nigh_element, nigh_op,
                int root);
int nigh_allreduce(nigh_group group, const void* send, void* receive, size_t count, nigh_element, nigh_op);
int nigh_scan(nigh_group group, const void* send, void* receive, size_t count, nigh_element, nigh_op);
int nigh_exscan(nigh_group group, const void* send, void* receive, size_t count, nigh_element, nigh_op);
/* `counts`: elements of each member's block; NULL: `count` each. */
int nigh_reduce_scatter(nigh_group group, const void* send, void* receive, size_t count, const size_t* counts,
                        nigh_element, nigh_op);
/* Blocks of `bytes`; the v-forms have bytes and offsets for each member, which gatherv and scatterv need at
 * the root only. In a scatter it is the root's `receive` that may be NIGH_IN_PLACE. */
int nigh_gather(nigh_group group, const void* send, void* receive, size_t bytes, int root);
int nigh_gatherv(nigh_group group, const void* send, size_t bytes, void* receive, const size_t* receive_bytes,
                 const size_t* receive_offsets, int root);
int nigh_scatter(nigh_group group, const void* send, void* receive, size_t bytes, int root);
int nigh_scatterv(nigh_group group, const void* send, const size_t* send_bytes, const size_t* send_offsets,
                  void* receive, size_t bytes, int root);
int nigh_allgather(nigh_group group, const void* send, void* receive, size_t bytes);
int nigh_allgatherv(nigh_group group, const void* send, void* receive, const size_t* receive_bytes,
                    const size_t* receive_offsets);
int nigh_alltoall(nigh_group group, const void* send, void* receive, size_t bytes);
int nigh_alltoallv(nigh_group group, const void* send, const size_t* send_bytes, const size_t* send_offsets,
                   void* receive, const size_t* receive_bytes, const size_t* receive_offsets);

/* The next collective of this group, whichever it is, only starts: *call is its handle. Its buffers and
 * arrays must stay until nigh_call_wait, or nigh_call_test with *ended, has set the handle to NULL. */
void nigh_group_start_next(nigh_group group, nigh_call* call);
int nigh_call_wait(nigh_call* call);
int nigh_call_test(nigh_call* call, int* ended);

#ifdef __cplusplus
}
#endif
#endif
