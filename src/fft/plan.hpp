// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A plan is a list of steps: passes over arrays, transposes where lines can't be fetched from where they are,
// and waits for all ranks. What the steps are is written once; a World says who takes part: the threads of
// one process, or the ranks of a communicator.
#pragma once

#pragma GCC visibility push(default)
#include <nigh/fft.h>
#pragma GCC visibility pop

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "fft/demand.hpp"
#include "fft/pass.hpp"
#include "transpose/seats.hpp"
#include "transpose/team.hpp"

namespace nigh::fft {

// Given back when the last one goes.
using Memory = std::shared_ptr<std::byte>;
using Action = std::function<Result<void>()>;

// All functions but rank() and ranks() are collective.
class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;
  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t ranks() const = 0;
  // The first rank's error, on all; of what is no error, none.
  virtual Result<void> agree(const Result<void>& mine) = 0;
  virtual void wait() = 0;
  // nullptr: there is none.
  virtual Memory memory(std::size_t bytes) = 0;
  // The addresses of all ranks' arrays as this rank reaches them; empty on all if one is out of reach of one.
  virtual std::vector<std::byte*> reach(std::byte* at, std::size_t bytes) = 0;
  // Transposes a matrix dealt by rows; may be done again and again.
  virtual Result<Action> turn(std::size_t rows, std::size_t columns, std::size_t element, std::byte* from,
                              std::size_t from_bytes, std::byte* to, std::size_t to_bytes, int threads) = 0;
  // Elements of an array that lies in the ranks' ranges `have`, this one's at `from`: those of its range of
  // `want` to `to`.
  virtual Action fetch(std::size_t element, const std::vector<transpose::IndexRange>& have,
                       const std::vector<transpose::IndexRange>& want, const std::byte* from,
                       std::byte* to) = 0;
  // So many threads of this rank among all that share its CPUs.
  [[nodiscard]] virtual transpose::Sharing sharing(int threads) const = 0;
  [[nodiscard]] virtual std::string text() const = 0;
};

struct Arrays {
  void* in = nullptr;
  std::size_t in_bytes = 0;
  void* out = nullptr;
  std::size_t out_bytes = 0;
  // The same on all ranks, whatever the pointers of one that has nothing: what ranks do together hangs on it.
  bool in_place = false;
};

class Recipe;

struct Step {
  std::string says;
  Action run;
  bool waits = false;  // for all ranks, and nothing else
};

// Wrong on one rank: an error on all.
Result<std::unique_ptr<nigh_fft>> make_plan(std::unique_ptr<World> world, const Demand& demand, Arrays arrays,
                                            int threads);
int threads_of_process();
// Checks that the arrays have as many bytes as are wanted, and do not overlap unless the transform is in
// place, which it `may` be.
Result<void> check_arrays(const Arrays& arrays, std::size_t in_wanted, std::size_t out_wanted,
                          std::size_t real, bool may_be_one);
// The backend that flags and environment ask for.
Result<Local> find_local(const Shape& shape);
// Memory of this process alone, at a huge page.
Memory plain_memory(std::size_t bytes);

// The report of the C functions on anything that `make` throws or returns.
void set_why(std::string_view why) noexcept;
template <class Make>
nigh_fft* made(const Make& make) {
  return guarded(
      [&]() -> nigh_fft* {
        Result<std::unique_ptr<nigh_fft>> plan = make();
        if (plan) return plan->release();
        set_why(plan.error().message);
        return nullptr;
      },
      set_why, nullptr);
}

}  // namespace nigh::fft

struct nigh_fft {
  nigh_fft(std::unique_ptr<nigh::fft::World> world, std::string text, int threads)
      : world_(std::move(world)),
        text_(std::move(text)),
        team_(threads, nigh::transpose::seats(threads, world_->sharing(threads))) {}
  nigh_fft(const nigh_fft&) = delete;
  nigh_fft& operator=(const nigh_fft&) = delete;
  ~nigh_fft() = default;

  nigh::Result<void> execute();
  [[nodiscard]] std::string explain() const;

 private:
  friend class nigh::fft::Recipe;
  std::unique_ptr<nigh::fft::World> world_;
  std::string text_;
  nigh::transpose::Team team_;
  std::vector<std::shared_ptr<const void>> held_;  // memory, row plans, factors
  std::vector<nigh::fft::Step> steps_;
};
