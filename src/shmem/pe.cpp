// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Start and end of a PE, queries, and where things are.
#include "shmem/pe.hpp"

#include <nigh/shmem/shmem.h>
#include <nigh/space.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "shmem/world.hpp"
#include "sys/process_here.hpp"
#include "sys/variables.hpp"

namespace nigh::shmem {

constinit Pe* pe = nullptr;

namespace {

constexpr std::size_t default_heap = std::size_t{64} << 20;
constexpr std::size_t heap_align = std::size_t{2} << 20;

constexpr double most_heap = 0x1p46;  // more than a process can address

// Digits, with a point or without, and an optional K, M, G or T (section 7): "1.5G". 0: it is none.
std::size_t bytes_in(const char* text) {
  const std::size_t digits = std::strspn(text, "0123456789.");
  const char* const units = "kmgt";
  const char* const unit = text[digits] ? std::strchr(units, text[digits] | 0x20) : nullptr;
  if (*text < '0' || *text > '9' || text[digits + (unit ? 1 : 0)] != '\0') return 0;
  char* end = nullptr;
  double value = std::strtod(text, &end);
  for (const char* one = units; unit && one <= unit; ++one) value *= 1024;
  return end == text + digits && value >= 1 && value <= most_heap ? static_cast<std::size_t>(value) : 0;
}

std::size_t heap_size() {
  for (const char* name : {"SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE"}) {
    const char* const text = std::getenv(name);
    if (!text) continue;
    if (const std::size_t bytes = bytes_in(text)) return bytes;
    sys::tell_variable(name, text, "a size in bytes up to 64T, such as 1000000, 64M or 1.5G", "64M is used");
    break;
  }
  return default_heap;
}

void make_heap(Pe& me, Shown& shown) {
  me.heap_bytes = heap_size();
  me.heap = static_cast<std::byte*>(me.space->alloc(me.heap_bytes, heap_align));
  if (!me.heap)
    stop("shmem_init", "no memory for the symmetric heap; SHMEM_SYMMETRIC_SIZE says how large it is");
  me.symmetric.reset(me.heap_bytes);
  shown.heap = me.heap;
  shown.heap_bytes = me.heap_bytes;
}

const char* environment(const char* name, void*) { return std::getenv(name); }

// The pages of all ranks of this node; those of another node than ours, if only pretended, are left alone.
void find_peers(Pe& me, const Shown& mine) {
  const auto size = static_cast<std::size_t>(me.size);
  me.near.assign(size, -1);
  me.shown.assign(size, nullptr);
  me.distance.assign(size, 0);
  for (int rank = 0; rank < me.space->size(); ++rank) {
    void* root = nullptr;
    if (me.space->reachable(rank))
      me.waiter->until([&] { return (root = me.space->root(rank, space::Root::shmem)) != nullptr; }, rank);
    if (!root) stop("shmem_init", "a PE is out of reach; nigh run --explain says why");
    auto* shown = static_cast<Shown*>(root);
    if (shown->heap_bytes != me.heap_bytes)
      stop("shmem_init", "SHMEM_SYMMETRIC_SIZE differs between the PEs");
    if (shown->node != mine.node) continue;
    const auto number = static_cast<std::size_t>(shown->pe);
    if (number >= size || me.shown[number]) stop("shmem_init", "two PEs have the same number");
    me.near[number] = rank;
    me.shown[number] = shown;
    me.distance[number] = shown->heap - me.heap;
  }
  me.waiter->set_patience(message::patience_for(me.space->size(), me.waiter->cpus_of_job()));
}

}  // namespace

bool Pe::in_static_data(const void* at) const {
  const auto* byte = static_cast<const std::byte*>(at);
  return std::any_of(data.begin(), data.end(), [&](const space::SharedData& piece) {
    return static_cast<std::size_t>(byte - static_cast<std::byte*>(piece.begin)) < piece.bytes;
  });
}

bool Pe::is_symmetric(const void* at) const {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - heap);
  return offset < heap_bytes ? symmetric.holds(offset) : in_static_data(at);
}

void stop(const char* function, const char* what) {
  std::fprintf(stderr, "nigh: %s: %s\n", function, what);
  std::_Exit(1);
}

Pe& self(const char* function) {
  if (!pe) stop(function, "shmem_init was not called");
  return *pe;
}

std::byte* remote_slow(const char* function, const void* mine, int to) {
  Pe& me = self(function);
  if (to < 0 || to >= me.size) stop(function, "there is no such PE");
  const auto number = static_cast<std::size_t>(to);
  if (me.away) {
    me.away->poll();
    if (me.near[number] < 0) return nullptr;
  }
  auto* at = static_cast<std::byte*>(const_cast<void*>(mine));
  if (static_cast<std::size_t>(at - me.heap) < me.heap_bytes) return at + me.distance[number];
  void* found = me.in_static_data(mine) ? me.space->remote(me.near[number], mine) : nullptr;
  if (!found)
    stop(function,
         "the address is not symmetric (neither from shmem_malloc nor a global or static variable)");
  return static_cast<std::byte*>(found);
}

}  // namespace nigh::shmem

using namespace nigh::shmem;

namespace {

// The space's numbers are those of this node; between nodes the launcher's count.
bool find_place(Pe& me, World& world, int& node) {
  me.rank = me.space->rank();
  me.size = me.space->size();
  if (!find_world(environment, nullptr, world)) return false;
  node = pretended_node(environment, nullptr, world);
  if (world.size <= me.size && pretended_node(environment, nullptr, {world.size - 1, world.size, ""}) == 0)
    return false;
  me.rank = world.rank;
  me.size = world.size;
  return true;
}

Shown* show(Pe& me, int node) {
  void* room = me.space->alloc(sizeof(Shown), 64);
  if (!room) stop("shmem_init", "no memory");
  auto* shown = new (room) Shown;
  shown->pid = nigh::sys::own_pid();
  shown->pe = me.rank;
  shown->node = node;
  nigh::sys::accept_end();
  make_heap(me, *shown);
  me.space->publish(nigh::space::Root::shmem, shown);
  return shown;
}

void make_first_teams(Pe& me) {
  std::vector<int> all, here;
  for (int number = 0; number < me.size; ++number) {
    all.push_back(number);
    if (me.near[static_cast<std::size_t>(number)] >= 0) here.push_back(number);
  }
  make_team(all, *SHMEM_TEAM_WORLD);
  make_team(here, *SHMEM_TEAM_SHARED);
}

void begin() {
  if (pe) return;
  if (nigh_space_join(-1) != 0) stop("shmem_init", nigh_space_why());
  auto* me = new (std::nothrow) Pe;
  if (!me) stop("shmem_init", "no memory");
  me->space = nigh_space_object(nigh::space::abi_version);
  if (!me->space) stop("shmem_init", nigh_space_why());
  if (!me->space->share_data()) stop("shmem_init", me->space->why());
  nigh::space::SharedData piece;
  for (int i = 0; nigh_space_shared_data(i, &piece); ++i) me->data.push_back(piece);
  // On how many CPUs the job runs is known when all are found: ranks are often bound to one each.
  me->waiter = std::make_unique<nigh::message::Waiter>(*me->space, 1 << 20);
  if (!me->waiter->usable()) stop("shmem_init", "no memory");
  World world;
  int node = 0;
  const bool wide = find_place(*me, world, node);
  find_peers(*me, *show(*me, node));
  me->fast_bytes = wide ? 0 : me->heap_bytes;
  if (wide) go_away(*me, world.mpi);
  pe = me;
  make_first_teams(*me);
  if (wide)
    on_exit(
        [](int status, void*) {
          if (status == 0) shmem_finalize();
        },
        nullptr);
}
}  // namespace

void shmem_init(void) { begin(); }
void start_pes(int) { begin(); }

int shmem_init_thread(int requested, int* provided) {
  begin();
  // Puts, gets, atomics and waits are thread-safe as they are; collectives are the program's to serialise.
  const int most = pe->away && !pe->away->threads() ? SHMEM_THREAD_FUNNELED : SHMEM_THREAD_MULTIPLE;
  pe->thread_level = requested < most ? requested : most;
  if (provided) *provided = pe->thread_level;
  return 0;
}
void shmem_query_thread(int* provided) { *provided = self("shmem_query_thread").thread_level; }

void shmem_finalize(void) {
  if (!pe || pe->finalized) return;
  shmem_barrier_all();
  pe->finalized = true;  // the heap stays: a slower PE may still read from it
  if (pe->away) pe->away->finish();
}

void shmem_global_exit(int status) {
  std::fflush(nullptr);
  if (pe && pe->away && !pe->finalized) pe->away->abort(status);
  if (pe)
    for (int number = 0; number < pe->size; ++number)
      if (const Shown* shown = pe->shown[static_cast<std::size_t>(number)]; shown && number != pe->rank)
        nigh::sys::end_process(shown->pid, status);
  std::_Exit(status);
}

// For tools that take its place; the specification gives it no effect of its own.
void shmem_pcontrol(int, ...) {}

int shmem_my_pe(void) { return self("shmem_my_pe").rank; }
int shmem_n_pes(void) { return self("shmem_n_pes").size; }
int _my_pe(void) { return shmem_my_pe(); }
int _num_pes(void) { return shmem_n_pes(); }

int shmem_pe_accessible(int number) {
  Pe& me = self("shmem_pe_accessible");
  return number >= 0 && number < me.size;
}

void* shmem_ptr(const void* dest, int number) {
  Pe& me = self("shmem_ptr");
  if (number < 0 || number >= me.size || me.near[static_cast<std::size_t>(number)] < 0 ||
      !me.is_symmetric(dest))
    return nullptr;
  auto* at = static_cast<std::byte*>(const_cast<void*>(dest));
  if (static_cast<std::size_t>(at - me.heap) < me.heap_bytes)
    return at + me.distance[static_cast<std::size_t>(number)];
  return me.space->remote(me.near[static_cast<std::size_t>(number)], dest);
}

int shmem_addr_accessible(const void* addr, int number) {
  if (shmem_ptr(addr, number)) return 1;
  return pe->away && pe->is_symmetric(addr) && number >= 0 && number < pe->size &&
         pe->near[static_cast<std::size_t>(number)] < 0 && pe->away->symmetric(addr, 1);
}

void shmem_info_get_version(int* major, int* minor) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}
void shmem_info_get_name(char* name) { std::memcpy(name, SHMEM_VENDOR_STRING, sizeof SHMEM_VENDOR_STRING); }

// --- symmetric memory ---

namespace {
void* symmetric(const char* function, std::size_t bytes, std::size_t align) {
  Pe& me = self(function);
  if (bytes == 0) return nullptr;
  std::size_t at = me.symmetric.take(bytes, align);
  shmem_barrier_all();  // nobody writes to what a peer has not yet taken
  return at == SymmetricHeap::none ? nullptr : me.heap + at;
}

std::size_t offset_of(const char* function, void* data) {
  Pe& me = self(function);
  auto at = static_cast<std::size_t>(static_cast<std::byte*>(data) - me.heap);
  if (at >= me.heap_bytes || me.symmetric.size_at(at) == SymmetricHeap::none)
    stop(function, "this is not from shmem_malloc");
  return at;
}
}  // namespace

void* shmem_malloc(size_t size) { return symmetric("shmem_malloc", size, 64); }
void* shmem_malloc_with_hints(size_t size, long) { return symmetric("shmem_malloc_with_hints", size, 64); }

void* shmem_align(size_t alignment, size_t size) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) return nullptr;
  return symmetric("shmem_align", size, alignment);
}

void* shmem_calloc(size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  Pe& me = self("shmem_calloc");
  if (bytes == 0) return nullptr;
  std::size_t at = me.symmetric.take(bytes, 64);
  if (at != SymmetricHeap::none) std::memset(me.heap + at, 0, bytes);
  shmem_barrier_all();
  return at == SymmetricHeap::none ? nullptr : me.heap + at;
}

void shmem_free(void* data) {
  Pe& me = self("shmem_free");
  shmem_barrier_all();  // nobody uses it any more
  if (data) me.symmetric.give(offset_of("shmem_free", data));
}

void* shmem_realloc(void* data, size_t size) {
  if (!data) return shmem_malloc(size);
  Pe& me = self("shmem_realloc");
  std::size_t at = offset_of("shmem_realloc", data), old = me.symmetric.size_at(at);
  shmem_barrier_all();
  if (size == 0) {
    me.symmetric.give(at);
    return nullptr;
  }
  std::size_t now = at;
  if (!me.symmetric.resize(at, size)) {
    now = me.symmetric.take(size, 64);
    if (now != SymmetricHeap::none) {
      std::memcpy(me.heap + now, me.heap + at, old < size ? old : size);
      me.symmetric.give(at);
    }
  }
  shmem_barrier_all();
  return now == SymmetricHeap::none ? nullptr : me.heap + now;
}
