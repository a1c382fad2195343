// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A group of ranks for the model checker: the real Group of each over a space whose memory the checker
// watches, made before the fibers start. The collective sizes are those of NIGH_MODEL: 4 cells a member, used
// again after 2 batches of 2 calls.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "message/collective_state.hpp"
#include "model.hpp"
#include "space/thread_space.hpp"

namespace nigh::message {

// Some of a rank's memory may be private to it; what is released must not be touched any more.
class WatchedSpace final : public space::Space {
 public:
  WatchedSpace(space::ThreadSpace::Common& common, int rank) : threads_(common, rank) {
    rank_ = rank;
    size_ = static_cast<int>(common.members.size());
  }
  void* alloc(std::size_t bytes, std::size_t align) override {
    void* data = threads_.alloc(bytes, align);
    if (bytes == Cells::total_bytes()) cells_.push_back(static_cast<Cells*>(data));
    return data;
  }
  // It goes with the job, so that nothing else comes to lie there.
  void release(void* data) override {
    ++released;
    model::given_back(data, sizeof(Cells));
  }
  void publish(space::Root root, void* data) override { threads_.publish(root, data); }
  [[nodiscard]] void* root(int rank, space::Root root) const override { return threads_.root(rank, root); }
  [[nodiscard]] bool reachable(int) const override { return true; }
  [[nodiscard]] bool all_reachable(const int*, int) const override { return true; }
  [[nodiscard]] bool alive(int rank) const override { return threads_.alive(rank); }
  [[nodiscard]] void* remote(int, const void*) const override { return nullptr; }
  void die() { threads_.die(); }
  // The job is over: nothing of it stays in the graveyard of groups, not even what the dead never left.
  void bury_all() {
    for (Cells* cells : cells_) cells->departed.store(~std::uint32_t{0} - 1, std::memory_order_relaxed);
    Group::make_cells(*this, 1);
  }

  const void* hidden = nullptr;  // nobody else sees the block that begins there
  int released = 0;

 private:
  [[nodiscard]] void* global_slow(const void* data, std::size_t) const override {
    return data == hidden ? nullptr : const_cast<void*>(data);
  }
  space::ThreadSpace threads_;
  std::vector<Cells*> cells_;
};

constexpr Patience yields_only = {.spins = 0, .yields = 1'000'000'000};
constexpr Patience sleeps = {.spins = 0, .yields = 0, .sleep_ns = 1000};

struct GroupRanks : model::Scenario {
  explicit GroupRanks(int count, const plan::Levels& levels = {}, const Patience& patience = yields_only)
      : common(count) {
    std::vector<Cells*> cells;
    std::vector<int> numbers;
    for (int rank = 0; rank < count; ++rank) {
      spaces.push_back(std::make_unique<WatchedSpace>(common, rank));
      waiters.push_back(std::make_unique<Waiter>(*spaces.back(), count));
      waiters.back()->set_patience(patience);
      cells.push_back(Group::make_cells(*spaces.back(), count));
      numbers.push_back(rank);
    }
    for (int rank = 0; rank < count; ++rank) {
      for (int peer = 0; peer < count; ++peer) waiters[at(rank)]->ring(peer);  // looks the doorbells up
      groups.push_back(
          std::make_unique<Group>(*spaces[at(rank)], *waiters[at(rank)], rank, cells, numbers, levels));
      ranks.emplace_back([this, rank] { body(rank); });
    }
    calm = {"Waiter::ring("};  // unless ranks sleep
    after = [this] {
      for (auto& group : groups) model::check(!group || group->validate(), "validate");
    };
  }
  ~GroupRanks() override {
    groups.clear();
    for (auto& space : spaces) space->bury_all();
  }
  virtual void body(int rank) = 0;

  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  Outcome run(int rank, const Call& call) { return groups[at(rank)]->run(call); }
  void run_well(int rank, const Call& call) {
    model::check(run(rank, call) == Outcome::ok, "the call ends well");
  }

  space::ThreadSpace::Common common;
  std::vector<std::unique_ptr<WatchedSpace>> spaces;
  std::vector<std::unique_ptr<Waiter>> waiters;
  std::vector<std::unique_ptr<Group>> groups;
};

// Sums of 64-bit words, told to the checker.
inline void add_words(void* const* out, int outs, const void* const* in, int ins, std::size_t first,
                      std::size_t last, void*) {
  const std::size_t bytes = (last - first) * sizeof(std::uint64_t);
  for (int i = 0; i < ins; ++i) note_read(static_cast<const std::uint64_t*>(in[i]) + first, bytes);
  for (std::size_t word = first; word < last; ++word) {
    std::uint64_t sum = 0;
    for (int i = 0; i < ins; ++i) sum += static_cast<const std::uint64_t*>(in[i])[word];
    for (int o = 0; o < outs; ++o) static_cast<std::uint64_t*>(out[o])[word] = sum;
  }
  for (int o = 0; o < outs; ++o) note_write(static_cast<std::uint64_t*>(out[o]) + first, bytes);
}
inline const Combine sum_of_words = {.kernel = add_words, .element_bytes = 8, .commutative = true};

// A user's buffer: written before a call as its owner likes, read after it.
template <std::size_t words>
struct Words {
  std::array<std::uint64_t, words> word{};
  void write(std::uint64_t seed) {
    for (std::size_t i = 0; i < words; ++i) word[i] = seed + i;
    note_write(word.data(), sizeof word);
  }
  // Each word is that of `seed` times, plus `times` its number.
  void expect(std::uint64_t seed, const char* what, std::uint64_t times = 1) const {
    note_read(word.data(), sizeof word);
    for (std::size_t i = 0; i < words; ++i) model::check(word[i] == seed + times * i, what);
  }
};

}  // namespace nigh::message
