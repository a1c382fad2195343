// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/record.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

#include "message/atomic.hpp"
#include "mpi/comm.hpp"
#include "mpi/record_file.hpp"
#include "mpi/record_sends.hpp"
#include "mpi/record_time.hpp"

namespace nigh::mpi {
namespace {

using record::ArgumentPlaces;
using record::Cell;
using record::Group;
using record::InCall;
using record::Members;
using record::shape_of;
using record::Way;

// A communicator or a window, while it lives.
struct Known {
  Known* next = nullptr;
  std::uintptr_t handle = 0;
  bool window = false;
  Group* group = nullptr;
  int* neighbors = nullptr;
  int neighbor_count = 0;
};

// A message of each start of a persistent request.
struct Send {
  int peer = 0;
  Way way = Way::point_to_point;
  std::uint64_t bytes = 0;
};
struct Persistent {
  Persistent* next = nullptr;
  std::uintptr_t handle = 0;
  Group* group = nullptr;
  Function function = Function::Start;
  Send* sends = nullptr;
  int count = 0, room = 0;

  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += sends[i].bytes;
    return sum;
  }
};

constexpr std::size_t buckets = 256;
std::size_t bucket_of(std::uintptr_t handle) { return (handle * 0x9e3779b97f4a7c15U) >> 56; }

std::atomic<bool> g_recording = false;
std::atomic<bool> g_lost = false;  // there was no memory for something
std::atomic<Entry> g_next[function_count];
MPI_Group g_world = MPI_GROUP_NULL;
Group* g_groups = nullptr;
Known* g_known[buckets] = {};
Persistent* g_persistent[buckets] = {};

// Threads of the program may send at once.
class Lock {
 public:
  Lock() {
    while (flag.exchange(true, std::memory_order_acquire)) message::yield_cpu();
  }
  ~Lock() { flag.store(false, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  static inline std::atomic<bool> flag = false;
};

template <class T>
T* zeroed(std::size_t count) {
  T* memory = static_cast<T*>(std::calloc(count == 0 ? 1 : count, sizeof(T)));
  if (!memory) g_lost.store(true);
  return memory;
}

// Takes what it is given. Null: no memory.
Group* group_of(MPI_Group members, const char* name, int rank, bool inter) {
  int peers = 0;
  real().Group_size(members, &peers);
  const auto count = static_cast<std::size_t>(peers);
  int* const numbers = zeroed<int>(count);
  int* const world = zeroed<int>(count);
  for (int i = 0; numbers && i < peers; ++i) numbers[i] = i;
  if (numbers && world) real().Group_translate_ranks(members, peers, numbers, g_world, world);
  std::free(numbers);
  real().Group_free(&members);
  if (!numbers || !world) return std::free(world), nullptr;
  for (Group* group = g_groups; group; group = group->next)
    if (group->peers == peers && group->inter == inter && std::strcmp(group->name, name) == 0 &&
        std::memcmp(group->world, world, count * sizeof(int)) == 0)
      return std::free(world), group;
  Group* const group = zeroed<Group>(1);
  if (!group) return std::free(world), nullptr;
  std::snprintf(group->name, sizeof group->name, "%s", name);
  group->rank = rank;
  group->peers = peers;
  group->inter = inter;
  group->world = world;
  group->next = g_groups;
  return g_groups = group;
}

// The destinations, in the order of the counts that neighbourhood collectives take.
void find_neighbors(MPI_Comm comm, int rank, Known& known) {
  int kind = MPI_UNDEFINED, count = 0, sources = 0, weighted = 0;
  real().Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    int dimensions = 0;
    real().Cartdim_get(comm, &dimensions);
    known.neighbors = zeroed<int>(2 * static_cast<std::size_t>(dimensions));
    int* pair = known.neighbors;
    for (int d = 0; pair && d < dimensions; ++d, pair += 2) real().Cart_shift(comm, d, 1, pair, pair + 1);
    count = 2 * dimensions;
  } else if (kind == MPI_GRAPH) {
    real().Graph_neighbors_count(comm, rank, &count);
    known.neighbors = zeroed<int>(static_cast<std::size_t>(count));
    if (known.neighbors) real().Graph_neighbors(comm, rank, count, known.neighbors);
  } else if (kind == MPI_DIST_GRAPH) {
    real().Dist_graph_neighbors_count(comm, &sources, &count, &weighted);
    known.neighbors = zeroed<int>(static_cast<std::size_t>(count));
    int* const from = zeroed<int>(2 * static_cast<std::size_t>(sources));
    int* const weights = zeroed<int>(static_cast<std::size_t>(count));
    if (known.neighbors && from && weights)
      real().Dist_graph_neighbors(comm, sources, from, from + sources, count, known.neighbors, weights);
    std::free(from);
    std::free(weights);
  }
  known.neighbor_count = known.neighbors ? count : 0;
}

bool describe(MPI_Comm comm, Known& known) {
  int inter = 0, rank = 0, length = 0;
  char name[512] = {};
  MPI_Group members = MPI_GROUP_NULL;
  real().Comm_test_inter(comm, &inter);
  real().Comm_rank(comm, &rank);
  real().Comm_get_name(comm, name, &length);
  if ((inter ? real().Comm_remote_group(comm, &members) : real().Comm_group(comm, &members)) != MPI_SUCCESS)
    return false;
  known.group = group_of(members, name, rank, inter != 0);
  if (known.group && !inter) find_neighbors(comm, rank, known);
  return known.group != nullptr;
}
bool describe_window(MPI_Win window, Known& known) {
  MPI_Group members = MPI_GROUP_NULL;
  if (real().Win_get_group(window, &members) != MPI_SUCCESS) return false;
  known.group = group_of(members, "a window", -1, false);
  return known.group != nullptr;
}

// Under the lock. Null: no memory.
template <class Describe>
Known* known_of(std::uintptr_t handle, bool window, Describe describe) {
  Known*& first = g_known[bucket_of(handle)];
  for (Known* known = first; known; known = known->next)
    if (known->handle == handle && known->window == window) return known;
  Known* const known = zeroed<Known>(1);
  if (!known) return nullptr;
  known->handle = handle;
  known->window = window;
  if (!describe(*known)) return std::free(known), nullptr;
  known->next = first;
  return first = known;
}

void forget(std::uintptr_t handle, bool window) {
  const Lock lock;
  for (Known** at = &g_known[bucket_of(handle)]; *at; at = &(*at)->next)
    if ((*at)->handle == handle && (*at)->window == window) {
      Known* const gone = *at;
      *at = gone->next;
      std::free(gone->neighbors);
      std::free(gone);
      return;
    }
}
void forget_persistent(std::uintptr_t handle) {
  const Lock lock;
  for (Persistent** at = &g_persistent[bucket_of(handle)]; *at; at = &(*at)->next)
    if ((*at)->handle == handle) {
      Persistent* const gone = *at;
      *at = gone->next;
      std::free(gone->sends);
      std::free(gone);
      return;
    }
}

void add(Group& group, Function function, const Send& send, bool carried) {
  if (send.peer < 0 || send.peer >= group.peers) return;  // MPI_PROC_NULL
  Cell*& cells = group.cells[static_cast<int>(send.way)][static_cast<int>(function)];
  if (!cells) cells = zeroed<Cell>(static_cast<std::size_t>(group.peers));
  if (cells) cells[send.peer].add(send.bytes, carried);
}

void keep(Persistent& request, const Send& send) {
  if (request.count == request.room) {
    const int room = request.room == 0 ? 4 : 2 * request.room;
    auto* more =
        static_cast<Send*>(std::realloc(request.sends, static_cast<std::size_t>(room) * sizeof(Send)));
    if (!more) return g_lost.store(true);
    request.sends = more;
    request.room = room;
  }
  request.sends[request.count++] = send;
}

std::uint64_t covered_calls() {
  return std::atomic_ref<std::uint64_t>(g_covered_calls).load(std::memory_order_relaxed);
}

template <Function function, class Tuple>
void note(const Tuple& arguments, bool carried) {
  constexpr ArgumentPlaces shape = shape_of(function);
  const auto handle = std::get<shape.handle>(arguments);
  const Lock lock;
  Known* known = nullptr;
  if constexpr (shape.window)
    known = known_of(handle_bits(handle), true, [&](Known& k) { return describe_window(handle, k); });
  else
    known = known_of(handle_bits(handle), false, [&](Known& k) { return describe(handle, k); });
  if (!known) return;
  Group& group = *known->group;
  const Members who = {.rank = group.rank,
                       .peers = group.peers,
                       .inter = group.inter,
                       .neighbors = known->neighbors,
                       .neighbor_count = known->neighbor_count};
  const auto way = [](bool reads) {
    constexpr ArgumentPlaces shape = shape_of(function);
    return shape.window ? (reads ? Way::get : Way::put)
                        : (shape.collective ? Way::collective : Way::point_to_point);
  };
  if constexpr (shape.persistent) {
    const auto* request = std::get<std::tuple_size_v<Tuple> - 1>(arguments);
    Persistent* const kept = zeroed<Persistent>(1);
    if (!kept) return;
    kept->handle = handle_bits(*request);
    kept->group = &group;
    kept->function = function;
    record::sends_of<function>(arguments, who, [&](int peer, std::uint64_t bytes, bool reads) {
      keep(*kept, {peer, way(reads), bytes});
    });
    Persistent*& first = g_persistent[bucket_of(kept->handle)];
    kept->next = first;
    first = kept;
  } else {
    record::sends_of<function>(arguments, who, [&](int peer, std::uint64_t bytes, bool reads) {
      add(group, function, {peer, way(reads), bytes}, carried);
    });
  }
}

Persistent* persistent_of(MPI_Request request) {
  const std::uintptr_t handle = handle_bits(request);
  for (Persistent* one = g_persistent[bucket_of(handle)]; one; one = one->next)
    if (one->handle == handle) return one;
  return nullptr;
}

// The bytes of the least of the `most` largest of these requests that send; 0: there are not more of them.
std::uint64_t least_of_largest(const MPI_Request* requests, int count, std::uint64_t most) {
  auto* const sizes = zeroed<std::uint64_t>(static_cast<std::size_t>(count));
  if (!sizes) return 0;
  std::uint64_t* end = sizes;
  for (int i = 0; i < count; ++i)
    if (const Persistent* one = persistent_of(requests[i])) *end++ = one->bytes();
  std::uint64_t least = 0;
  if (most < static_cast<std::uint64_t>(end - sizes)) {
    std::nth_element(sizes, sizes + (most - 1), end, std::greater<>());
    least = sizes[most - 1];
  }
  std::free(sizes);
  return least;
}

// `carried` of the requests that were started at once are ours: the largest, where these are not all.
void started(const MPI_Request* requests, int count, std::uint64_t carried) {
  const Lock lock;
  const std::uint64_t least = carried == 0 || count == 1 ? 0 : least_of_largest(requests, count, carried);
  for (int i = 0; i < count; ++i)
    if (const Persistent* one = persistent_of(requests[i])) {
      const bool ours = carried > 0 && one->bytes() >= least;
      if (ours) --carried;
      for (int k = 0; k < one->count; ++k) add(*one->group, one->function, one->sends[k], ours);
    }
}

bool recording() { return g_recording.load(std::memory_order_relaxed); }

template <Function function>
auto next_of() {
  return g_next[static_cast<int>(function)].load(std::memory_order_relaxed);
}

template <Function function, auto Member>
struct Recorded;
template <Function function, class Result, class... Arguments, Result (*Library::*Member)(Arguments...)>
struct Recorded<function, Member> {
  static Result call(Arguments... arguments) {
    const auto next = reinterpret_cast<Result (*)(Arguments...)>(next_of<function>());
    Result result{};
    [[maybe_unused]] const std::uint64_t before = covered_calls();
    {
      const InCall timed(function);
      result = next(arguments...);
    }
    if constexpr (shape_of(function).pattern != record::Pattern::none)
      if (result == MPI_SUCCESS && recording())
        note<function>(std::tuple<const Arguments&...>(arguments...), covered_calls() != before);
    return result;
  }
};

int recorded_Start(MPI_Request* request) {
  const auto next = reinterpret_cast<int (*)(MPI_Request*)>(next_of<Function::Start>());
  const InCall timed(Function::Start);
  const std::uint64_t before = covered_calls();
  const int error = next(request);
  if (error == MPI_SUCCESS && recording()) started(request, 1, covered_calls() - before);
  return error;
}
int recorded_Startall(int count, MPI_Request* requests) {
  const auto next = reinterpret_cast<int (*)(int, MPI_Request*)>(next_of<Function::Startall>());
  const InCall timed(Function::Startall);
  const std::uint64_t before = covered_calls();
  const int error = next(count, requests);
  if (error == MPI_SUCCESS && recording()) started(requests, count, covered_calls() - before);
  return error;
}
// Handles are used again by the library as soon as they are free, so they are forgotten before.
int recorded_Request_free(MPI_Request* request) {
  if (request) forget_persistent(handle_bits(*request));
  return reinterpret_cast<int (*)(MPI_Request*)>(next_of<Function::Request_free>())(request);
}
int recorded_Comm_free(MPI_Comm* comm) {
  if (comm) forget(handle_bits(*comm), false);
  const InCall timed(Function::Comm_free);
  return reinterpret_cast<int (*)(MPI_Comm*)>(next_of<Function::Comm_free>())(comm);
}
int recorded_Comm_disconnect(MPI_Comm* comm) {
  if (comm) forget(handle_bits(*comm), false);
  const InCall timed(Function::Comm_disconnect);
  return reinterpret_cast<int (*)(MPI_Comm*)>(next_of<Function::Comm_disconnect>())(comm);
}
int recorded_Win_free(MPI_Win* window) {
  if (window) forget(handle_bits(*window), true);
  const InCall timed(Function::Win_free);
  return reinterpret_cast<int (*)(MPI_Win*)>(next_of<Function::Win_free>())(window);
}

// The rest are where a rank begins and ends, and what is done at once.
constexpr bool is_timed(Function function) {
  switch (function) {
    case Function::Init:
    case Function::Init_thread:
    case Function::Finalize:
    case Function::Abort:
    case Function::Op_create:
    case Function::Op_free:
    case Function::Type_commit:
    case Function::Type_free:
    case Function::Comm_create_errhandler:
    case Function::Win_create_errhandler:
    case Function::File_create_errhandler:
    case Function::Errhandler_create: return false;
    default: return true;
  }
}

template <Function function, auto Member>
constexpr Entry recorded() {
  if constexpr (is_timed(function))
    return reinterpret_cast<Entry>(&Recorded<function, Member>::call);
  else
    return nullptr;
}

struct Row {
  Entry wrapper = nullptr, library = nullptr;
};
struct Rows {
  Row rows[function_count];
  Rows() {
#define NIGH_MPI(part, name, ...)                                                       \
  rows[static_cast<int>(Function::name)] = {recorded<Function::name, &Library::name>(), \
                                            reinterpret_cast<Entry>(real().name)};
#define NIGH_MPI_USED(name, ...)
#include "mpi/functions.inc"
    const std::pair<Function, Entry> more[] = {
        {Function::Start, reinterpret_cast<Entry>(&recorded_Start)},
        {Function::Startall, reinterpret_cast<Entry>(&recorded_Startall)},
        {Function::Request_free, reinterpret_cast<Entry>(&recorded_Request_free)},
        {Function::Comm_free, reinterpret_cast<Entry>(&recorded_Comm_free)},
        {Function::Comm_disconnect, reinterpret_cast<Entry>(&recorded_Comm_disconnect)},
        {Function::Win_free, reinterpret_cast<Entry>(&recorded_Win_free)}};
    for (const auto& [function, wrapper] : more) rows[static_cast<int>(function)].wrapper = wrapper;
  }
};
const Rows& rows() {
  static const Rows made;
  return made;
}

}  // namespace

bool record_start() {
  const char* const folder = std::getenv("NIGH_RECORD");
  if (!folder || !*folder) return false;
  int rank = 0, ranks = 0;
  real().Comm_rank(MPI_COMM_WORLD, &rank);
  real().Comm_size(MPI_COMM_WORLD, &ranks);
  if (!record::create_file(folder, rank, ranks)) return say(record::why_unwritten()), false;
  if (real().Comm_group(MPI_COMM_WORLD, &g_world) != MPI_SUCCESS) return false;
  g_recording.store(true);
  record::start_times();
  return true;
}

Entry wrap(Function function, Entry entry) {
  if (g_world == MPI_GROUP_NULL) return entry;  // nothing is recorded
  const Row& row = rows().rows[static_cast<int>(function)];
  if (!row.wrapper || !row.library) return entry;
  g_next[static_cast<int>(function)].store(entry ? entry : row.library, std::memory_order_relaxed);
  return row.wrapper;
}

void record_write() noexcept {
  if (!g_recording.exchange(false)) return;
  const record::Times& times = record::stop_times();
  const Lock lock;
  if (!record::write_file(g_groups, times, !g_lost.load())) say(record::why_unwritten());
}

}  // namespace nigh::mpi
