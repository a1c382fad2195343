/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * situations FOLDER owed|blocked|making|away|comms|crowd|threads|errors|looks: what can go wrong between
 * collectives and the rest of MPI. A hang is a failure (the suite has a time limit); results are checked here
 * or recorded for comparison.
 */
#include <pthread.h>

#include "common.h"

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "situations: rank %d: %s\n", world_rank, what);
  MPI_Abort(MPI_COMM_WORLD, 7);
}

enum { LARGE = 400000 };

/* A rank in a barrier of ours owes its peer a message of the library's. */
static void owed(void) {
  char* data = malloc(4 << 20);
  for (int i = 0; i < 50; ++i) {
    memset(data, i + world_rank, 4 << 20);
    MPI_Request request = MPI_REQUEST_NULL;
    if (world_rank % 2 == 0 && world_rank + 1 < world_size)
      MPI_Isend(data, 4 << 20, MPI_CHAR, world_rank + 1, 1, MPI_COMM_WORLD, &request);
    if (world_rank % 2 == 1) {
      MPI_Recv(data, 4 << 20, MPI_CHAR, world_rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(data[(4 << 20) - 1] == i + world_rank - 1, "wrong message");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  free(data);
}

static void mix_up(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

/* Functions that are the library's alone, in which all members wait for each other. */
struct elsewhere {
  MPI_Win window;
  MPI_File file;
  MPI_Comm ring;
};
enum { PLACES_TO_WAIT = 8 };

static void wait_in(int place, struct elsewhere* e) {
  int values[2] = {world_rank, 5}, got[64] = {0}, counts[64], places[64];
  MPI_Datatype types[64];
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group group;
  for (int i = 0; i < world_size; ++i) counts[i] = 1, places[i] = 0, types[i] = MPI_INT;
  switch (place) {
    case 0: MPI_Win_fence(0, e->window); break;
    case 1: MPI_File_write_at_all(e->file, 4 * world_rank, values, 1, MPI_INT, MPI_STATUS_IGNORE); break;
    case 2: MPI_Alltoallw(values, counts, places, types, got, counts, places, types, MPI_COMM_WORLD); break;
    case 3: MPI_Neighbor_allgather(values, 1, MPI_INT, got, 1, MPI_INT, e->ring); break;
    case 4:
      MPI_Comm_group(MPI_COMM_WORLD, &group);
      MPI_Comm_create_group(MPI_COMM_WORLD, group, 4, &made);
      MPI_Group_free(&group);
      MPI_Comm_free(&made);
      break;
    case 5:
      MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_2INT, MPI_MAXLOC, e->ring), MPI_Win_fence(0, e->window);
      break;
    case 6: MPI_File_sync(e->file), MPI_File_set_size(e->file, 4096); break;
    default:
      MPI_Sendrecv_replace(got, 60, MPI_INT, (world_rank + 1) % world_size, 8,
                           (world_rank + world_size - 1) % world_size, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void away(const char* folder) {
  static int shared[64], mine[20000], sum[20000];
  char path[4200];
  struct elsewhere e;
  const int ring_size = world_size, periodic = 1;
  snprintf(path, sizeof path, "%s/file", folder);
  MPI_Win_create(shared, sizeof shared, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &e.window);
  check(!MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &e.file),
        "no file");
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ring_size, &periodic, 0, &e.ring);
  for (int round = 0; round < 3 * PLACES_TO_WAIT; ++round) {
    const int n = round % 2 ? 20000 : 10, late = round % world_size;
    MPI_Request request;
    for (int i = 0; i < n; ++i) mine[i] = world_rank + i;
    MPI_Iallreduce(mine, sum, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (world_rank != late) MPI_Wait(&request, MPI_STATUS_IGNORE);
    wait_in(round / 3, &e);
    if (world_rank == late) MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; ++i)
      check(sum[i] == i * world_size + world_size * (world_size - 1) / 2, "wrong sum behind the library");
  }
  MPI_Comm_free(&e.ring);
  MPI_File_close(&e.file);
  MPI_Win_free(&e.window);
}

/* A rank that waits for a message owes its peers its part of a collective: `how` says where it waits. */
static void behind(int how) {
  int *mine = malloc(LARGE * sizeof(int)), *sum = malloc(LARGE * sizeof(int));
  MPI_Op op;
  MPI_Op_create(mix_up, 1, &op);
  for (int round = 0; round < 6; ++round) {
    const int n = round % 2 ? LARGE : 100;
    for (int i = 0; i < n; ++i) mine[i] = world_rank + i;
    MPI_Request request;
    int token = 0;
    MPI_Comm twin = MPI_COMM_NULL;
    MPI_Iallreduce(mine, sum, n, MPI_INT, round % 3 ? MPI_SUM : op, MPI_COMM_WORLD, &request);
    if (world_rank != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (how == 0) { /* in a receive */
      if (world_rank == 0)
        for (int i = 1; i < world_size; ++i)
          MPI_Recv(&token, 1, MPI_INT, i, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      else
        MPI_Send(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    } else if (how == 1) { /* in a function that makes a communicator */
      MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    } else if (how == 2) { /* in a barrier of ours, on the same communicator */
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (world_rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; ++i)
      check(sum[i] == i * world_size + world_size * (world_size - 1) / 2, "wrong sum behind a wait");
    if (twin != MPI_COMM_NULL) MPI_Comm_free(&twin);
  }
  MPI_Op_free(&op);
  free(mine), free(sum);
}

static long resident_kib(void) {
  char line[256];
  long kib = 0;
  FILE* f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f)) sscanf(line, "VmRSS: %ld", &kib);
  if (f) fclose(f);
  return kib;
}

/* Thousands of communicators, one after the other and some at once: memory stays bounded. */
static void comms(void) {
  long before = 0;
  for (int i = 0; i < 700; ++i) {
    MPI_Comm made[3];
    int sum = 0, one = 1, n;
    MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &made[1]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &made[2]);
    for (int k = 0; k < 3; ++k) {
      MPI_Comm_size(made[k], &n);
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[k]);
      check(sum == n, "wrong sum in a young communicator");
      MPI_Barrier(made[k]);
    }
    for (int k = 0; k < 3; ++k) MPI_Comm_free(&made[(k + i) % 3]);
    if (i == 200) before = resident_kib();
  }
  const long grown = resident_kib() - before;
  fprintf(stderr, "situations: 1500 communicators more: %ld KiB\n", grown);
  check(grown < 40000, "communicators leak memory");
}

/* Up to 300 at once, made in every way, used or not, and freed in any order, also before a peer has used its.
 */
static void crowd(void) {
  enum { MOST = 300 };
  static MPI_Comm comm[MOST];
  static int uses[MOST];
  int live = 0;
  uint64_t random = 77; /* the same on all ranks */
  for (int i = 0; i < 12000; ++i) {
    const uint64_t pick = next_random(&random);
    const int one = live ? (int)(next_random(&random) % (unsigned)live) : 0;
    if (live == 0 || (pick % 5 < 2 && live < MOST)) {
      const MPI_Comm parent = pick % 2 && live ? comm[one] : MPI_COMM_WORLD;
      MPI_Request request = MPI_REQUEST_NULL;
      if (pick % 7 < 4)
        MPI_Comm_dup(parent, &comm[live]);
      else if (pick % 7 < 6)
        MPI_Comm_split(parent, 0, (int)(pick / 7 % 3) * world_rank, &comm[live]);
      else
        MPI_Comm_idup(parent, &comm[live], &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      uses[live++] = 0;
    } else if (pick % 5 < 4) {
      int rank, size, sum = 0;
      MPI_Comm_rank(comm[one], &rank);
      MPI_Comm_size(comm[one], &size);
      const int root = ++uses[one] % size;
      int value = rank == root ? i : -1;
      if (pick % 3 == 0) { /* the root may be gone before the others come */
        MPI_Bcast(&value, 1, MPI_INT, root, comm[one]);
        check(value == i, "wrong broadcast in a crowd");
        continue;
      }
      MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm[one]);
      check(sum == i * size, "wrong sum in a crowd");
    } else {
      MPI_Comm_free(&comm[one]);
      comm[one] = comm[--live];
      uses[one] = uses[live];
    }
  }
  while (live) MPI_Comm_free(&comm[--live]);
}

enum { THREADS = 4 };
struct worker {
  MPI_Comm comm;
  int number;
};

static void* work(void* argument) {
  const struct worker* w = argument;
  int rank, size;
  MPI_Comm_rank(w->comm, &rank);
  MPI_Comm_size(w->comm, &size);
  uint64_t state = 99 + (uint64_t)w->number;
  long *mine = malloc(8 * 20000), *sum = malloc(8 * 20000);
  for (int i = 0; i < 150; ++i) {
    const uint64_t pick = next_random(&state);
    const int n = (int)(pick % 5 ? pick % 300 : pick % 20000) + 1;
    for (int k = 0; k < n; ++k) mine[k] = rank * 1000 + k + i;
    if (pick % 3 == 0) {
      MPI_Allreduce(mine, sum, n, MPI_LONG, MPI_SUM, w->comm);
    } else if (pick % 3 == 1) {
      MPI_Request request;
      MPI_Iallreduce(mine, sum, n, MPI_LONG, MPI_SUM, w->comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Barrier(w->comm);
      MPI_Allreduce(mine, sum, n, MPI_LONG, MPI_SUM, w->comm);
    }
    for (int k = 0; k < n; ++k)
      check(sum[k] == (long)size * (k + i) + 1000L * size * (size - 1) / 2, "wrong sum in a thread");
  }
  free(mine), free(sum);
  return NULL;
}

static void threads(void) {
  pthread_t thread[THREADS];
  struct worker worker[THREADS];
  for (int i = 0; i < THREADS; ++i) worker[i].number = i, MPI_Comm_dup(MPI_COMM_WORLD, &worker[i].comm);
  for (int i = 0; i < THREADS; ++i) pthread_create(&thread[i], NULL, work, &worker[i]);
  for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&worker[i].comm);
}

static void say_class(const char* what, int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  record(&class, sizeof class, "%s is an error of class %d", what, class);
}

/* The same buffer to send from and to receive into: MPICH says no, on the member that does it, and the others
 * wait until it has called again. */
static void aliases(void) {
  int a[8] = {0}, b[8] = {0}, ones[2] = {1, 1}, places[2] = {0, 1};
  MPI_Request request = MPI_REQUEST_NULL;
  int* mine = a + world_rank;
  say_class("alias, Allreduce", MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  say_class("alias, Scan", MPI_Scan(a, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  say_class("alias, Reduce_scatter", MPI_Reduce_scatter(a, a, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  say_class("alias, Allgather", MPI_Allgather(mine, 1, MPI_INT, a, 1, MPI_INT, MPI_COMM_WORLD));
  say_class("alias, Allgatherv", MPI_Allgatherv(mine, 1, MPI_INT, a, ones, places, MPI_INT, MPI_COMM_WORLD));
  say_class("alias, Alltoall", MPI_Alltoall(a, 1, MPI_INT, a, 1, MPI_INT, MPI_COMM_WORLD));
  say_class("alias, Alltoallv",
            MPI_Alltoallv(a, ones, places, MPI_INT, a, ones, places, MPI_INT, MPI_COMM_WORLD));
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  const int bytes[2] = {0, sizeof(int)};
  say_class("alias, Alltoallw", MPI_Alltoallw(a, ones, bytes, types, a, ones, bytes, types, MPI_COMM_WORLD));
  say_class("alias, Ialltoallw",
            MPI_Ialltoallw(a, ones, bytes, types, a, ones, bytes, types, MPI_COMM_WORLD, &request));
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
  say_class("alias, Iallreduce", MPI_Iallreduce(a, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
  int code = MPI_Gather(a, 1, MPI_INT, a, 1, MPI_INT, 0, MPI_COMM_WORLD);
  say_class("alias, Gather", code);
  if (code != MPI_SUCCESS) MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_WORLD);
  code = MPI_Scatterv(a, ones, places, MPI_INT, mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  say_class("alias, Scatterv", code);
  if (code != MPI_SUCCESS) MPI_Scatterv(a, ones, places, MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_WORLD);
  code = MPI_Reduce(a, world_rank == 0 ? a : b, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  say_class("alias, Reduce", code);
  if (code != MPI_SUCCESS) MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

/* A message that nobody receives: MPICH 5 reports it when its communicator is freed, on MPI_COMM_SELF. */
static void unreceived(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (world_rank == 0) MPI_Send(NULL, 0, MPI_INT, 1, 0, comm);
  MPI_Barrier(comm);
  say_class("free of a communicator", MPI_Comm_free(&comm));
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* The library raises its own errors. */
static void errors(void) {
  int a[8] = {0}, b[8] = {0};
  MPI_Request request;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  say_class("negative count", MPI_Bcast(a, -1, MPI_INT, 0, MPI_COMM_WORLD));
  say_class("root too large", MPI_Bcast(a, 1, MPI_INT, world_size, MPI_COMM_WORLD));
  say_class("root below 0", MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, -9, MPI_COMM_WORLD));
  say_class("no operation", MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
  say_class("no type", MPI_Allgather(a, 1, MPI_DATATYPE_NULL, b, 1, MPI_DATATYPE_NULL, MPI_COMM_WORLD));
  say_class("sum of bytes", MPI_Allreduce(a, b, 1, MPI_BYTE, MPI_SUM, MPI_COMM_WORLD));
  say_class("negative counts", MPI_Iallreduce(a, b, -3, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  aliases();
  unreceived();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Messages sent before a barrier are there after it, at the first look. */
enum { MESSAGES = 8 };

static void look_for_messages(void) {
  int values[MESSAGES] = {0}, flag = 0;
  MPI_Request requests[MESSAGES];
  for (int i = 0; i < MESSAGES && world_rank == 1; ++i)
    MPI_Irecv(values + i, 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i <= MESSAGES && world_rank == 0; ++i) MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank != 1) return;
  MPI_Iprobe(0, MESSAGES, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  check(flag, "no message for MPI_Iprobe");
  MPI_Recv(values, 1, MPI_INT, 0, MESSAGES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

static void look_at_requests(int all) {
  int values[MESSAGES] = {0}, flag = 0;
  MPI_Request requests[MESSAGES];
  for (int i = 0; i < MESSAGES && world_rank == 1; ++i)
    MPI_Irecv(values + i, 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < MESSAGES && world_rank == 0; ++i) MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank != 1) return;
  if (all)
    MPI_Testall(MESSAGES, requests, &flag, MPI_STATUSES_IGNORE);
  else
    MPI_Test(&requests[MESSAGES - 1], &flag, MPI_STATUS_IGNORE);
  check(flag, all ? "not all are there" : "the last is not there");
  MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

static void look_at_window(MPI_Win window, MPI_Group peer) {
  int flag = 0;
  if (world_rank == 0) {
    MPI_Win_start(peer, 0, window);
    MPI_Win_complete(window);
  } else {
    MPI_Win_post(peer, 0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) return;
  MPI_Win_test(window, &flag);
  check(flag, "the exposure is not over");
}

static void looks(void) {
  int other = 1 - world_rank, memory = 0;
  MPI_Win window;
  MPI_Group all, peer;
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &other, &peer);
  for (int i = 0; i < 20; ++i) {
    look_for_messages();
    look_at_requests(0);
    look_at_requests(1);
    look_at_window(window, peer);
  }
  MPI_Group_free(&peer);
  MPI_Group_free(&all);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  const char* what = argc > 2 ? argv[2] : "";
  int provided;
  MPI_Init_thread(&argc, &argv, strcmp(what, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  start_out(argv[1]);
  if (!strcmp(what, "owed")) owed();
  if (!strcmp(what, "blocked")) behind(0), behind(2);
  if (!strcmp(what, "making")) behind(1);
  if (!strcmp(what, "away")) away(argv[1]);
  if (!strcmp(what, "comms")) comms();
  if (!strcmp(what, "crowd")) crowd();
  if (!strcmp(what, "threads") && provided == MPI_THREAD_MULTIPLE) threads();
  if (!strcmp(what, "errors")) errors();
  if (!strcmp(what, "looks")) looks();
  record(what, strlen(what), "%s done", what);
  end_out();
  MPI_Finalize();
  return 0;
}
