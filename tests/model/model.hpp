// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A model checker for the protocols between ranks, and the checked atomics that the real code is compiled
// with (NIGH_MODEL, src/message/atomic.hpp). The ranks are fibers of one thread; before every atomic
// operation the engine chooses who goes on, and every load chooses which of the stores it may still see; all
// choices are tried, depth first, within a bound of preemptions and of stale values per execution (most
// errors need two).
//
// The rules of C++ for the values of a load: a store that happens before the load hides all before it, and no
// fiber goes back behind a value that it, or anything that happens before it, has seen. Acquire loads join
// the clock of the release store they read; an RMW reads the newest store and carries on its release
// sequence. seq_cst counts as acq_rel, so code must not lean on it; a failed compare-and-swap sees the newest
// value. Payload announced by note_read and note_write is checked for races by the same clocks.
//
// A scenario may have a mortal rank: at each of its operations it also tries what becomes of the others when
// it dies there. And memory may be given back: whoever touches it then is in error.
//
// A mutant changes one operation of one function while it runs (relaxes its order, tears a read-modify-write
// into two, drops a store, pins a generation, lets a load see what would satisfy any check, or none, or a
// number too high), so that it can be shown that the model would have found that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

namespace nigh::model {

enum class Order { relaxed, acquire, release, acq_rel };
enum class Operation { load, store, rmw, compare, sleep };

struct Mutant {
  enum class Change { relax, tear, drop, pin_generation, forget_limit, assume, blind, ahead };
  const char* function = nullptr;  // part of its name
  Operation operation = Operation::store;
  Change change = Change::relax;
  std::uint64_t by = 1;  // ahead: how far
};

struct Options {
  int preemptions = 2;
  int stale = 2;
  long executions = 200'000;  // more than that is a failure: the bound must be smaller
  Mutant mutant;
};

struct Verdict {
  long executions = 0;
  long operations = 0;
  bool mutated = false;  // the mutant's operation was reached
  std::string failure;   // empty: none; else what, and how it came about
};

// One set of ranks: made anew for each execution, before the fibers start.
struct Scenario {
  std::vector<std::function<void()>> ranks;
  std::function<void()> after;  // when all have ended
  // Functions whose operations commute with all others here, because nobody stores there: no need to try
  // who goes on before them.
  std::vector<const char*> calm;
  int mortal = -1;  // the rank that may die
  std::function<void()> died;
  virtual ~Scenario() = default;
};

Verdict explore(const std::function<std::unique_ptr<Scenario>()>& make, const Options& options);

// Nobody may touch these bytes any more, and all that was done to them must have happened before.
void given_back(const void* data, std::size_t bytes);

// The fault of the running fiber. Does not return.
[[noreturn]] void fail(const std::string& what);
inline void check(bool condition, const char* what) {
  if (!condition) fail(what);
}

// --- what atomic<T> calls ---
using Where = std::source_location;
struct Rmw {
  std::uint64_t (*next)(std::uint64_t old, std::uint64_t operand);
  std::uint64_t operand;
};
void made(void* atomic, std::size_t bytes);
std::uint64_t load(const void* atomic, std::size_t bytes, Order order, const Where& where);
void store(void* atomic, std::size_t bytes, std::uint64_t value, Order order, const Where& where);
std::uint64_t rmw(void* atomic, std::size_t bytes, const Rmw& change, Order order, const Where& where);
bool compare(void* atomic, std::size_t bytes, std::uint64_t& expected, std::uint64_t desired, Order order,
             Order failure, const Where& where);
void read_payload(const void* data, std::size_t bytes);
void written_payload(const void* data, std::size_t bytes);
void pause();
void sleep(const void* word, std::uint32_t expected, long limit_ns, const Where& where);
void wake(const void* word);
std::int64_t now();

constexpr Order order_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed: return Order::relaxed;
    case std::memory_order_acquire:
    case std::memory_order_consume: return Order::acquire;
    case std::memory_order_release: return Order::release;
    default: return Order::acq_rel;
  }
}

}  // namespace nigh::model

namespace nigh::message {

// The size of T, and always the newest value, so that layouts are those of the real code.
template <class T>
class atomic {
  using Where = model::Where;
  static std::uint64_t bits(T value) {
    std::uint64_t all = 0;
    std::memcpy(&all, &value, sizeof value);
    return all;
  }
  static T value(std::uint64_t bits) {
    T result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
  }

 public:
  atomic() : atomic(T{}) {}
  atomic(T initial) : value_(initial) { model::made(this, sizeof(T)); }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(std::memory_order order, const Where& where = Where::current()) const {
    return value(model::load(this, sizeof(T), model::order_of(order), where));
  }
  void store(T next, std::memory_order order, const Where& where = Where::current()) {
    model::store(this, sizeof(T), bits(next), model::order_of(order), where);
  }
  T exchange(T next, std::memory_order order, const Where& where = Where::current()) {
    return value(model::rmw(this, sizeof(T), {[](std::uint64_t, std::uint64_t n) { return n; }, bits(next)},
                            model::order_of(order), where));
  }
  T fetch_add(T by, std::memory_order order, const Where& where = Where::current()) {
    return value(
        model::rmw(this, sizeof(T),
                   {[](std::uint64_t old, std::uint64_t n) { return bits(value(old) + value(n)); }, bits(by)},
                   model::order_of(order), where));
  }
  T fetch_sub(T by, std::memory_order order, const Where& where = Where::current()) {
    return value(
        model::rmw(this, sizeof(T),
                   {[](std::uint64_t old, std::uint64_t n) { return bits(value(old) - value(n)); }, bits(by)},
                   model::order_of(order), where));
  }
  T fetch_or(T with, std::memory_order order, const Where& where = Where::current()) {
    return value(model::rmw(this, sizeof(T),
                            {[](std::uint64_t old, std::uint64_t n) { return old | n; }, bits(with)},
                            model::order_of(order), where));
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order, std::memory_order failure,
                               const Where& where = Where::current()) {
    std::uint64_t wanted = bits(expected);
    const bool done = model::compare(this, sizeof(T), wanted, bits(desired), model::order_of(order),
                                     model::order_of(failure), where);
    expected = value(wanted);
    return done;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order,
                               const Where& where = Where::current()) {
    return compare_exchange_strong(
        expected, desired, order,
        order == std::memory_order_acq_rel ? std::memory_order_acquire : std::memory_order_relaxed, where);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order, std::memory_order failure,
                             const Where& where = Where::current()) {
    return compare_exchange_strong(expected, desired, order, failure, where);
  }

 private:
  T value_;
};

inline void note_read(const void* data, std::size_t bytes) { model::read_payload(data, bytes); }
inline void note_write(const void* data, std::size_t bytes) { model::written_payload(data, bytes); }
inline void pause_cpu() { model::pause(); }
inline int current_cpu() { return 0; }
inline void yield_cpu() { model::pause(); }
inline std::int64_t now_ns() { return model::now(); }
inline std::int64_t process_cpu_ns() { return model::now(); }
inline std::int64_t thread_cpu_ns() { return model::now(); }
inline void sleep_on(const atomic<std::uint32_t>* word, std::uint32_t expected, long limit_ns,
                     const model::Where& where = model::Where::current()) {
  model::sleep(word, expected, limit_ns, where);
}
inline void wake_all(const atomic<std::uint32_t>* word) { model::wake(word); }

}  // namespace nigh::message
