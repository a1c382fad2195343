// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions over the elements of an array. Each PE folds what its own elements contribute and what comes
// from below it in the tree of PEs, and passes it on once all of its elements have contributed. The root
// counts contributions: it needs to know of no PE whether it has elements, so that these may move.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "chare/wave.hpp"
#include "nigh/chare/core.hpp"

namespace nigh::chare {

class Pe;

// Folds bytes that are everybody's the same: where all say what is to be done when all have come.
extern const core::Fold& keep_first;

class Reductions {
 public:
  explicit Reductions(Pe& pe) : pe_(pe) {}
  void contribute(core::ElementBase& from, const void* data, std::size_t bytes, const core::Fold& fold,
                  const Callback& then);
  // From a child in the tree: System::partial.
  void on_partial(const core::Header* message);
  // Elements come or go. What they have contributed to up to that number goes on without waiting for others:
  // who of those here has still to contribute is not known any more.
  void pass(std::uint16_t array, std::uint64_t up_to);
  void pass_all(std::uint16_t array);  // whatever anybody here has contributed to
  // At the root, for a sparse array: so many elements has it; 0: that is being counted. Nothing ends until
  // then.
  void set_total(std::uint16_t array, std::uint64_t elements);
  // The first reduction that is not over, at the root.
  [[nodiscard]] std::uint64_t next(std::uint16_t array) { return arrays_[array].next; }
  // done_inserting() was called again: elements inserted since begin with that reduction.
  void join(std::uint16_t array, std::uint64_t next);
  // The knowledge here about those that are not over.
  [[nodiscard]] Unfinished first_unfinished() const;
  [[nodiscard]] Contributions contributions_to(const Unfinished& reduction) const;
  [[nodiscard]] bool knows_total(std::uint16_t array) const;

 private:
  struct Partial {
    std::vector<char> data;
    std::uint64_t count = 0, here = 0;  // contributions; of elements of this PE
    std::uint16_t fold = 0;
    Callback then;
  };
  struct OfArray {
    std::map<std::uint64_t, Partial> partials;  // by the reduction's number
    std::uint64_t passed = 0;                   // of those before it all elements here have contributed
    std::uint64_t total = 0;                    // sparse arrays, at the root; 0: not known yet
    std::uint64_t next = 0;                     // at the root: those before it are over
  };
  struct Late {  // of an element of which it is not known yet what it contributes to
    core::ElementBase* from;
    std::vector<char> data;
    const core::Fold* fold;
    Callback then;
  };
  struct Part;
  void fold(Partial& into, const Part& part, const void* data);
  void look(std::uint16_t array, std::uint64_t number);
  void finish(std::uint16_t array, std::uint64_t number);

  Pe& pe_;
  std::unordered_map<std::uint16_t, OfArray> arrays_;
  std::map<std::uint16_t, std::vector<Late>> late_;
};

}  // namespace nigh::chare
