// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A PE's arrays: how they are made, by all PEs at once or element by element.
#include <cstring>
#include <utility>

#include "chare/pe.hpp"

namespace nigh::chare {

std::uint16_t Pe::create(const Shape& shape, const core::Type& type, Header* constructor) {
  const std::uint64_t array = std::uint64_t{arrays_made_} * count_ + number_;
  constexpr std::int64_t most = std::int64_t{1} << 31;
  const bool fits =
      shape.x >= 0 && shape.y >= 0 && shape.z >= 0 && shape.x <= most && shape.y <= most && shape.z <= most &&
      static_cast<double>(shape.x) * static_cast<double>(shape.y) * static_cast<double>(shape.z) <=
          static_cast<double>(most);
  if (!fits)
    fail("an array of " + text_of(shape) + " elements can't be: between 0 and " + std::to_string(most) +
         " can");
  else if (array > 0xffff)
    fail("PE " + std::to_string(number_) + " has created too many arrays: " + std::to_string(arrays_made_));
  const auto number = static_cast<std::uint16_t>(array);
  Header* const declaration =
      fits && array <= 0xffff ? system(System::declare, number, Declared{shape, type.number}) : nullptr;
  if (!declaration || stop_) {
    if (declaration) pool_->give(declaration);
    if (constructor) drop(constructor);
    return number;
  }
  ++arrays_made_;
  for (Header* message : {declaration, constructor}) {  // here at once: what follows may need it
    if (!message) continue;
    message->array = number;
    message->element = number_;
    message->flags |= message == constructor ? to_all | Flags::constructor : to_all;
    ++sent_;
    on_all(message);
  }
  return number;
}

void Pe::declare(std::uint16_t array, const Declared& declared) {
  if (array >= arrays_.size()) arrays_.resize(array + std::size_t{1});
  arrays_[array] =
      std::make_unique<Elements>(array, declared.shape, *entries_.types[declared.type], number_, count_);
  if (!declared.shape.is_sparse) return;  // the others are made first
  arrays_[array]->made = true;
  take_early(array, *arrays_[array]);
}

void Pe::make_elements(std::uint16_t array, const Header* message) {
  Elements& elements = *this->elements(array);
  for (std::uint64_t number = elements.first_mine(); number < elements.end_mine() && !stop_; ++number)
    make_element(elements, number, message);
  elements.made = true;
  take_early(array, elements);
}

void Pe::make_element(Elements& elements, std::uint64_t number, const Header* message) {
  const core::BeingMade outer = std::exchange(being_made_, {elements.index_of(number), message->array});
  const core::Entry* const outer_entry = std::exchange(running_, entries_.entries[message->entry]);
  const core::ElementBase* const outer_element = std::exchange(runs_on_, nullptr);
  core::ElementBase* const element = running_->make(message);
  being_made_ = outer;
  running_ = outer_entry;
  runs_on_ = outer_element;
  if (element) settle(elements, number, element);
}

void Pe::settle(Elements& elements, std::uint64_t number, core::ElementBase* element) {
  elements.settle(number, element);
  for (Header* waited : elements.take_waiting(number)) deliver(waited);
}

core::ElementBase* Pe::read_element(Elements& elements, std::uint64_t number, const char* from,
                                    std::size_t bytes, core::Reach from_where) {
  const core::BeingMade outer = std::exchange(being_made_, {elements.index_of(number), elements.array});
  core::ElementBase* const element = elements.type.read(from, bytes, from_where);
  being_made_ = outer;
  return element;
}

// Now, before any that are still to come: they would overtake these.
void Pe::take_early(std::uint16_t array, Elements& elements) {
  const auto found = early_.find(array);
  if (found == early_.end()) return;
  const std::vector<Early> messages = std::move(found->second);
  early_.erase(found);
  for (const Early& early : messages) {
    if (early.numbered)
      deliver(early.message);
    else
      route(early.message, elements, early.index);
  }
}

void Pe::insert(Header* message, std::uint16_t array, const Index& index) {
  message->flags |= constructor;
  post(message, array, index);
}

void Pe::done_inserting(std::uint16_t array, const Callback& then) {
  if (number_ != 0) {
    if (Header* message = system(System::done_inserting, array, then)) send(0, message);
    return;
  }
  tallies_[array] = {then, 0, count_};
  waves_.ask({tally_elements, array, 0, {}});
}

void Pe::on_tallied(std::uint16_t array, std::uint64_t elements) {
  Tally& tally = tallies_[array];
  tally.elements += elements;
  if (--tally.missing > 0) return;
  reductions_.set_total(array, tally.elements);
  call(tally.then);
  tallies_.erase(array);
}

void Pe::contribute(core::ElementBase& from, const void* data, std::size_t bytes, const core::Fold& fold,
                    const Callback& then) {
  if (!stop_) reductions_.contribute(from, data, bytes, fold, then);
}

void Pe::balance(core::ElementBase& from, const Callback& then) {
  if (!stop_) balancer_.ask(from, then);
}

void Pe::checkpoint(core::ElementBase& from, const char* path, const Callback& then) {
  if (!stop_) saver_.ask(from, path, then);
}

plan::Levels Pe::levels() const {
  if (cluster_) return plan::levels_of(cluster_->seats);
  std::vector<plan::Seat> seats;
  for (const Mailbox* box : mailboxes_) seats.push_back(box->seat);
  return plan::levels_of(seats);
}

}  // namespace nigh::chare
