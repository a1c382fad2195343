// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The engine behind model.hpp: a path of choices that is replayed and then taken one further, fibers by
// ucontext (engine.cpp); a history of stores for each atomic, and the clock of the last write and reads of
// each payload word (memory.cpp).
#pragma once

#include <ucontext.h>

#include <array>
#include <unordered_map>

#include "model.hpp"

namespace nigh::model {

constexpr int max_ranks = 4;  // fibers; the setup is number 0

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
  void given_back(const void* data, std::size_t bytes);
  std::uint64_t mutated(std::uint64_t value, std::size_t bytes, const Where& where);
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
  [[nodiscard]] bool quiet(const Where& where) const;
  void end();
  void check_kept(std::uintptr_t first, std::uintptr_t last);
  std::string story() const;

  Options options_;
  Verdict verdict_;
  std::vector<Choice> path_;
  std::size_t at_ = 0;
  int preemptions_left_ = 0;
  int fruitless_ = 0;
  int count_ = 0;  // fibers of this execution, without the setup
  const Scenario* scenario_ = nullptr;
  long execution_ = 0;
  long stores_ = 0;
  std::unordered_map<const void*, Location> locations_;
  std::unordered_map<std::uintptr_t, Payload> payload_;
  std::vector<Event> events_;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> gone_;  // given back in this execution
};

extern Engine engine;

}  // namespace nigh::model
