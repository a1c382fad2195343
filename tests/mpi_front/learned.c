/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A block that is made once and sent again and again, after others have used up what blocks on trial may cost
 * (front.py, case_learned). With a word: it is freed unsent.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILLERS = 16, FILLER = 3 << 19, BYTES = 1 << 20, ROUNDS = 20 };

int main(int argc, char** argv) {
  char* fillers[FILLERS];
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < FILLERS; i++) {
    fillers[i] = malloc(FILLER);
    memset(fillers[i], i, FILLER);
  }
  unsigned char* const block = malloc(BYTES);
  memset(block, 0, BYTES);
  for (int round = 0; argc == 1 && round < ROUNDS; round++) {
    if (rank == 0) {
      memset(block, round + 1, BYTES);
      MPI_Send(block, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Recv(block, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < BYTES; i += 4095)
        if (block[i] != round + 1) printf("byte %d of round %d is %d\n", i, round, block[i]);
    }
  }
  if (argc > 1) free(block); /* else it lives until the end */
  MPI_Finalize();
  for (int i = 0; i < FILLERS; i++) free(fillers[i]);
  return 0;
}
