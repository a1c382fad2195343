// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/reduction.hpp"

#include <algorithm>
#include <cstring>

#include "chare/pe.hpp"

namespace nigh::chare {

namespace {
struct KeepFirst : core::Fold {
  KeepFirst() : Fold{"nigh keeps the first", 20, [](void*, const void*, std::size_t) {}, 1} { enlist(this); }
} keeps_the_first;
}  // namespace
const core::Fold& keep_first = keeps_the_first;

// A message's payload, with the data behind it.
struct Reductions::Part {
  std::uint64_t number = 0, count = 0, bytes = 0;
  Callback then;
  std::uint16_t fold = 0;
};

void Reductions::contribute(core::ElementBase& from, const void* data, std::size_t bytes,
                            const core::Fold& fold, const Callback& then) {
  const std::uint16_t array = from.array_number();
  if (from.reductions & core::ElementBase::is_late) {
    const char* const bytes_of = static_cast<const char*>(data);
    return late_[array].push_back({&from, {bytes_of, bytes_of + bytes}, &fold, then});
  }
  const std::uint64_t number = from.reductions++;
  Partial& partial = arrays_[array].partials[number];
  this->fold(partial, {number, 1, bytes, then, fold.number}, data);
  ++partial.here;
  look(array, number);
}

void Reductions::on_partial(const core::Header* message) {
  const auto part = Pe::payload_of<Part>(message);
  fold(arrays_[message->array].partials[part.number], part,
       reinterpret_cast<const char*>(message + 1) + sizeof part);
  look(message->array, part.number);
}

void Reductions::join(std::uint16_t array, std::uint64_t next) {
  for (core::ElementBase* element : pe_.elements(array)->local())
    if (element->reductions & core::ElementBase::is_late) element->reductions = next;
  const auto late = late_.extract(array);
  if (!late) return;
  for (const Late& one : late.mapped())
    contribute(*one.from, one.data.data(), one.data.size(), *one.fold, one.then);
}

Unfinished Reductions::first_unfinished() const {
  Unfinished out;
  for (const auto& [array, all] : arrays_) {
    if (all.partials.empty()) continue;
    const Unfinished first{all.partials.begin()->first, array};
    if (first.is_before(out)) out = first;
  }
  return out;
}

Contributions Reductions::contributions_to(const Unfinished& reduction) const {
  Contributions out;
  for (const auto& [array, late] : late_) {
    out.late += late.size();
    out.array_of_late = array;
    out.one_late = late.front().from->index();
  }
  const Elements* const elements = pe_.elements(reduction.array);
  if (!elements) return out;
  if (const auto all = arrays_.find(reduction.array); all != arrays_.end())
    if (const auto partial = all->second.partials.find(reduction.number);
        partial != all->second.partials.end()) {
      out.come = partial->second.count;
      out.then = partial->second.then;
    }
  for (const core::ElementBase* element : elements->local()) {
    if (element->reductions > reduction.number) continue;
    if (out.missing++ == 0) out.one_missing = element->index();
  }
  return out;
}

bool Reductions::knows_total(std::uint16_t array) const {
  const auto all = arrays_.find(array);
  return !pe_.elements(array)->shape.is_sparse || (all != arrays_.end() && all->second.total != 0);
}

void Reductions::set_total(std::uint16_t array, std::uint64_t elements) {
  OfArray& all = arrays_[array];
  all.total = elements;
  for (auto at = all.partials.begin(); at != all.partials.end();) look(array, (at++)->first);
}

void Reductions::pass(std::uint16_t array, std::uint64_t up_to) {
  if (pe_.number() == 0) return;  // the root counts
  OfArray& all = arrays_[array];
  all.passed = std::max(all.passed, up_to);
  for (auto at = all.partials.begin(); at != all.partials.end();) look(array, (at++)->first);
}

void Reductions::pass_all(std::uint16_t array) {
  const auto& partials = arrays_[array].partials;
  std::uint64_t up_to = partials.empty() ? 0 : partials.rbegin()->first + 1;
  for (const core::ElementBase* element : pe_.elements(array)->local())
    up_to = std::max(up_to, element->reductions);
  pass(array, up_to);
}

void Reductions::fold(Partial& into, const Part& part, const void* data) {
  if (part.then.kind != Callback::Kind::nothing) into.then = part.then;
  if (into.count == 0) {
    into.data.resize(part.bytes);
    if (part.bytes > 0) std::memcpy(into.data.data(), data, part.bytes);
    into.fold = part.fold;
  } else if (into.data.size() != part.bytes || into.fold != part.fold) {
    pe_.fail("contributions to one reduction differ: " + std::to_string(part.bytes) + " bytes and " +
             std::to_string(into.data.size()) + ", or two operations");
  } else if (part.bytes > 0) {
    const core::Fold& fold = *pe_.entries_.folds[part.fold];
    fold.fold(into.data.data(), data, part.bytes / fold.item_bytes);
  }
  into.count += part.count;
}

// Passes a contribution on when its time has come.
void Reductions::look(std::uint16_t array, std::uint64_t number) {
  OfArray& all = arrays_[array];
  Partial& partial = all.partials[number];
  Elements& elements = *pe_.elements(array);
  if (pe_.number() == 0) {
    const std::uint64_t total =
        elements.shape.is_sparse ? all.total : static_cast<std::uint64_t>(elements.shape.elements());
    if (total != 0 && partial.count >= total) finish(array, number);
    return;
  }
  if (partial.here >= elements.local().size()) all.passed = std::max(all.passed, number + 1);
  if (number >= all.passed) return;
  const Part part{number, partial.count, partial.data.size(), partial.then, partial.fold};
  Header* const message = pe_.system(System::partial, array, part, partial.data.size());
  if (!message) return;
  if (!partial.data.empty())
    std::memcpy(reinterpret_cast<char*>(message + 1) + sizeof part, partial.data.data(), partial.data.size());
  all.partials.erase(number);
  pe_.send((pe_.number() - 1) / tree_arity, message);
}

void Reductions::finish(std::uint16_t array, std::uint64_t number) {
  arrays_[array].next = std::max(arrays_[array].next, number + 1);
  const auto node = arrays_[array].partials.extract(number);
  const Partial& partial = node.mapped();
  pe_.call(partial.then, partial.data.data(), partial.data.size());
}

}  // namespace nigh::chare
