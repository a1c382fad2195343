/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbourhood collectives on all kinds of topologies: borders, tori in which both neighbours are one rank
 * or the rank itself, graphs in which edges repeat, lead to oneself, or lack altogether. Blocks are
 * contiguous or not, small or large; calls block, don't, or persist. What a pair of ranks exchanges depends
 * on the pair alone, since libraries differ in how they match several edges of a pair; what it holds does
 * not.
 */
#include "common.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#else
#define HAS_PERSISTENT 0
#endif

enum { MOST_EDGES = 24, FORMS = 5, STYLES = 2 + HAS_PERSISTENT };

struct topology {
  MPI_Comm comm;
  const char* name;
  int rank, size, in, out;
  int sources[MOST_EDGES], destinations[MOST_EDGES];
};

static void read_edges(struct topology* t) {
  int kind, weighted, weights[MOST_EDGES];
  MPI_Comm_rank(t->comm, &t->rank);
  MPI_Comm_size(t->comm, &t->size);
  MPI_Topo_test(t->comm, &kind);
  if (kind == MPI_CART) {
    int dimensions;
    MPI_Cartdim_get(t->comm, &dimensions);
    for (int d = 0; d < dimensions; ++d)
      MPI_Cart_shift(t->comm, d, 1, &t->sources[2 * d], &t->sources[2 * d + 1]);
    t->in = t->out = 2 * dimensions;
    memcpy(t->destinations, t->sources, sizeof t->sources);
  } else if (kind == MPI_GRAPH) {
    MPI_Graph_neighbors_count(t->comm, t->rank, &t->in);
    MPI_Graph_neighbors(t->comm, t->rank, t->in, t->sources);
    t->out = t->in;
    memcpy(t->destinations, t->sources, sizeof t->sources);
  } else {
    MPI_Dist_graph_neighbors_count(t->comm, &t->in, &t->out, &weighted);
    MPI_Dist_graph_neighbors(t->comm, t->in, t->sources, weights, t->out, t->destinations, weights);
  }
}

/* MPICH 4.0's MPI_Neighbor_alltoallw in graphs, alone: after an empty block, and where edges repeat, it
 * hangs, or puts blocks into the wrong calls. */
static int tame;

/* Elements of each block from one rank to another. */
static int length(int from, int to, int n) {
  const int part = from == MPI_PROC_NULL || to == MPI_PROC_NULL ? n : n / (1 + (from * 3 + to) % 4);
  return n != 0 && part == 0 ? 1 : part;
}

struct call {
  int form, style, n;
  MPI_Datatype type, other; /* of as many bytes */
  int *send, *receive;
  int send_counts[MOST_EDGES], send_places[MOST_EDGES], receive_counts[MOST_EDGES],
      receive_places[MOST_EDGES];
  MPI_Aint send_bytes[MOST_EDGES], receive_bytes[MOST_EDGES];
  MPI_Datatype send_types[MOST_EDGES], receive_types[MOST_EDGES];
  MPI_Request request;
};

#if HAS_PERSISTENT
#define CALL(name, ...)                                                                              \
  do {                                                                                               \
    if (c->style == 0) MPI_Neighbor_##name(__VA_ARGS__, t->comm);                                    \
    if (c->style == 1) MPI_Ineighbor_##name(__VA_ARGS__, t->comm, &c->request);                      \
    if (c->style == 2) MPI_Neighbor_##name##_init(__VA_ARGS__, t->comm, MPI_INFO_NULL, &c->request); \
  } while (0)
#else
#define CALL(name, ...)                                                         \
  do {                                                                          \
    if (c->style == 0) MPI_Neighbor_##name(__VA_ARGS__, t->comm);               \
    if (c->style == 1) MPI_Ineighbor_##name(__VA_ARGS__, t->comm, &c->request); \
  } while (0)
#endif

static void make(const struct topology* t, struct call* c) {
  /* Who has no neighbour on a side needs no buffer there; MPICH wants one where there is a count. */
#ifdef OPEN_MPI
  const int lacks = 1;
#else
  const int lacks = c->form >= 3;
#endif
  int *s = lacks && t->out == 0 ? NULL : c->send,
      *r = (lacks || c->form == 1) && t->in == 0 ? NULL : c->receive;
  const int mine = length(t->rank, t->rank, c->n);
  switch (c->form) {
    case 0: CALL(allgather, s, c->n, c->type, r, c->n, c->other); break;
    case 1: CALL(allgatherv, s, mine, c->type, r, c->receive_counts, c->receive_places, c->other); break;
    case 2: CALL(alltoall, s, c->n, c->other, r, c->n, c->type); break;
    case 3:
      CALL(alltoallv, s, c->send_counts, c->send_places, c->type, r, c->receive_counts, c->receive_places,
           c->type);
      break;
    default:
      CALL(alltoallw, s, c->send_counts, c->send_bytes, c->send_types, r, c->receive_counts, c->receive_bytes,
           c->receive_types);
  }
}

static void run(const struct topology* t, int n, int style, int place, MPI_Datatype type, MPI_Datatype other,
                const char* types) {
  static char stack_like[4][SMALL_BUFFER];
  const size_t edges = (size_t)(t->in > t->out ? t->in : t->out) + 1, each = (size_t)(n + 1) * 6;
  struct call calls[FORMS];
  struct buffers buffers[FORMS];
  for (int form = 0; form < FORMS; ++form) {
    struct call* c = &calls[form];
    *c = (struct call){
        .form = form, .style = style, .n = n, .type = type, .other = other, .request = MPI_REQUEST_NULL};
    buffers[form] = get_buffers(style == 0 ? place : ON_HEAP, edges * each * sizeof(int), stack_like);
    c->send = (int*)buffers[form].of[0];
    c->receive = (int*)buffers[form].of[1];
    for (int i = 0; i < t->out; ++i) {
      c->send_counts[i] = length(t->rank, t->destinations[i], n);
      c->send_places[i] = (t->out - 1 - i) * (n + 1);
      c->send_bytes[i] = (MPI_Aint)i * (MPI_Aint)each * 4;
      c->send_types[i] = (i + t->rank) % 2 ? type : other;
    }
    for (int i = 0; i < t->in; ++i) {
      const int from = t->sources[i];
      c->receive_counts[i] = form == 1 ? length(from, from, n) : length(from, t->rank, n);
      c->receive_places[i] = i * (n + 1);
      c->receive_bytes[i] = (MPI_Aint)(t->in - 1 - i) * (MPI_Aint)each * 4;
      c->receive_types[i] = i % 2 ? other : type;
    }
    if (style == 2) make(t, c);
  }
  const int forms = n == 0 || (tame && strstr(t->name, "graph")) ? FORMS - 1 : FORMS;
  for (int round = 0; round < 3; ++round) {
    for (int form = 0; form < forms; ++form) {
      struct call* c = &calls[form];
      fill(c->send, buffers[form].bytes, (uint64_t)(t->rank * 1000 + form * 10 + round));
      fill(c->receive, buffers[form].bytes, (uint64_t)form);
      if (style < 2) make(t, c);
      if (style == 0) record(c->receive, buffers[form].bytes, "%s n=%d %s form %d", t->name, n, types, form);
    }
    if (style == 0) continue;
    for (int i = 0; style == 2 && i < forms; ++i) MPI_Start(&calls[(i + round) % forms].request);
    for (int i = 0; i < forms; ++i) MPI_Wait(&calls[(i + t->rank) % forms].request, MPI_STATUS_IGNORE);
    for (int form = 0; form < forms; ++form)
      record(calls[form].receive, buffers[form].bytes, "%s n=%d %s style %d form %d", t->name, n, types,
             style, form);
  }
  for (int form = 0; form < FORMS; ++form) {
    if (style == 2) MPI_Request_free(&calls[form].request);
    drop_buffers(&buffers[form]);
  }
}

static void run_all(MPI_Comm comm, const char* name) {
  struct topology t = {.comm = comm, .name = name};
  if (comm == MPI_COMM_NULL) return;
  MPI_Datatype gap, pair;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gap);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&gap);
  MPI_Type_commit(&pair);
  read_edges(&t);
  static const int lengths[] = {0, 1, 30, 6000};
  for (int i = 0; i < 4; ++i)
    for (int style = 0; style < STYLES; ++style) {
      run(&t, lengths[i], style, i % PLACES, pair, pair, "pairs");
      run(&t, lengths[i], style, (i + 1) % PLACES, gap, pair, "gaps");
    }
  MPI_Type_free(&gap);
  MPI_Type_free(&pair);
  MPI_Comm_free(&t.comm);
}

static void carts(void) {
  static const struct {
    const char* name;
    int n, sizes[3], periods[3];
  } all[] = {{"line", 1, {0}, {0}},        {"ring", 1, {0}, {1}},
             {"plane", 2, {0, 0}, {0, 0}}, {"torus", 2, {0, 0}, {1, 1}},
             {"tube", 2, {0, 0}, {0, 1}},  {"thin ring", 2, {1, 0}, {1, 1}},
             {"pairs", 2, {0, 2}, {1, 1}}, {"space", 3, {0, 1, 0}, {1, 1, 1}}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    int sizes[3], cells = 1;
    MPI_Comm comm;
    memcpy(sizes, all[i].sizes, sizeof sizes);
    for (int d = 0; d < all[i].n; ++d) cells *= sizes[d] ? sizes[d] : 1;
    MPI_Dims_create(world_size / cells * cells, all[i].n, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, all[i].n, sizes, all[i].periods, 1, &comm);
    run_all(comm, all[i].name);
  }
}

/* Edges that all ranks draw alike, some of them more than once; `each` rank names its own, or the first all.
 */
static void graph(uint64_t seed, int edges, int adjacent, const char* name) {
  int from[MOST_EDGES], to[MOST_EDGES], in[MOST_EDGES], out[MOST_EDGES], ones[MOST_EDGES], ins = 0, outs = 0;
  MPI_Comm comm;
  for (int i = 0; i < edges; ++i) {
    from[i] = (int)(next_random(&seed) % (uint64_t)world_size);
    to[i] = (int)(next_random(&seed) % (uint64_t)world_size);
    ones[i] = 1;
    if (from[i] == world_rank) out[outs++] = to[i];
    if (to[i] == world_rank) in[ins++] = from[i];
  }
  if (adjacent)
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, in, ones, outs, out, ones, MPI_INFO_NULL, 0, &comm);
  else
    MPI_Dist_graph_create(MPI_COMM_WORLD, world_rank == 0 ? edges : 0, from, ones, to, ones, MPI_INFO_NULL, 0,
                          &comm);
  run_all(comm, name);
}

static void old_graph(void) {
  int index[64], edges[128];
  MPI_Comm comm;
  for (int i = 0; i < world_size; ++i) {
    index[i] = 2 * (i + 1);
    edges[2 * i] = (i + world_size - 1) % world_size;
    edges[2 * i + 1] = (i + 1) % world_size;
  }
  MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &comm);
  run_all(comm, "graph");
}

static void say(const char* what, int error) {
  int class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  record(&class, sizeof class, "%s: class %d", what, class);
}

/* Arguments that a library may refuse, on one rank or on all. */
static void wrong(void) {
  const int size = world_size, period = 1, minus[2] = {-1, -1}, zero[2] = {0, 0};
  int a[8] = {0}, b[8] = {0};
  MPI_Comm ring, plain;
  MPI_Datatype pair;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &ring);
  MPI_Comm_dup(MPI_COMM_WORLD, &plain);
  MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(plain, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  say("no topology", MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, plain));
  say("negative", MPI_Neighbor_alltoall(a, -1, MPI_INT, b, -1, MPI_INT, ring));
  say("negative v", MPI_Neighbor_alltoallv(a, minus, zero, MPI_INT, b, minus, zero, MPI_INT, ring));
  say("no type", MPI_Neighbor_alltoall(a, 1, MPI_DATATYPE_NULL, b, 1, MPI_INT, ring));
  say("uncommitted", MPI_Neighbor_alltoall(a, 0, pair, b, 0, pair, ring));
#ifndef OPEN_MPI /* which reads there */
  say("no buffer", MPI_Neighbor_alltoall(NULL, 1, MPI_INT, b, 1, MPI_INT, ring));
#endif
  say("same", MPI_Neighbor_alltoall(a, 0, MPI_INT, a, 0, MPI_INT, ring));
  say("uncommitted I", MPI_Ineighbor_alltoall(a, 0, pair, b, 0, pair, ring, &request));
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&pair);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&plain);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  start_out(argv[1]);
  tame = argc > 2;
  carts();
  graph(1, 6, 1, "graph of 6");
  graph(2, MOST_EDGES, 1, "graph of many");
  graph(3, MOST_EDGES, 0, "graph made by one");
  graph(4, 1, 1, "graph of 1");
  old_graph();
  wrong();
  end_out();
  MPI_Finalize();
  return 0;
}
