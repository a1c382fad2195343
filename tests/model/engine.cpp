// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Choices and fibers: who runs, and when the search is over.
#include "engine.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace nigh::model {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024;
constexpr int most_fruitless_rounds = 400;

}  // namespace

Engine engine;

// The holder of a lock goes on: it is not part of the check.
bool Engine::quiet(const Where& where) const {
  const auto within = [&](const char* name) { return std::strstr(where.function_name(), name) != nullptr; };
  return within("Lock::") || within("Cells::left") ||
         std::any_of(scenario_->calm.begin(), scenario_->calm.end(), within);
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

// The value that a load sees instead of `value`.
std::uint64_t Engine::mutated(std::uint64_t value, std::size_t bytes, const Where& where) {
  if (mutates(Operation::load, Mutant::Change::blind, where)) return 0;
  if (mutates(Operation::load, Mutant::Change::assume, where)) return ~std::uint64_t{0} >> (64 - 8 * bytes);
  if (mutates(Operation::load, Mutant::Change::ahead, where)) return value + options_.mutant.by;
  return value;
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
  const auto after = std::upper_bound(late.begin(), late.end(), current);  // each in turn
  switch_to(after == late.end() ? late.front() : *after);
}

void Engine::point(const Where& where) {
  ++verdict_.operations;
  if (current == 0) return;
  Fiber& fiber = fibers[static_cast<std::size_t>(current)];
  ++fiber.clock[static_cast<std::size_t>(current)];
  if (events_.size() > 20'000) fail("no end in sight");
  if (quiet(where)) return;
  if (current == scenario_->mortal + 1 && choose(2) == 1) {
    log("dies", where, nullptr, 0);
    scenario_->died();
    end();
  }
  if (preemptions_left_ == 0) return;
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
  engine.fibers[static_cast<std::size_t>(engine.current)].body();
  engine.end();
}

// Ends the running fiber; nobody comes back to it.
void Engine::end() {
  fibers[static_cast<std::size_t>(current)].state = State::ended;
  for (int i = 1; i <= count_; ++i)
    if (fibers[static_cast<std::size_t>(i)].state != State::ended) next_of(ready(false));
  leave();
}

void Engine::execute(Scenario& scenario) {
  scenario_ = &scenario;
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
    gone_.clear();
    if (payload_.size() > 100'000) payload_.clear();
    if (locations_.size() > 100'000) locations_.clear();
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
    } catch (const std::runtime_error&) {
      static_cast<void>(scenario.release());  // what it left behind is not in order
      break;
    }
    if (verdict_.executions > options.executions) verdict_.failure = "too many executions for the bound";
  } while (verdict_.failure.empty() && next_path());
  return verdict_;
}

}  // namespace nigh::model
