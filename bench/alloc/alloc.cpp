// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of messages: nigh's pools, and malloc and free of whichever library was preloaded.
//
//     local   one thread gives a block back and gets another, 256 in use, in a shuffled order
//     remote  a producer gets a block, writes all of it and hands its address over; the consumer, on another
//             CPU, reads all of it and gives it back
//     ring    remote alone, with no allocation: blocks in a circle, each used again when the consumer is done
//             with it. Nothing is faster while the CPUs are near; far apart, more blocks that rest longer
//             can be, since the reader's copies are then gone from its nearest caches.
//
// All are called by a pointer, as a program calls malloc, so that nobody gains by inlining.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/batches.hpp"
#include "message/pool.hpp"

namespace {

namespace message = nigh::message;
using bench::now;
using message::pause_cpu;

constexpr std::size_t blocks = 10'240;  // of a remote batch
constexpr std::size_t under_way = 256;  // of them, at most
constexpr std::size_t together = 32;    // handed over, and back, at once
constexpr unsigned idle_looks = 32;     // at an empty ring, after which a runtime would do other things
constexpr std::size_t pairs = 20'000;   // of a local batch
constexpr std::size_t working_set = 256;
constexpr std::size_t most_left = 64 << 10;  // bytes of emptied bags that may be under way for good
static_assert(blocks % under_way == 0 && under_way % together == 0);

// The calls of a subject.
struct Way {
  void* (*get)(std::size_t bytes) = nullptr;
  void (*give)(void* block) = nullptr;
  void (*idle)() = nullptr;  // told when there is nothing to do; null: it has no use for that
};

// The pools of the producer and of the consumer; each thread finds its own as malloc finds its caches.
struct Pools {
  message::PoolDoor doors[2];
  std::unique_ptr<message::Pool> pools[2];
  Pools() {
    for (std::uint32_t i = 0; i < 2; ++i)
      pools[i] = std::make_unique<message::Pool>(&doors[i], i, 2, message::PoolMemory::of_process());
  }
  // Blocks that were given back are at home at the end, but for emptied bags.
  std::string lost() {
    for (auto& pool : pools) pool->flush();
    for (auto& pool : pools) {
      pool->trim();
      if (pool->use().out > most_left) return std::to_string(pool->use().out) + " bytes were lost";
    }
    return "";
  }
};
thread_local message::Pool* my_pool = nullptr;

void* get_from_pool(std::size_t bytes) { return my_pool->get(bytes); }
void give_to_pool(void* block) { my_pool->give(block); }
void flush_pool() { my_pool->flush(); }

// The circle of blocks of `ring`; the producer alone gets, and waits for the consumer before.
std::vector<char> circle;
std::size_t circle_next = 0;
void* get_from_circle(std::size_t bytes) {
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(circle.data()) + 63) & ~std::uintptr_t{63};
  return reinterpret_cast<char*>(first) + (circle_next++ % under_way) * bytes;
}
void give_to_circle(void*) {}

// For the test of the verification: every hundredth block is the one before.
void* get_twice(std::size_t bytes) {
  static std::size_t count = 0;
  if (++count % 100 == 0) --circle_next;
  return get_from_circle(bytes);
}

struct Subject {
  const char* name;
  Way way;
  const char* library;  // that malloc must be of; null: malloc isn't what is measured
  const char* hint;     // how to get it
};
const Subject subjects[] = {
    {"nigh", {get_from_pool, give_to_pool, flush_pool}, nullptr, ""},
    {"glibc", {std::malloc, std::free}, "libc.so", "preload nothing"},
    {"jemalloc", {std::malloc, std::free}, "libjemalloc", "install libjemalloc2"},
    {"mimalloc", {std::malloc, std::free}, "libmimalloc", "install libmimalloc2.0"},
    {"tcmalloc", {std::malloc, std::free}, "libtcmalloc", "install libtcmalloc-minimal4"},
    {"snmalloc", {std::malloc, std::free}, "libsnmalloc", "name its library in NIGH_SNMALLOC"},
    {"ring", {get_from_circle, give_to_circle}, nullptr, ""},
    {"twice", {get_twice, give_to_circle}, nullptr, ""},
};

// The file that malloc comes from.
std::string malloc_library() {
  Dl_info found;
  void* const symbol = dlsym(RTLD_DEFAULT, "malloc");
  if (!symbol || dladdr(symbol, &found) == 0 || !found.dli_fname) return "an unknown file";
  const char* const slash = std::strrchr(found.dli_fname, '/');
  return slash ? slash + 1 : found.dli_fname;
}

// Addresses from one producer to one consumer, the same for all subjects.
struct Ring {
  std::array<void*, under_way> slots{};
  alignas(128) std::atomic<std::size_t> written = 0;
  alignas(128) std::atomic<std::size_t> done = 0;
};

void write(void* block, std::size_t bytes, std::uint64_t number) {
  auto* words = static_cast<std::uint64_t*>(block);
  for (std::size_t i = 0; i < bytes / 8; ++i) words[i] = number + i;
}
std::uint64_t sum(const void* block, std::size_t bytes) {
  const auto* words = static_cast<const std::uint64_t*>(block);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < bytes / 8; ++i) all += words[i];
  return all;
}
bool right(const void* block, std::size_t bytes, std::uint64_t number) {
  const auto* words = static_cast<const std::uint64_t*>(block);
  for (std::size_t i = 0; i < bytes / 8; ++i)
    if (words[i] != number + i) return false;
  return true;
}

class Run {
 public:
  Run(const Way& way, Pools* pools, const std::vector<int>& cpus)
      : way_(way), pools_(pools), producer_(1, cpus, [this](int) { produce(); }) {
    bench::sit_on(cpus[0]);
    if (pools) my_pool = pools->pools[1].get();
  }

  // Seconds of one block.
  double remote(std::size_t bytes, bool verify = false) {
    bytes_ = bytes;
    verify_ = verify;
    const double from = producer_.start();
    consume();
    const double spent = now() - from;
    producer_.wait();
    return spent / static_cast<double>(blocks);
  }

  // Seconds to give one back and get another.
  double local(std::size_t bytes) {
    std::mt19937 random(7);
    std::vector<std::uint8_t> order(pairs);
    for (std::uint8_t& one : order) one = static_cast<std::uint8_t>(random() % working_set);
    std::array<void*, working_set> in_use{};
    for (void*& block : in_use) block = get(bytes);
    const double from = now();
    for (const std::uint8_t one : order) {
      way_.give(in_use[one]);
      in_use[one] = get(bytes);
      *static_cast<std::uint64_t*>(in_use[one]) = one;  // as whoever wants a block does
    }
    const double spent = now() - from;
    for (void* block : in_use) way_.give(block);
    return spent / static_cast<double>(pairs);
  }

  [[nodiscard]] std::size_t wrong() const { return wrong_; }

 private:
  void* get(std::size_t bytes) {
    void* const block = way_.get(bytes);
    if (block) return block;
    std::fprintf(stderr, "there is no memory\n");
    std::exit(1);
  }

  void produce() {
    if (pools_) my_pool = pools_->pools[0].get();
    const std::size_t bytes = bytes_, from = ring_.written.load(std::memory_order_relaxed);
    for (std::size_t n = from; n < from + blocks; n += together) {
      // Blocks of the circle that come next are free only now.
      for (unsigned looks = 1; n + together - ring_.done.load(std::memory_order_acquire) > under_way; ++looks)
        wait(looks);
      for (std::size_t i = n; i < n + together; ++i) {
        void* const block = get(bytes);
        write(block, bytes, i);
        ring_.slots[i % under_way] = block;
      }
      ring_.written.store(n + together, std::memory_order_release);
    }
  }

  void consume() {
    const std::size_t bytes = bytes_, end = ring_.done.load(std::memory_order_relaxed) + blocks;
    std::size_t wrong = 0;  // not members: the producer reads their line
    std::uint64_t all = 0;
    for (std::size_t n = end - blocks; n < end;) {
      std::size_t there = 0;
      for (unsigned looks = 1; (there = ring_.written.load(std::memory_order_acquire)) == n; ++looks) {
        if (looks == idle_looks && way_.idle) way_.idle();
        wait(looks);
      }
      while (n < there) {
        for (std::size_t i = n; i < n + together; ++i) {
          void* const block = ring_.slots[i % under_way];
          if (verify_)
            wrong += right(block, bytes, i) ? 0 : 1;
          else
            all += sum(block, bytes);
          way_.give(block);
        }
        n += together;
        ring_.done.store(n, std::memory_order_release);
      }
    }
    if (way_.idle) way_.idle();
    wrong_ += wrong;
    sum_ += all;
  }

  static void wait(unsigned looks) {
    pause_cpu();
    if (looks % 256 == 0) std::this_thread::yield();  // both may share a CPU
  }

  Ring ring_;
  Way way_;
  Pools* pools_;
  std::size_t bytes_ = 0, wrong_ = 0;
  std::uint64_t sum_ = 0;
  bool verify_ = false;
  bench::Producers producer_;  // last: it uses the others
};

struct Options {
  std::string subject;
  bool quick = false;
};

[[noreturn]] void usage(const std::string& wrong) {
  std::fprintf(stderr, "%s; usage: alloc --subject NAME [--teams 1] [--quick]; subjects:", wrong.c_str());
  for (const Subject& one : subjects) std::fprintf(stderr, " %s", one.name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") {
      out.quick = true;
    } else if (word != "--subject" && word != "--teams") {
      usage("no option '" + word + "'");
    } else if (i + 1 == argc) {
      usage(word + " takes a value");
    } else if (const std::string value = argv[++i]; word == "--subject") {
      out.subject = value;
    } else if (value != "1") {
      usage("--teams: there is one producer, not '" + value + "'");
    }
  }
  return out;
}

const Subject& find(const std::string& name) {
  for (const Subject& one : subjects) {
    if (one.name != name) continue;
    const std::string library = malloc_library();
    if (!one.library || library.starts_with(one.library)) return one;
    std::fprintf(stderr, "%s is not there, malloc is that of %s: %s\n", one.name, library.c_str(), one.hint);
    std::exit(3);
  }
  usage(name.empty() ? "--subject is missing" : "no subject '" + name + "'");
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const Subject& subject = find(options.subject);
  const std::vector<int> cpus = bench::usable_cpus();
  if (cpus.empty()) return std::fprintf(stderr, "no CPU may be used\n"), 1;
  constexpr std::size_t sizes[] = {64, 256, 1024, 4096};
  if (subject.way.give == give_to_circle) circle.resize(under_way * 4096 + 64);
  const bool has_local = subject.way.get == get_from_pool || subject.library != nullptr;

  std::unique_ptr<Pools> pools;
  if (subject.way.get == get_from_pool) pools = std::make_unique<Pools>();
  std::vector<bench::Measured> results;
  std::string error;
  {
    Run run(subject.way, pools.get(), cpus);
    auto verify = [&] {
      for (const std::size_t bytes : sizes) run.remote(bytes, true);
    };
    verify();
    for (const std::size_t bytes : sizes)
      results.push_back(bench::measure("remote " + std::to_string(bytes) + " B", options.quick, cpus,
                                       [&] { return run.remote(bytes); }));
    for (const std::size_t bytes : sizes)
      if (has_local)
        results.push_back(bench::measure("local " + std::to_string(bytes) + " B", options.quick, cpus,
                                         [&] { return run.local(bytes); }));
    verify();
    if (run.wrong() > 0) error = std::to_string(run.wrong()) + " blocks were not what was written";
  }
  if (pools && error.empty()) error = pools->lost();
  bench::report("alloc", results, cpus, 1, error);
  return error.empty() ? 0 : 1;
}
