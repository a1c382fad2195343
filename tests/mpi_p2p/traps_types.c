// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Derived datatypes: every constructor on either side, with another one on the other side, so that sender and
// receiver never agree where the bytes lie. What was received is packed by the library and compared with what
// was sent, and what lies between the blocks must not have been touched.
#include "traps.h"

// Types over MPI_INT of `total` ints each, whatever their shape.
enum { total = 12000, kinds = 12 };

static MPI_Datatype make(int kind) {
  MPI_Datatype type = MPI_DATATYPE_NULL, inner;
  static int lengths[total], offsets[total];
  static MPI_Aint places[total];
  MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
  switch (kind) {
    case 0: MPI_Type_contiguous(total, MPI_INT, &type); break;
    case 1: MPI_Type_vector(total / 10, 10, 13, MPI_INT, &type); break;
    case 2: MPI_Type_create_hvector(total / 4, 4, 28, MPI_INT, &type); break;
    case 3:  // growing blocks, from the back to the front
      for (int i = 0; i < 100; ++i) {
        lengths[i] = 120;
        offsets[i] = (99 - i) * 131;
      }
      MPI_Type_indexed(100, lengths, offsets, MPI_INT, &type);
      break;
    case 4:
      for (int i = 0; i < total / 8; ++i) offsets[i] = i * 9;
      MPI_Type_create_indexed_block(total / 8, 8, offsets, MPI_INT, &type);
      break;
    case 5:
      for (int i = 0; i < total / 6; ++i) places[i] = (MPI_Aint)i * 32;
      MPI_Type_create_hindexed_block(total / 6, 6, places, MPI_INT, &type);
      break;
    case 6: {
      int parts[3] = {total / 2, total / 4, total / 4};
      MPI_Aint at[3] = {80000, 0, 64000};
      MPI_Type_create_struct(3, parts, at, types, &type);
      break;
    }
    case 7: {
      int all[3] = {30, 40, 50}, part[3] = {20, 30, 20}, from[3] = {5, 6, 7};
      MPI_Type_create_subarray(3, all, part, from, MPI_ORDER_C, MPI_INT, &type);
      break;
    }
    case 8: {
      int all[2] = {130, 150}, part[2] = {100, 120}, from[2] = {11, 12};
      MPI_Type_create_subarray(2, all, part, from, MPI_ORDER_FORTRAN, MPI_INT, &type);
      break;
    }
    case 9:  // a vector of resized vectors
      MPI_Type_vector(3, 2, 3, MPI_INT, &inner);
      MPI_Type_create_resized(inner, -4, 48, &type);
      MPI_Type_free(&inner);
      inner = type;
      MPI_Type_vector(total / 60, 10, 12, inner, &type);
      MPI_Type_free(&inner);
      break;
    case 10:
      for (int i = 0; i < 50; ++i) {
        lengths[i] = 240;
        places[i] = (MPI_Aint)i * 1000;
      }
      MPI_Type_create_hindexed(50, lengths, places, MPI_INT, &inner);
      MPI_Type_dup(inner, &type);
      MPI_Type_free(&inner);
      break;
    default:  // downwards
      MPI_Type_vector(total / 20, 20, -24, MPI_INT, &inner);
      MPI_Type_create_resized(inner, 0, 4, &type);
      MPI_Type_free(&inner);
      break;
  }
  MPI_Type_commit(&type);
  return type;
}

// Memory that holds `count` elements, and where element 0 starts in it.
static char* room_for(MPI_Datatype type, int count, char** memory, size_t* bytes) {
  MPI_Aint low, extent, true_low, true_extent;
  MPI_Type_get_extent(type, &low, &extent);
  MPI_Type_get_true_extent(type, &true_low, &true_extent);
  *bytes = (size_t)(true_extent + (count - 1) * extent) + 128;
  *memory = heap(*bytes);
  return *memory + 64 - true_low;
}

static void fill_type(char* at, int count, MPI_Datatype type, int bytes, unsigned seed) {
  char* stream = heap((size_t)bytes);
  int position = 0;
  fill(stream, (size_t)bytes, seed);
  MPI_Unpack(stream, bytes, &position, at, count, type, MPI_COMM_WORLD);
  free(stream);
}

static int filled_type(const char* at, int count, MPI_Datatype type, int bytes, unsigned seed) {
  char* stream = heap((size_t)bytes);
  int position = 0;
  MPI_Pack(at, count, type, stream, bytes, &position, MPI_COMM_WORLD);
  const int ok = filled(stream, (size_t)bytes, seed);
  free(stream);
  return ok;
}

// That memory is as if the library had unpacked into fresh memory: nothing between the blocks was written.
static int gaps_untouched(const char* memory, size_t bytes, const char* at, int count, MPI_Datatype type,
                          int size, unsigned seed) {
  char* fresh = heap(bytes);
  fill_type(fresh + (at - memory), count, type, size, seed);
  const int same = memcmp(fresh, memory, bytes) == 0;
  free(fresh);
  return same;
}

static void exchange(MPI_Datatype from, int from_count, MPI_Datatype to, int to_count, unsigned seed,
                     int nonblocking) {
  int bytes = 0, count = 0;
  char *memory, *at;
  size_t room;
  MPI_Request request;
  MPI_Status status;
  MPI_Type_size(from, &bytes);
  bytes *= from_count;
  if (rank == 0) {
    at = room_for(from, from_count, &memory, &room);
    fill_type(at, from_count, from, bytes, seed);
    if (nonblocking) {
      MPI_Isend(at, from_count, from, 1, 0, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(at, from_count, from, 1, 0, MPI_COMM_WORLD);
    }
  } else {
    at = room_for(to, to_count, &memory, &room);
    if (nonblocking) {
      MPI_Irecv(at, to_count, to, 0, 0, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, &status);
    } else {
      MPI_Recv(at, to_count, to, 0, 0, MPI_COMM_WORLD, &status);
    }
    MPI_Get_count(&status, to, &count);
    CHECK(count_of(&status) == bytes && count == to_count);
    CHECK(filled_type(at, to_count, to, bytes, seed));
    CHECK(gaps_untouched(memory, room, at, to_count, to, bytes, seed));
  }
  free(memory);
}

void types_both_sides(void) {
  if (rank > 1) return;
  MPI_Datatype type[kinds];
  for (int i = 0; i < kinds; ++i) type[i] = make(i);
  for (int i = 0; i < kinds; ++i)
    for (int k = 0; k < kinds; ++k) {
      const int count = i == 11 || k == 11 ? 1 : 1 + (i + k) % 3;
      exchange(type[i], count, type[k], count, (unsigned)(kinds * i + k), (i + k) % 2);
    }
  for (int i = 0; i < kinds; ++i) exchange(type[i], 1, MPI_INT, total, (unsigned)i, 0);
  for (int i = 0; i < kinds; ++i) exchange(MPI_INT, total, type[i], 1, (unsigned)i, 1);
  for (int i = 0; i < kinds; ++i) MPI_Type_free(&type[i]);
}

// Predefined types with holes, and just wire_bytes of them where that is possible.
void types_pairs(void) {
  if (rank > 1) return;
  const MPI_Datatype pairs[] = {MPI_DOUBLE_INT, MPI_LONG_INT,        MPI_SHORT_INT,       MPI_FLOAT_INT,
                                MPI_2INT,       MPI_LONG_DOUBLE_INT, MPI_C_DOUBLE_COMPLEX};
  for (int i = 0; i < 7; ++i) {
    int size = 0;
    MPI_Type_size(pairs[i], &size);
    exchange(pairs[i], 3000, pairs[i], 3000, (unsigned)i, i % 2);
    exchange(pairs[i], 40000, pairs[i], 40000, (unsigned)i, i % 2);
    if (WIRE % size == 0) exchange(pairs[i], WIRE / size, pairs[i], WIRE / size, (unsigned)i, i % 2);
  }
}

// All distributions of a distributed array, received as plain ints.
void types_arrays(void) {
  if (rank > 1) return;
  const int kind[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
  int all[2] = {103, 97}, processes[2], argument[2], distribution[2];
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      for (int order = 0; order < 2; ++order)
        for (int process = 0; process < 6; process += 5) {
          processes[0] = a == 2 ? 1 : 2;
          processes[1] = b == 2 ? 1 : 3;
          const int size = processes[0] * processes[1];
          distribution[0] = kind[a];
          distribution[1] = kind[b];
          argument[0] = order == 0 ? MPI_DISTRIBUTE_DFLT_DARG : a == 0 ? 60 : 7;
          argument[1] = b == 1 ? 5 : MPI_DISTRIBUTE_DFLT_DARG;
          if (a == 2) argument[0] = MPI_DISTRIBUTE_DFLT_DARG;
          MPI_Datatype type;
          MPI_Type_create_darray(size, process % size, 2, all, distribution, argument, processes,
                                 order == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, MPI_INT, &type);
          MPI_Type_commit(&type);
          int bytes = 0;
          MPI_Type_size(type, &bytes);
          exchange(type, 1, MPI_INT, bytes / 4, (unsigned)(9 * a + b), order);
          exchange(MPI_INT, bytes / 4, type, 1, (unsigned)(9 * a + b), order);
          MPI_Type_free(&type);
        }
}

// Absolute addresses: blocks of several allocations, from MPI_BOTTOM.
void types_absolute(void) {
  if (rank > 1) return;
  enum { blocks = 3 };
  char* part[blocks];
  int lengths[blocks] = {20000, 5000, 30000};
  MPI_Aint places[blocks];
  MPI_Datatype type;
  for (int i = 0; i < blocks; ++i) {
    part[i] = heap((size_t)lengths[i]);
    MPI_Get_address(part[i], &places[i]);
    if (rank == 0) fill(part[i], (size_t)lengths[i], (unsigned)i);
  }
  MPI_Type_create_hindexed(blocks, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  if (rank == 0) MPI_Send(MPI_BOTTOM, 1, type, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(MPI_BOTTOM, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < blocks; ++i) {
    CHECK(filled(part[i], (size_t)lengths[i], (unsigned)i));
    free(part[i]);
  }
  MPI_Type_free(&type);
}

// Less comes than was asked for, down to parts of an element, into records whose parts a descriptor's end
// cuts.
void types_partial(void) {
  if (rank > 1) return;
  MPI_Datatype record;
  int lengths[3] = {1, 3, 1};
  MPI_Aint places[3] = {0, 8, 24};
  MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};  // 21 bytes in 25
  MPI_Type_create_struct(3, lengths, places, types, &record);
  MPI_Type_commit(&record);
  for (int n = 1000; n <= 100000; n *= 10) {
    char *memory, *at;
    size_t room;
    int count = 0, elements = 0, size = 0;
    MPI_Status status;
    MPI_Type_size(record, &size);
    if (rank == 0) {
      at = room_for(record, n, &memory, &room);
      fill_type(at, n, record, n * size, 5);
      MPI_Send(at, n, record, 1, 0, MPI_COMM_WORLD);
    } else {
      at = room_for(record, n + 50, &memory, &room);
      MPI_Recv(at, n + 50, record, 0, 0, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, record, &count);
      MPI_Get_elements(&status, record, &elements);
      CHECK(count == n && elements == 5 * n);
      CHECK(filled_type(at, n, record, n * size, 5));
      CHECK(gaps_untouched(memory, room, at, n, record, n * size, 5));
    }
    free(memory);
  }
  MPI_Type_free(&record);
}

// Types and communicators may go while messages that need them are under way.
void types_freed(void) {
  if (rank > 1) return;
  for (int round = 0; round < 20; ++round) {
    MPI_Datatype type, unused;
    char *memory, *at;
    size_t room;
    MPI_Request request;
    const int count = 600;
    MPI_Type_vector(10 + round, 2, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    const int bytes = count * (10 + round) * 8;
    at = room_for(type, count, &memory, &room);
    if (rank == 0) fill_type(at, count, type, bytes, (unsigned)round);
    if (rank == 0)
      MPI_Isend(at, count, type, 1, 0, MPI_COMM_WORLD, &request);
    else
      MPI_Irecv(at, count, type, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    MPI_Type_vector(500, 1, 2, MPI_DOUBLE, &unused);  // perhaps at the same handle
    MPI_Type_commit(&unused);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&unused);
    MPI_Type_vector(10 + round, 2, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK(filled_type(at, count, type, bytes, (unsigned)round));
    CHECK(rank == 0 || gaps_untouched(memory, room, at, count, type, bytes, (unsigned)round));
    MPI_Type_free(&type);
    free(memory);
  }
}

// More blocks than anybody would list: only the library can walk it, on one side or on both.
void types_too_many_blocks(void) {
  if (rank > 1) return;
  MPI_Datatype type;
  const int n = 100000;
  MPI_Type_vector(n, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  exchange(type, 1, MPI_INT, n, 1, 0);
  exchange(MPI_INT, n, type, 1, 2, 1);
  exchange(MPI_INT, 2 * n, type, 2, 3, 0);
  exchange(type, 1, type, 1, 4, 1);
  // A part of an element, while a message of our own is awaited.
  const int part = 60000;
  int* data = heap(2 * n * sizeof *data);
  if (rank == 0) {
    fill(data, (size_t)part * sizeof *data, 9);
    MPI_Send(data, part, MPI_INT, 1, 5, MPI_COMM_WORLD);
  } else {
    int mine = 0, seven = 7;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&mine, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &request);
    MPI_Recv(data, 1, type, 0, 5, MPI_COMM_WORLD, &status);
    CHECK(count_of(&status) == part * (int)sizeof *data);
    for (int i = 0; i < part; ++i) data[i] = data[2 * i];
    CHECK(filled(data, (size_t)part * sizeof *data, 9));
    MPI_Send(&seven, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&request, &status);
    CHECK(mine == 7 && status.MPI_TAG == 3);
  }
  free(data);
  MPI_Type_free(&type);
}

static int copied, deleted;
static int on_copy(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  (void)type, (void)key, (void)extra;
  ++copied, *(void**)out = in, *flag = 1;
  return MPI_SUCCESS;
}
static int on_delete(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type, (void)key, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

// The program's attributes of a type, and of the type within it, are its own, whatever a message needs to
// know of the type: few blocks, and so many that only the library can walk them.
void types_attributes(void) {
  for (int blocks = 10; blocks <= 100000; blocks *= 10000) {
    const int bytes = 4 * 2 * blocks * (int)sizeof(int);
    MPI_Datatype inner, outer;
    int key = MPI_KEYVAL_INVALID;
    int *out = heap((size_t)bytes), *in = heap((size_t)bytes);
    MPI_Type_create_keyval(on_copy, on_delete, &key, NULL);
    MPI_Type_vector(blocks, 1, 2, MPI_INT, &inner);
    MPI_Type_set_attr(inner, key, &key);
    MPI_Type_contiguous(2, inner, &outer);
    MPI_Type_set_attr(outer, key, &key);
    MPI_Type_commit(&outer);
    copied = deleted = 0;
    fill(out, (size_t)bytes, 3);
    MPI_Sendrecv(out, 2, outer, rank ^ 1, 0, in, 2, outer, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == out[0] && in[2] == out[2]);
    MPI_Bcast(in, 2, outer, 0, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Ibcast(in, 2, outer, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(copied == 0 && deleted == 0);
    MPI_Type_free(&outer);
    CHECK(copied == 0 && deleted == 1);
    MPI_Type_free(&inner);
    CHECK(copied == 0 && deleted == 2);
    MPI_Type_free_keyval(&key);
    free(out), free(in);
  }
}
