// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Probes of messages that are descriptors to the library, and receive buffers that are too small for them.
#include "traps.h"

// Each size is probed, then received into a buffer of just that size.
void probe_counts(void) {
  if (rank > 1) return;
  for (int i = 0; i < size_count; ++i) {
    const int n = sizes[i];
    char *out = heap((size_t)n), *in = heap((size_t)n);
    fill(out, (size_t)n, (unsigned)i);
    if (rank == 0) {
      MPI_Send(out, n, MPI_BYTE, 1, 2 * i, MPI_COMM_WORLD);
      MPI_Send(out, n, MPI_BYTE, 1, 2 * i + 1, MPI_COMM_WORLD);
    } else {
      MPI_Status status;
      int flag = 0, elements = 0;
      MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      CHECK(count_of(&status) == n && status.MPI_TAG == 2 * i);
      MPI_Get_elements(&status, MPI_BYTE, &elements);
      CHECK(elements == n);
      MPI_Recv(in, n, MPI_BYTE, 0, 2 * i, MPI_COMM_WORLD, &status);
      CHECK(filled(in, (size_t)n, (unsigned)i) && count_of(&status) == n);
      while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 2 * i + 1, MPI_COMM_WORLD, &flag, &status);
      CHECK(count_of(&status) == n && status.MPI_SOURCE == 0);
      memset(in, 0, (size_t)n);
      MPI_Recv(in, n, MPI_BYTE, 0, 2 * i + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(filled(in, (size_t)n, (unsigned)i));
    }
    free(out);
    free(in);
  }
}

// A posted receive has taken the first of three messages, but nobody has waited for it: the probe sees the
// second.
void probe_behind_posted(void) {
  const int lengths[] = {100000, 60000, WIRE};
  char* data = heap(100000);
  int token = 0;
  if (rank == 0) {
    MPI_Recv(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i) {
      fill(data, (size_t)lengths[i], (unsigned)i);
      MPI_Send(data, lengths[i], MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    }
  } else if (rank == 1) {
    MPI_Request request;
    MPI_Status status;
    char* first = heap(100000);
    MPI_Irecv(first, 100000, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    for (int i = 1; i < 3; ++i) {
      MPI_Probe(0, 0, MPI_COMM_WORLD, &status);
      CHECK(count_of(&status) == lengths[i]);
      MPI_Recv(data, lengths[i], MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status);
      CHECK(filled(data, (size_t)lengths[i], (unsigned)i) && count_of(&status) == lengths[i]);
    }
    MPI_Wait(&request, &status);
    CHECK(filled(first, 100000, 0) && count_of(&status) == 100000);
    free(first);
  }
  free(data);
}

void matched_probes(void) {
  if (rank > 1) return;
  for (int i = 0; i < size_count; ++i) {
    const int n = sizes[i];
    char *out = heap((size_t)n), *in = heap((size_t)n + 10);
    fill(out, (size_t)n, (unsigned)i);
    if (rank == 0) {
      for (int k = 0; k < 4; ++k) MPI_Send(out, n, MPI_BYTE, 1, i, MPI_COMM_WORLD);
    } else {
      for (int k = 0; k < 4; ++k) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        int flag = 0;
        memset(in, 0, (size_t)n);
        if (k % 2 == 0)
          MPI_Mprobe(0, i, MPI_COMM_WORLD, &message, &status);
        else
          while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
        CHECK(count_of(&status) == n && status.MPI_TAG == i);
        if (k < 2) {
          MPI_Mrecv(in, n + 10, MPI_BYTE, &message, &status);
        } else {
          MPI_Request request;
          MPI_Imrecv(in, n + 10, MPI_BYTE, &message, &request);
          MPI_Wait(&request, &status);
        }
        CHECK(message == MPI_MESSAGE_NULL && filled(in, (size_t)n, (unsigned)i) && count_of(&status) == n);
      }
    }
    free(out);
    free(in);
  }
  MPI_Message none;
  MPI_Status status;
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &none, &status);
  CHECK(none == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(NULL, 0, MPI_BYTE, &none, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

// Several are matched before the first is received, and received in the opposite order; on two communicators.
void matched_probe_order(void) {
  enum { messages = 6 };
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  char* data = heap(messages * 200000);
  if (rank == 0) {
    MPI_Request requests[messages];
    for (int i = 0; i < messages; ++i) {
      fill(data + i * 200000, (size_t)(10000 + 20000 * i), (unsigned)i);
      MPI_Isend(data + i * 200000, 10000 + 20000 * i, MPI_BYTE, 1, 0, i % 2 == 0 ? MPI_COMM_WORLD : other,
                &requests[i]);
    }
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  } else if (rank == 1) {
    MPI_Message message[messages];
    MPI_Status status;
    for (int i = 0; i < messages; ++i) {
      const int k = i ^ 1;
      MPI_Mprobe(0, 0, k % 2 == 0 ? MPI_COMM_WORLD : other, &message[k], &status);
      CHECK(count_of(&status) == 10000 + 20000 * k);
    }
    for (int i = messages - 1; i >= 0; --i) {
      MPI_Mrecv(data, 200000, MPI_BYTE, &message[i], &status);
      CHECK(count_of(&status) == 10000 + 20000 * i && filled(data, (size_t)(10000 + 20000 * i), (unsigned)i));
    }
  }
  free(data);
  MPI_Comm_free(&other);
}

static int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

// Buffers that are too small, by a little and by much; then messages go on as ever.
static void truncate(const int* rooms, int count, int bytes) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // where MPICH raises what a posted receive met
  char *data = heap((size_t)bytes), *in = heap((size_t)bytes + 1);
  for (int i = 0; i < count; ++i)
    for (int way = 0; way < 3; ++way) {
      const int room = rooms[i], rest = bytes - 1000;
      MPI_Request request;
      if (rank == 0) {
        fill(data, (size_t)bytes, (unsigned)i);
        MPI_Send(data, bytes, MPI_BYTE, 1, 0, comm);
        MPI_Send(data, rest, MPI_BYTE, 1, 0, comm);
      } else if (rank == 1) {
        int error = MPI_SUCCESS, flag = 0;
        MPI_Status status;
        memset(in, 0xee, (size_t)bytes + 1);
        if (way == 0) {
          error = MPI_Recv(in, room, MPI_BYTE, 0, 0, comm, &status);
        } else {
          MPI_Irecv(in, room, MPI_BYTE, 0, 0, comm, &request);
          if (way == 1) error = MPI_Wait(&request, &status);
          while (way == 2 && !flag && error == MPI_SUCCESS) error = MPI_Test(&request, &flag, &status);
        }
        CHECK(class_of(error) == MPI_ERR_TRUNCATE);
        CHECK(in[room] == (char)0xee || !strict);
        MPI_Probe(0, 0, comm, &status);
        CHECK(count_of(&status) == rest);
        CHECK(MPI_Recv(in, bytes, MPI_BYTE, 0, 0, comm, &status) == MPI_SUCCESS);
        CHECK(filled(in, (size_t)rest, (unsigned)i) && count_of(&status) == rest);
      }
    }
  free(data);
  free(in);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

void truncation(void) {
  const int rooms[] = {WIRE, 241, 1000, 49999};
  truncate(rooms, 4, 50000);
}

void truncation_below_descriptor(void) {
  const int rooms[] = {0, 1, 16, 100, 239};
  truncate(rooms, 5, 50000);
}

// The handler set by MPI 1's name, which Fortran programs still use and Open MPI's mpi.h no longer lists.
// Runs before any trap that sets one by the new name.
// The standard ABI has it no more.
__attribute__((weak)) int(MPI_Errhandler_set)(MPI_Comm, MPI_Errhandler);

void truncation_the_old_way(void) {
  enum { bytes = 50000, rest = 49000 };
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int (*set)(MPI_Comm, MPI_Errhandler) = MPI_Errhandler_set;
  if (!set) set = MPI_Comm_set_errhandler;
  set(comm, MPI_ERRORS_RETURN);
  set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  char* data = heap(bytes);
  if (rank == 0) {
    for (unsigned i = 0; i < 2; ++i) {
      fill(data, bytes, i);
      MPI_Send(data, i == 0 ? bytes : rest, MPI_BYTE, 1, 0, comm);
    }
  } else if (rank == 1) {
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(data, 100, MPI_BYTE, 0, 0, comm, &request);
    CHECK(class_of(MPI_Wait(&request, &status)) == MPI_ERR_TRUNCATE);
    MPI_Probe(0, 0, comm, &status);
    CHECK(count_of(&status) == rest);
    CHECK(MPI_Recv(data, bytes, MPI_BYTE, 0, 0, comm, &status) == MPI_SUCCESS);
    CHECK(filled(data, rest, 1) && count_of(&status) == rest);
  }
  free(data);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

// A plain message that is too long says nothing of the large one behind it.
void truncation_of_plain(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int n = 50000;
  char* data = heap((size_t)n);
  if (rank == 0) {
    fill(data, (size_t)n, 8);
    MPI_Send(data, 100, MPI_BYTE, 1, 0, comm);
    MPI_Send(data, n, MPI_BYTE, 1, 0, comm);
  } else if (rank == 1) {
    MPI_Status status;
    pause_ms(5);
    CHECK(class_of(MPI_Recv(data, 50, MPI_BYTE, 0, 0, comm, &status)) == MPI_ERR_TRUNCATE);
    CHECK(MPI_Recv(data, n, MPI_BYTE, 0, 0, comm, &status) == MPI_SUCCESS);
    CHECK(filled(data, (size_t)n, 8) && count_of(&status) == n);
  }
  free(data);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

void truncation_in_waitall(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int n = 30000;
  char* data[3] = {heap((size_t)n), heap((size_t)n), heap((size_t)n)};
  if (rank == 0) {
    for (int i = 0; i < 3; ++i) {
      fill(data[i], (size_t)n, (unsigned)i);
      MPI_Send(data[i], n, MPI_BYTE, 1, i, comm);
    }
  } else if (rank == 1) {
    MPI_Request requests[3];
    MPI_Status statuses[3];
    for (int i = 0; i < 3; ++i) MPI_Irecv(data[i], i == 1 ? 5000 : n, MPI_BYTE, 0, i, comm, &requests[i]);
    const int error = MPI_Waitall(3, requests, statuses);
    CHECK(class_of(error) == MPI_ERR_IN_STATUS && class_of(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
    for (int i = 0; i < 3; i += 2) {
      if (class_of(statuses[i].MPI_ERROR) == MPI_ERR_PENDING)
        CHECK(MPI_Wait(&requests[i], &statuses[i]) == MPI_SUCCESS);
      CHECK(filled(data[i], (size_t)n, (unsigned)i) && count_of(&statuses[i]) == n);
    }
  }
  for (int i = 0; i < 3; ++i) free(data[i]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

// The same, found by MPI_Testall, MPI_Testsome or MPI_Testany.
void truncation_in_tests(void) {
  enum { count = 3, rounds = 6, n = 30000 };
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  char* data[count] = {heap(n), heap(n), heap(n)};
  for (int round = 0; round < rounds; ++round) {
    // The one that is too long goes by descriptor, or as it is beside others that do.
    const int way = round % 3, plain = round / 3;
    const int lengths[count] = {n, plain ? 100 : n, WIRE};
    for (int i = 0; i < count && rank == 0; ++i) {
      fill(data[i], (size_t)lengths[i], (unsigned)(10 * round + i));
      MPI_Send(data[i], lengths[i], MPI_BYTE, 1, i, comm);
    }
    if (rank != 1) continue;
    MPI_Request requests[count];
    MPI_Status statuses[count];
    int indices[count], left = count, truncated = 0;
    for (int i = 0; i < count; ++i)
      MPI_Irecv(data[i], i == 1 ? (plain ? 50 : 5000) : n, MPI_BYTE, 0, i, comm, &requests[i]);
    while (left > 0) {
      int flag = 0, ended = 0;
      if (way == 0) {
        const int error = MPI_Testall(count, requests, &flag, statuses);
        if (!flag && error == MPI_SUCCESS) continue;
        CHECK(class_of(error) == MPI_ERR_IN_STATUS);
        ended = left;
        for (int i = 0; i < count; ++i) {
          indices[i] = i;
          if (i != 1 && class_of(statuses[i].MPI_ERROR) == MPI_SUCCESS)
            CHECK(count_of(&statuses[i]) == lengths[i]);
          if (requests[i] != MPI_REQUEST_NULL) {  // pending, or kept
            const int one = MPI_Wait(&requests[i], &statuses[i]);
            statuses[i].MPI_ERROR = one;
          }
        }
      } else if (way == 1) {
        const int error = MPI_Testsome(count, requests, &ended, indices, statuses);
        for (int k = 0; error == MPI_SUCCESS && k < ended; ++k) statuses[k].MPI_ERROR = MPI_SUCCESS;
        CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_IN_STATUS);
      } else {
        const int error = MPI_Testany(count, requests, &indices[0], &flag, &statuses[0]);
        ended = flag || error != MPI_SUCCESS;
        statuses[0].MPI_ERROR = error;
      }
      CHECK(ended >= 0 && ended <= left);
      for (int k = 0; k < ended; ++k) {
        const int i = indices[k];
        CHECK(i >= 0 && i < count && requests[i] == MPI_REQUEST_NULL);
        if (i == 1) truncated += class_of(statuses[k].MPI_ERROR) == MPI_ERR_TRUNCATE;
        if (i != 1)
          CHECK(filled(data[i], (size_t)lengths[i], (unsigned)(10 * round + i)) &&
                count_of(&statuses[k]) == lengths[i]);
      }
      left = ended > 0 && ended <= left ? left - ended : left;
    }
    CHECK(truncated == 1);
  }
  for (int i = 0; i < count; ++i) free(data[i]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

static int handled;
static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  handled += class_of(*code) == MPI_ERR_TRUNCATE;
}

// The user's own handler is called, once.
void error_handler(void) {
  MPI_Errhandler handler;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  char* data = heap(20000);
  handled = 0;
  if (rank == 0) MPI_Send(data, 20000, MPI_BYTE, 1, 0, comm);
  if (rank == 1) {
    CHECK(class_of(MPI_Recv(data, 10000, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    CHECK(handled == 1);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  free(data);
}
