// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The space of a process: the memory half (memory.hpp) and the join half (join.hpp) behind one object. It is
// made in static storage when it is first asked for and never destroyed, since peers and other libraries use
// it until the very end. Part of the loaded code: no allocation, no C++ library.
#include "space/process_space.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

#include "nigh/space.h"
#include "space/door.hpp"
#include "space/job.hpp"
#include "space/join.hpp"
#include "space/memory.hpp"
#include "space/shared_data.hpp"

#define NIGH_EXPORT extern "C" __attribute__((visibility("default")))

namespace nigh::space {

namespace {

constexpr int usual_timeout_ms = 60'000;

class Processes final : public ProcessSpace {
 public:
  Processes();
  static void operator delete(void*) {}  // it is never destroyed; the C++ library's is not here
  void* alloc(std::size_t bytes, std::size_t align) override;
  void* alloc_block(std::size_t bytes, std::size_t align, bool zeroed) override {
    return over() ? nullptr : slot_block(bytes, align, zeroed);
  }
  void release(void* data) override { slot_free(data); }
  void publish(Root root, void* data) override;
  [[nodiscard]] void* root(int rank, Root root) const override;
  [[nodiscard]] bool reachable(int rank) const override;
  [[nodiscard]] bool all_reachable(const int* ranks, int count) const override;
  [[nodiscard]] bool alive(int rank) const override;
  [[nodiscard]] void* remote(int rank, const void* mine) const override;
  bool prepare(const Job& job) override;
  bool join(const Job& job, int timeout_ms) override;
  [[nodiscard]] const char* why() const override { return why_; }
  void collapse(const void* data, std::size_t bytes) override { collapse_range(data, bytes); }
  bool share_data() override;
  int explain(char* text, std::size_t bytes) const override;

  [[nodiscard]] bool over() const { return stage_.load(std::memory_order_acquire) == Stage::over; }

 protected:
  [[nodiscard]] void* global_slow(const void* data, std::size_t bytes) const override {
    return over() ? nullptr : find_global(data, bytes);
  }

 private:
  enum class Stage : int { apart, joining, joined, aside, over };
  static void on_patched(void* self);
  static void on_forked(void* self);
  [[nodiscard]] bool is_rank(int rank) const { return rank >= 0 && rank < size_; }
  [[nodiscard]] bool met(int rank) const;
  bool refuse(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void sum_up(const Join& join);

  std::atomic<Stage> stage_ = Stage::apart;
  Doors doors_;
  bool prepared_ = false;
  int strangers_ = 0, garbage_ = 0;
  long join_ms_ = 0;
  char why_[320] = "";
};

// Large, and written only by join(): in a process that never joins no page of it is touched.
Peer g_peers[kMaxRanks];
alignas(Join) unsigned char g_join[sizeof(Join)];
alignas(Processes) unsigned char g_space[sizeof(Processes)];

bool said_yes(const SlotHeader* header) {
  return header != nullptr &&
         header->joined.load(std::memory_order_acquire) == static_cast<std::uint32_t>(Joined::published);
}

bool has_bit(const SlotHeader* header, int rank) {
  return (header->reachable[rank / 64].load(std::memory_order_relaxed) >> (rank % 64) & 1) != 0;
}

Processes::Processes() {
  const MemoryState& state = memory();
  rank_ = state.rank;
  size_ = state.size;
  Window window = space::window();
  first_ = window.first;
  span_ = window.span;
  marks_ = window.marks;
  patched_.store(window.patched, std::memory_order_relaxed);
  set_listener({.patched = on_patched, .forked = on_forked, .self = this});
}

void Processes::on_patched(void* self) {
  static_cast<Processes*>(self)->patched_.store(true, std::memory_order_relaxed);
}

// A child is no rank: its memory is its own, and nobody waits for it.
void Processes::on_forked(void* self) {
  auto* space = static_cast<Processes*>(self);
  space->span_ = 0;
  forget_doors(space->doors_);
  space->prepared_ = false;
  if (space->stage_.load(std::memory_order_relaxed) == Stage::joined)
    for (int rank = 0; rank < space->size_; ++rank) sys::forget(g_peers[rank].witness);
  std::snprintf(space->why_, sizeof space->why_, "this process is a child of a rank");
  space->stage_.store(Stage::over, std::memory_order_release);
}

void* Processes::alloc(std::size_t bytes, std::size_t align) {
  if (over()) return nullptr;
  return slot_alloc(bytes, align < alignof(std::max_align_t) ? alignof(std::max_align_t) : align);
}

void Processes::publish(Root root, void* data) {
  if (SlotHeader* header = own_header(); header != nullptr && !over())
    header->roots[static_cast<int>(root)].store(reinterpret_cast<std::uintptr_t>(data),
                                                std::memory_order_release);
}

// Both have come to the end of join() and this rank has mapped that one.
bool Processes::met(int rank) const {
  return is_rank(rank) && stage_.load(std::memory_order_acquire) == Stage::joined &&
         g_peers[rank].fate == Fate::mapped && said_yes(peer_header(rank));
}

bool Processes::reachable(int rank) const {
  if (rank == rank_) return !over();
  return met(rank) && has_bit(peer_header(rank), rank_);
}

// See join.cpp for why all of `ranks` get the same answer.
bool Processes::all_reachable(const int* ranks, int count) const {
  for (int i = 0; i < count; ++i) {
    if (!met(ranks[i])) return false;
    const SlotHeader* header = peer_header(ranks[i]);
    for (int k = 0; k < count; ++k)
      if (!is_rank(ranks[k]) || !has_bit(header, ranks[k])) return false;
  }
  return true;
}

void* Processes::root(int rank, Root root) const {
  if (!reachable(rank)) return nullptr;
  const SlotHeader* header = rank == rank_ ? own_header() : peer_header(rank);
  return reinterpret_cast<void*>(header->roots[static_cast<int>(root)].load(std::memory_order_acquire));
}

bool Processes::alive(int rank) const {
  if (!is_rank(rank) || rank == rank_ || stage_.load(std::memory_order_acquire) != Stage::joined) return true;
  return !sys::has_ended(g_peers[rank].witness);
}

void* Processes::remote(int rank, const void* mine) const {
  if (!reachable(rank)) return nullptr;
  return rank == rank_ ? const_cast<void*>(mine) : find_remote(rank, mine);
}

bool Processes::refuse(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(why_, sizeof why_, format, args);
  va_end(args);
  return false;
}

bool Processes::prepare(const Job& job) {
  if (over()) return false;
  if (prepared_) return true;
  if (job.rank != rank_ || job.size != size_)
    return refuse("the job says rank %d of %d, this process was started as rank %d of %d", job.rank, job.size,
                  rank_, size_);
  std::memcpy(own_header()->key, job.key, sizeof job.key);
  const int opened = open_doors(job, doors_);
  if (opened == -EADDRINUSE) return refuse("another process of rank %d has joined in its place", rank_);
  if (opened < 0) return refuse("a socket for the other ranks can't be made (%s)", std::strerror(-opened));
  prepared_ = true;
  return true;
}

bool Processes::join(const Job& job, int timeout_ms) {
  Job wanted = job;
  wanted.all_prepared = job.all_prepared && prepared_;
  Stage before = Stage::apart;
  if (!stage_.compare_exchange_strong(before, Stage::joining, std::memory_order_acq_rel))
    return before == Stage::joined;
  if (!prepare(wanted)) {
    stage_.store(Stage::aside, std::memory_order_release);
    return false;
  }
  Join* join = new (g_join) Join(wanted, memory().fd, doors_, g_peers, timeout_ms);
  long begun = sys::now_ms();
  bool done = join->run();
  if (done) learn_from_now_on();
  prepared_ = false;
  join_ms_ = sys::now_ms() - begun;
  sum_up(*join);
  stage_.store(done ? Stage::joined : Stage::aside, std::memory_order_release);
  return done;
}

// One sentence about who is missing.
void Processes::sum_up(const Join& join) {
  strangers_ = join.strangers();
  garbage_ = join.garbage();
  int missing = 0, first = -1;
  for (int rank = size_ - 1; rank >= 0; --rank)
    if (g_peers[rank].fate != Fate::mapped) first = rank, ++missing;
  if (join.reason()[0] != '\0')
    refuse("%s", join.reason());
  else if (missing > 0)
    refuse("%d of %d ranks are out of reach; rank %d: %s", missing, size_, first,
           words_of(g_peers[first].fate));
}

bool Processes::share_data() {
  const char* why = "";
  if (over()) return false;
  return share_static_data(&why) || refuse("%s", why);
}

// Text that is gathered line by line into a buffer that may be too small, as snprintf does it.
class Lines {
 public:
  Lines(char* text, std::size_t bytes) : text_(text), bytes_(bytes) {}
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list args;
    va_start(args, format);
    int wanted = std::vsnprintf(rest(), left(), format, args);
    va_end(args);
    if (wanted > 0) wanted_ += static_cast<std::size_t>(wanted);
  }
  void add_memory() {
    int wanted = explain_memory(rest(), left());
    if (wanted > 0) wanted_ += static_cast<std::size_t>(wanted);
  }
  [[nodiscard]] int wanted() const { return static_cast<int>(wanted_); }

 private:
  char* rest() { return wanted_ < bytes_ ? text_ + wanted_ : nullptr; }
  [[nodiscard]] std::size_t left() const { return wanted_ < bytes_ ? bytes_ - wanted_ : 0; }
  char* text_;
  std::size_t bytes_, wanted_ = 0;
};

int Processes::explain(char* text, std::size_t bytes) const {
  Lines lines(text, bytes);
  Stage stage = stage_.load(std::memory_order_acquire);
  if (stage == Stage::joined) {
    int reached = 0;
    for (int rank = 0; rank < size_; ++rank) reached += reachable(rank) ? 1 : 0;
    lines.add("space: rank %d reaches %d of %d ranks; joined in %ld ms\n", rank_, reached, size_, join_ms_);
    for (int fate = static_cast<int>(Fate::open); fate < static_cast<int>(Fate::count); ++fate) {
      int count = 0, first = -1;
      for (int rank = size_ - 1; rank >= 0; --rank)
        if (static_cast<int>(g_peers[rank].fate) == fate) ++count, first = rank;
      if (count == 0 || fate == static_cast<int>(Fate::mapped)) continue;
      lines.add("space: %d rank(s), rank %d first: %s\n", count, first, words_of(static_cast<Fate>(fate)));
    }
  } else {
    lines.add("space: rank %d of %d has not joined%s%s\n", rank_, size_, why_[0] != '\0' ? ": " : "", why_);
  }
  if (strangers_ > 0) lines.add("space: sent away %d visitor(s) of other users\n", strangers_);
  if (garbage_ > 0) lines.add("space: sent away %d visitor(s) that spoke another language\n", garbage_);
  lines.add_memory();
  return lines.wanted();
}

Processes* the_space() {
  // 0: not asked for yet, 1: being made, 2: there
  static std::atomic<int> made = 0;
  if (!memory().on) return nullptr;
  int before = 0;
  if (made.compare_exchange_strong(before, 1, std::memory_order_acq_rel)) {
    new (g_space) Processes;
    made.store(2, std::memory_order_release);
  } else {
    while (made.load(std::memory_order_acquire) != 2) {}
  }
  return std::launder(reinterpret_cast<Processes*>(g_space));
}

const char* lookup_start(const char* name, void*) { return start_environment(name); }

int join_from_environment(int timeout_ms, const char** why) {
  Processes* space = the_space();
  if (space == nullptr) return -1;
  Job job;
  const char* source = nullptr;
  if (!find_seat(lookup_start, nullptr, job) || !find_key(lookup_start, nullptr, job, &source)) {
    *why = "no key of the job can be worked out: neither nigh run, PMIx, Slurm nor PMI has left one";
    return -1;
  }
  return space->join(job, timeout_ms < 0 ? usual_timeout_ms : timeout_ms) ? 0 : -1;
}

const char* g_why = "";

}  // namespace

}  // namespace nigh::space

using nigh::space::the_space;

NIGH_EXPORT nigh::space::ProcessSpace* nigh_space_object(std::uint32_t version) {
  return version == nigh::space::abi_version ? the_space() : nullptr;
}

// The same function under a name that other libraries can't take over: preload.cpp compares the two.
extern "C" __attribute__((alias("nigh_space_object"), visibility("hidden"))) nigh::space::ProcessSpace*
nigh_space_object_here(std::uint32_t version);

NIGH_EXPORT int nigh_space_join(int timeout_ms) {
  return nigh::space::join_from_environment(timeout_ms, &nigh::space::g_why);
}

NIGH_EXPORT int nigh_space_rank(void) { return nigh::space::memory().rank; }
NIGH_EXPORT int nigh_space_size(void) { return nigh::space::memory().size; }

NIGH_EXPORT int nigh_space_reachable(int rank) {
  auto* space = the_space();
  return space != nullptr && space->reachable(rank) ? 1 : 0;
}

NIGH_EXPORT int nigh_space_alive(int rank) {
  auto* space = the_space();
  return space == nullptr || space->alive(rank) ? 1 : 0;
}

NIGH_EXPORT void nigh_space_publish(void* data) {
  if (auto* space = the_space(); space != nullptr) space->publish(nigh::space::Root::user, data);
}

NIGH_EXPORT void* nigh_space_published(int rank) {
  auto* space = the_space();
  return space == nullptr ? nullptr : space->root(rank, nigh::space::Root::user);
}

NIGH_EXPORT void* nigh_remote_address(int rank, const void* mine) {
  auto* space = the_space();
  return space == nullptr ? nullptr : space->remote(rank, mine);
}

NIGH_EXPORT void* nigh_space_global(const void* data, size_t bytes) {
  auto* space = the_space();
  return space == nullptr ? nullptr : space->global(data, bytes);
}

NIGH_EXPORT void* nigh_space_alloc(size_t bytes, size_t align) {
  auto* space = the_space();
  return space == nullptr ? nullptr : space->alloc(bytes, align);
}

NIGH_EXPORT void nigh_space_release(void* data) {
  auto* space = the_space();
  if (space != nullptr && data != nullptr) space->release(data);
}

NIGH_EXPORT const char* nigh_space_why(void) {
  if (nigh::space::g_why[0] != '\0') return nigh::space::g_why;
  auto* space = the_space();
  return space == nullptr ? nigh::space::memory().why : space->why();
}

NIGH_EXPORT int nigh_space_shared_data(int index, nigh::space::SharedData* data) {
  if (the_space() == nullptr) return 0;
  const nigh::space::SlotHeader* header = nigh::space::own_header();
  if (index < 0 || static_cast<std::uint32_t>(index) >= header->alias_count) return 0;
  const nigh::space::Alias& alias = header->aliases[index];
  data->begin = reinterpret_cast<void*>(alias.lo);
  data->bytes = alias.hi - alias.lo;
  data->module = alias.module;
  return 1;
}

NIGH_EXPORT int nigh_space_explain(char* text, size_t bytes) {
  auto* space = the_space();
  if (space != nullptr) return space->explain(text, bytes);
  return std::snprintf(text, bytes, "space: none: %s\n", nigh::space::memory().why);
}
