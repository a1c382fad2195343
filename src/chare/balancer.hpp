// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Moves the elements of an array to where balance() wants them. All of them have stopped for that
// (balance(then) is a reduction), but messages for them may be under way:
//
//     PE 0      measure ──► all PEs: what each element has cost ──► PE 0: who moves
//               moves ────► all PEs: note them, send those that leave, wait for those that come ──► PE 0
//               `then`, and the messages to all elements that PE 0 has kept back since the beginning
//
// Messages to all elements of an array whose elements move go by way of PE 0, and along one tree, so that
// when a PE learns of the moves it has seen just those that the others have seen: none reaches an element
// twice or not at all. A message to one element that has left is forwarded: whoever gets it knows all moves,
// or will be sent the element before the message comes back.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "chare/balance.hpp"
#include "nigh/chare/core.hpp"

namespace nigh::chare {

class Elements;
class Pe;

class Balancer {
 public:
  explicit Balancer(Pe& pe) : pe_(pe) {}
  void ask(core::ElementBase& from, const Callback& then);
  void begin(std::uint16_t array, const Callback& then);  // at PE 0, when all have
  void on_measure(const core::Header* message);
  void on_measured(const core::Header* message);  // at PE 0
  void on_moves(const core::Header* message);
  void on_element(core::Header* message);
  void on_settled(std::uint16_t array);  // at PE 0
  // One that will not be delivered.
  void drop(core::Header* message);
  // A message to all elements that has to wait. At PE 0.
  [[nodiscard]] bool keeps(core::Header* message);
  [[nodiscard]] std::vector<core::Header*> take_kept();

 private:
  struct Step {  // at PE 0
    Callback then;
    std::uint32_t missing = 0;
    std::vector<Load> loads;
    std::vector<double> fixed;  // of each PE: what elements of other arrays have cost
    std::vector<core::Header*> kept;
  };
  struct Arrivals {
    std::int64_t awaited = 0;  // below 0: they came before it was known that they would
    bool is_known = false;
  };
  core::ElementBase* unpack(core::Header* message);
  void send(Elements& elements, core::ElementBase* element, const Move& move);
  void look(std::uint16_t array);
  // The cost of elements of other arrays here since the last call.
  [[nodiscard]] std::uint64_t take_others(Elements& elements);

  Pe& pe_;
  std::unordered_map<std::uint16_t, Step> steps_;
  std::unordered_map<std::uint16_t, Arrivals> arrivals_;
};

}  // namespace nigh::chare
