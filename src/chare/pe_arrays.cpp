// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A PE's arrays: how they are made, by all PEs at once or element by element.
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "chare/pe.hpp"

namespace nigh::chare {

namespace {

// Two libraries of a program may have the same class.
bool are_same(const core::Type* a, const core::Type* b) {
  return a == b ||
         (a && b && std::string_view(a->name, a->name_bytes) == std::string_view(b->name, b->name_bytes));
}

}  // namespace

Pe::ArrayId Pe::create(const Shape& shape, const core::Type& type, Header* constructor,
                       const std::vector<ArrayId>& names) {
  const std::uint64_t array = std::uint64_t{arrays_made_} * count_ + number_;
  const bool fits = can_be(shape);
  if (!fits)
    fail("an array of " + text_of(shape) + " elements can't be: between 0 and " +
         std::to_string(most_elements) + " can");
  else if (array >= ArrayId::none)
    fail("PE " + std::to_string(number_) + " has created too many arrays: " + std::to_string(arrays_made_));
  ArrayId id{static_cast<std::uint16_t>(array), new_mark()};
  while (restored_.contains(id))
    id.mark = new_mark();  // an id in a file, which raw copies of proxies still have
  Header* const declaration =
      fits && array < ArrayId::none ? declaration_of(id, shape, type, names) : nullptr;
  if (!declaration || stop_) {
    if (declaration) pool_->give(declaration);
    if (constructor) drop(constructor);
    return id;
  }
  ++arrays_made_;
  for (Header* message : {declaration, constructor}) {  // here at once: what follows may need it
    if (!message) continue;
    message->array = id.number;
    message->element = number_;
    message->flags |= message == constructor ? to_all | Flags::constructor : to_all;
    ++sent_;
    on_all(message);
  }
  return id;
}

Header* Pe::declaration_of(ArrayId id, const Shape& shape, const core::Type& type,
                           const std::vector<ArrayId>& names) {
  Declared declared{shape, type.number, id.mark, 0, static_cast<std::uint32_t>(names.size())};
  if (!names.empty()) {
    const auto before = restored_.find(names.front());
    const std::size_t times = before == restored_.end() ? 1 : before->second.size() + 1;
    declared.restored = static_cast<std::uint16_t>(std::min<std::size_t>(times, ArrayId::most_restored));
  }
  const std::size_t bytes = names.size() * sizeof(ArrayId);
  Header* const out = system(System::declare, id.number, declared, bytes);
  if (out && bytes > 0) std::memcpy(reinterpret_cast<char*>(out + 1) + sizeof declared, names.data(), bytes);
  return out;
}

std::uint16_t Pe::new_mark() {
  if (marks_ == 0) static_cast<void>(::getrandom(&marks_, sizeof marks_, 0));
  marks_ = (marks_ + number_ + 1) * 6364136223846793005 + 1442695040888963407;  // Knuth's, in TAOCP 2
  return static_cast<std::uint16_t>(1 + (marks_ >> 33) % ArrayId::most_mark);
}

void Pe::declare(const Header* message) {
  const auto declared = payload_of<Declared>(message);
  const std::uint16_t array = message->array;
  if (array >= arrays_.size()) arrays_.resize(array + std::size_t{1});
  arrays_[array] = std::make_unique<Elements>(ArrayId{array, declared.mark}, declared.shape,
                                              *entries_.types[declared.type], number_, count_);
  Elements& elements = *arrays_[array];
  elements.restored = declared.restored;
  elements.names.resize(declared.names);
  if (declared.names > 0)
    std::memcpy(static_cast<void*>(elements.names.data()),
                reinterpret_cast<const char*>(message + 1) + sizeof declared,
                declared.names * sizeof(ArrayId));
  for (const ArrayId& name : elements.names) restored_[name].push_back({array, declared.restored});
  if (!elements.names.empty()) {
    const Elements* const original = this->elements(elements.names.front().number);
    reads_own_files_ |= original && original->mark == elements.names.front().mark;
  }
  if (!declared.shape.is_sparse) return;  // the others are made first
  elements.made = true;
  take_early(elements);
}

// An id that is not that of the array which has its number now.
Elements* Pe::look_for(ArrayId id) {
  if (id.mark == 0) return elements(id.number);
  const ArrayId name{id.number, id.own_mark()};
  if (const auto found = restored_.find(name); found != restored_.end()) {
    const auto& those = found->second;  // that of the same time, else the last one
    auto same = std::find_if(those.begin(), those.end(),
                             [&](const Restored& one) { return one.times == id.restored(); });
    return elements(same == those.end() ? those.back().array : same->array);
  }
  // Read from a file, it means an array of this job only where such files were read. Else it is one that is
  // not restored yet, and an array with that number may have that mark by chance (one in 8191).
  if (id.restored() > 0 && !reads_own_files_) return nullptr;
  Elements* const that = elements(id.number);  // restored where the first one still is
  return that && that->mark == name.mark ? that : nullptr;
}

Pe::ArrayId Pe::array_of_file(ArrayId id) {
  const Elements* const reader = elements(being_made_.array.number);
  if (id.number == ArrayId::none || id.mark == 0 || !reader) return id;
  const ArrayId name{id.number, id.own_mark()};
  if (const auto found = restored_.find(name); found != restored_.end())
    for (const Restored& one : found->second)
      if (one.times == reader->restored) return {one.array, elements(one.array)->mark};
  return {id.number, static_cast<std::uint16_t>(name.mark | unsigned{reader->restored} << 13U)};
}

void Pe::stow(const Early& early, ArrayId array) {
  if (array.number != ArrayId::none) return strays_[array].push_back(early);
  fail(name_of(*entries_.entries[early.message->entry]) + " was called through a proxy of no array");
  drop(early.message);
}

bool Pe::fits_otherwise(const core::Entry& entry, const core::ElementBase& element) {
  if (are_same(entry.type, element.type) || are_same(entry.type, element.type->base)) return true;
  fail("PE " + std::to_string(number_) + ": " + name_of(entry) + " was called of element " +
       text_of(element.index()) + " of array " + std::to_string(element.array_number()) +
       ", whose elements are " + name_of(*element.type) + ": that proxy or callback is of another array");
  return false;
}

void Pe::make_elements(std::uint16_t array, const Header* message) {
  Elements& elements = *this->elements(array);
  for (std::uint64_t number = elements.first_mine(); number < elements.end_mine() && !stop_; ++number)
    make_element(elements, number, message);
  elements.made = true;
  take_early(elements);
}

void Pe::make_element(Elements& elements, std::uint64_t number, const Header* message) {
  const core::Entry& constructor = *entries_.entries[message->entry];
  if (!are_same(constructor.type, &elements.type))
    return fail(name_of(constructor) + " was to make element " + text_of(elements.index_of(number)) +
                " of array " + std::to_string(elements.array) + ", whose elements are " +
                name_of(elements.type));
  const core::BeingMade outer =
      std::exchange(being_made_, {elements.index_of(number), {elements.array, elements.mark}});
  being_made_.reductions = elements.tallied ? core::ElementBase::is_late : 0;
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
  const core::BeingMade outer =
      std::exchange(being_made_, {elements.index_of(number), {elements.array, elements.mark}});
  core::ElementBase* const element = elements.type.read(from, bytes, from_where);
  being_made_ = outer;
  return element;
}

// Now, before any that are still to come: they would overtake these.
void Pe::take_early(Elements& elements) {
  if (auto node = early_.extract(elements.array))
    for (Header* message : node.mapped()) deliver(message);
  if (strays_.empty()) return;
  take_strays(elements, {elements.array, elements.mark});
  take_strays(elements, {elements.array});
  for (const ArrayId& name : elements.names)
    for (unsigned times = 0; times <= ArrayId::most_restored; ++times)
      take_strays(elements, {name.number, static_cast<std::uint16_t>(name.mark | times << 13U)});
}

void Pe::take_strays(Elements& elements, ArrayId named) {
  auto node = strays_.extract(named);
  if (!node) return;
  for (const Early& early : node.mapped()) {
    early.message->array = elements.array;
    early.is_for_all ? enqueue(early.message) : route(early.message, elements, early.index);
  }
}

void Pe::insert(Header* message, ArrayId array, const Index& index) {
  message->flags |= constructor;
  post(message, array, index);
}

void Pe::done_inserting(ArrayId id, const Callback& then) {
  const Elements* const elements = this->elements(id);
  const std::uint16_t array = elements ? elements->array : id.number;
  if (number_ != 0) {
    if (Header* message = system(System::done_inserting, array, then)) send(0, message);
    return;
  }
  in_turn(array, [this, array, then] {
    tallies_[array] = {then, 0, count_};
    waves_.ask({tally_elements, {array}, 0, {}});
  });
}

void Pe::begin_tally(std::uint16_t array) {
  if (!elements(array))
    return fail("done_inserting() was called of array " + std::to_string(array) + ", which is none");
  reductions_.set_total(array, 0);
  Header* const message = system(System::tally, array, reductions_.next(array));
  if (message) post_to_all(message, {array});
}

void Pe::tally(const Header* message) {
  Elements& elements = *this->elements(message->array);
  elements.tallied = true;
  reductions_.join(message->array, payload_of<std::uint64_t>(message));
  if (Header* answer = system(System::tallied, message->array, elements.local().size())) tell(0, answer);
}

void Pe::on_tallied(std::uint16_t array, std::uint64_t elements) {
  RestoreTally& tally = tallies_[array];
  tally.elements += elements;
  if (--tally.missing > 0) return;
  reductions_.set_total(array, tally.elements);
  const Callback then = tally.then;
  tallies_.erase(array);
  call(then);
  turn_is_over(array);
}

std::uint64_t Pe::waiting(Waiting& one) const {
  using For = Waiting::For;
  std::uint64_t count = 0;
  auto note = [&](const Header* message, ArrayId array, For what, const Index& index) {
    if (count++ == 0 && !(message->flags & of_the_system)) one = {array, message->entry, what, index};
  };
  for (const auto& elements : arrays_)
    if (elements)
      elements->each_waiting([&](std::uint64_t number, const Header* message) {
        note(message, {elements->array, elements->mark}, For::element, elements->index_of(number));
      });
  for (const auto& [array, messages] : early_)
    for (const Header* message : messages) note(message, {array}, For::array, {});
  for (const auto& [id, messages] : strays_)
    for (const Early& early : messages)
      note(early.message, id, id.mark != 0 ? For::named_array : For::array, early.index);
  return count;
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
