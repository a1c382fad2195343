/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All reductions x all types and operations that MPI defines x sizes x in place or not x where the buffers
 * lie x communicators (world, reversed, split, one rank, dup), with users' operations that commute and that
 * do not.
 */
#include <complex.h>
#include <stddef.h>

#include "common.h"

struct type {
  const char* name;
  MPI_Datatype type;
  size_t size;
  char kind; /* i signed, u unsigned, f float, d double, g long double, c/z/x complex, b bool, o byte, p pair
              */
  char group;
};
static int tame;   /* leave out what MPICH itself can't */
static int levels; /* several nodes: what then remains the library's only with one type, or spinning ranks
                      take minutes */
static struct type types[64];
static int type_count;

static void add_type(const char* name, MPI_Datatype type, size_t size, char kind, char group) {
  if (type == MPI_DATATYPE_NULL) return;
  types[type_count++] = (struct type){name, type, size, kind, group};
}
#define ADD(name, c_type, kind, group) add_type(#name, name, sizeof(c_type), kind, group)

struct pair_short {
  short value;
  int index;
};
struct pair_float {
  float value;
  int index;
};
struct pair_double {
  double value;
  int index;
};
struct pair_long {
  long value;
  int index;
};
struct pair_long_double {
  long double value;
  int index;
};

/* Groups as in the standard: I integer of C, N of Fortran, F floating, L logical, C complex, B byte, M
 * multi-language, P pairs. */
static void add_types(void) {
  ADD(MPI_SIGNED_CHAR, signed char, 'i', 'I');
  ADD(MPI_SHORT, short, 'i', 'I');
  ADD(MPI_INT, int, 'i', 'I');
  ADD(MPI_LONG, long, 'i', 'I');
  ADD(MPI_LONG_LONG, long long, 'i', 'I');
  ADD(MPI_UNSIGNED_CHAR, unsigned char, 'u', 'I');
  ADD(MPI_UNSIGNED_SHORT, unsigned short, 'u', 'I');
  ADD(MPI_UNSIGNED, unsigned, 'u', 'I');
  ADD(MPI_UNSIGNED_LONG, unsigned long, 'u', 'I');
  ADD(MPI_INT8_T, int8_t, 'i', 'I');
  ADD(MPI_UINT64_T, uint64_t, 'u', 'I');
  ADD(MPI_FLOAT, float, 'f', 'F');
  ADD(MPI_DOUBLE, double, 'f', 'F');
  ADD(MPI_LONG_DOUBLE, long double, 'f', 'F');
  ADD(MPI_C_FLOAT_COMPLEX, float complex, 'c', 'C');
  ADD(MPI_C_DOUBLE_COMPLEX, double complex, 'c', 'C');
  ADD(MPI_C_LONG_DOUBLE_COMPLEX, long double complex, 'c', 'C');
  ADD(MPI_C_BOOL, _Bool, 'b', 'L');
  ADD(MPI_BYTE, char, 'u', 'B');
  ADD(MPI_AINT, MPI_Aint, 'i', 'M');
  ADD(MPI_OFFSET, MPI_Offset, 'i', 'M');
  ADD(MPI_INTEGER, int, 'i', 'N');
  ADD(MPI_REAL, float, 'f', 'F');
  ADD(MPI_DOUBLE_PRECISION, double, 'f', 'F');
  ADD(MPI_COMPLEX, float complex, 'c', 'C');
  ADD(MPI_DOUBLE_COMPLEX, double complex, 'c', 'C');
  ADD(MPI_LOGICAL, int, 'b', 'L');
  ADD(MPI_FLOAT_INT, struct pair_float, 'p', 'P');
  ADD(MPI_DOUBLE_INT, struct pair_double, 'p', 'P');
  ADD(MPI_LONG_INT, struct pair_long, 'p', 'P');
  ADD(MPI_SHORT_INT, struct pair_short, 'p', 'P');
  ADD(MPI_2INT, int[2], 'p', 'P');
  ADD(MPI_LONG_DOUBLE_INT, struct pair_long_double, 'p', 'P');
  ADD(MPI_2INTEGER, int[2], 'p', 'P');
  ADD(MPI_2REAL, float[2], 'p', 'P');
  ADD(MPI_2DOUBLE_PRECISION, double[2], 'p', 'P');
}

static const struct {
  const char* name;
  MPI_Op op;
  const char* groups;
} ops[] = {{"max", MPI_MAX, "INFM"},    {"min", MPI_MIN, "INFM"},    {"sum", MPI_SUM, "INFCM"},
           {"prod", MPI_PROD, "INFCM"}, {"land", MPI_LAND, "IL"},    {"lor", MPI_LOR, "IL"},
           {"lxor", MPI_LXOR, "IL"},    {"band", MPI_BAND, "INBM"},  {"bor", MPI_BOR, "INBM"},
           {"bxor", MPI_BXOR, "INBM"},  {"maxloc", MPI_MAXLOC, "P"}, {"minloc", MPI_MINLOC, "P"}};
enum { OPS = sizeof ops / sizeof ops[0] };

static void put(const struct type* t, char* at, int value, int index) {
  memset(at, 0, t->size);
#define PUT_PAIR(handle, pair)                                           \
  if (t->type == handle) {                                               \
    const struct pair p = {value, index};                                \
    memcpy(at, &p.value, sizeof p.value);                                \
    memcpy(at + offsetof(struct pair, index), &p.index, sizeof p.index); \
    return;                                                              \
  }
#define PUT_AS(c_type)        \
  {                           \
    const c_type v = value;   \
    memcpy(at, &v, sizeof v); \
    return;                   \
  }
  if (t->kind == 'p') {
    PUT_PAIR(MPI_FLOAT_INT, pair_float)
    PUT_PAIR(MPI_DOUBLE_INT, pair_double)
    PUT_PAIR(MPI_LONG_INT, pair_long)
    PUT_PAIR(MPI_SHORT_INT, pair_short)
    PUT_PAIR(MPI_LONG_DOUBLE_INT, pair_long_double)
    if (t->type == MPI_2REAL)
      memcpy(at, (float[]){value, index}, sizeof(float[2]));
    else if (t->type == MPI_2DOUBLE_PRECISION)
      memcpy(at, (double[]){value, index}, sizeof(double[2]));
    else
      memcpy(at, (int[]){value, index}, sizeof(int[2]));
    return;
  }
  if (t->kind == 'b') value &= 1;
  if (t->kind == 'i' || t->kind == 'u' || t->kind == 'b') {
    for (size_t i = 0; i < t->size; ++i) at[i] = (char)(i < 4 ? value >> (8 * i) : value < 0 ? -1 : 0);
    return;
  }
  const size_t part = t->kind == 'c' ? t->size / 2 : t->size;
  if (part == sizeof(float)) PUT_AS(float)
  if (part == sizeof(double)) PUT_AS(double)
  memcpy(at, &(long double){value}, 10);
}

static void operands(const struct type* t, const char* op, char* at, int count, int rank, int salt) {
  const int product = !strcmp(op, "prod");
  for (int i = 0; i < count; ++i) {
    const unsigned x = (unsigned)(i * 31 + rank * 17 + salt * 7);
    const int value = product ? 1 + (int)(x % 7 == 0) : (int)(x * 2654435761u >> 20) % 15;
    put(t, at + (size_t)i * t->size, value, rank * 3 + i % 5);
  }
}

/* A long double's last bytes mean nothing, nor do the holes of pairs. */
static void clean(const struct type* t, char* at, int count) {
  for (int i = 0; i < count; ++i, at += t->size) {
    if (t->kind == 'f' && t->size == 16) memset(at + 10, 0, 6);
    if (t->kind == 'c' && t->size == 32) memset(at + 10, 0, 6), memset(at + 26, 0, 6);
    if (t->type == MPI_DOUBLE_INT || t->type == MPI_LONG_INT) memset(at + 12, 0, 4);
    if (t->type == MPI_SHORT_INT) memset(at + 2, 0, 2);
    if (t->type == MPI_LONG_DOUBLE_INT) memset(at + 10, 0, 6), memset(at + 20, 0, 12);
  }
}

struct run {
  MPI_Comm comm;
  const char* comm_name;
  int rank, size;
  const struct type* type;
  MPI_Op op;
  const char* op_name;
  int count, salt, in_place;
  struct buffers* b;
};

static void result(const struct run* r, const char* what, char* at, int count) {
  clean(r->type, at, count);
  record(at, (size_t)count * r->type->size, "%s %s %s %s n=%d in_place=%d at=%d", r->comm_name, what,
         r->type->name, r->op_name, r->count, r->in_place, r->b->place);
}

/* Operands into `send`, or into `receive` for in place; returns what to give as the send buffer. */
static const void* ready(const struct run* r, int count, int in_place) {
  memset(r->b->of[1], 0x55, (size_t)count * r->type->size);
  operands(r->type, r->op_name, in_place ? r->b->of[1] : r->b->of[0], count, r->rank, r->salt);
  return in_place ? MPI_IN_PLACE : r->b->of[0];
}

static void all_reductions(const struct run* r) {
  char* receive = r->b->of[1];
  const int n = r->count;
  int root = r->salt % r->size;
  if (tame && r->in_place) root = 0; /* MPICH 4.0.2 itself crashes in place at other roots, from 2 KiB on */
  MPI_Allreduce(ready(r, n, r->in_place), receive, n, r->type->type, r->op, r->comm);
  result(r, "allreduce", receive, n);
  const void* send = ready(r, n, r->in_place && r->rank == root);
  MPI_Reduce(send, receive, n, r->type->type, r->op, root, r->comm);
  result(r, "reduce", receive, n);
  if (levels && r->type->type != MPI_DOUBLE) return;
  MPI_Scan(ready(r, n, r->in_place), receive, n, r->type->type, r->op, r->comm);
  result(r, "scan", receive, n);
  MPI_Exscan(ready(r, n, r->in_place), receive, n, r->type->type, r->op, r->comm);
  if (r->rank) result(r, "exscan", receive, n);
  MPI_Reduce_scatter_block(ready(r, n * r->size, r->in_place), receive, n, r->type->type, r->op, r->comm);
  result(r, "reduce_scatter_block", receive, n);
  int counts[64], total = 0;
  for (int i = 0; i < r->size; ++i) total += counts[i] = (n * (i % 3)) / 2;
  int in_place = r->in_place;
  if (tame && n > 9000) in_place = 0; /* MPICH 4.0.2 itself stops then with "memory ranges overlap" */
  MPI_Reduce_scatter(ready(r, total, in_place), receive, counts, r->type->type, r->op, r->comm);
  result(r, "reduce_scatter", receive, counts[r->rank]);
}

/* a, b -> what "first a, then b" means for x -> p x + q modulo 97: associative, does not commute. */
static void compose(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  int *a = in, *b = inout;
  for (int i = 0; i < *n; ++i) {
    const int pa = (a[i] >> 8) & 255, qa = a[i] & 255, pb = (b[i] >> 8) & 255, qb = b[i] & 255;
    b[i] = ((pa * pb % 97) << 8) | ((qa * pb + qb) % 97);
  }
}

static void biggest(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i)
    if (((int*)in)[i] > ((int*)inout)[i]) ((int*)inout)[i] = ((int*)in)[i];
}

static void on_comm(MPI_Comm comm, const char* name, int full) {
  if (comm == MPI_COMM_NULL) return;
  static const int counts[] = {1, 3, 64, 1000, 9001}, large = 40000;
  char stack[4][SMALL_BUFFER];
  struct run r = {.comm = comm, .comm_name = name};
  MPI_Comm_rank(comm, &r.rank);
  MPI_Comm_size(comm, &r.size);
  MPI_Op user[2];
  MPI_Op_create(compose, 0, &user[0]);
  MPI_Op_create(biggest, 1, &user[1]);
  for (int t = 0; t < type_count; ++t) {
    for (int o = 0; o < OPS + 2; ++o) {
      const int users = o >= OPS;
      if (users ? types[t].type != MPI_INT : !strchr(ops[o].groups, types[t].group)) continue;
      r.type = &types[t];
      r.op = users ? user[o - OPS] : ops[o].op;
      r.op_name = users ? (o == OPS ? "compose" : "biggest") : ops[o].name;
      const int common = types[t].type == MPI_DOUBLE || types[t].type == MPI_INT;
      for (int c = 0; c < (common && full ? 6 : 3); ++c) {
        r.count = c == 5 ? large : counts[full && !common ? (c + t) % 4 : c];
        if (c == 5 && strcmp(r.op_name, "sum") && !users) continue;
        r.salt = t + o + c;
        r.in_place = (t + o + c) % 2;
        struct buffers b = get_buffers((t + o + c) % PLACES, (size_t)r.count * r.size * types[t].size, stack);
        r.b = &b;
        all_reductions(&r);
        r.in_place = !r.in_place;
        if (common) all_reductions(&r);
        drop_buffers(&b);
      }
    }
  }
  MPI_Op_free(&user[0]);
  MPI_Op_free(&user[1]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  start_out(argv[1]);
  for (int i = 2; i < argc; ++i) {
    tame |= !strcmp(argv[i], "tame");
    levels |= !strcmp(argv[i], "levels");
  }
  add_types();
  MPI_Comm reversed, halves, twin;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, (world_rank * 3) % 5, &halves);
  MPI_Comm_dup(reversed, &twin);
  on_comm(MPI_COMM_WORLD, "world", 1);
  on_comm(reversed, "reversed", 0);
  on_comm(halves, "halves", 0);
  on_comm(twin, "twin", 0);
  on_comm(MPI_COMM_SELF, "self", 0);
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&halves);
  MPI_Comm_free(&twin);
  end_out();
  MPI_Finalize();
  return 0;
}
