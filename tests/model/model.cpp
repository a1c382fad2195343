// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The engine (see model.hpp): a path of choices that is replayed and then taken one further, fibers by
// ucontext, a history of stores for each atomic, and the clock of the last write and reads of each payload
// word.
#include "model.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

namespace nigh::model {
namespace {

constexpr int max_ranks = 4;  // fibers; the setup is number 0
constexpr std::size_t stack_bytes = 256 * 1024;
constexpr int most_fruitless_rounds = 400;

using Epochs = std::array<std::uint32_t, max_ranks>;
constexpr std::uint32_t never = ~0u;

struct Store {
  std::uint64_t value;
  Epochs released{};  // the clock of its release sequence; zeroes: none
  Epochs seen_at;     // when each fiber first knew of it
  long number = 0;    // among all stores of the execution
};

struct Location {
  long execution = -1;
  std::vector<Store> stores;
};

struct Payload {
  long execution = -1;
  int writer = 0;
  std::uint32_t written = 0;
  Epochs read{};
};

struct Event {
  int rank;
  const char* what;
  const char* function;
  std::uint64_t value;
  const void* place;
};

enum class State { ready, waiting, asleep, ended };

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  std::function<void()> body;
  State state = State::ended;
  Epochs clock{};
  long mark = 0;  // stores of others when it last went on
  long others = 0;
  long knows = 0;  // sees all stores up to this number
  const void* word = nullptr;
  bool limited = true;
};

struct Choice {
  int taken, count;
};

class Engine {
 public:
  Verdict explore(const std::function<std::unique_ptr<Scenario>()>& make, const Options& options);

  int current = 0;
  bool running = false;
  std::array<Fiber, max_ranks> fibers;

  Location& location(const void* atomic, std::size_t bytes);
  void made(void* atomic, std::size_t bytes);
  void point(const Where& where);
  void yield();
  std::size_t floor_of(const Location& place) const;
  void see(Store& store);
  void acquire(const Store& store, Order order);
  void add(Location& place, void* atomic, std::size_t bytes, std::uint64_t value, Order order,
           const Epochs* sequence);
  int choose(int count);
  bool mutates(Operation operation, Mutant::Change change, const Where& where);
  void sleep(const void* word, std::uint32_t expected, bool limited);
  void wake(const void* word);
  void read(const void* data, std::size_t bytes);
  void written(const void* data, std::size_t bytes);
  [[noreturn]] void fail(const std::string& what);
  void log(const char* what, const Where& where, const void* place, std::uint64_t value) {
    events_.push_back({current, what, where.function_name(), value, place});
  }
  int stale_left = 0;
  std::int64_t clock_ns = 0;

 private:
  static void enter();
  void execute(Scenario& scenario);
  void switch_to(int next);
  void next_of(const std::vector<int>& candidates);
  std::vector<int> ready(bool all) const;
  bool next_path();
  void leave();
  std::string story() const;

  Options options_;
  Verdict verdict_;
  std::vector<Choice> path_;
  std::size_t at_ = 0;
  int preemptions_left_ = 0;
  int fruitless_ = 0;
  int count_ = 0;  // fibers of this execution, without the setup
  long execution_ = 0;
  long stores_ = 0;
  std::unordered_map<const void*, Location> locations_;
  std::unordered_map<std::uintptr_t, Payload> payload_;
  std::vector<Event> events_;
};

Engine engine;

bool quiet(const Where& where) { return std::strstr(where.function_name(), "Lock::") != nullptr; }

Location& Engine::location(const void* atomic, std::size_t bytes) {
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

int Engine::choose(int count) {
  if (count == 1) return 0;
  if (at_ == path_.size()) path_.push_back({0, count});
  return path_[at_++].taken;
}

bool Engine::next_path() {
  while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

bool Engine::mutates(Operation operation, Mutant::Change change, const Where& where) {
  const Mutant& mutant = options_.mutant;
  if (!mutant.function || mutant.operation != operation || mutant.change != change) return false;
  if (!std::strstr(where.function_name(), mutant.function)) return false;
  verdict_.mutated = true;
  return true;
}

std::vector<int> Engine::ready(bool all) const {
  std::vector<int> list;
  for (int i = 1; i <= count_; ++i) {
    const Fiber& fiber = fibers[static_cast<std::size_t>(i)];
    const bool news = fiber.state == State::waiting && fiber.others > fiber.mark;
    if (fiber.state == State::ready || news || (all && fiber.state == State::waiting) ||
        (all && fiber.state == State::asleep && fiber.limited))
      list.push_back(i);
  }
  return list;
}

void Engine::switch_to(int next) {
  Fiber& fiber = fibers[static_cast<std::size_t>(next)];
  if (fiber.state == State::waiting || fiber.state == State::asleep) {
    fiber.knows = stores_;  // time has passed: it sees all that was stored, though nothing is ordered by that
    fiber.mark = fiber.others;
  }
  fiber.state = State::ready;
  if (next == current) return;
  const int before = current;
  current = next;
  swapcontext(&fibers[static_cast<std::size_t>(before)].context, &fiber.context);
}

// Somebody must go on, and it is not the fiber that runs now.
void Engine::next_of(const std::vector<int>& candidates) {
  if (!candidates.empty())
    return switch_to(candidates[static_cast<std::size_t>(choose(static_cast<int>(candidates.size())))]);
  if (++fruitless_ > most_fruitless_rounds) fail("nobody can go on");
  const std::vector<int> late = ready(true);  // limits pass, bounded loops end
  if (late.empty()) fail("deadlock: all sleep without limit");
  switch_to(late[static_cast<std::size_t>(fruitless_) % late.size()]);
}

void Engine::point(const Where& where) {
  ++verdict_.operations;
  if (current == 0) return;
  Fiber& fiber = fibers[static_cast<std::size_t>(current)];
  ++fiber.clock[static_cast<std::size_t>(current)];
  if (events_.size() > 20'000) fail("no end in sight");
  if (preemptions_left_ == 0 || quiet(where)) return;
  std::vector<int> others = ready(false);
  std::erase(others, current);
  const int choice = choose(1 + static_cast<int>(others.size()));
  if (choice == 0) return;
  --preemptions_left_;
  switch_to(others[static_cast<std::size_t>(choice - 1)]);
}

void Engine::yield() {
  if (current == 0) return;
  fibers[static_cast<std::size_t>(current)].state = State::waiting;
  std::vector<int> others = ready(false);
  if (others.size() > 1) std::erase(others, current);
  next_of(others);
}

void Engine::sleep(const void* word, std::uint32_t expected, bool limited) {
  std::uint32_t value;
  std::memcpy(&value, word, sizeof value);
  if (current == 0 || value != expected) return;
  Fiber& fiber = fibers[static_cast<std::size_t>(current)];
  fiber.state = State::asleep;
  fiber.word = word;
  fiber.limited = limited;
  next_of(ready(false));
}

void Engine::wake(const void* word) {
  for (Fiber& fiber : fibers)
    if (fiber.state == State::asleep && fiber.word == word) fiber.state = State::ready;
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

std::string Engine::story() const {
  std::ostringstream text;
  const std::size_t first = events_.size() > 60 ? events_.size() - 60 : 0;
  for (std::size_t i = first; i < events_.size(); ++i) {
    const Event& event = events_[i];
    text << "\n  rank " << event.rank << ": " << event.what << ' ' << event.place << " = " << std::hex
         << event.value << std::dec << " in " << event.function;
  }
  return text.str();
}

void Engine::leave() {
  const int before = current;
  current = 0;
  swapcontext(&fibers[static_cast<std::size_t>(before)].context, &fibers[0].context);
}

void Engine::fail(const std::string& what) {
  verdict_.failure = what + story();
  if (current == 0) throw std::runtime_error(what);
  leave();
  std::abort();  // nobody comes back here
}

void Engine::enter() {
  Fiber& fiber = engine.fibers[static_cast<std::size_t>(engine.current)];
  fiber.body();
  fiber.state = State::ended;
  for (int i = 1; i <= engine.count_; ++i)
    if (engine.fibers[static_cast<std::size_t>(i)].state != State::ended) engine.next_of(engine.ready(false));
  engine.leave();
}

void Engine::execute(Scenario& scenario) {
  count_ = static_cast<int>(scenario.ranks.size());
  preemptions_left_ = options_.preemptions;
  stale_left = options_.stale;
  fruitless_ = 0;
  const auto from = fibers[0].clock;
  for (int i = 1; i <= count_; ++i) {
    Fiber& fiber = fibers[static_cast<std::size_t>(i)];
    if (!fiber.stack) fiber.stack = std::make_unique<char[]>(stack_bytes);
    fiber.body = scenario.ranks[static_cast<std::size_t>(i - 1)];
    fiber.state = State::ready;
    fiber.clock = from;
    fiber.clock[static_cast<std::size_t>(i)] = 1;
    fiber.mark = fiber.others = fiber.knows = 0;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stack_bytes;
    makecontext(&fiber.context, enter, 0);
  }
  running = true;
  const int first = 1 + choose(count_);
  current = first;
  swapcontext(&fibers[0].context, &fibers[static_cast<std::size_t>(first)].context);
  running = false;
  for (int i = 1; i <= count_; ++i)
    for (std::size_t rank = 0; rank < max_ranks; ++rank)
      fibers[0].clock[rank] =
          std::max(fibers[0].clock[rank], fibers[static_cast<std::size_t>(i)].clock[rank]);
}

Verdict Engine::explore(const std::function<std::unique_ptr<Scenario>()>& make, const Options& options) {
  options_ = options;
  verdict_ = {};
  path_.clear();
  do {
    ++execution_;
    ++verdict_.executions;
    at_ = 0;
    clock_ns = stores_ = 0;
    events_.clear();
    current = 0;
    fibers[0].clock = {1};
    auto scenario = make();
    execute(*scenario);
    if (!verdict_.failure.empty()) {
      static_cast<void>(scenario.release());  // its fibers stand in the middle of it
      break;
    }
    try {
      if (scenario->after) scenario->after();
    } catch (const std::runtime_error&) { break; }
    if (verdict_.executions > options.executions) verdict_.failure = "too many executions for the bound";
  } while (verdict_.failure.empty() && next_path());
  return verdict_;
}

}  // namespace

Verdict explore(const std::function<std::unique_ptr<Scenario>()>& make, const Options& options) {
  return engine.explore(make, options);
}

void fail(const std::string& what) { engine.fail(what); }
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
  engine.log(back ? "reads (stale)" : "reads", where, atomic, store.value);
  return store.value;
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
