/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A C program that goes through the frame: communicators of every make, collectives on them, messages below
 * and above the threshold, error codes, attributes at the end. It prints numbers that depend on every byte,
 * so that the output
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static unsigned long sum_of(const unsigned char* data, size_t bytes) {
  unsigned long sum = 5381;
  for (size_t i = 0; i < bytes; ++i) sum = sum * 33 + data[i];
  return sum;
}

static void tell(const char* what, unsigned long mine) {
  unsigned long* all = malloc(sizeof *all * (size_t)size);
  PMPI_Gather(&mine, 1, MPI_UNSIGNED_LONG, all, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%-24s", what);
    for (int i = 0; i < size; ++i) printf(" %lx", all[i]);
    printf("\n");
  }
  free(all);
}

static void collectives(const char* what, MPI_Comm comm) {
  int me, n;
  unsigned long sum = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  for (int count = 1; count <= 10000; count *= 99) {
    double* in = malloc(sizeof *in * (size_t)(count * n));
    double* out = malloc(sizeof *out * (size_t)(count * n));
    for (int i = 0; i < count * n; ++i) in[i] = me * 1000 + i, out[i] = 0;
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
    sum = sum * 7 + sum_of((unsigned char*)out, sizeof *out * (size_t)count);
    MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Bcast(out, count, MPI_DOUBLE, n - 1, comm);
    sum = sum * 7 + sum_of((unsigned char*)out, sizeof *out * (size_t)count);
    MPI_Alltoall(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, comm);
    sum = sum * 7 + sum_of((unsigned char*)out, sizeof *out * (size_t)(count * n));
    MPI_Barrier(comm);
    MPI_Allgather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, comm);
    sum = sum * 7 + sum_of((unsigned char*)out, sizeof *out * (size_t)(count * n));
    free(in);
    free(out);
  }
  tell(what, sum);
}

static void messages(const char* what, MPI_Comm comm) {
  int me, n;
  unsigned long sum = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  for (int bytes = 1; bytes <= 300000; bytes = bytes * 60 + 5) {
    unsigned char* in = malloc((size_t)bytes);
    unsigned char* out = malloc((size_t)bytes);
    memset(out, me + 1, (size_t)bytes);
    memset(in, 0, (size_t)bytes);
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 7, comm, &request[0]);
    MPI_Isend(out, bytes, MPI_BYTE, (me + 1) % n, 7, comm, &request[1]);
    MPI_Waitall(2, request, status);
    int count;
    MPI_Get_count(&status[0], MPI_BYTE, &count);
    sum = sum * 7 + sum_of(in, (size_t)bytes) + (unsigned long)(count + status[0].MPI_SOURCE);
    MPI_Sendrecv(out, bytes, MPI_BYTE, (me + n - 1) % n, 8, in, bytes, MPI_BYTE, (me + 1) % n, 8, comm,
                 MPI_STATUS_IGNORE);
    sum = sum * 7 + sum_of(in, (size_t)bytes);
    free(in);
    free(out);
  }
  tell(what, sum);
}

static void both(const char* what, MPI_Comm comm) {
  collectives(what, comm);
  messages(what, comm);
}

static void communicators(void) {
  MPI_Comm dup, split, made, cart, row, graph, merged, inter, none;
  MPI_Group world, evens;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  both("dup", dup);
  MPI_Comm_split(dup, rank % 2, -rank, &split);
  both("split", split);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 3, rank, &none);
  if (rank == 0 && none != MPI_COMM_NULL) printf("split gave rank 0 a communicator\n");
  if (none != MPI_COMM_NULL) MPI_Comm_free(&none);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int even[64];
  for (int i = 0; i < (size + 1) / 2; ++i) even[i] = 2 * i;
  MPI_Group_incl(world, (size + 1) / 2, even, &evens);
  MPI_Comm_create(MPI_COMM_WORLD, evens, &made);
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  if (rank % 2 == 0) {
    for (int i = 0; i < 3; ++i) {
      MPI_Comm_create_group(MPI_COMM_WORLD, evens, 5, &made);
      double one = rank, sum = 0;
      MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, made);
      if (rank == 0) printf("create_group %g\n", sum);
      MPI_Comm_free(&made);
    }
  }
  int dims[2] = {size % 2 ? 1 : 2, size % 2 ? size : size / 2}, periods[2] = {1, 0}, keep[2] = {0, 1};
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
  both("cart", cart);
  MPI_Cart_sub(cart, keep, &row);
  both("cart_sub", row);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  both("dist_graph", graph);
  MPI_Intercomm_create(split, 0, MPI_COMM_WORLD, rank % 2 ? size - 2 + size % 2 : size - 1 - size % 2, 11,
                       &inter);
  MPI_Intercomm_merge(inter, rank % 2, &merged);
  both("merged", merged);
  MPI_Comm* all[] = {&inter, &merged, &graph, &row, &cart, &split, &dup};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) MPI_Comm_free(all[i]);
  MPI_Group_free(&world);
  MPI_Group_free(&evens);
  for (int i = 0; i < 70; ++i) {  // handles are used again
    MPI_Comm_split(MPI_COMM_WORLD, i % 3 ? rank % 2 : 0, rank, &split);
    double one = i, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, split);
    int n;
    MPI_Comm_size(split, &n);
    if (sum != (double)n * i) printf("rank %d: communicator %d gave %g\n", rank, i, sum);
    MPI_Comm_free(&split);
  }
}

static void errors(void) {
  int code, class;
  double x = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  code = MPI_Bcast(&x, 1, MPI_DOUBLE, size + 5, MPI_COMM_WORLD);
  MPI_Error_class(code, &class);
  tell("root", (unsigned long)(class == MPI_ERR_ROOT));
  code = MPI_Send(&x, -1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  MPI_Error_class(code, &class);
  tell("count", (unsigned long)(class == MPI_ERR_COUNT));
  code = MPI_Barrier(MPI_COMM_NULL);
  MPI_Error_class(code, &class);
  tell("comm", (unsigned long)(class == MPI_ERR_COMM));
}

/* Runs in MPI_Finalize, where MPI still works. */
static int at_end(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)extra;
  int finalized = 1;
  MPI_Finalized(&finalized);
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char* big = calloc(1, 100000);
  MPI_Sendrecv_replace(big, 100000, MPI_BYTE, (rank + 1) % size, 3, (rank + size - 1) % size, 3,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(big);
  if (rank == 0) printf("at end %s: finalized %d sum %d\n", (char*)value, finalized, sum);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int first, second, level;
  if (argc > 1 && strcmp(argv[1], "multiple") == 0)
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  else
    MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &first, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &second, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, first, "first");
  MPI_Comm_set_attr(MPI_COMM_SELF, second, "second");
  both("world", MPI_COMM_WORLD);
  both("self", MPI_COMM_SELF);
  communicators();
  errors();
  MPI_Finalize();
  return 0;
}
