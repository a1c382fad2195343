// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Runs of bytes, [down][side][across] of them, that become [across][side][down] in their own memory, along
// the cycles of that permutation. Each run goes to the place that the one before it has left, which caches
// still hold: so memory is read and written once. Long cycles are cut, so that threads share them: what the
// first place of each piece holds is put aside before any of them moves.
//
//      a cycle  ─►  9 ◄ 4 ◄ 7 ◄ 1 ◄ 8 ◄ 3 ◄ 6 ◄ (9)       place 9 gets what is in 4, and so on
//                  └─ piece ─┘ └─ piece ─┘ └ piece ┘       9, 1 and 6 are put aside
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "transpose/team.hpp"

namespace nigh::transpose {

struct Order {
  std::size_t down = 1, side = 1, across = 1;
  [[nodiscard]] std::size_t count() const { return down * side * across; }
  // The run that belongs at place `to`.
  [[nodiscard]] std::size_t from(std::size_t to) const {
    const std::size_t i = to % down, rest = to / down;
    return (i * side + rest % side) * across + rest / side;
  }
};

class Reorder {
 public:
  // Throws std::bad_alloc. Besides a bit for each run it puts nine of them aside for each thread; alone it
  // needs one.
  Reorder(const Order& order, std::size_t bytes, int threads);
  // Lists some cycles: before each run(), by one thread, while others may do what comes before that.
  void list();
  void run(std::byte* data, Team& team);

 private:
  // A part of a cycle: `places` of them, from `first` on along from().
  struct Piece {
    std::size_t first = 0, places = 0;
    std::size_t held = 0;    // where its first run is put aside
    std::size_t wanted = 0;  // the one put aside that its last place gets
  };
  void list_cycle(std::size_t start);
  void move(std::byte* data, const Piece& piece, std::byte* aside) const;
  [[nodiscard]] std::byte* held(std::size_t index) const { return held_.get() + index * bytes_; }

  Order order_;
  std::size_t bytes_, most_places_;
  std::vector<bool> listed_;
  std::size_t next_ = 0, cut_ = 0;  // of places; pieces of cycles that are cut
  std::vector<Piece> pieces_;
  std::size_t room_;  // runs put aside
  std::unique_ptr<std::byte[]> held_;
};

}  // namespace nigh::transpose
