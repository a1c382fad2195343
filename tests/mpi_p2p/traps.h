// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The common parts of the traps for point-to-point. A trap is a function that all ranks call; it reports in
// lines that must not depend on who carried the messages, so that a run with the interposer and one without
// can be compared byte by byte, and it checks every byte that it receives itself.
#pragma once

#include <mpi.h>
#ifdef MPI_ABI_VERSION /* the standard ABI has no MPI_Fint */
#define MPI_Message_c2f MPI_Message_toint
#define MPI_Message_f2c MPI_Message_fromint
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The length that descriptors have on the wire, and sizes around it and around the thresholds.
enum { WIRE = 240 };
extern const int sizes[];
extern const int size_count;

extern int rank, ranks;
extern int failures;
// TRAPS_STRICT: what we promise and a library need not (Open MPI writes behind a buffer that is too small).
extern int strict;

// A check that failed is printed with its line and makes the run fail; the first few of them.
#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)
void check(int ok, const char* condition, const char* file, int line);

// Bytes that depend on the seed and on their place.
void fill(void* data, size_t bytes, unsigned seed);
int filled(const void* data, size_t bytes, unsigned seed);
// From the heap, where senders' buffers are shared with the peers; CHECKs that there is memory.
void* heap(size_t bytes);
// One line, from rank 0 only.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
// A little time, so that messages arrive or senders lose their patience.
void pause_ms(int ms);
int count_of(const MPI_Status* status);

typedef void (*Trap)(void);
#define TRAPS(X)                 \
  X(sizes_blocking)              \
  X(sizes_nonblocking)           \
  X(send_modes)                  \
  X(legal_exchange)              \
  X(self_send)                   \
  X(private_buffers)             \
  X(static_buffers)              \
  X(memory_given_back)           \
  X(order_with_wildcards)        \
  X(probe_counts)                \
  X(probe_behind_posted)         \
  X(matched_probes)              \
  X(matched_probe_order)         \
  X(truncation_the_old_way)      \
  X(truncation)                  \
  X(truncation_below_descriptor) \
  X(truncation_of_plain)         \
  X(truncation_in_waitall)       \
  X(truncation_in_tests)         \
  X(error_handler)               \
  X(persistent)                  \
  X(persistent_mixed)            \
  X(handles_again)               \
  X(cancel_receive)              \
  X(cancel_send)                 \
  X(request_free)                \
  X(get_status)                  \
  X(get_status_of_many)          \
  X(wait_mixes)                  \
  X(test_mixes)                  \
  X(polled_receives)             \
  X(empty_sets)                  \
  X(null_arguments)              \
  X(many_outstanding)            \
  X(starving_test)               \
  X(types_both_sides)            \
  X(types_pairs)                 \
  X(types_attributes)            \
  X(types_arrays)                \
  X(types_absolute)              \
  X(types_partial)               \
  X(types_freed)                 \
  X(types_too_many_blocks)       \
  X(sendrecv_ring)               \
  X(sendrecv_replace)            \
  X(buffered)                    \
  X(communicators)               \
  X(communicator_freed)          \
  X(early_order)                 \
  X(early_receives)              \
  X(early_replaced)              \
  X(early_persistent)            \
  X(early_truncated)             \
  X(early_refused)               \
  X(early_synchronous)           \
  X(intercommunicator)           \
  X(collective_underneath)       \
  X(fork_between)                \
  X(data_like_descriptors)       \
  X(mpi4)
#define X(name) void name(void);
TRAPS(X)
#undef X
