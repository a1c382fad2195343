// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The way home of blocks: bags pushed by several, taken all at once by one, used again by whoever emptied
// them.
#include <gtest/gtest.h>

#include <array>

#include "expect.hpp"
#include "message/pool.hpp"

namespace nigh::message {
namespace {

using model::Change;
using model::check;
using model::expect_caught;
using model::expect_holds;
using model::Operation;

// Two push two bags each, one of which comes back and is pushed again.
struct Home : model::Scenario {
  Home() {
    for (std::uint32_t giver = 0; giver < 2; ++giver) ranks.emplace_back([this, giver] { give(giver); });
    ranks.emplace_back([this] { take(); });
    after = [this] { check(!door.take(), "a bag twice"); };
  }
  void push(Bag& bag, std::uint16_t number) {
    bag.count = number;
    note_write(&bag.count, sizeof bag.count);
    door.push(&bag);
  }
  void give(std::uint32_t giver) {
    push(bags[2 * giver], 1);
    push(bags[2 * giver + 1], 2);
    if (giver != 0) return;
    Bag* back = nullptr;
    while (!(back = returned.take())) pause_cpu();
    push(*back, 3);
  }
  void take() {
    unsigned all = 0, sum = 0;
    while (all < 5) {
      Bag* next = nullptr;
      for (Bag* bag = door.take(); bag; bag = next, ++all) {
        note_read(bag, sizeof *bag);
        next = bag->next;
        sum += bag->count;
        if (bag == &bags[0] && bag->count == 1) returned.push(bag);
      }
      pause_cpu();
    }
    check(sum == 9, "each bag as it was pushed");
  }
  PoolDoor door, returned;
  std::array<Bag, 4> bags;
};

TEST(Model, PoolDoorHolds) { expect_holds<Home>(2); }
TEST(Model, PoolDoorMutantsAreCaught) {
  expect_caught<Home>({{"::push(", Operation::compare, Change::relax},
                       {"::push(", Operation::compare, Change::tear},
                       {"::take(", Operation::rmw, Change::relax},
                       {"::take(", Operation::rmw, Change::tear}});
}

}  // namespace
}  // namespace nigh::message
