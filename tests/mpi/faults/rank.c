/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rank CASE: an MPI program to which something happens. Without anything happening it exchanges messages and
 * collectives of sizes around every protocol's borders from heap and stack, checks all of them, and says
 * "right N" from rank 0. What happens is named by CASE; most of it happens to the last rank.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;
static int rank, size, last;

static void die(const char* what) {
  fprintf(stderr, "rank %d: WRONG: %s\n", rank, what);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 9);
  _exit(9);
}
static void nap(double seconds) {
  struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&t, NULL);
}
/* Something kills this process from outside after so many milliseconds. */
static void killed_after(int milliseconds) {
  pid_t victim = getpid();
  if (fork() == 0) {
    nap(milliseconds / 1000.0);
    kill(victim, SIGKILL);
    _exit(0);
  }
}

static const int sizes[] = {0, 1, 95, 96, 176, 200, 4095, 4096, 16383, 16384, 65537, 1 << 20, (4 << 20) + 3};
static unsigned char byte_of(int who, int what, int i) {
  return (unsigned char)(who * 31 + what * 7 + i * 13 + (i >> 8));
}

static void exchange(unsigned char* out, unsigned char* in, int bytes, int what) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size, got = -1;
  for (int i = 0; i < bytes; i++) out[i] = byte_of(rank, what, i);
  MPI_Status status;
  MPI_Request request;
  MPI_Irecv(in, bytes, MPI_BYTE, what % 2 ? MPI_ANY_SOURCE : from, what, MPI_COMM_WORLD, &request);
  if (what % 3 == 0)
    MPI_Send(out, bytes, MPI_BYTE, to, what, MPI_COMM_WORLD);
  else {
    MPI_Request sent;
    MPI_Isend(out, bytes, MPI_BYTE, to, what, MPI_COMM_WORLD, &sent);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_BYTE, &got);
  if (got != bytes || status.MPI_SOURCE != from || status.MPI_TAG != what) die("a status");
  for (int i = 0; i < bytes; i++)
    if (in[i] != byte_of(from, what, i)) die("a received byte");
}

static void collectives(int n) {
  int *mine = calloc((size_t)n, sizeof(int)), *sum = calloc((size_t)n, sizeof(int));
  if (!mine || !sum) die("malloc");
  for (int i = 0; i < n; i++) mine[i] = rank + i;
  MPI_Allreduce(mine, sum, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < n; i++)
    if (sum[i] != size * i + size * (size - 1) / 2) die("an allreduce");
  if (rank == last)
    for (int i = 0; i < n; i++) mine[i] = 5 * i;
  MPI_Bcast(mine, n, MPI_INT, last, MPI_COMM_WORLD);
  for (int i = 0; i < n; i++)
    if (mine[i] != 5 * i) die("a bcast");
  MPI_Barrier(MPI_COMM_WORLD);
  free(mine);
  free(sum);
}

static void traffic(void) {
  enum { most = (4 << 20) + 3 };
  unsigned char *out = malloc(most), *in = malloc(most);
  if (!out || !in) die("malloc");
  unsigned char on_stack[2][70000];
  for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++) {
    exchange(out, in, sizes[s], s);
    if (sizes[s] <= 70000) exchange(on_stack[0], on_stack[1], sizes[s], s + 50);
    collectives(sizes[s] / 4 + 1);
  }
  free(out);
  free(in);
}

/* Children that are programs. */
static void other_children(void) {
  int status = -1;
  pid_t child = -1;
  if (system("exit 3") != 3 << 8) die("system");
  FILE* p = popen("echo text", "r");
  char line[20] = "";
  if (!p || !fgets(line, 20, p) || strcmp(line, "text\n") || pclose(p)) die("popen");
  char* args[] = {"sh", "-c", "exit 4", NULL};
  if (posix_spawnp(&child, "sh", NULL, NULL, args, environ) || waitpid(child, &status, 0) != child ||
      status != 4 << 8)
    die("posix_spawn");
  if ((child = vfork()) == 0) {
    execlp("sh", "sh", "-c", "exit 5", (char*)NULL);
    _exit(1);
  }
  if (waitpid(child, &status, 0) != child || status != 5 << 8) die("vfork");
}

/* A heap that must be ours alone whatever children do to theirs. */
static void children(void) {
  enum { blocks = 200 };
  unsigned char *heap[blocks],
      *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(map, 77, 1 << 20);
  for (int i = 0; i < blocks; i++) memset(heap[i] = malloc((size_t)(i * 997 + 1)), i, (size_t)(i * 997 + 1));
  for (int round = 0; round < 4; round++) {
    int go[2], done[2];
    if (pipe(go) || pipe(done)) die("pipe");
    pid_t child = fork();
    if (child == 0) {
      char c;
      if (read(go[0], &c, 1) != 1) _exit(1); /* the parent has changed its memory by now */
      for (int i = 0; i < blocks; i++)
        for (int k = 0; k < i * 997 + 1; k += 501)
          if (heap[i][k] != (unsigned char)i) _exit(2);
      for (int k = 0; k < 1 << 20; k += 777)
        if (map[k] != 77) _exit(3);
      for (int i = 0; i < blocks; i++) memset(heap[i], 200, (size_t)(i * 997 + 1)), free(heap[i]);
      memset(map, 201, 1 << 20);
      for (int i = 0; i < 1000; i++) memset(malloc((size_t)(i * 37 + 1)), 202, (size_t)(i * 37 + 1));
      if (write(done[1], "x", 1) != 1) _exit(4);
      _exit(0);
    }
    for (int i = 0; i < blocks; i += 2) memset(heap[i], 100, (size_t)(i * 997 + 1));
    map[777] = 99;
    if (round % 2) collectives(1000); /* MPI goes on while the child lives */
    char c;
    if (write(go[1], "x", 1) != 1 || read(done[0], &c, 1) != 1) c = 0;
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0) {
      fprintf(stderr, "rank %d: the child ended with 0x%x\n", rank, status);
      die("the child of a fork didn't see the memory as it was");
    }
    for (int i = 0; i < blocks; i++)
      for (int k = 0; k < i * 997 + 1; k += 499)
        if (heap[i][k] != (i % 2 ? (unsigned char)i : 100)) die("a child changed its parent's heap");
    if (map[777] != 99 || map[778] != 77) die("a child changed its parent's mapping");
    for (int i = 0; i < blocks; i += 2) memset(heap[i], i, (size_t)(i * 997 + 1));
    map[777] = 77;
    close(go[0]), close(go[1]), close(done[0]), close(done[1]);
    other_children();
    traffic();
  }
}

/* Memory until there is none: NULL, not a signal; then the traffic still runs in what is given back. */
static void exhaust(void) {
  enum { most = 100000 };
  static void* held[most];
  int n = 0;
  for (; n < most; n++) {
    errno = 0;
    if (!(held[n] = malloc(1 << 20))) break;
    memset(held[n], 1, 4096);
  }
  if (n == most) die("memory never ended");
  if (errno != ENOMEM) die("malloc failed without ENOMEM");
  void* map = mmap(NULL, (size_t)1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map != MAP_FAILED) munmap(map, (size_t)1 << 30);
  for (int i = 0; i < n; i++) free(held[i]);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "none";
  const char* by_env = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  int is_last = by_env && atoi(by_env) == (argc > 2 ? atoi(argv[2]) : 2) - 1;
#define IS(name) (!strcmp(what, name))
  if (IS("kill-before") && is_last) raise(SIGKILL);
  if (IS("kill-init") && is_last) killed_after(argc > 3 ? atoi(argv[3]) : 15);
  if (IS("never") && is_last) {
    nap(0.5);
    return 0;
  }
  if (IS("exec-before") && !getenv("SECOND")) {
    memset(malloc(100000), 1, 100000);
    setenv("SECOND", "1", 1);
    execv("/proc/self/exe", argv);
    return 1;
  }
  if (IS("threads")) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  last = size - 1;
  if (!IS("quick")) traffic();
  if (rank == last) {
    enum { big = 64 << 20 };
    if (IS("kill-barrier")) killed_after(100);
    if (IS("kill-send")) {
      killed_after(150);
      for (char* b = calloc(1, big);;) MPI_Send(b, big, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
    if (IS("kill-recv")) {
      killed_after(150);
      for (char* b = calloc(1, big);;) MPI_Recv(b, big, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (IS("kill-waiting")) { /* the peer waits for data that never was sent */
      nap(0.2);
      raise(SIGKILL);
    }
    if (IS("kill-collective") || IS("kill-small")) killed_after(150);
    if (IS("kill-finalize")) killed_after(1);
    if (IS("segv")) {
      signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
    }
    if (IS("abort")) abort();
    if (IS("mpi-abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (IS("exit")) exit(5);
    if (IS("exec-during")) execlp("true", "true", (char*)NULL);
  }
  if (IS("kill-barrier"))
    for (;;) MPI_Barrier(MPI_COMM_WORLD);
  if (IS("kill-small"))
    for (char b[8] = "";;) MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (IS("kill-collective"))
    for (int* b = calloc(1, 8 << 20);;)
      MPI_Allreduce(MPI_IN_PLACE, b, 2 << 20, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
  if (rank == 0 && (IS("kill-send") || IS("kill-recv") || IS("kill-waiting")))
    for (char* b = calloc(1, 64 << 20);;)
      IS("kill-recv") ? MPI_Send(b, 64 << 20, MPI_BYTE, last, 1, MPI_COMM_WORLD)
                      : MPI_Recv(b, 64 << 20, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (IS("children")) children();
  if (IS("exhaust")) {
    exhaust();
    traffic();
  }
  if (IS("twice"))
    for (int i = 0; i < 3; i++) traffic();
  int all = -1, one = 1;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("right %d\n", all), fflush(stdout);
  MPI_Finalize();
  if (IS("exec-after")) execlp("true", "true", (char*)NULL);
  memset(malloc(1 << 20), 3, 1 << 20); /* the heap outlives MPI */
  return 0;
}
