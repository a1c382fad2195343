// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See neighbors.hpp. Where two edges join the same two members, MPI 3 leaves open which block meets which:
// some libraries match them as they are listed, others by direction, and one may do it differently in
// blocking and in non-blocking calls, of one function and of the next. So the library itself is asked, once,
// with a torus and a graph of one process.
#include "mpi/neighbors.hpp"

#include <algorithm>

#include "mpi/handlers.hpp"

namespace nigh::mpi::coll {
namespace {

using Order = Neighbors::Order;

constexpr Form ordered[Neighbors::ordered_forms] = {Form::neighbor_alltoall, Form::neighbor_alltoallv,
                                                    Form::neighbor_alltoallw};
constexpr int place_of(Form form) { return static_cast<int>(form) - static_cast<int>(ordered[0]); }

// Each of four edges from this process to itself carries one number.
int exchange(Form form, bool waits, const int* sent, int* got, MPI_Comm comm, MPI_Request* request) {
  static const int ones[4] = {1, 1, 1, 1}, at[4] = {0, 1, 2, 3};
  static const MPI_Aint at_byte[4] = {0, 4, 8, 12};
  static const MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
  const auto& mpi = real();
  if (form == Form::neighbor_alltoall)
    return waits ? mpi.Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm)
                 : mpi.Ineighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm, request);
  if (form == Form::neighbor_alltoallv)
    return waits ? mpi.Neighbor_alltoallv(sent, ones, at, MPI_INT, got, ones, at, MPI_INT, comm)
                 : mpi.Ineighbor_alltoallv(sent, ones, at, MPI_INT, got, ones, at, MPI_INT, comm, request);
  return waits
             ? mpi.Neighbor_alltoallw(sent, ones, at_byte, types, got, ones, at_byte, types, comm)
             : mpi.Ineighbor_alltoallw(sent, ones, at_byte, types, got, ones, at_byte, types, comm, request);
}

Order order_of(Form form, bool waits, MPI_Comm comm) {
  const int sent[4] = {1, 2, 3, 4};
  int got[4] = {};
  MPI_Request request = MPI_REQUEST_NULL;
  if (exchange(form, waits, sent, got, comm, &request) != MPI_SUCCESS ||
      (!waits && real().Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS))
    return Order::unknown;
  constexpr int crossed[4] = {2, 1, 4, 3}, reversed[4] = {4, 3, 2, 1};
  if (std::equal(got, got + 4, sent)) return Order::listed;
  if (std::equal(got, got + 4, crossed)) return Order::crossed;
  return std::equal(got, got + 4, reversed) ? Order::reversed : Order::unknown;
}

// The library's habits; asked when the first communicator needs them.
struct Habits {
  Order of_torus[Neighbors::ordered_forms][2] = {}, of_graph[Neighbors::ordered_forms][2] = {};

  Habits() {
    const MPI_Comm self = own_comm();
    if (self == MPI_COMM_NULL) return;
    const NoErrors none(true);
    const int ones[4] = {1, 1, 1, 1}, zeros[4] = {};
    MPI_Comm comm = MPI_COMM_NULL;
    if (real().Cart_create(self, 2, ones, ones, 0, &comm) == MPI_SUCCESS) ask(comm, of_torus);
    if (real().Dist_graph_create_adjacent(self, 4, zeros, ones, 4, zeros, ones, MPI_INFO_NULL, 0, &comm) ==
        MPI_SUCCESS)
      ask(comm, of_graph);
    if (real().Dist_graph_create_adjacent(self, 1, zeros, ones, 1, zeros, ones, MPI_INFO_NULL, 0, &comm) !=
        MPI_SUCCESS)
      return;
    real().Comm_set_errhandler(comm, errors_return());
    ask_what_neighbors_refuse(comm);
    real().Comm_free(&comm);
  }

 private:
  static void ask(MPI_Comm comm, Order (*order)[2]) {
    real().Comm_set_errhandler(comm, errors_return());
    for (const Form form : ordered)
      for (const int waits : {0, 1}) order[place_of(form)][1 - waits] = order_of(form, waits != 0, comm);
    real().Comm_free(&comm);
  }
};

// Copies them; true if all are known.
bool take(const Order (&from)[Neighbors::ordered_forms][2], Order (&to)[Neighbors::ordered_forms][2]) {
  bool known = true;
  for (int form = 0; form < Neighbors::ordered_forms; ++form)
    for (int how = 0; how < 2; ++how) known &= (to[form][how] = from[form][how]) != Order::unknown;
  return known;
}

const Habits& habits() {
  static const Habits asked;
  return asked;
}

bool repeats(std::vector<int> members) {
  std::erase(members, MPI_PROC_NULL);
  std::sort(members.begin(), members.end());
  return std::adjacent_find(members.begin(), members.end()) != members.end();
}

// False: not ours.
bool read_cart(MPI_Comm comm, Neighbors& around) {
  int dimensions = 0;
  if (real().Cartdim_get(comm, &dimensions) != MPI_SUCCESS || dimensions <= 0) return false;
  const auto n = static_cast<std::size_t>(dimensions);
  std::vector<int> sizes(n), periods(n), coordinates(n);
  if (real().Cart_get(comm, dimensions, sizes.data(), periods.data(), coordinates.data()) != MPI_SUCCESS)
    return false;
  bool has_pairs = false;  // on any member
  for (std::size_t d = 0; d < n; ++d) {
    int before = MPI_PROC_NULL, after = MPI_PROC_NULL;
    if (real().Cart_shift(comm, static_cast<int>(d), 1, &before, &after) != MPI_SUCCESS) return false;
    for (const int member : {before, after}) around.sources.push_back(member);
    has_pairs |= periods[d] != 0 && sizes[d] <= 2;
  }
  around.destinations = around.sources;
  return take(habits().of_torus, around.order) || !has_pairs;
}

bool read_graph(MPI_Comm comm, Neighbors& around) {
  int in = 0, out = 0, weighted = 0;
  if (real().Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS || in < 0 || out < 0)
    return false;
  around.sources.resize(static_cast<std::size_t>(in));
  around.destinations.resize(static_cast<std::size_t>(out));
  std::vector<int> weights(static_cast<std::size_t>(std::max(in, out)) + 1);
  return take(habits().of_graph, around.order) &&
         real().Dist_graph_neighbors(comm, in, around.sources.data(), weights.data(), out,
                                     around.destinations.data(), weights.data()) == MPI_SUCCESS;
}

std::shared_ptr<const Neighbors> read(MPI_Comm comm) {
  auto around = std::make_shared<Neighbors>();
  int kind = MPI_UNDEFINED;
  real().Topo_test(comm, &kind);
  if (kind == MPI_CART ? !read_cart(comm, *around) : kind != MPI_DIST_GRAPH || !read_graph(comm, *around))
    return {};
  around->sources_repeat = repeats(around->sources);
  around->destinations_repeat = repeats(around->destinations);
  return around;
}

// Blocks of members from those of edges, which join each pair of members at most once.
BlockArguments by_member(Prepared& p, const std::vector<int>& members, const BlockArguments& edges) {
  BlockArguments blocks;
  const std::size_t n = p.size();
  blocks.all = edges.all;
  blocks.contiguous = edges.contiguous;
  blocks.counts = p.arrays.take(n);
  blocks.places = p.arrays.take(n);
  if (edges.each != nullptr) blocks.each = reinterpret_cast<TypeInfo**>(p.arrays.take(n));
  p.no_memory |= blocks.counts == nullptr || blocks.places == nullptr ||
                 (edges.each != nullptr && blocks.each == nullptr);
  if (p.no_memory) return blocks;
  std::fill(blocks.counts, blocks.counts + n, 0);
  std::fill(blocks.places, blocks.places + n, 0);
  if (blocks.each != nullptr) std::fill(blocks.each, blocks.each + n, &no_type());
  for (std::size_t edge = 0; edge < members.size(); ++edge) {
    if (members[edge] == MPI_PROC_NULL) continue;
    const auto member = static_cast<std::size_t>(members[edge]);
    blocks.counts[member] = edges.counts[edge];
    blocks.places[member] = edges.places[edge];
    if (blocks.each != nullptr) blocks.each[member] = edges.each[edge];
  }
  return blocks;
}

// Blocks of any edges in a temporary: those of one member one after the other.
struct Packed {
  Side side;
  std::size_t* counts = nullptr;   // of edges: elements, none of those to nobody,
  std::size_t* offsets = nullptr;  // ... bytes in the temporary
};
Packed packed_edges(Prepared& p, Temporary& temporary, const std::vector<int>& members,
                    const BlockArguments& edges, Order order) {
  Packed packed;
  const std::size_t n = p.size();
  std::size_t *bytes = p.arrays.take(n), *first = p.arrays.take(n), *next = p.arrays.take(n);
  packed.counts = p.arrays.take(members.size());
  packed.offsets = p.arrays.take(members.size());
  p.no_memory |= bytes == nullptr || first == nullptr || next == nullptr || packed.counts == nullptr ||
                 packed.offsets == nullptr;
  if (p.no_memory) return packed;
  std::fill(bytes, bytes + n, 0);
  for (std::size_t edge = 0; edge < members.size(); ++edge) {
    packed.offsets[edge] = 0;
    packed.counts[edge] = members[edge] == MPI_PROC_NULL ? 0 : edges.counts[edge];
    if (members[edge] != MPI_PROC_NULL)
      bytes[members[edge]] += packed.counts[edge] * edges.type(static_cast<int>(edge)).size;
  }
  std::size_t total = 0;
  for (std::size_t member = 0; member < n; total += bytes[member++]) first[member] = next[member] = total;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::size_t edge = order == Order::crossed    ? i ^ 1
                             : order == Order::reversed ? members.size() - 1 - i
                                                        : i;
    if (members[edge] == MPI_PROC_NULL) continue;
    packed.offsets[edge] = next[members[edge]];
    next[members[edge]] += packed.counts[edge] * edges.type(static_cast<int>(edge)).size;
  }
  packed.side = {.bytes = bytes, .offsets = first, .base = temporary.take(total)};
  p.no_memory |= packed.side.base == nullptr;
  return packed;
}

void set_send(Prepared& p, const Side& side) {
  p.call.send = side.base;
  p.call.send_bytes = side.bytes;
  p.call.send_offsets = side.offsets;
}

// Blocks of equal counts, one for each of `n` edges; `apart`: one after the other, else all the same.
BlockArguments equal_blocks(Prepared& p, std::size_t n, MPI_Count count, TypeInfo& type, bool apart) {
  BlockArguments blocks;
  blocks.all = &type;
  blocks.contiguous = type.contiguous;
  blocks.counts = p.arrays.take(n);
  blocks.places = p.arrays.take(n);
  p.no_memory |= blocks.counts == nullptr || blocks.places == nullptr;
  for (std::size_t i = 0; i < n && !p.no_memory; ++i) {
    blocks.counts[i] = static_cast<std::size_t>(count);
    blocks.places[i] = apart ? static_cast<std::size_t>(static_cast<std::ptrdiff_t>(i) *
                                                        static_cast<std::ptrdiff_t>(count) * type.extent)
                             : 0;
  }
  return blocks;
}

// Blocks of equal counts, one after the other and each in one piece.
Side plain_blocks(Prepared& p, const std::vector<int>& members, const void* buffer, MPI_Count count,
                  const TypeInfo& type) {
  const std::size_t each = bytes_of(count, type), n = p.size();
  const std::size_t step = static_cast<std::size_t>(count) * static_cast<std::size_t>(type.extent);
  std::size_t *bytes = p.arrays.take(n), *offsets = p.arrays.take(n);
  p.no_memory |= bytes == nullptr || offsets == nullptr;
  if (p.no_memory) return {};
  std::fill(bytes, bytes + n, 0);
  std::fill(offsets, offsets + n, 0);
  bool any = false;
  for (std::size_t edge = 0; edge < members.size(); ++edge) {
    if (members[edge] == MPI_PROC_NULL) continue;
    bytes[members[edge]] = each;
    offsets[members[edge]] = edge * step;
    any = true;
  }
  const char* first = at(buffer, type.lower);
  p.bad_buffer |= any && each != 0 && first == nullptr;
  return {.bytes = bytes, .offsets = offsets, .base = const_cast<char*>(first)};
}

bool is_plain_side(bool repeat, const TypeInfo& type) {
  return !repeat && type.contiguous && type.extent >= 0;
}

void set_receive(Prepared& p, const Side& side) {
  p.call.receive = side.base;
  p.call.receive_bytes = side.bytes;
  p.call.receive_offsets = side.offsets;
}

// True if there is no memory at the start of a block that has some bytes.
bool is_null(const void* buffer, const Packed& packed, const BlockArguments& edges, std::size_t edge) {
  const TypeInfo& type = edges.type(static_cast<int>(edge));
  return packed.counts[edge] * type.size != 0 &&
         at(buffer, static_cast<std::ptrdiff_t>(edges.places[edge]) + type.lower) == nullptr;
}

}  // namespace

const std::shared_ptr<const Neighbors>& neighbors_of(MPI_Comm comm) {
  static const std::shared_ptr<const Neighbors> none;
  CommState* state = comm_state(comm);
  Coll* coll = state != nullptr ? coll_of(*state) : nullptr;
  if (coll == nullptr) return none;
  if (!coll->knows_neighbors) {
    coll->neighbors = read(comm);
    coll->knows_neighbors = true;
  }
  return coll->neighbors;
}

Reason begin_exchange(Prepared& p, const Neighbors* around, const void* send, const void* receive) {
  if (around == nullptr) return Reason::uncovered;
  if (send == MPI_IN_PLACE || receive == MPI_IN_PLACE) return Reason::other;
  p.call.kind = message::Kind::alltoall;
  p.call.sparse = true;
  return Reason::covered;
}

Reason begin_exchange(Prepared& p, const Neighbors* around, Form form, const void* send,
                      MPI_Datatype send_type, const void* receive, MPI_Datatype receive_type, TypeInfo*& from,
                      TypeInfo*& to) {
  const Reason reason = begin_exchange(p, around, send, receive);
  if (reason != Reason::covered) return reason;
  from = p.info(send_type);
  to = p.info(receive_type);
  if (from == nullptr || to == nullptr || !usable(p, form, from, to)) return Reason::type;
  return Reason::covered;
}

void look_for_buffer(Prepared& p, const void* buffer, MPI_Count count, const TypeInfo& type) {
  p.bad_buffer |= !is_openmpi() && bytes_of(count, type) != 0 && at(buffer, type.lower) == nullptr;
}

void send_to_all(Prepared& p, const Neighbors& around, const void* buffer, MPI_Count count, TypeInfo& type) {
  if (around.destinations_repeat)
    return send_edges(p, around, Form::neighbor_allgather, buffer,
                      equal_blocks(p, around.destinations.size(), count, type, false));
  const std::size_t n = p.size();
  std::size_t *bytes = p.arrays.take(n), *offsets = p.arrays.take(n);
  p.no_memory |= bytes == nullptr || offsets == nullptr;
  if (p.no_memory) return;
  std::fill(bytes, bytes + n, 0);
  std::fill(offsets, offsets + n, 0);
  for (const int member : around.destinations)
    if (member != MPI_PROC_NULL) bytes[member] = bytes_of(count, type);
  // A rank that sends to nobody may have no buffer, if the library agrees.
  if (is_openmpi() && std::all_of(bytes, bytes + n, [](std::size_t one) { return one == 0; })) count = 0;
  set_send(
      p, {.bytes = bytes, .offsets = offsets, .base = const_cast<void*>(send_piece(p, buffer, count, type))});
}

void send_edges(Prepared& p, const Neighbors& around, Form form, const void* buffer,
                const BlockArguments& edges) {
  if (p.no_memory) return;
  if (!around.destinations_repeat) {
    const BlockArguments blocks = by_member(p, around.destinations, edges);
    return p.no_memory ? void() : set_send(p, send_blocks(p, buffer, blocks));
  }
  const bool differ = form >= ordered[0];
  const Order order = differ ? around.order[place_of(form)][p.outlives_call ? 1 : 0] : Order::listed;
  const Packed packed = packed_edges(p, p.send, around.destinations, edges, order);
  for (std::size_t edge = 0; edge < around.destinations.size() && !p.no_memory && !p.bad_buffer; ++edge) {
    TypeInfo& type = edges.type(static_cast<int>(edge));
    const auto count = static_cast<MPI_Count>(packed.counts[edge]);
    if (is_null(buffer, packed, edges, edge))
      p.bad_buffer = true;
    else if (count != 0 && !pack(p.send.data() + packed.offsets[edge], bytes_of(count, type),
                                 at(buffer, static_cast<std::ptrdiff_t>(edges.places[edge])), count, type))
      p.no_memory = true;
  }
  set_send(p, packed.side);
}

void receive_edges(Prepared& p, const Neighbors& around, void* buffer, const BlockArguments& edges) {
  if (p.no_memory) return;
  Side side;
  if (!around.sources_repeat) {
    const BlockArguments blocks = by_member(p, around.sources, edges);
    if (p.no_memory) return;
    side = receive_blocks(p, buffer, blocks, false);
  } else {
    const Packed packed = packed_edges(p, p.receive, around.sources, edges, Order::listed);
    if (p.no_memory) return;
    for (std::size_t edge = 0; edge < around.sources.size(); ++edge)
      p.bad_buffer |= is_null(buffer, packed, edges, edge);
    p.unpack_type = edges.all;
    p.unpack_types = edges.each;
    p.unpack_to = static_cast<char*>(buffer);
    p.unpack_blocks = static_cast<int>(around.sources.size());
    p.unpack_counts = packed.counts;
    p.unpack_places = edges.places;
    p.unpack_offsets = packed.offsets;
    side = packed.side;
  }
  set_receive(p, side);
}

void send_equal(Prepared& p, const Neighbors& around, const void* buffer, MPI_Count count, TypeInfo& type) {
  if (is_plain_side(around.destinations_repeat, type))
    return set_send(p, plain_blocks(p, around.destinations, buffer, count, type));
  send_edges(p, around, Form::neighbor_alltoall, buffer,
             equal_blocks(p, around.destinations.size(), count, type, true));
}

void receive_equal(Prepared& p, const Neighbors& around, void* buffer, MPI_Count count, TypeInfo& type) {
  if (is_plain_side(around.sources_repeat, type))
    return set_receive(p, plain_blocks(p, around.sources, buffer, count, type));
  receive_edges(p, around, buffer, equal_blocks(p, around.sources.size(), count, type, true));
}

}  // namespace nigh::mpi::coll
