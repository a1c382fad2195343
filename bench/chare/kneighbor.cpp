// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// kNeighbor (Charm++'s benchmark of that name): 8 elements in a circle; each sends a message to
// its 3 neighbours on either side, and each of these is answered by one of the same size; when an element has
// all of its answers, its next iteration begins. 96 messages an iteration, half of them to the other PE where
// there are two. Two forms:
//
//     bounced   the payload is never looked at and goes back as it came: what Charm++ measures
//     touched   all of it is written before it is sent and read when it has come, both ways
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/batches.hpp"
#include "modes.hpp"
#include "nigh/chare.hpp"
#include "peers.hpp"

namespace {

namespace nc = nigh::chare;
using bench::now;

constexpr int elements = 8, neighbours = 3;

struct Load {
  const char* name = "";
  std::size_t bytes = 0;
  bool touched = false;
};
const std::vector<Load> loads = {{"64 B bounced", 64, false},      {"1 KiB bounced", 1024, false},
                                 {"16 KiB bounced", 16384, false}, {"64 B touched", 64, true},
                                 {"1 KiB touched", 1024, true},    {"16 KiB touched", 16384, true}};

struct Options {
  int pes = 2;
  bool quick = false;
  std::string subject = "nigh-threads";
};

// Times of batches, near and far apart, until there are enough.
class Series {
 public:
  explicit Series(bool quick) : wanted_(quick ? 7 : 21), patience_(quick ? 0.4 : 1.5), begun_(bench::now()) {}
  // `line`: seconds that a line took before and after.
  void add(double before, double after, double seconds) {
    ++tried_;
    if ((before < bench::near_below) == (after < bench::near_below))
      times_[before < bench::near_below ? 1 : 0].push_back(seconds);
  }
  [[nodiscard]] bool done() const {
    const double spent = bench::now() - begun_;
    const bool some = !times_[0].empty() || !times_[1].empty();
    return times_[0].size() >= wanted_ || times_[1].size() >= wanted_ ||
           (tried_ > 0 && spent > patience_ * (some ? 1 : 10));
  }
  [[nodiscard]] bench::Measured result(const std::string& name) const {
    const bool near = times_[1].size() >= times_[0].size();
    std::vector<double> most = times_[near ? 1 : 0];
    if (most.empty()) return {name, 0, false};
    const auto middle = most.begin() + static_cast<std::ptrdiff_t>(most.size() / 2);
    std::nth_element(most.begin(), middle, most.end());
    return {name, 1e9 * *middle, near};
  }

 private:
  std::size_t wanted_;
  double patience_, begun_;
  int tried_ = 0;
  std::vector<double> times_[2];  // far, near
};

struct Batch {
  std::size_t bytes = 64;
  bool touched = false;
  int iterations = 1000;
};

struct Driver;

struct Block : nc::Element<Block> {
  Block(nc::Proxy<Driver> driver, bool spoils) : driver(driver), spoils(spoils) {}
  void begin(Batch what) {
    if (what.bytes != batch.bytes || buffers.empty()) {
      buffers.clear();
      for (int i = 0; i < 2 * neighbours; ++i) buffers.emplace_back(what.bytes);
    }
    batch = what;
    done = wrong = 0;
    iterate();
  }
  void iterate() {
    for (int i = 1; i <= neighbours; ++i)
      for (const int by : {i, -i}) {
        nc::Buffer<unsigned char> data = std::move(buffers.back());
        buffers.pop_back();
        write(data, static_cast<unsigned char>(done), batch.touched);
        const int to = static_cast<int>(index().x) + by + elements;
        array()[to % elements].send<&Block::take>(static_cast<int>(index().x), done, batch.touched,
                                                  std::move(data));
      }
  }
  // `touched`: of the batch that the message belongs to. This element's may not have begun yet.
  void take(int from, int round, bool touched, nc::Buffer<unsigned char>&& data) {
    read(data, static_cast<unsigned char>(round), touched);
    write(data, static_cast<unsigned char>(round + 1), touched);
    if (spoils && round == 100) data[0] ^= 1;
    array()[from].send<&Block::answered>(std::move(data));
  }
  void answered(nc::Buffer<unsigned char>&& data) {
    read(data, static_cast<unsigned char>(done + 1), batch.touched);
    buffers.push_back(std::move(data));
    if (buffers.size() < 2 * neighbours) return;
    if (++done < batch.iterations)
      iterate();
    else
      over();
  }
  void over();
  static void write(nc::Buffer<unsigned char>& data, unsigned char value, bool touched) {
    if (touched) std::memset(data.data(), value, data.size());
  }
  void read(const nc::Buffer<unsigned char>& data, unsigned char value, bool touched) {
    if (!touched) return;
    unsigned sum = 0;
    for (const unsigned char byte : data) sum += byte;
    seen += sum;
    if (sum != unsigned{value} * data.size()) ++wrong;
  }
  nc::Proxy<Driver> driver;
  bool spoils;
  Batch batch;
  std::vector<nc::Buffer<unsigned char>> buffers;
  int done = 0, wrong = 0;
  unsigned seen = 0;
};

// One on each PE. The first lets batches run, and a line go to and fro between the first two PEs around them.
struct alignas(128) Line {
  std::atomic<int> value;
};
// The lines for PEs that share no memory of messages. Forked ones: a mapping from before; by mpirun: seconds,
// measured before the job, so that a change meanwhile is not seen.
Line* mapped_lines = nullptr;
double line_before = -1;
// The CPUs of a process that starts all PEs, read before they are bound. PEs that take turns on them are near
// now and far then: no batch would be of one state.
int cpus_of_all = 0;
struct Driver : nc::Element<Driver> {
  explicit Driver(bool quick) : quick(quick) {}
  void begin(nc::Array<Block> all) {
    blocks = all;
    batch.iterations = 200;  // verified, and to warm up
    batch.touched = true;
    blocks.send<&Block::begin>(batch);
  }
  void measure_line() {
    if (nc::pes() < 2 || crowded()) return line_measured(0);
    if (line_before >= 0) return line_measured(line_before);
    if (!mapped_lines) lines = nc::Buffer<char>(2 * sizeof(Line));
    both = mapped_lines ? mapped_lines : reinterpret_cast<Line*>(lines.data());
    new (both) Line[2]{};
    array()[1].send<&Driver::echo>(reinterpret_cast<std::uintptr_t>(both));
    proxy().send<&Driver::call>();  // after that has gone
  }
  static bool crowded() { return cpus_of_all > 0 && nc::pes() > cpus_of_all; }
  static constexpr int rounds = 200;
  void echo(std::uintptr_t at) {
    both = reinterpret_cast<Line*>(at);
    for (int i = 1; i <= rounds; ++i) {
      wait_for(both[0], i);
      both[1].value.store(i, std::memory_order_release);
    }
  }
  void call() {
    double best = 1;
    for (int i = 1; i <= rounds; ++i) {
      const double from = now();
      both[0].value.store(i, std::memory_order_release);
      wait_for(both[1], i);
      if (i > rounds / 4) best = std::min(best, (now() - from) / 2);
    }
    line_measured(best);
  }
  static void wait_for(Line& line, int value) {
    for (unsigned looks = 1; line.value.load(std::memory_order_acquire) < value; ++looks)
      if (looks % 4096 == 0) std::this_thread::yield();
  }
  void line_measured(double seconds) {
    if (!timed) {
      before = seconds;
      begun = now();
      return blocks.send<&Block::begin>(batch);
    }
    series->add(before, seconds, spent / batch.iterations);
    timed = false;
    if (!series->done()) return measure_line();
    results.push_back(series->result(loads[at].name));
    ++at;
    next();
  }
  void over(int wrong_ones) {
    spent = now() - begun;
    if (wrong_ones != 0) wrong = true;
    if (!series) return next();
    timed = true;
    measure_line();
  }
  void next() {
    if (at == loads.size()) {
      std::vector<int> pes(static_cast<std::size_t>(std::max(nc::pes(), 1)));
      for (std::size_t i = 0; i < pes.size(); ++i) pes[i] = static_cast<int>(i);
      bench::report("kneighbor", results, crowded() ? std::vector<int>() : pes, pes,
                    wrong ? "a payload was not what was sent" : "");
      return nc::finish(wrong ? 1 : 0);
    }
    batch = {loads[at].bytes, loads[at].touched, loads[at].touched && loads[at].bytes > 1024 ? 200 : 1000};
    series = std::make_unique<Series>(quick);
    measure_line();
  }
  bool quick = false, timed = false, wrong = false;
  nc::Array<Block> blocks;
  nc::Buffer<char> lines;
  Line* both = nullptr;
  Batch batch;
  std::unique_ptr<Series> series;
  std::vector<bench::Measured> results;
  std::size_t at = 0;
  double begun = 0, spent = 0, before = 0;
};
void Block::over() { contribute(wrong, nc::sum, driver.callback<&Driver::over>()); }

int run_others(const Options& options, const std::string& folder) {
  std::string why;
  const std::vector<std::string> command =
      bench::peers::command("kneighbor", options.subject, folder, options.pes, why);
  if (command.empty()) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 2;
  }
  const bool is_mpi = options.subject.starts_with("mpi-");
  const std::vector<int> cpus = bench::usable_cpus();
  std::vector<bench::Measured> results;
  for (const Load& load : loads) {
    if (load.touched && !is_mpi) continue;  // Charm++'s own program does not
    Series series(options.quick);
    while (!series.done()) {
      std::vector<std::string> words = command;
      for (const std::string& word :
           {std::to_string(elements), std::string(options.quick ? "20" : "60"), std::to_string(load.bytes)})
        words.push_back(word);
      if (load.touched) words.emplace_back("touched");
      // The launcher, which the variable names, gives the number of PEs of a build for MPI.
      if (!is_mpi && options.subject != "charm-mpi") words.push_back("+p" + std::to_string(options.pes));
      const double before = bench::line_time(cpus), median = bench::peers::run(words, why);
      if (median < 0) {
        std::fprintf(stderr, "%s: %s\n", options.subject.c_str(), why.c_str());
        return 2;
      }
      series.add(before, bench::line_time(cpus), median);
    }
    results.push_back(series.result(load.name));
  }
  bench::report("kneighbor", results, cpus, options.pes - 1, "");
  return 0;
}

int usage() {
  std::string names = bench::modes::names;
  for (const std::string& peer : bench::peers::names()) names += " " + peer;
  std::fprintf(
      stderr,
      "usage: kneighbor --teams PES --subject NAME [--quick]; PEs: 1, 2, 4 or 8; nigh-processes: under "
      "nigh run -n; subjects: %s\n",
      names.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick")
      options.quick = true;
    else if (word == "--teams" && i + 1 < argc)
      options.pes = std::atoi(argv[++i]);
    else if (word == "--subject" && i + 1 < argc)
      options.subject = argv[++i];
    else
      return usage();
  }
  if (options.pes < 1 || options.pes > 8 || (options.pes & (options.pes - 1)) != 0) return usage();
  const auto& others = bench::peers::names();
  if (std::find(others.begin(), others.end(), options.subject) != others.end())
    return run_others(options, bench::peers::folder_of(argv[0]));
  const bool spoils = options.subject == "nigh-spoiled";  // must be found out
  const auto own = bench::modes::options(options.subject, options.pes);
  if (!own || options.subject == "nigh-fixed") return usage();
  if (own->mode == nc::Mode::shm) {
    void* const memory =
        mmap(nullptr, 2 * sizeof(Line), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return std::perror("kneighbor: mmap"), 1;
    mapped_lines = static_cast<Line*>(memory);
  } else if (own->mode == nc::Mode::mpi) {
    line_before = bench::line_time(bench::usable_cpus());
  }
  if (own->mode == nc::Mode::threads || own->mode == nc::Mode::shm)
    cpus_of_all = static_cast<int>(bench::usable_cpus().size());
  return nc::run(*own, [&] {
    auto drivers = nc::Array<Driver>::create({nc::pes()}, options.quick);
    auto blocks = nc::Array<Block>::create({elements}, drivers[0], spoils);
    drivers[0].send<&Driver::begin>(blocks);
  });
}
