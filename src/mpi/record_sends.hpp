// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// To whom a call sends how much, from its arguments: sends_of<function>(arguments, ...) reports each peer to
// a sink. Asked only after the library has accepted the arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "mpi/library.hpp"

namespace nigh::mpi::record {

// With the arguments that it needs.
enum class Pattern {
  none,
  to_rank,                // count, type, peer
  from_rank,              // the same; the peer's memory is read
  both_ways,              // the same; read and written
  root_to_all,            // count, type, root
  root_to_each,           // counts, type, root
  all_to_root,            // count, type, root
  to_all,                 // count, type
  to_each,                // counts, type
  to_each_typed,          // counts, types
  shared_out,             // count, type: in equal parts to all
  to_next,                // count, type
  to_neighbors,           // count, type
  to_each_neighbor,       // counts, type
  to_each_neighbor_typed  // counts, types
};

// The places of these arguments; `handle`: of the communicator or the window.
struct ArgumentPlaces {
  Pattern pattern = Pattern::none;
  std::size_t count = 0, type = 0, peer = 0, handle = 0;
  bool window = false, collective = false, persistent = false;
  bool one = false;  // one element: there is no count
  // With MPI_IN_PLACE as the first argument these are the count and the type; 0: nothing is sent then.
  std::size_t count_in_place = 0, type_in_place = 0;
};

// "Ibcast" and "Bcast", "Rput" and "Put".
constexpr bool is_form_of(std::string_view name, std::string_view blocking, char prefix) {
  return name == blocking || (name.size() == blocking.size() + 1 && name[0] == prefix &&
                              name[1] == blocking[0] - 'A' + 'a' && name.substr(2) == blocking.substr(1));
}

struct ShapeRow {
  const char* name;
  ArgumentPlaces shape;
};
inline constexpr ShapeRow message_shapes[] = {
    {"Send", {Pattern::to_rank, 1, 2, 3, 5}},      {"Bsend", {Pattern::to_rank, 1, 2, 3, 5}},
    {"Ssend", {Pattern::to_rank, 1, 2, 3, 5}},     {"Rsend", {Pattern::to_rank, 1, 2, 3, 5}},
    {"Sendrecv", {Pattern::to_rank, 1, 2, 3, 10}}, {"Sendrecv_replace", {Pattern::to_rank, 1, 2, 3, 7}}};
inline constexpr ShapeRow window_shapes[] = {{"Put", {Pattern::to_rank, 1, 2, 3, 7}},
                                             {"Get", {Pattern::from_rank, 1, 2, 3, 7}},
                                             {"Accumulate", {Pattern::to_rank, 1, 2, 3, 8}},
                                             {"Get_accumulate", {Pattern::both_ways, 4, 5, 6, 11}},
                                             {"Fetch_and_op", {Pattern::both_ways, 0, 2, 3, 6}},
                                             {"Compare_and_swap", {Pattern::both_ways, 0, 3, 4, 6}}};
inline constexpr ShapeRow collective_shapes[] = {
    {"Bcast", {Pattern::root_to_all, 1, 2, 3, 4}},
    {"Reduce", {Pattern::all_to_root, 2, 3, 5, 6}},
    {"Allreduce", {Pattern::shared_out, 2, 3, 0, 5}},
    {"Reduce_scatter", {Pattern::to_each, 2, 3, 0, 5}},
    {"Reduce_scatter_block", {Pattern::to_all, 2, 3, 0, 5}},
    {"Gather", {Pattern::all_to_root, 1, 2, 6, 7}},
    {"Gatherv", {Pattern::all_to_root, 1, 2, 7, 8}},
    {"Scatter", {Pattern::root_to_all, 1, 2, 6, 7}},
    {"Scatterv", {Pattern::root_to_each, 1, 3, 7, 8}},
    {"Allgather",
     {.pattern = Pattern::to_all,
      .count = 1,
      .type = 2,
      .handle = 6,
      .count_in_place = 4,
      .type_in_place = 5}},
    {"Allgatherv",
     {.pattern = Pattern::to_all,
      .count = 1,
      .type = 2,
      .handle = 7,
      .count_in_place = 4,
      .type_in_place = 6}},
    {"Alltoall",
     {.pattern = Pattern::to_all,
      .count = 1,
      .type = 2,
      .handle = 6,
      .count_in_place = 4,
      .type_in_place = 5}},
    {"Alltoallv",
     {.pattern = Pattern::to_each,
      .count = 1,
      .type = 3,
      .handle = 8,
      .count_in_place = 5,
      .type_in_place = 7}},
    {"Alltoallw",
     {.pattern = Pattern::to_each_typed,
      .count = 1,
      .type = 3,
      .handle = 8,
      .count_in_place = 5,
      .type_in_place = 7}},
    {"Scan", {Pattern::to_next, 2, 3, 0, 5}},
    {"Exscan", {Pattern::to_next, 2, 3, 0, 5}},
    {"Neighbor_allgather", {Pattern::to_neighbors, 1, 2, 0, 6}},
    {"Neighbor_allgatherv", {Pattern::to_neighbors, 1, 2, 0, 7}},
    {"Neighbor_alltoall", {Pattern::to_neighbors, 1, 2, 0, 6}},
    {"Neighbor_alltoallv", {Pattern::to_each_neighbor, 1, 3, 0, 8}},
    {"Neighbor_alltoallw", {Pattern::to_each_neighbor_typed, 1, 3, 0, 8}}};

constexpr ArgumentPlaces shape_of(Function function) {
  std::string_view name = std::string_view(function_names[static_cast<int>(function)]).substr(4);
  if (name.ends_with("_c")) name.remove_suffix(2);
  const bool persistent = name.ends_with("_init");
  if (persistent) name.remove_suffix(5);
  ArgumentPlaces shape;
  for (const ShapeRow& row : message_shapes)
    if (is_form_of(name, row.name, 'I')) shape = row.shape;
  for (const ShapeRow& row : window_shapes)
    if (is_form_of(name, row.name, 'R')) shape = row.shape, shape.window = true, shape.one = shape.count == 0;
  for (const ShapeRow& row : collective_shapes)
    if (is_form_of(name, row.name, 'I')) shape = row.shape, shape.collective = true;
  shape.persistent = persistent;
  return shape;
}
constexpr ArgumentPlaces in_place(ArgumentPlaces shape) {
  shape.count = shape.count_in_place;
  shape.type = shape.type_in_place;
  return shape;
}

inline std::uint64_t bytes_of(MPI_Count count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (count <= 0 || type == MPI_DATATYPE_NULL || real().Type_size_x(type, &size) != MPI_SUCCESS || size <= 0)
    return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

struct Members {
  int rank = 0, peers = 0;
  bool inter = false;  // the peers are those of the remote group
  const int* neighbors = nullptr;
  int neighbor_count = 0;
  [[nodiscard]] bool is_root(int root) const { return inter ? root == MPI_ROOT : root == rank; }
};

template <class Bytes, class Sink>
void to_others(const Members& who, Bytes bytes, Sink& sink) {
  for (int i = 0; i < who.peers; ++i)
    if (who.inter || i != who.rank) sink(i, bytes(i), false);
}
template <class Bytes, class Sink>
void to_neighbors(const Members& who, Bytes bytes, Sink& sink) {
  for (int i = 0; i < who.neighbor_count; ++i) sink(who.neighbors[i], bytes(i), false);
}

// An argument that is a rank; the first argument where the shape has none.
constexpr int peer_number(int peer) { return peer; }
constexpr int peer_number(const void*) { return -1; }

template <ArgumentPlaces shape, class Tuple, class Sink>
void sends_by(const Tuple& arguments, const Members& who, Sink& sink) {
  [[maybe_unused]] const auto& count = std::get<shape.count>(arguments);
  [[maybe_unused]] const auto& type = std::get<shape.type>(arguments);
  [[maybe_unused]] const auto& peer = std::get<shape.peer>(arguments);
  constexpr Pattern pattern = shape.pattern;
  if constexpr (pattern == Pattern::to_each || pattern == Pattern::root_to_each) {
    if constexpr (pattern == Pattern::root_to_each)
      if (!who.is_root(peer)) return;
    to_others(who, [&](int i) { return bytes_of(count[i], type); }, sink);
  } else if constexpr (pattern == Pattern::to_each_typed) {
    to_others(who, [&](int i) { return bytes_of(count[i], type[i]); }, sink);
  } else if constexpr (pattern == Pattern::to_each_neighbor) {
    to_neighbors(who, [&](int i) { return bytes_of(count[i], type); }, sink);
  } else if constexpr (pattern == Pattern::to_each_neighbor_typed) {
    to_neighbors(who, [&](int i) { return bytes_of(count[i], type[i]); }, sink);
  } else {
    std::uint64_t bytes = 0;
    if constexpr (shape.one)
      bytes = bytes_of(1, type);
    else if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(count)>>)
      bytes = bytes_of(count[who.rank], type);  // Allgatherv in place
    else
      bytes = bytes_of(count, type);
    const auto same = [&](int) { return bytes; };
    const int others = who.peers - (who.inter ? 0 : 1);
    switch (pattern) {
      case Pattern::both_ways: sink(peer_number(peer), bytes, true); [[fallthrough]];
      case Pattern::to_rank: sink(peer_number(peer), bytes, false); break;
      case Pattern::from_rank: sink(peer_number(peer), bytes, true); break;
      case Pattern::root_to_all:
        if (who.is_root(peer_number(peer))) to_others(who, same, sink);
        break;
      case Pattern::all_to_root:
        if (peer_number(peer) >= 0 && !who.is_root(peer_number(peer))) sink(peer_number(peer), bytes, false);
        break;
      case Pattern::to_all: to_others(who, same, sink); break;
      case Pattern::shared_out:
        if (others > 0) to_others(who, [&](int) { return bytes / static_cast<unsigned>(others); }, sink);
        break;
      case Pattern::to_next: sink(who.rank + 1, bytes, false); break;
      case Pattern::to_neighbors: to_neighbors(who, same, sink); break;
      default: break;
    }
  }
}

template <Function function, class Tuple, class Sink>
void sends_of(const Tuple& arguments, const Members& who, Sink&& sink) {
  constexpr ArgumentPlaces shape = shape_of(function);
  if constexpr (shape.count_in_place != 0)
    if (std::get<0>(arguments) == MPI_IN_PLACE) return sends_by<in_place(shape)>(arguments, who, sink);
  sends_by<shape>(arguments, who, sink);
}

}  // namespace nigh::mpi::record
