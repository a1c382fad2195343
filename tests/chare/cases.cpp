// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Programs that must behave alike whatever their PEs are: `cases NAME` as threads, and as the processes of
// `nigh run -n`. What elements find wrong is added up by a reduction, as there is no memory that all of them
// write. Status 0: all is right.
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <nigh/chare.hpp>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "checkpoint_cases.hpp"
#include "heap_cases.hpp"
#include "judge.hpp"

namespace {

using namespace cases;

// --- arguments of all kinds, to one and to all ---

struct Particle {
  std::string kind;
  std::vector<std::vector<double>> charges;
  std::map<std::string, int> tags;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(kind, charges, tags);
  }
  friend bool operator==(const Particle&, const Particle&) = default;
};
Particle some_particle(int n) {
  return {"kind " + std::to_string(n), {{1.0 * n}, {}, {2, 3}}, {{"a", n}, {std::string(100, 'b'), 2}}};
}
struct Taker : Judge<Taker> {
  explicit Taker(const std::vector<std::string>& words) {
    expected = 8 * 3 + 8 * 2;
    find(words.size() == 2 && words[1] == std::string(500, 'w'));
  }
  void plain(int a, double b, char c, std::span<const int> d, Proxy<Taker> from) {
    find(a == 1 && b == 2.5 && c == 'c' && d.size() == 4000 && d[3999] == 3999 && from.index().x == 7);
    ++seen;
  }
  void written(std::string a, const std::vector<std::string>& b, Particle&& c, std::optional<std::string> d,
               std::optional<int> e, std::unordered_map<int, std::string> f, std::set<std::string> g,
               std::span<const double> h, std::vector<bool> i) {
    find(a.empty() && b == std::vector<std::string>{"x", "", std::string(3000, 'y')} &&
         c == some_particle(3));
    find(d == std::string(40, 'd') && !e && f.size() == 2 && f[-2] == "two" &&
         g.count(std::string(50, 'g')) == 1);
    find(h.size() == 3 && h[2] == 9 && i == std::vector<bool>{true, false, true});
    ++seen;
  }
  void buffer(Buffer<std::uint64_t>&& data, int hops) {
    find(data.size() == 50'000 && data[49'999] == 77);
    if (hops == 0)
      ++seen;
    else  // on to the next, without a copy
      array()[(index().x + 3) % 8].send<&Taker::buffer>(std::move(data), hops - 1);
  }
};
void arguments() {
  auto all = Array<Taker>::create({8}, std::vector<std::string>{"", std::string(500, 'w')});
  std::vector<int> many(4000);
  for (int i = 0; i < 4000; ++i) many[static_cast<std::size_t>(i)] = i;
  auto written = [](const auto& to) {
    to.template send<&Taker::written>("", std::vector<std::string>{"x", "", std::string(3000, 'y')},
                                      some_particle(3), std::string(40, 'd'), std::nullopt,
                                      std::unordered_map<int, std::string>{{-2, "two"}, {1, "one"}},
                                      std::set<std::string>{"", std::string(50, 'g')},
                                      std::vector<double>{7, 8, 9}, std::vector<bool>{true, false, true});
  };
  for (int i = 0; i < 8; ++i) {
    all[i].send<&Taker::plain>(1, 2.5, 'c', many, all[7]);
    written(all[i]);
    Buffer<std::uint64_t> data(50'000);
    data[49'999] = 77;
    all[i].send<&Taker::buffer>(std::move(data), 20);
  }
  all.send<&Taker::plain>(1, 2.5, 'c', many, all[7]);
  written(all);
  on_quiescence(all.callback<&Taker::tell>());
}

// --- an argument that itself sends, each time that it is written or read ---

thread_local int said = 0;  // by this PE
struct Hearer;
struct Talk {
  Proxy<Hearer> to;
  int value = 0;
  std::string text;
  template <class Archive>
  void serialize(Archive& archive);
};
struct Hearer : Judge<Hearer> {
  void begin() {
    for (int i = 0; i < 60; ++i)
      array()[i % 7].send<&Hearer::listen>(
          Talk{array()[(i + 3) % 7], i, std::string(static_cast<std::size_t>(100 * i), 't')});
  }
  void listen(const Talk& talk) {
    find(talk.text == std::string(static_cast<std::size_t>(100 * talk.value), 't'));
  }
  void heard(int value, const std::string& text) {
    find(text == std::string(static_cast<std::size_t>(value), 'h'));
    ++seen;
  }
  void judge() {
    seen -= std::exchange(said, 0);
    tell();
  }
};
template <class Archive>
void Talk::serialize(Archive& archive) {
  archive(to, value, text);
  to.send<&Hearer::heard>(value, std::string(static_cast<std::size_t>(value), 'h'));
  ++said;
}
// One that throws when it is written, not when it is counted.
struct Faltering {
  std::string counted = "a text";  // not just bytes
  template <class Archive>
  void serialize(Archive& archive) {
    archive(counted);
    if (archive.does() == Archive::Does::write) throw std::runtime_error("as told");
  }
};
struct Stutterer : Element<Stutterer> {
  void begin() {
    for (int i = 0; i < 8; ++i) array()[i].send<&Stutterer::listen>(7);
    for (int i = 0; i < 8; ++i) array()[i].send<&Stutterer::falter>(Faltering());
  }
  void listen(int) {}
  void falter(const Faltering&) {}
};
void faltering() { Array<Stutterer>::create({8})[0].send<&Stutterer::begin>(); }
void outspoken() {
  auto all = Array<Hearer>::create({7});
  all.send<&Hearer::begin>();
  on_quiescence(all.callback<&Hearer::judge>());
}

// --- buffers of all sizes, several in a message, some of them empty ---

struct Loader : Judge<Loader> {
  static constexpr int size = 9, most = 40;
  Loader() { expected = size * most; }
  static std::size_t bytes_of(int number) { return number % 4 == 3 ? 0 : std::size_t{37} << (number % 14); }
  template <class T>
  static Buffer<T> made(std::size_t bytes, int number) {
    Buffer<T> out(bytes / sizeof(T));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<T>(i * 7 + static_cast<unsigned>(number));
    return out;
  }
  template <class T>
  void look(const Buffer<T>& data, std::size_t bytes, int number) {
    bool right = data.size() == bytes / sizeof(T);
    for (std::size_t i = 0; i < data.size() && right; ++i)
      right = data[i] == static_cast<T>(i * 7 + static_cast<unsigned>(number));
    find(right);
  }
  void begin() {
    for (int number = 0; number < most; ++number) {
      const std::vector<int> list(static_cast<std::size_t>(number) * 3, number);
      array()[static_cast<int>(index().x + number) % size].send<&Loader::load>(
          made<char>(bytes_of(number), number), static_cast<int>(index().x), list,
          made<double>(bytes_of(number + 3), number), number, Buffer<int>(), 3);
    }
  }
  void load(Buffer<char>&& a, int from, std::span<const int> list, Buffer<double>&& b, int number,
            const Buffer<int>& none, int hops) {
    look(a, bytes_of(number), number);
    look(b, bytes_of(number + 3), number);
    find(none.empty() && list.size() == static_cast<std::size_t>(number) * 3);
    for (const int one : list) find(one == number);
    if (hops == 0) return void(++seen);
    const std::vector<int> copy(list.begin(), list.end());
    array()[static_cast<int>(index().x + hops) % size].send<&Loader::load>(
        std::move(a), from, copy, std::move(b), number, Buffer<int>(), hops - 1);
  }
};
void loads() {
  auto all = Array<Loader>::create({Loader::size});
  all.send<&Loader::begin>();
  on_quiescence(all.callback<&Loader::tell>());
}
// Ends while large buffers are under way.
struct Hasty : Element<Hasty> {
  void go() {
    for (int i = 0; i < 40; ++i)
      array()[i % 8].send<&Hasty::take>(Buffer<char>(i % 3 == 0 ? 100 : 100'000), i);
  }
  void take(Buffer<char>&& data, int number) {
    if (number == 39 && index().x == 7) return finish();
    array()[(index().x + 1) % 8].send<&Hasty::take>(std::move(data), number);
  }
};
void hasty() { Array<Hasty>::create({8}).send<&Hasty::go>(); }

// --- many messages in all directions: order, contents, nothing lost or twice ---

struct Walker : Judge<Walker> {
  static constexpr int size = 29, walks = 400, hops = 100;
  Walker() : random(static_cast<unsigned>(index().x)), next(size, 0), sent(size, 0) { expected = walks; }
  void walk(int left, Buffer<std::uint32_t>&& load, std::span<const std::uint32_t> same, std::string text,
            int from, int number) {
    find(text.size() == same.size() % 100);
    stroll(left, std::move(load), same, from, number);
  }
  // The same without the string: its buffer may go as it lies. Both keep one order.
  void stroll(int left, Buffer<std::uint32_t>&& load, std::span<const std::uint32_t> same, int from,
              int number) {
    find(load.size() == same.size());
    for (std::size_t i = 0; i < load.size(); ++i) find(load[i] == same[i]);
    if (from >= 0) find(next[static_cast<std::size_t>(from)]++ == number);
    if (left == 0) return void(++seen);
    Buffer<std::uint32_t> data(random() % 20 == 0 ? random() % 20'000 : random() % 60);
    for (std::uint32_t& word : data) word = static_cast<std::uint32_t>(random());
    const std::vector<std::uint32_t> copy(data.begin(), data.end());
    const auto to = static_cast<std::size_t>(random() % size);
    const auto there = array()[static_cast<int>(to)];
    if (random() % 2 == 0)
      there.send<&Walker::stroll>(left - 1, std::move(data), copy, static_cast<int>(index().x), sent[to]++);
    else
      there.send<&Walker::walk>(left - 1, std::move(data), copy, std::string(copy.size() % 100, 't'),
                                static_cast<int>(index().x), sent[to]++);
  }
  std::mt19937 random;
  std::vector<int> next, sent;
};
void traffic() {
  auto all = Array<Walker>::create({Walker::size});
  for (int i = 0; i < Walker::walks; ++i)
    all[i % Walker::size].send<&Walker::walk>(Walker::hops, Buffer<std::uint32_t>(),
                                              std::vector<std::uint32_t>(), "", -1, 0);
  on_quiescence(all.callback<&Walker::tell>());
}

// --- sparse arrays in three dimensions, reductions of several kinds under way at once ---

struct Spot : Judge<Spot> {
  explicit Spot(std::string name) : name(std::move(name)) { expected = 300; }
  void check(int n) { find(name == "spot " + std::to_string(n)), ++seen; }
  void reduce() {
    const Proxy<Spot> root = array()(0, 0, 0);
    contribute(1, sum, root.callback<&Spot::count>());
    contribute(static_cast<double>(index().y), max, root.callback<&Spot::highest>());
    const std::vector<std::int64_t> values{index().x, 1};
    contribute(std::span<const std::int64_t>(values), sum, array().callback<&Spot::sums>());
    contribute(array().callback<&Spot::met>());
  }
  void count(int n) { find(n == 300); }
  void highest(double y) { find(y == 17); }
  void sums(std::span<const std::int64_t> values) {
    find(values.size() == 2 && values[0] == 299 * 150 && values[1] == 300);
  }
  void met() {
    contribute(std::array<int, 2>{wrong, seen}, Add(), array()(0, 0, 0).callback<&Spot::verdict>());
  }
  std::string name;
};
void sparse() {
  auto spots = Array<Spot>::create_sparse();
  for (int i = 0; i < 300; ++i) {
    spots(i, i == 0 ? 0 : i % 18, -(i % 5)).send<&Spot::check>(i);  // which waits
    spots.insert({i, i == 0 ? 0 : i % 18, -(i % 5)}, "spot " + std::to_string(i));
  }
  spots.done_inserting(spots.callback<&Spot::reduce>());
}

// --- errors ---

struct Faulty : Element<Faulty> {
  void fail(int x) {
    if (index().x == x) throw std::runtime_error("as told");
  }
  void die(int x) {
    if (index().x == x) raise(SIGKILL);
  }
  void never(std::unique_ptr<int>) {}
  void go_round() { array()[(index().x + 3) % 8].send<&Faulty::go_round>(); }
  void leave(int x) {
    if (index().x == x) std::_Exit(0);
  }
};
int set_by_main = 0, set_before = 0;
void setting() {
  ++set_by_main;
  finish(set_before == 3 ? 0 : 4);
}
void failing() { Array<Faulty>::create({8}).send<&Faulty::fail>(6); }
void killed() { Array<Faulty>::create({8}).send<&Faulty::die>(6); }
void left() { Array<Faulty>::create({8}).send<&Faulty::leave>(6); }
void never() {
  auto all = Array<Faulty>::create({8});
  for (int i = 0; i < 8; ++i) all[i].send<&Faulty::never>(std::make_unique<int>(1));
  on_quiescence(finish_callback());
}
void idle() {}

// --- elements that move, while others talk to one, to some and to all of them ---

struct Moving : Judge<Moving> {
  static constexpr int count = 40, rounds = 12;
  Moving() = default;
  explicit Moving(int)
      : particle{std::to_string(index().x), {{0.5}, {double(index().x), 1}}, {}}, load(1000), home(pe()) {
    for (std::size_t i = 0; i < load.size(); ++i) load[i] = index().x + static_cast<std::int64_t>(i);
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(particle, load, heard, round, home, has_moved, wrong, seen, expected);
    spin(30);  // others send to it before it is there
  }
  void look() {
    find(particle == Particle{std::to_string(index().x), {{0.5}, {double(index().x), 1}}, {}});
    for (std::size_t i = 0; i < load.size(); ++i) find(load[i] == index().x + static_cast<std::int64_t>(i));
  }
  void hear(std::uint64_t value) { heard += value; }
  void work() {
    look();
    const Buffer<std::int64_t> more(load);  // in the pools, too
    find(more.size() == load.size());
    spin((index().x + round * 7) % count < count / 4 ? 400 : 10);
    balance(array().callback<&Moving::go_on>());
    if (index().x < count / 2) add_up();  // the others do when they may have moved
  }
  static void spin(int us) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
    while (std::chrono::steady_clock::now() < end) {}
  }
  void add_up() { contribute(index().x, sum, array()[7].callback<&Moving::sum_of_indices>()); }
  void sum_of_indices(std::int64_t all) {
    find(all == count * (count - 1) / 2);
    if (++seen < rounds) return array().send<&Moving::work>();
    array().send<&Moving::tell_moved>();
  }
  void tell_moved() { contribute(int{has_moved}, sum, array()[3].callback<&Moving::all_done>()); }
  void go_on() {
    look();
    if (index().x >= count / 2) add_up();
    has_moved = has_moved || pe() != home;
    ++round;
  }
  void all_done(int moved);
  void stop(std::uint64_t said, int moved) {
    find(pes() == 1 ? moved == 0 : moved > 0);
    on_said = said;
    array()[0].send<&Moving::expect>(rounds);
    array().send<&Moving::tell_heard>();
  }
  void expect(int sums) { expected = sums; }
  void tell_heard() { contribute(heard, sum, array()[0].callback<&Moving::all_heard>()); }
  void all_heard(std::uint64_t all) { array()[3].send<&Moving::compare>(all); }
  void compare(std::uint64_t all) {
    find(all == on_said);
    if (all != on_said)
      std::fprintf(stderr, "%llu heard of %llu\n", static_cast<unsigned long long>(all),
                   static_cast<unsigned long long>(on_said));
    array().send<&Moving::tell>();
  }
  Particle particle;
  Buffer<std::int64_t> load;
  std::uint64_t heard = 0, on_said = 0;
  int round = 0, home = 0;
  bool has_moved = false;
};
struct Talking : Element<Talking> {
  explicit Talking(Array<Moving> all) : all(all), random(static_cast<unsigned>(index().x)) {}
  void talk() {
    if (stopped) return;
    const std::uint64_t value = random() % 1000;
    const auto some = [&] { return static_cast<int>(random() % Moving::count); };
    all[some()].send<&Moving::hear>(value);
    const Section<Moving> three(all, {{some()}, {some()}, {some()}});
    three.send<&Moving::hear>(value);
    said += 4 * value;
    if (random() % 4 == 0) {
      all.send<&Moving::hear>(value);
      said += Moving::count * value;
    }
    after(30e-6, proxy().callback<&Talking::talk>());
  }
  void stop(int moved) {
    stopped = true;
    has_moved = moved;
    on_quiescence(proxy().callback<&Talking::quiet>());
  }
  void quiet() { contribute(said, sum, array()[0].callback<&Talking::all_said>()); }
  void all_said(std::uint64_t total) { all[3].send<&Moving::stop>(total, has_moved); }
  Array<Moving> all;
  std::mt19937 random;
  std::uint64_t said = 0;
  int has_moved = 0;
  bool stopped = false;
};
Array<Talking> talking() { return Array<Talking>(static_cast<std::uint16_t>(pes())); }  // PE 0's second array
void Moving::all_done(int moved) { talking().send<&Talking::stop>(moved); }
void moving() {
  const auto all = Array<Moving>::create({Moving::count}, 0);
  const auto talkers = Array<Talking>::create({5}, all);
  if (talkers.number() != talking().number()) throw std::logic_error("another number than expected");
  talkers.send<&Talking::talk>();
  all.send<&Moving::work>();
}

// The job ends while elements are on their way.
struct Restless : Element<Restless> {
  Restless() = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(round, data, text);
    if (archive.reads() && round > 0) finish(0);  // others come behind it
  }
  void go() {
    const auto busy = std::chrono::microseconds((index().x < 32) == (round % 2 == 0) ? 100 : 5);
    for (const auto end = std::chrono::steady_clock::now() + busy; std::chrono::steady_clock::now() < end;) {}
    ++round;
    balance({});
    if (index().x == 0 && round == 100) finish(0);
    proxy().send<&Restless::go>();
  }
  int round = 0;
  Buffer<int> data = Buffer<int>(100);
  std::string text = "a text that is not kept in the string itself";
};
void ending() { Array<Restless>::create({64}).send<&Restless::go>(); }

// The memory in use at once is known: an element that isn't there yet keeps the messages to it.
struct Heavy : Element<Heavy> {
  void take(std::span<const char>) {
    if (++taken < 1000) return;
    for (int i = 0; i < 300; ++i)  // none of which runs before this one has ended
      proxy().send<&Heavy::back>(std::vector<char>(200));
  }
  void back(std::span<const char>) {
    if (++came_back == 300) proxy().send<&Heavy::load>(Buffer<char>(3 << 20), Buffer<char>(5000));
  }
  void load(Buffer<char>&&, Buffer<char>&&) { finish(); }
  int taken = 0, came_back = 0;
};
void footprint() {
  const auto all = Array<Heavy>::create_sparse();
  const std::vector<char> bytes(1000);
  for (int i = 0; i < 1000; ++i) all[5].send<&Heavy::take>(bytes);
  all.insert({5});
  all.done_inserting({});
}

void endless() { Array<Faulty>::create({8}).send<&Faulty::go_round>(); }

// In which mode it runs: whether memory of messages is shared, and by how many processes.
struct Shown : Element<Shown> {
  void begin() {
    Buffer<int> data(1);
    data[0] = 5;
    const auto at = reinterpret_cast<std::uintptr_t>(data.data());
    array()[1].send<&Shown::look>(at, static_cast<int>(getpid()), std::move(data));
  }
  void look(std::uintptr_t at, int from, Buffer<int>&& data) {
    const bool is_shared = reinterpret_cast<std::uintptr_t>(data.data()) == at, same = from == getpid();
    const std::string is = same ? "threads" : is_shared ? "processes" : "mpi";
    finish(is == path ? 0 : 1);
  }
};
void how() { Array<Shown>::create({2})[0].send<&Shown::begin>(); }

// The CPUs that each PE may use: as many as `path` says; and where that is one, another for each.
struct Seated : Element<Seated> {
  void look() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof cpus, &cpus);
    std::uint64_t first = 0;
    while (!CPU_ISSET(first, &cpus)) ++first;
    const std::uint64_t right = std::to_string(CPU_COUNT(&cpus)) == path ? 1 : 0;
    contribute(right << 32 | std::uint64_t{1} << first % 32, sum, array()[0].callback<&Seated::all>());
  }
  void all(std::uint64_t sums) {
    const auto right = static_cast<int>(sums >> 32), cpus = std::popcount(sums & 0xffffffff);
    finish(right == pes() && (path != "1" || cpus == pes()) ? 0 : 1);
  }
};
void seated() { Array<Seated>::create({pes()}).send<&Seated::look>(); }
struct Where : Element<Where> {
  void tell() {
    std::printf("PE %d on CPU %d\n", pe(), sched_getcpu());
    contribute(finish_callback());
  }
};
void where() { Array<Where>::create({pes()}).send<&Where::tell>(); }

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) path = argv[2];
  set_before = 3;
  return run(argc, argv, [&] {
    const std::map<std::string, void (*)()> cases{{"arguments", arguments},
                                                  {"outspoken", outspoken},
                                                  {"faltering", faltering},
                                                  {"loads", loads},
                                                  {"hasty", hasty},
                                                  {"traffic", traffic},
                                                  {"sparse", sparse},
                                                  {"moving", moving},
                                                  {"ending", ending},
                                                  {"endless", endless},
                                                  {"heaps", heaps},
                                                  {"save-heaps", [] { save_heaps(path); }},
                                                  {"load-heaps", [] { load_heaps(path); }},
                                                  {"load-heaps-late", [] { load_heaps_late(path); }},
                                                  {"footprint", footprint},
                                                  {"how", how},
                                                  {"seated", seated},
                                                  {"where", where},
                                                  {"save", save},
                                                  {"save-twice", save_twice},
                                                  {"save-nowhere", save_nowhere},
                                                  {"load", load},
                                                  {"load-second", load_second},
                                                  {"load-other", load_other},
                                                  {"save-sparse", save_sparse},
                                                  {"load-sparse", load_sparse},
                                                  {"failing", failing},
                                                  {"setting", setting},
                                                  {"killed", killed},
                                                  {"left", left},
                                                  {"never", never},
                                                  {"idle", idle}};
    const auto found = cases.find(argc > 1 ? argv[1] : "");
    if (found == cases.end()) throw std::runtime_error("which case?");
    found->second();
  });
}
