/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that wait for each other for known times (front.py, case_times). On 2 ranks.
 */
#include <mpi.h>
#include <setjmp.h>
#include <time.h>

static jmp_buf back;

static void leave(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  longjmp(back, 1);
}

static void rest(int ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

static double cpu_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void work(int ms) {
  const double until = cpu_ms() + ms;
  while (cpu_ms() < until) {}
}

int main(int argc, char** argv) {
  int rank = 0, other = 0, number = 0;
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  /* Rank 0 is late, so rank 1 waits: in one function, then in another one. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) rest(300);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) rest(400);
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&number, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) work(150);
  /* A call that is left by longjmp, and what comes after it. */
  MPI_Comm_create_errhandler(leave, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (setjmp(back) == 0) MPI_Ssend(&number, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 100; i++) {
    int got = 0;
    MPI_Sendrecv(&number, 1, MPI_INT, other, 0, &got, 1, MPI_INT, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  if (rank == 0) rest(100);
  MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
