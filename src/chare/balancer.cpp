// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/balancer.hpp"

#include <cstring>
#include <utility>

#include "chare/pe.hpp"

namespace nigh::chare {

namespace {

struct Many {  // in front of so many items
  std::uint64_t count = 0, others_ns = 0;
  std::uint32_t pe = 0;
};
struct Moved {  // in front of what serialize() has written; in a process: the element itself
  std::uint64_t number = 0, reductions = 0, bytes = 0;
  core::ElementBase* element = nullptr;
};

template <class Item>
std::vector<Item> items_of(const Header* message) {
  std::vector<Item> out(Pe::payload_of<Many>(message).count);
  if (!out.empty())
    std::memcpy(out.data(), reinterpret_cast<const char*>(message + 1) + sizeof(Many),
                out.size() * sizeof(Item));
  return out;
}

}  // namespace

void Balancer::ask(core::ElementBase& from, const Callback& then) {
  pe_.reductions_.contribute(from, &then, sizeof then, keep_first,
                             {balance_elements, from.array_id(), 0, {}});
}

void Balancer::begin(std::uint16_t array, const Callback& then) {
  steps_[array] = {then, pe_.count(), {}, std::vector<double>(pe_.count()), {}};
  if (Header* const message = pe_.system(System::measure, array, 0)) pe_.post_to_all(message, {array});
}

bool Balancer::keeps(Header* message) {
  const auto found = steps_.find(message->array);
  if (found == steps_.end()) return false;
  found->second.kept.push_back(message);
  return true;
}

void Balancer::on_measure(const Header* message) {
  Elements& elements = *pe_.elements(message->array);
  std::vector<Load> loads;
  for (core::ElementBase* element : elements.local()) {
    if (pe_.kind_.debug) pe_.look_for_forgotten(*element);
    if (element->reductions & core::ElementBase::is_late) continue;  // it stays: it has not asked
    elements.measured_ns += element->load_ns;
    loads.push_back(
        {*elements.number_of(element->index()), std::exchange(element->load_ns, 0), pe_.number()});
  }
  const Many many{loads.size(), take_others(elements), pe_.number()};
  const std::size_t bytes = loads.size() * sizeof(Load);
  Header* const answer = pe_.system(System::measured, message->array, many, bytes);
  if (!answer) return;
  if (bytes > 0) std::memcpy(reinterpret_cast<char*>(answer + 1) + sizeof many, loads.data(), bytes);
  pe_.tell(0, answer);
}

std::uint64_t Balancer::take_others(Elements& elements) {
  std::uint64_t now = 0;
  for (const auto& other : pe_.arrays_) {
    if (!other || other->array == elements.array) continue;
    now += other->measured_ns;
    for (const core::ElementBase* element : other->local()) now += element->load_ns;
  }
  const std::uint64_t before = std::exchange(elements.others_ns, now);
  return now > before ? now - before : 0;  // they may have moved
}

void Balancer::on_measured(const Header* message) {
  Step& step = steps_[message->array];
  const std::vector<Load> loads = items_of<Load>(message);
  step.loads.insert(step.loads.end(), loads.begin(), loads.end());
  const auto from = Pe::payload_of<Many>(message);
  step.fixed[from.pe] = static_cast<double>(from.others_ns);
  if (--step.missing > 0) return;
  step.missing = pe_.count();
  const std::vector<Move> moves =
      balance(std::exchange(step.loads, {}), pe_.count(), pe_.levels(), std::exchange(step.fixed, {}));
  const Many many{moves.size(), 0, pe_.number()};
  const std::size_t bytes = moves.size() * sizeof(Move);
  Header* const all = pe_.system(System::moves, message->array, many, bytes);
  if (!all) return;
  if (bytes > 0) std::memcpy(reinterpret_cast<char*>(all + 1) + sizeof many, moves.data(), bytes);
  pe_.post_to_all(all, {message->array});
}

void Balancer::on_moves(const Header* message) {
  const std::uint16_t array = message->array;
  Elements& elements = *pe_.elements(array);
  Arrivals& arrivals = arrivals_[array];
  std::vector<std::pair<core::ElementBase*, Move>> leaving;
  for (const Move& move : items_of<Move>(message)) {
    if (move.to == pe_.number()) {
      ++arrivals.awaited;
      elements.place(move.element).pe = pe_.number();  // it may be here; else messages wait for it
    } else if (core::ElementBase* const element = elements.leave(move.element, move.to)) {
      leaving.emplace_back(element, move);
    }
  }
  pe_.reductions_.pass_all(array);  // with those that leave
  if (!leaving.empty()) elements.forget_those_that_left();
  for (const auto& [element, move] : leaving) {
    if (pe_.kind_.processes || pe_.cluster_) pe_.publish();  // PEs write and read theirs at the same time
    send(elements, element, move);
  }
  arrivals.is_known = true;
  look(array);
}

void Balancer::send(Elements& elements, core::ElementBase* element, const Move& move) {
  const bool writes = pe_.kind_.processes || !pe_.is_local(move.to);
  const core::Type& type = elements.type;
  const std::size_t bytes = writes ? type.write(element, nullptr, pe_.reach()) : 0;
  const Moved moved{move.element, element->reductions, bytes, writes ? nullptr : element};
  Header* const message = pe_.system(System::element, elements.array, moved, bytes);
  if (message && writes)
    type.write(element, reinterpret_cast<char*>(message + 1) + sizeof moved, pe_.reach());
  if (!message || writes) type.destroy(element);
  if (message) pe_.tell(move.to, message);
}

// The element in a message; null, and told: it could not be made.
core::ElementBase* Balancer::unpack(Header* message) {
  const auto moved = Pe::payload_of<Moved>(message);
  if (moved.element) return moved.element;
  Elements& elements = *pe_.elements(message->array);
  core::ElementBase* const element = pe_.read_element(
      elements, moved.number, reinterpret_cast<char*>(message + 1) + sizeof moved, moved.bytes, pe_.reach());
  if (element) element->reductions = moved.reductions;
  return element;
}

void Balancer::on_element(Header* message) {
  const std::uint16_t array = message->array;
  Elements& elements = *pe_.elements(array);
  core::ElementBase* const element = unpack(message);
  if (!element) return;
  pe_.reductions_.pass(array, element->reductions);
  --arrivals_[array].awaited;
  pe_.settle(elements, *elements.number_of(element->index()), element);
  look(array);
}

void Balancer::drop(Header* message) {
  if (core::ElementBase* const element = unpack(message)) element->type->destroy(element);
}

void Balancer::look(std::uint16_t array) {
  Arrivals& arrivals = arrivals_[array];
  if (!arrivals.is_known || arrivals.awaited != 0) return;
  arrivals_.erase(array);
  if (Header* const message = pe_.system(System::settled, array, 0)) pe_.tell(0, message);
}

void Balancer::on_settled(std::uint16_t array) {
  const auto found = steps_.find(array);
  if (--found->second.missing > 0) return;
  const Step step = std::move(found->second);
  steps_.erase(found);
  for (Header* message : step.kept) pe_.on_all(message);
  pe_.call(step.then);
  pe_.turn_is_over(array);
}

std::vector<Header*> Balancer::take_kept() {
  std::vector<Header*> out;
  for (auto& [array, step] : steps_) {
    out.insert(out.end(), step.kept.begin(), step.kept.end());
    step.kept.clear();
  }
  return out;
}

}  // namespace nigh::chare
