// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The search of a process for the peers that share its space. Everything is read from the peers' pages; a
// peer whose page does not look like ours (another world, another version) is treated as one without us.
#include "mpi/process.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "mpi/census.hpp"
#include "mpi/half.hpp"
#include "mpi/status.hpp"
#include "space/job.hpp"
#include "sys/raw.h"
#include "sys/seat.hpp"
#include "sys/variables.hpp"

namespace nigh::mpi {

Process g_process;

namespace {

constexpr int join_limit_ms = 20'000;

space::Job g_job;
space::ProcessSpace* g_space = nullptr;
const char* g_reason = "MPI was not initialised through nigh";
Hooks* g_hooks = nullptr;

bool aside(const char* reason) {
  g_reason = reason;
  return false;
}

std::uint32_t bit(Part part) { return 1u << static_cast<int>(part); }

// Why point-to-point can't be ours with this library, or nullptr.
const char* p2p_obstacle() {
  static char sentence[256];
  if (const char* receiver = unknown_receiver()) {
    std::snprintf(
        sentence, sizeof sentence,
        "point-to-point is the library's: it receives by %s, which this version of nigh does not know",
        receiver);
    return sentence;
  }
  static const bool learnt = learn_status();
  return learnt ? nullptr
                : "point-to-point is the library's: it keeps the length of a message where this version of "
                  "nigh does not "
                  "know";
}

// The library reports the death of a rank and the revocation of a communicator to the calls of the others,
// and the job goes on (ULFM: Open MPI 5 under mpirun --with-ft). Calls of ours would wait for ever.
bool survives_deaths() {
  const auto* enabled = static_cast<const bool*>(dlsym(RTLD_DEFAULT, "ompi_ftmpi_enabled"));
  return enabled && *enabled;
}

std::uint32_t wanted_parts() {
  std::uint32_t parts = bit(Part::frame) | bit(Part::hook);
  if (!sys::is_off("NIGH_MPI_COLL")) parts |= bit(Part::coll);
  if (!sys::is_off("NIGH_MPI_RMA")) parts |= bit(Part::rma);
  if (!sys::is_off("NIGH_MPI_P2P") && !p2p_obstacle()) parts |= bit(Part::p2p);
  return parts;
}

enum class Order { any, fixed, library };
Order wanted_order() {
  switch (sys::word_in_variable("NIGH_REPRODUCIBLE", {"0", "1", "library"})) {
    case 1: return Order::fixed;
    case 2: return Order::library;
    default: return Order::any;
  }
}

// For tests: ranks 0 .. n/k-1 on the first of k nodes, and so on.
int fake_node_of(int rank, int size) {
  const long nodes = sys::pretended_nodes();
  return nodes > 1 && size > 0 ? static_cast<int>(rank * nodes / size) : 0;
}

Page* make_page(const Process& me) {
  void* memory = g_space->alloc(sizeof(Page), 64);
  if (!memory) return nullptr;
  Page* page = new (memory) Page;
  page->world_rank = me.world_rank;
  page->world_size = me.world_size;
  page->parts = wanted_parts();
  page->fake_node = fake_node_of(g_job.rank, g_job.size);
  page->library_order = wanted_order() == Order::library ? 1 : 0;
  nigh_raw_getaffinity(0, reinterpret_cast<unsigned long*>(page->cpus), sizeof page->cpus);
  const sys::CpuSeat seat = sys::seat_of(page->cpus, std::size(page->cpus));
  page->seat = {seat.cache, seat.node, seat.socket};
  return page;
}

// The page of a peer that belongs to us, or nullptr.
Page* peer_page(int rank) {
  if (!g_space->reachable(rank)) return nullptr;
  auto* page = static_cast<Page*>(g_space->root(rank, space::Root::mpi));
  const Process& me = process();
  if (!page || page->magic != Page::magic_word || page->functions != function_count) return nullptr;
  if (page->world_size != me.world_size || page->fake_node != me.page->fake_node) return nullptr;
  return page->world_rank >= 0 && page->world_rank < me.world_size ? page : nullptr;
}

// Fills what depends on the peers; returns how many ranks are reachable, this one included.
int read_peers(std::uint64_t (&cpus)[128]) {
  Process& me = g_process;
  const auto ranks = static_cast<std::size_t>(me.space->size());
  me.space_of_world.assign(static_cast<std::size_t>(me.world_size), -1);
  me.peer_parts.assign(ranks, 0);
  me.seats.assign(ranks, {});
  int reached = 0;
  for (int rank = 0; rank < me.space->size(); ++rank) {
    const Page* page = rank == me.space->rank() ? me.page : peer_page(rank);
    if (!page) continue;
    int& seat = me.space_of_world[static_cast<std::size_t>(page->world_rank)];
    if (seat >= 0) continue;  // two that say they are the same rank: neither can be trusted beyond the first
    seat = rank;
    me.peer_parts[static_cast<std::size_t>(rank)] = page->parts;
    me.seats[static_cast<std::size_t>(rank)] = page->seat;
    me.library_order = me.library_order || page->library_order != 0;
    for (std::size_t i = 0; i < std::size(cpus); ++i) cpus[i] |= page->cpus[i];
    ++reached;
  }
  return reached;
}

int count_bits(const std::uint64_t (&words)[128]) {
  int sum = 0;
  for (const std::uint64_t word : words) sum += std::popcount(word);
  return sum;
}

// Keeps the library going while we wait for a peer that may wait for a message of it. Not on MPI_COMM_SELF,
// where MPICH looks into a list and no further; and for a tag that nobody uses, since a probe that finds
// something does no more.
void poke_library(void*) {
  constexpr int unused_tag = 32749;
  int flag = 0;
  real().Iprobe(MPI_ANY_SOURCE, unused_tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

bool meet() {
  Process& me = g_process;
  me.space = g_space;
  me.page = make_page(me);
  if (me.page) g_space->publish(space::Root::mpi, me.page);
  g_job.all_prepared = true;  // no rank leaves the library's initialisation before all have begun it
  if (!g_space->join(g_job, join_limit_ms)) return aside(g_space->why());
  return me.page || aside("there is no memory of the space left");  // the others have met us, and pass us by
}

bool make_parts() {
  Process& me = g_process;
  std::uint64_t cpus[128] = {};
  if (read_peers(cpus) < 2) return aside("no other rank of this node is reachable");
  me.waiter = new message::Waiter(*g_space, count_bits(cpus));
  if (!me.waiter->usable()) return aside("there is no memory of the space left");
  me.waiter->progress = poke_library;
  me.waiter->progress_yields = is_openmpi();
  // With a CPU for each rank we wait as the libraries do, without sleep: a transfer of the library, to
  // another node say, goes on only while the library is looked after.
  message::Patience patience = me.waiter->patience();
  patience.spins_on = !patience.crowded && message::wanted_wait() < 0;
  me.waiter->set_patience(patience);
  me.offers = new message::Offers(*g_space, *me.waiter);
  std::uint32_t others = 0;
  for (int rank = 0; rank < g_space->size(); ++rank)
    if (rank != g_space->rank()) others |= me.peer_parts[static_cast<std::size_t>(rank)];
  for (int part = 0; part < static_cast<int>(Part::count); ++part)
    me.parts[part] = (me.page->parts & others & bit(static_cast<Part>(part))) != 0;
  me.hierarchy = sys::is_on("NIGH_MPI_HIERARCHY");
  me.reproducible = wanted_order() == Order::fixed;
  return true;
}

}  // namespace

namespace {

// All ranks of this node are in its space, and have collectives of ours.
bool whole_node() {
  const Process& me = process();
  int with_us = 0;
  for (const std::uint32_t parts : me.peer_parts) with_us += (parts & bit(Part::coll)) != 0 ? 1 : 0;
  return me.on(Part::coll) && with_us == g_job.size;
}

}  // namespace

void prepare_process() {
  census_connect();
  g_space = front().space(space::abi_version);
  const char* source = "";
  if (!g_space || !space::find_seat(space::lookup_environ, nullptr, g_job) || g_job.size < 2 ||
      !space::find_key(space::lookup_environ, nullptr, g_job, &source))
    return;
  g_space->prepare(g_job);
}

namespace {

bool find_peers() {
  Process& me = g_process;
  real().Comm_size(MPI_COMM_WORLD, &me.world_size);
  if (!g_space) {  // nothing is said at start where there is nobody to share one with
    if (me.world_size < 2) return aside("MPI_COMM_WORLD has one rank");
    if (!space::find_seat(space::lookup_environ, nullptr, g_job))
      return aside("no variable of a launcher says which rank of its node it is");
    if (g_job.size >= 2) return aside("this process has no space: see what nigh says of it at start");
  }
  if (g_job.size < 2) return aside("it is the only rank on its node");
  real().Comm_rank(MPI_COMM_WORLD, &me.world_rank);
  if (me.world_size < 2) return aside("MPI_COMM_WORLD has one rank");
  real().Query_thread(&me.thread_level);
  if (survives_deaths()) {
    if (me.world_rank == 0)
      say("the messages of this job are the library's: it may lose ranks and go on (mpirun --with-ft)");
    return aside("the job may lose ranks and go on (mpirun --with-ft)");
  }
  me.multiple = me.thread_level == MPI_THREAD_MULTIPLE;
  me.contended = me.multiple;
  if (!meet() || !make_parts()) {
    if (me.page) me.page->aside.store(1);
    return false;
  }
  if (me.world_rank == 0 && !sys::is_off("NIGH_MPI_P2P") && p2p_obstacle()) say(p2p_obstacle());
  me.started = true;
  g_reason = "";
  return true;
}

}  // namespace

bool start_process() {
  const bool started = find_peers();
  if (process().world_size == g_job.size)
    census_leave();
  else
    census_enter(started && whole_node());
  return started;
}

// The page and the doorbell stay: peers may look at them as long as this process lives.
void stop_process() {
  Process& me = g_process;
  me.page->aside.store(1);
  me.started = false;
  me.page->counters.staged_bytes = me.offers->counts().staged_bytes;
  delete me.offers;
  me.offers = nullptr;
  delete me.waiter;
  me.waiter = nullptr;
}

std::uint64_t job_hash() {
  std::uint64_t words[2];
  std::memcpy(words, g_job.key, sizeof words);
  return words[0] ^ std::rotl(words[1], 32);
}

const char* stand_aside_reason() { return g_reason; }

Hooks::Hooks(void (*start)(), void (*stop)()) : start_(start), stop_(stop), next_(g_hooks) { g_hooks = this; }

void run_start_hooks() {
  for (Hooks* hooks = g_hooks; hooks; hooks = hooks->next_)
    if (hooks->start_) hooks->start_();
}

void run_stop_hooks() {
  for (Hooks* hooks = g_hooks; hooks; hooks = hooks->next_)
    if (hooks->stop_) hooks->stop_();
}

void say(const char* sentence) {
  static std::atomic<const char*> said[32];
  for (auto& one : said) {
    const char* nothing = nullptr;
    if (one.compare_exchange_strong(nothing, sentence)) break;
    if (nothing == sentence) return;
  }
  char line[1024];
  const int length = std::snprintf(line, sizeof line, "nigh: %s\n", sentence);
  if (length > 0) nigh_raw_say(2, line, std::min(static_cast<std::size_t>(length), sizeof line - 1));
}

}  // namespace nigh::mpi
