// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Mei's micro-benchmark: on every PE a chare sends itself a message again and again, the buffer in it is
// used again. Nothing goes from one PE to another, so what it takes on two PEs above what it takes on one is
// what they disturb each other by. The model subjects are a scheduler's few words of state for each thread (a
// queue of one's own, counters) without a runtime around them: on lines of their own, and side by side as
// they would lie in an array, which is what Mei found in Charm++ (1.236 to 0.913 us a message when it
// was cured).
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/batches.hpp"
#include "modes.hpp"
#include "nigh/chare.hpp"
#include "peers.hpp"

namespace {

namespace nc = nigh::chare;

struct Plan {
  int batches = 21, messages = 100'000;
  bool spoils = false, near = false;
};

void tell(std::vector<double>& times, const Plan& plan, int pes, const char* wrong) {
  std::sort(times.begin(), times.end());
  std::vector<int> cpus(static_cast<std::size_t>(pes));
  for (std::size_t i = 0; i < cpus.size(); ++i) cpus[i] = static_cast<int>(i);
  bench::report("self-message", {{"message", 1e9 * times[times.size() / 2], plan.near}}, cpus, pes - 1,
                wrong);
}

struct Loner : nc::Element<Loner> {
  explicit Loner(const Plan& plan) : plan(plan) {}
  using Data = nc::Buffer<std::uint64_t>;
  void begin() {
    left = plan.messages;
    begun = bench::now();
    Data data(8);
    data[0] = 0;
    proxy().send<&Loner::take>(std::move(data));
  }
  void take(Data&& data) {
    if (data[0]++ != static_cast<std::uint64_t>(plan.messages - left)) ++wrong;
    if (plan.spoils && left == 50) ++data[0];
    if (--left > 0) return proxy().send<&Loner::take>(std::move(data));
    contribute(bench::now() - begun, nc::max, array().callback<&Loner::over>());
  }
  void over(double slowest) {
    times.push_back(slowest / plan.messages);
    if (static_cast<int>(times.size()) < plan.batches) return begin();
    contribute(wrong, nc::sum, array()[0].callback<&Loner::report>());
  }
  void report(int all_wrong) {
    tell(times, plan, nc::pes(), all_wrong == 0 ? "" : "a message was not the one that was sent");
    nc::finish(all_wrong == 0 ? 0 : 1);
  }
  Plan plan;
  int left = 0, wrong = 0;
  double begun = 0;
  std::vector<double> times;
};

// The words that a scheduler writes for each message to itself. Volatile: as if other code lay between.
struct State {
  void* volatile first = nullptr;
  void* volatile last = nullptr;
  volatile std::uint64_t sent = 0, done = 0;
};
struct alignas(128) Apart : State {};
template <class Each>
struct alignas(128) States {
  Each of[64];
};

template <class Each>
void turn(Each& state, int messages, void* message) {
  for (int i = 0; i < messages; ++i) {
    state.first = message;
    state.last = message;
    state.sent = state.sent + 1;
    void* const next = state.first;
    state.first = nullptr;
    state.last = nullptr;
    state.done = state.done + (next == message ? 1 : 0);
  }
}

template <class Each>
int run_model(int pes, const Plan& plan) {
  const auto states = std::make_unique<States<Each>>();
  const auto count = static_cast<std::size_t>(pes);
  const std::vector<int> cpus = bench::usable_cpus();
  std::vector<double> times;
  for (int batch = 0; batch < plan.batches; ++batch) {
    std::atomic<int> ready = 0;
    std::vector<double> took(count);
    auto work = [&](std::size_t pe) {
      bench::sit_on(cpus[pe % cpus.size()]);
      ready.fetch_add(1);
      while (ready.load() < pes) std::this_thread::yield();
      const double begun = bench::now();
      turn(states->of[pe], plan.messages, &took[pe]);
      took[pe] = bench::now() - begun;
    };
    std::vector<std::thread> threads;
    for (std::size_t pe = 0; pe < count; ++pe) threads.emplace_back(work, pe);
    for (std::thread& thread : threads) thread.join();
    times.push_back(*std::max_element(took.begin(), took.end()) / plan.messages);
  }
  const auto wanted = static_cast<std::uint64_t>(plan.batches) * static_cast<std::uint64_t>(plan.messages);
  const bool right = std::all_of(states->of, states->of + count,
                                 [wanted](const State& state) { return state.done == wanted; });
  tell(times, plan, pes, right ? "" : "messages were lost");
  return right ? 0 : 1;
}

int usage() {
  std::fprintf(
      stderr,
      "usage: self-message --teams PES --subject NAME [--quick]; PEs: 1 to 64; subjects: model-apart "
      "model-side-by-side %s mpi-openmpi mpi-mpich\n",
      bench::modes::names);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  int pes = 2;
  std::string subject = "nigh-threads";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick")
      plan.batches = 7, plan.messages = 20'000;
    else if (word == "--teams" && i + 1 < argc)
      pes = std::atoi(argv[++i]);
    else if (word == "--subject" && i + 1 < argc)
      subject = argv[++i];
    else
      return usage();
  }
  if (pes < 1 || pes > 64) return usage();
  plan.near = bench::line_time(bench::usable_cpus()) < bench::near_below;
  if (subject == "model-apart") return run_model<Apart>(pes, plan);
  if (subject == "model-side-by-side") return run_model<State>(pes, plan);
  if (subject.starts_with("mpi-"))
    return bench::peers::report("self-message", subject, bench::peers::folder_of(argv[0]), pes,
                                {std::to_string(plan.messages), std::to_string(plan.batches)}, "message",
                                plan.near);
  plan.spoils = subject == "nigh-spoiled";  // must be found out
  const auto own = bench::modes::options(subject, pes);
  if (!own || subject == "nigh-fixed") return usage();
  return nc::run(*own, [&] { nc::Array<Loner>::create({nc::pes()}, plan).send<&Loner::begin>(); });
}
