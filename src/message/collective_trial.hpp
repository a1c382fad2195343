// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// For tests of the collectives: a job of ranks that are threads, a space in which a rank can keep buffers to
// itself, and trials. A trial is one collective call made up from a seed; every rank can work out alone what
// every other puts in, and so what must come out, byte by byte, gaps between blocks included.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "message/collective.hpp"
#include "space/thread_space.hpp"

namespace nigh::message::testing {

// A thread space that says of some buffers that nobody else can see them.
class PartlyPrivate final : public space::Space {
 public:
  PartlyPrivate(space::ThreadSpace::Common& common, int rank);
  void hide(const void* data, std::size_t bytes);
  void show(const void* data);
  void die() { threads_.die(); }
  void* alloc(std::size_t bytes, std::size_t align) override;
  void release(void* data) override {
    ++releases;
    threads_.release(data);
  }
  void publish(space::Root root, void* data) override { threads_.publish(root, data); }
  [[nodiscard]] void* root(int rank, space::Root root) const override { return threads_.root(rank, root); }
  [[nodiscard]] bool reachable(int) const override { return true; }
  [[nodiscard]] bool all_reachable(const int*, int) const override { return true; }
  [[nodiscard]] bool alive(int rank) const override { return threads_.alive(rank); }
  [[nodiscard]] void* remote(int, const void*) const override { return nullptr; }

  std::size_t allocs = 0, allocated = 0, releases = 0;
  std::size_t limit = ~std::size_t{0};  // alloc fails beyond so many bytes

 private:
  [[nodiscard]] void* global_slow(const void* data, std::size_t bytes) const override;
  space::ThreadSpace threads_;
  struct Range {
    const unsigned char* data;
    std::size_t bytes;
  };
  std::vector<Range> hidden_;
};

struct Rank {
  PartlyPrivate& space;
  Waiter& waiter;
  Group& group;
};

// Runs `body` on each rank in a thread of its own, with one group of all of them.
void run_job(int ranks, const plan::Levels& levels, const std::function<void(Rank&)>& body);

struct Trial {
  std::uint64_t seed = 0;
  Kind kind = Kind::barrier;
  int ranks = 1, root = 0;
  bool in_place = false, varied = false;  // varied: the v-forms, with gaps
  bool affine = false;                    // reductions: a user's operation that does not commute
  std::size_t bytes = 0;                  // of a block, or the most of one
  unsigned hidden = 0;                    // bit 2r, 2r+1: send, receive of rank r are private
};
Trial random_trial(std::mt19937_64& random, int ranks, std::size_t most);

// One rank's part in a trial.
class Side {
 public:
  Side(const Trial& trial, PartlyPrivate& space, int me);
  ~Side();
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  [[nodiscard]] const Call& call() const { return call_; }
  // "" or what is wrong; after the call has ended.
  [[nodiscard]] std::string check() const;

 private:
  [[nodiscard]] std::size_t block(int from, int to) const;
  void fill(unsigned char* to, int from, int dest, std::size_t bytes) const;
  [[nodiscard]] std::vector<unsigned char> combined(int first, int last) const;
  [[nodiscard]] std::size_t operand_bytes() const;
  void lay_out();
  void expect();
  void fill_operand();
  void use_in_place();

  Trial trial_;
  PartlyPrivate& space_;
  int me_;
  Call call_;
  std::vector<unsigned char> send_, receive_, expected_;
  std::vector<std::size_t> send_bytes_, send_offsets_, receive_bytes_, receive_offsets_;
  std::string name_;
};

// Affine maps x -> a x + b over 32 bits, composed: associative, not commutative.
extern const Combine affine_combine;

}  // namespace nigh::message::testing
