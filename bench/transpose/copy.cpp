// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory moved in one address space, from what fits a core's caches to what no cache holds: Haan's
// pictures of its local steps. MB/s, read and written together.
//
//     copy        a matrix as it is
//     reorder     Haan's local reorder, A(i1l, i1g, i2l) -> a1(i1l, i2l, i1g) with 8 parts i1g
//     transpose   of doubles; `odd`: a side that is no multiple of a line
//     in-place    squares and rectangles in their own memory (copy_in_place.cpp)
//
// Every subject moves the same bytes by the same number of threads, each of which does the same share.
// `limit` copies from sixteen places at once, whole lines past the caches, or by the way of them, whatever is
// faster for the size: no order is faster here; `memcpy` copies whatever is asked for.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/batches.hpp"
#include "transpose/copy_peers.hpp"
#include "transpose/local.hpp"
#include "transpose/pair.hpp"

namespace {

using bench::now;
using bench::Pair;
using nigh::transpose::Block;
using nigh::transpose::IndexRange;
using nigh::transpose::Rows;
using nigh::transpose::Stores;
using nigh::transpose::Team;

constexpr std::size_t parts_of_reorder = 8, word = bench::word;

IndexRange share(std::size_t count, std::size_t grain, int part, int parts) {
  return nigh::transpose::share(count, grain, static_cast<std::size_t>(part),
                                static_cast<std::size_t>(parts));
}

enum class Move { copy, reorder, transpose, none };
// The share of one of `parts` threads in a move.
using Work = std::function<void(Pair&, Move, int part, int parts)>;

// The rows of part g of the reorder: i2l rows of i1l elements.
Rows rows_of(Pair& pair, std::size_t g) {
  const std::size_t run = pair.bytes() / pair.side() / parts_of_reorder;
  return {pair.source() + g * run,
          run * parts_of_reorder,
          pair.target() + g * run * pair.side(),
          run,
          pair.side(),
          run};
}
constexpr std::size_t gathered = 4096;  // bytes that a `copy` is cut into, so that threads share it

void nigh_work(Stores stores, Pair& pair, Move move, int part, int parts) {
  // A part of a reorder is small; whether it is streamed is decided by the whole.
  if (stores == Stores::automatic)
    stores = nigh::transpose::streams({}, pair.bytes(), parts) ? Stores::streamed : Stores::cached;
  const nigh::transpose::CopyOptions way{stores, 0, nullptr};
  if (move == Move::transpose) {
    transpose_part({pair.source(), pair.side(), pair.target(), pair.side(), pair.side(), pair.side()}, word,
                   part, parts, way);
  } else if (move == Move::copy) {
    copy_part({pair.source(), 0, pair.target(), 0, 1, pair.bytes()}, part, parts, way);
  } else {
    for (std::size_t g = 0; g < parts_of_reorder; ++g) copy_part(rows_of(pair, g), part, parts, way);
  }
}

// For the test of the verification.
void spoiled(Pair& pair, Move move, int part, int parts) {
  nigh_work(Stores::automatic, pair, move, part, parts);
  if (part == 0) pair.to()[pair.side() / 2] += 1;
}

// Runs by `copy_run(to, from, bytes)`.
template <class Copy>
void by_runs(Pair& pair, Move move, int part, int parts, const Copy& copy_run) {
  if (move == Move::reorder) {
    for (std::size_t g = 0; g < parts_of_reorder; ++g) {
      const Rows rows = rows_of(pair, g);
      const auto [first, end] = share(rows.count, 1, part, parts);
      for (std::size_t i = first; i < end; ++i)
        copy_run(rows.to + i * rows.to_stride, rows.from + i * rows.from_stride, rows.bytes);
    }
    return;
  }
  const auto [first, end] = share(pair.bytes(), gathered, part, parts);
  copy_run(pair.target() + first, pair.source() + first, end - first);
}

// The loop as a compiler translates it, and the same with prefetches, Haan's second picture.
template <bool prefetches>
void loop_run(std::byte* to, const std::byte* from, std::size_t bytes) {
  auto* __restrict a = reinterpret_cast<double*>(to);
  const auto* __restrict b = reinterpret_cast<const double*>(from);
  for (std::size_t i = 0; i < bytes / word; i += 8) {
    if (prefetches) __builtin_prefetch(b + i + 64);
    for (std::size_t k = i; k < std::min(i + 8, bytes / word); ++k) a[k] = b[k];
  }
}

void loops(Pair& pair, Move move, int part, int parts) {
  if (move != Move::transpose) return by_runs(pair, move, part, parts, loop_run<false>);
  const auto [first, end] = share(pair.side(), 8, part, parts);
  for (std::size_t j = first; j < end; ++j)
    for (std::size_t i = 0; i < pair.side(); ++i)
      pair.to()[j * pair.side() + i] = pair.from()[i * pair.side() + j];
}

void prefetching(Pair& pair, Move move, int part, int parts) {
  if (move == Move::transpose) return;
  by_runs(pair, move, part, parts, loop_run<true>);
}

// The loop that careful programs write by hand.
void tiles(Pair& pair, Move move, int part, int parts) {
  if (move != Move::transpose) return;
  constexpr std::size_t tile = 32;
  const std::size_t side = pair.side();
  const auto [first, end] = share(side, tile, part, parts);
  for (std::size_t j = first; j < end; j += tile)
    for (std::size_t i = 0; i < side; i += tile)
      for (std::size_t y = j; y < std::min(j + tile, end); ++y)
        for (std::size_t x = i; x < std::min(i + tile, side); ++x)
          pair.to()[y * side + x] = pair.from()[x * side + y];
}

void memcpys(Pair& pair, Move move, int part, int parts) {
  by_runs(pair, move == Move::transpose ? Move::copy : move, part, parts,
          [](std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); });
}

// A copy of as many bytes, for any move.
template <Stores stores>
void limit(Pair& pair, Move, int part, int parts) {
  nigh_work(stores, pair, Move::copy, part, parts);
}

// Each thread's share has a plan of its own, as FFTW's own threads have it.
class Fftw {
 public:
  void prepare(Pair& pair, int parts) {
    plans_.clear();
    const std::size_t side = pair.side();
    for (int part = 0; part < parts; ++part) {
      const auto [first, end] = share(side, 8, part, parts);
      plans_.push_back(first == end ? nullptr
                                    : std::make_unique<bench::FftwTranspose>(pair.planned() + first, side,
                                                                             pair.to() + first * side, side,
                                                                             side, end - first));
    }
    pair.fill();
  }
  void work(int part) const {
    if (plans_[static_cast<std::size_t>(part)]) plans_[static_cast<std::size_t>(part)]->run();
  }

 private:
  std::vector<std::unique_ptr<bench::FftwTranspose>> plans_;
};

// OpenBLAS' extension of BLAS. One thread: it has no others for this.
using Omatcopy = void (*)(int, int, int, int, double, const double*, int, double*, int);
Omatcopy find_omatcopy() {
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW);
  return library ? reinterpret_cast<Omatcopy>(dlsym(library, "cblas_domatcopy")) : nullptr;
}
void openblas(Omatcopy omatcopy, Pair& pair, Move move, int part, int parts) {
  if (move == Move::reorder) return;
  const auto [first, end] = share(pair.side(), 8, part, parts);
  const int side = static_cast<int>(pair.side()), columns = static_cast<int>(end - first);
  if (columns == 0) return;
  if (move == Move::transpose) {
    omatcopy(101, 112, side, columns, 1.0, pair.from() + first, side, pair.to() + first * pair.side(), side);
  } else {
    omatcopy(101, 111, columns, side, 1.0, pair.from() + first * pair.side(), side,
             pair.to() + first * pair.side(), side);
  }
}

[[noreturn]] void wrong_use(const std::string& what) {
  std::fprintf(stderr,
               "copy: %s; usage: copy --subject "
               "nigh|nigh-cached|nigh-streamed|loop|prefetch|tiles|cycles|memcpy|openblas|fftw|limit "
               "[--teams THREADS] [--quick]\n",
               what.c_str());
  std::exit(2);
}

// The functions of a subject for a copy, a reorder, a transpose.
struct Subject {
  Work work;
  std::array<Move, 3> does;
  Work or_else = {};                                   // the faster one counts
  std::function<void(Pair&, int parts)> prepare = {};  // of a pair, before all threads work on it
};

Subject find_subject(const std::string& name) {
  using std::placeholders::_1, std::placeholders::_2, std::placeholders::_3, std::placeholders::_4;
  constexpr Move copy = Move::copy, reorder = Move::reorder, transpose = Move::transpose, none = Move::none;
  const auto ours = [](Stores stores) { return std::bind(nigh_work, stores, _1, _2, _3, _4); };
  if (name == "nigh") return {ours(Stores::automatic), {copy, reorder, transpose}};
  if (name == "nigh-cached") return {ours(Stores::cached), {copy, reorder, transpose}};
  if (name == "nigh-streamed") return {ours(Stores::streamed), {copy, reorder, transpose}};
  if (name == "nigh-spoiled") return {spoiled, {copy, reorder, transpose}};
  if (name == "loop") return {loops, {copy, reorder, transpose}};
  if (name == "prefetch") return {prefetching, {copy, reorder, none}};
  if (name == "tiles") return {tiles, {none, none, transpose}};
  if (name == "memcpy") return {memcpys, {copy, reorder, copy}};
  if (name == "limit") return {limit<Stores::streamed>, {copy, copy, copy}, limit<Stores::cached>};
  if (name == "cycles") return {loops, {none, none, none}};  // in place alone
  if (name == "fftw") {
    const auto fftw = std::make_shared<Fftw>();
    if (bench::FftwTranspose::is_there())
      return {[fftw](Pair&, Move, int part, int) { fftw->work(part); },
              {none, none, transpose},
              {},
              [fftw](Pair& pair, int parts) { fftw->prepare(pair, parts); }};
    std::fprintf(stderr, "copy: built without FFTW; install libfftw3-dev and build again\n");
    std::exit(3);
  }
  if (name == "openblas") {
    const Omatcopy omatcopy = find_omatcopy();
    if (omatcopy) return {std::bind(openblas, omatcopy, _1, _2, _3, _4), {copy, none, transpose}};
    std::fprintf(stderr, "copy: libopenblas.so.0 is not there; install libopenblas0-pthread\n");
    std::exit(3);
  }
  wrong_use("'" + name + "' is no subject");
}

bool right(Pair& pair, Move move) {
  const std::size_t side = pair.side(), run = side / parts_of_reorder;
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      const double value = pair.from()[i * side + j];
      const std::size_t at = move == Move::copy        ? i * side + j
                             : move == Move::transpose ? j * side + i
                                                       : j / run * run * side + i * run + j % run;
      if (pair.to()[at] != value) return false;
    }
  }
  return true;
}

std::string size_name(std::size_t bytes) {
  return bytes < (1U << 20) ? std::to_string(bytes >> 10) + " KiB" : std::to_string(bytes >> 20) + " MiB";
}

class Run {
 public:
  Run(std::string name, Subject subject, int threads, const std::vector<int>& cpus, bool quick)
      : name_(std::move(name)),
        subject_(std::move(subject)),
        cpus_(cpus),
        team_(threads, seats(threads, cpus)),
        quick_(quick) {}

  // Sides are multiples of 8, but for the odd ones.
  void size(const std::string& name, std::size_t side) {
    Pair pair(side);
    if (side % 8 == 0) {
      measure("copy " + name, pair, Move::copy);
      measure("reorder " + name, pair, Move::reorder);
    }
    measure((side % 8 == 0 ? "transpose " : "transpose odd ") + name, pair, Move::transpose);
  }

  // Squares of doubles: from what fits L1 to 128 MiB, every third in the short form. The exit status.
  int all_sizes() {
    for (std::size_t side = 64, count = 0; side <= 4096; side *= 2, ++count)
      if (!quick_ || (count % 3 == 0 && side <= 2048)) size(size_name(side * side * word), side);
    if (!quick_) size("128 MiB", 4099);
    const std::string wrong = bench::measure_in_place(name_, team_, quick_, results_);
    if (error_.empty()) error_ = wrong;
    std::vector<int> placement;
    for (int i = 0; i < team_.threads(); ++i)
      placement.push_back(cpus_[static_cast<std::size_t>(i) % cpus_.size()]);
    bench::report("copy", results_, cpus_, placement, error_);
    return error_.empty() ? 0 : 1;
  }

 private:
  static std::vector<nigh::CpuSet> seats(int threads, const std::vector<int>& cpus) {
    std::vector<nigh::CpuSet> out;
    for (int i = 0; i < threads; ++i) out.push_back({cpus[static_cast<std::size_t>(i) % cpus.size()]});
    return out;
  }

  void measure(const std::string& name, Pair& pair, Move move) {
    const Move done = subject_.does[static_cast<std::size_t>(move)];
    if (done == Move::none) return;
    if (subject_.prepare) subject_.prepare(pair, team_.threads());
    double each = time_of(name, pair, move, subject_.work, done);
    if (subject_.or_else) each = std::min(each, time_of(name, pair, move, subject_.or_else, done));
    results_.push_back({name, 2e-6 * static_cast<double>(pair.bytes()) / each, true, "MB/s"});
  }

  // Seconds, the median of several batches.
  double time_of(const std::string& name, Pair& pair, Move move, const Work& by, Move done) {
    const std::function<void(int)> work = [&](int thread) { by(pair, move, thread, team_.threads()); };
    std::memset(pair.to(), 0, pair.bytes());
    team_.run(work);
    if (!right(pair, done) && error_.empty()) error_ = name + " moved something to a wrong place";
    const int calls =
        static_cast<int>(std::max<std::size_t>(1, (quick_ ? 1U << 20 : 8U << 20) / pair.bytes()));
    std::vector<double> times;
    for (int batch = 0; batch < (quick_ ? 5 : 9); ++batch) {
      const double from = now();
      for (int call = 0; call < calls; ++call) team_.run(work);
      times.push_back((now() - from) / calls);
    }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
  }

  std::string name_;
  Subject subject_;
  const std::vector<int>& cpus_;
  Team team_;
  bool quick_;
  std::vector<bench::Measured> results_;
  std::string error_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string subject;
  int threads = 1;
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--quick") {
      quick = true;
    } else if (i + 1 < argc && option == "--subject") {
      subject = argv[++i];
    } else if (i + 1 < argc && option == "--teams") {
      const std::string text = argv[++i];
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
      if (error != std::errc() || end != text.data() + text.size()) threads = 0;
    } else {
      wrong_use("unknown option " + option);
    }
  }
  if (threads < 1 || threads > 4096) wrong_use("not a number of threads from 1 to 4096");
  const std::vector<int> cpus = bench::usable_cpus();
  bench::sit_on(cpus[0]);
  const Subject found = find_subject(subject);
  try {
    Run run(subject, found, threads, cpus, quick);
    return run.all_sizes();
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "copy: there is no memory for two matrices of 128 MiB\n");
    return 1;
  }
}
