// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The operations of the checked code (see model.hpp), each a point where another rank may go on; a mutant
// changes some of them.
#include "model.hpp"

#include "engine.hpp"

namespace nigh::model {

Verdict explore(const std::function<std::unique_ptr<Scenario>()>& make, const Options& options) {
  return engine.explore(make, options);
}

void fail(const std::string& what) { engine.fail(what); }
void given_back(const void* data, std::size_t bytes) {
  if (engine.current != 0) engine.given_back(data, bytes);
}
void made(void* atomic, std::size_t bytes) { engine.made(atomic, bytes); }

std::uint64_t load(const void* atomic, std::size_t bytes, Order order, const Where& where) {
  engine.point(where);
  if (engine.mutates(Operation::load, Mutant::Change::relax, where)) order = Order::relaxed;
  Location& place = engine.location(atomic, bytes);
  const std::size_t newest = place.stores.size() - 1;
  std::size_t back = 0;
  if (engine.current != 0 && engine.stale_left > 0)
    back = static_cast<std::size_t>(engine.choose(1 + static_cast<int>(newest - engine.floor_of(place))));
  if (back > 0) --engine.stale_left;
  Store& store = place.stores[newest - back];
  engine.see(store);
  engine.acquire(store, order);
  const std::uint64_t value = engine.mutated(store.value, bytes, where);
  engine.log(back ? "reads (stale)" : "reads", where, atomic, value);
  return value;
}

void store(void* atomic, std::size_t bytes, std::uint64_t value, Order order, const Where& where) {
  engine.point(where);
  if (engine.mutates(Operation::store, Mutant::Change::drop, where)) return;
  if (engine.mutates(Operation::store, Mutant::Change::relax, where)) order = Order::relaxed;
  if (engine.mutates(Operation::store, Mutant::Change::pin_generation, where)) value = (value & 0xff) | 0x100;
  engine.log("stores", where, atomic, value);
  engine.add(engine.location(atomic, bytes), atomic, bytes, value, order, nullptr);
}

std::uint64_t rmw(void* atomic, std::size_t bytes, const Rmw& change, Order order, const Where& where) {
  if (engine.mutates(Operation::rmw, Mutant::Change::tear, where)) {
    const std::uint64_t old = load(atomic, bytes, order, where);
    store(atomic, bytes, change.next(old, change.operand), order, where);
    return old;
  }
  engine.point(where);
  if (engine.mutates(Operation::rmw, Mutant::Change::relax, where)) order = Order::relaxed;
  Location& place = engine.location(atomic, bytes);
  Store& newest = place.stores.back();
  engine.see(newest);
  engine.acquire(newest, order);
  const std::uint64_t old = newest.value;
  if (engine.mutates(Operation::rmw, Mutant::Change::drop, where)) return old;
  const Epochs sequence = newest.released;
  engine.log("changes", where, atomic, old);
  engine.add(place, atomic, bytes, change.next(old, change.operand), order, &sequence);
  return old;
}

bool compare(void* atomic, std::size_t bytes, std::uint64_t& expected, std::uint64_t desired, Order order,
             Order failure, const Where& where) {
  if (engine.mutates(Operation::compare, Mutant::Change::tear, where)) {
    const std::uint64_t old = load(atomic, bytes, order, where);
    if (old != expected) {
      expected = old;
      return false;
    }
    store(atomic, bytes, desired, order, where);
    return true;
  }
  engine.point(where);
  if (engine.mutates(Operation::compare, Mutant::Change::relax, where)) order = failure = Order::relaxed;
  Location& place = engine.location(atomic, bytes);
  Store& newest = place.stores.back();
  engine.see(newest);
  const std::uint64_t old = newest.value;
  engine.acquire(newest, old == expected ? order : failure);
  engine.log(old == expected ? "swaps" : "fails to swap", where, atomic, old);
  if (old != expected) {
    expected = old;
    return false;
  }
  const Epochs sequence = newest.released;
  engine.add(place, atomic, bytes, desired, order, &sequence);
  return true;
}

void read_payload(const void* data, std::size_t bytes) { engine.read(data, bytes); }
void written_payload(const void* data, std::size_t bytes) { engine.written(data, bytes); }
void pause() { engine.yield(); }
void sleep(const void* word, std::uint32_t expected, long, const Where& where) {
  engine.point(where);
  engine.log("sleeps", where, word, expected);
  engine.sleep(word, expected, !engine.mutates(Operation::sleep, Mutant::Change::forget_limit, where));
}
void wake(const void* word) { engine.wake(word); }
std::int64_t now() { return engine.clock_ns += 2000; }

}  // namespace nigh::model
