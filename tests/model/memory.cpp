// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The values that a load may see: all stores to an atomic are kept, and a fiber may read any that is not
// older than those it knows of. Payload is not atomic: two accesses that no clock orders are a race.
#include <algorithm>

#include "engine.hpp"

namespace nigh::model {

void Engine::check_kept(std::uintptr_t first, std::uintptr_t last) {
  for (const auto& [from, to] : gone_)
    if (first < to && from < last) fail("touches memory that was given back");
}

void Engine::given_back(const void* data, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  for (std::uintptr_t at = first; at < first + bytes; at += 4) {
    const auto place = locations_.find(reinterpret_cast<const void*>(at));
    if (place == locations_.end() || place->second.execution != execution_) continue;
    const Location& history = place->second;
    // Its last store must be one that whoever gives it back knows of.
    const Store& last = history.stores.back();
    const Epochs& clock = fibers[static_cast<std::size_t>(current)].clock;
    bool known = history.stores.size() == 1;
    for (std::size_t rank = 0; rank < max_ranks; ++rank) known = known || last.seen_at[rank] <= clock[rank];
    if (!known) fail("gives back what another rank writes");
  }
  written(data, bytes);
  gone_.emplace_back(first, first + bytes);
}

Location& Engine::location(const void* atomic, std::size_t bytes) {
  if (!gone_.empty() && current != 0) {
    const auto first = reinterpret_cast<std::uintptr_t>(atomic);
    check_kept(first, first + bytes);
  }
  Location& place = locations_[atomic];
  if (place.execution != execution_) {  // made before this checker looked: what it holds is known to all
    place.execution = execution_;
    place.stores.clear();
    Store first{.value = 0, .seen_at = {}};
    std::memcpy(&first.value, atomic, bytes);
    place.stores.push_back(first);
  }
  return place;
}

void Engine::made(void* atomic, std::size_t bytes) {
  if (const auto old = locations_.find(atomic); old != locations_.end()) old->second.execution = -1;
  if (current == 0) return;
  Store& first = location(atomic, bytes).stores.front();
  first.seen_at.fill(never);
  first.seen_at[static_cast<std::size_t>(current)] =
      fibers[static_cast<std::size_t>(current)].clock[static_cast<std::size_t>(current)];
}

std::size_t Engine::floor_of(const Location& place) const {
  const Epochs& clock = fibers[static_cast<std::size_t>(current)].clock;
  for (std::size_t i = place.stores.size(); i-- > 1;) {
    if (place.stores[i].number <= fibers[static_cast<std::size_t>(current)].knows) return i;
    for (std::size_t rank = 0; rank < max_ranks; ++rank)
      if (place.stores[i].seen_at[rank] <= clock[rank]) return i;
  }
  return 0;
}

void Engine::see(Store& store) {
  const auto me = static_cast<std::size_t>(current);
  store.seen_at[me] = std::min(store.seen_at[me], fibers[me].clock[me]);
}

void Engine::acquire(const Store& store, Order order) {
  if (order != Order::acquire && order != Order::acq_rel) return;
  Epochs& clock = fibers[static_cast<std::size_t>(current)].clock;
  for (std::size_t rank = 0; rank < max_ranks; ++rank)
    clock[rank] = std::max(clock[rank], store.released[rank]);
}

void Engine::add(Location& place, void* atomic, std::size_t bytes, std::uint64_t value, Order order,
                 const Epochs* sequence) {
  const auto me = static_cast<std::size_t>(current);
  Store store{.value = value, .seen_at = {}, .number = ++stores_};
  store.seen_at.fill(never);
  store.seen_at[me] = fibers[me].clock[me];
  if (sequence) store.released = *sequence;
  if (order == Order::release || order == Order::acq_rel)
    for (std::size_t rank = 0; rank < max_ranks; ++rank)
      store.released[rank] = std::max(store.released[rank], fibers[me].clock[rank]);
  place.stores.push_back(store);
  std::memcpy(atomic, &value, bytes);
  fruitless_ = 0;
  for (std::size_t rank = 1; rank < max_ranks; ++rank)
    if (rank != me) ++fibers[rank].others;
}

void Engine::read(const void* data, std::size_t bytes) {
  const auto me = static_cast<std::size_t>(current);
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  if (!gone_.empty()) check_kept(first, first + bytes);
  for (std::uintptr_t word = first / 4; bytes > 0 && word <= (first + bytes - 1) / 4; ++word) {
    Payload& payload = payload_[word];
    if (payload.execution != execution_) payload = {.execution = execution_};
    if (payload.written > fibers[me].clock[static_cast<std::size_t>(payload.writer)])
      fail("race: reads what another rank writes");
    payload.read[me] = fibers[me].clock[me];
  }
}

void Engine::written(const void* data, std::size_t bytes) {
  const auto me = static_cast<std::size_t>(current);
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  if (!gone_.empty()) check_kept(first, first + bytes);
  for (std::uintptr_t word = first / 4; bytes > 0 && word <= (first + bytes - 1) / 4; ++word) {
    Payload& payload = payload_[word];
    if (payload.execution != execution_) payload = {.execution = execution_};
    if (payload.written > fibers[me].clock[static_cast<std::size_t>(payload.writer)])
      fail("race: two ranks write");
    for (std::size_t rank = 0; rank < max_ranks; ++rank)
      if (payload.read[rank] > fibers[me].clock[rank]) fail("race: writes what another rank reads");
    payload.writer = current;
    payload.written = fibers[me].clock[me];
    // Payload may lie where an atomic was: then it has a new value, which nobody released.
    const auto place = locations_.find(reinterpret_cast<const void*>(word * 4));
    if (place == locations_.end() || place->second.execution != execution_ || word * 4 < first) continue;
    std::uint32_t value;
    std::memcpy(&value, place->first, sizeof value);
    if (place->second.stores.back().value != value)
      add(place->second, const_cast<void*>(place->first), sizeof value, value, Order::relaxed, nullptr);
  }
}

}  // namespace nigh::model
