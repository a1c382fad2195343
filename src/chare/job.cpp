// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// run(): the PEs of this process, as threads or as the process; and core.hpp's functions, each for the PE of
// the thread that calls it.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <nigh/space.h>

#include "base/cpuset.hpp"
#include "chare/comm_thread.hpp"
#include "chare/job.hpp"
#include "chare/pe.hpp"
#include "space/process_space.hpp"
#include "space/thread_space.hpp"
#include "sys/os.hpp"

// From libnigh-space.so, which is there if `nigh run -n` preloaded it.
#pragma weak nigh_space_join
#pragma weak nigh_space_size
#pragma weak nigh_space_why
#pragma weak nigh_space_object

namespace nigh::chare {

void no_pe() {
  throw std::logic_error("nigh::chare was called by a thread that is no PE: only within run()");
}

namespace core {

namespace {

// A PE on a CPU of its own.
class Seat {
 public:
  Seat(const sys::Places& places, int rank) {
    if (places.cpus.empty()) return;
    const int cpu = places.cpus[static_cast<std::size_t>(places.first) + static_cast<std::size_t>(rank)];
    const auto before = sys::affinity();
    if (before && sys::set_affinity({cpu})) before_ = *before;
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  ~Seat() {
    if (!before_.empty()) static_cast<void>(sys::set_affinity(before_));
  }

 private:
  CpuSet before_;
};

// One PE from its beginning to its end, or the communication thread. -1: it could not begin.
int live(space::ThreadSpace::Common& common, int rank, const Settings& settings, const sys::Places& places,
         space::CommonRange& range, Cluster* cluster, void (*main)(void*), void* argument) {
  const Seat seat(places, rank);
  space::ThreadSpace space(common, rank);
  message::Waiter waiter(space, places.usable.count());
  if (cluster) {
    message::Patience patience = message::patience_for(places.all, places.usable.count());
    if (static_cast<int>(cluster->driver()) == rank)
      patience.sleep_ns = 50'000;  // nobody rings for what comes
    waiter.set_patience(patience);
  }
  const message::RingMemory rings{
      [](std::size_t bytes) { return ::operator new(bytes, std::align_val_t{64}, std::nothrow); },
      [](void* memory, std::size_t) { ::operator delete(memory, std::align_val_t{64}); }};
  int status = -1;
  const Kind kind{message::PoolMemory::of_process(),
                  rings,
                  false,
                  settings.debug,
                  settings.trace,
                  settings.progress,
                  settings.by_pointer,
                  &range};
  if (waiter.usable() && rank == settings.pes) {
    CommThread thread(space, waiter, kind, *cluster);
    if (thread.open()) thread.run(), status = 0;
  } else if (waiter.usable()) {
    Pe pe(space, waiter, kind, cluster);
    if (pe.open()) status = pe.run(main, argument);
  }
  if (status < 0) space.die();
  return status;
}

// The one PE of this process.
space::ProcessSpace* process_space = nullptr;
int live_in_process(const Settings& settings, void (*main)(void*), void* argument) {
  if (process_space) {
    std::fprintf(stderr, "nigh chare: run() can be called once in a process that nigh run -n has started\n");
    return 1;
  }
  if (settings.pes > 0 && settings.pes != nigh_space_size()) {
    std::fprintf(stderr, "nigh chare: --pes %d, but nigh run -n has started %d processes, each a PE\n",
                 settings.pes, nigh_space_size());
    return 2;
  }
  process_space = nigh_space_join(-1) == 0 ? nigh_space_object(space::abi_version) : nullptr;
  if (!process_space) {
    std::fprintf(stderr, "nigh chare: the processes can't reach each other: %s\n", nigh_space_why());
    return 1;
  }
  for (int rank = 0; rank < process_space->size(); ++rank)
    if (!process_space->reachable(rank)) {
      std::fprintf(stderr, "nigh chare: PE %d can't be reached: %s\n", rank, nigh_space_why());
      return 1;
    }
  static space::CommonRange range;
  message::Waiter waiter(*process_space, 1 << 20);
  if (!waiter.usable()) return 1;
  waiter.set_patience(message::patience_for(process_space->size(), waiter.cpus_of_job()));
  const Kind kind{
      {[](void*, std::size_t bytes) { return process_space->alloc(bytes, message::Pool::chunk_bytes); },
       [](void*, void* memory, std::size_t) { process_space->release(memory); }, nullptr},
      {[](std::size_t bytes) { return process_space->alloc(bytes, 64); },
       [](void* memory, std::size_t) { process_space->release(memory); }},
      true,
      settings.debug,
      settings.trace,
      settings.progress,
      settings.by_pointer,
      &range};
  Pe pe(*process_space, waiter, kind);
  const int status = pe.open() ? pe.run(main, argument) : 1;
  return status;
}

// The value of `--name value` or `--name=value` at argv[i], how many words it takes in `words`; null:
// another.
const char* value_of(std::string_view name, int argc, char** argv, int i, int& words) {
  const std::string_view word(argv[i]);
  if (!word.starts_with(name)) return nullptr;
  words = 1;
  if (word.size() > name.size()) return word[name.size()] == '=' ? argv[i] + name.size() + 1 : nullptr;
  words = 2;
  return i + 1 < argc ? argv[i + 1] : "";
}

constexpr std::uint32_t least_piece = 1024;  // of frames

bool parse_framing(const char* text, Settings& settings) {
  const char* const end = text + std::strlen(text);
  const auto [comma, wrong] = std::from_chars(text, end, settings.piece);
  if (wrong != std::errc() || comma == end || *comma != ',') return false;
  const auto [at, error] = std::from_chars(comma + 1, end, settings.most_framed);
  return error == std::errc() && at == end && settings.piece >= least_piece &&
         settings.piece <= Framing::most && settings.most_framed <= Framing::most;
}

}  // namespace

void post_to_all(Header* message, ArrayId array) { Pe::mine().post_to_all(message, array); }
void post_to_some(Header* message, ArrayId array, const Index* elements, std::size_t count) {
  Pe::mine().post_to_some(message, array, elements, count);
}
ArrayId create(const Shape& shape, const Type& type, Header* constructor) {
  return Pe::mine().create(shape, type, constructor);
}
void insert(Header* constructor, ArrayId array, const Index& index) {
  Pe::mine().insert(constructor, array, index);
}
void done_inserting(ArrayId array, const Callback& then) { Pe::mine().done_inserting(array, then); }
Shape shape_of(ArrayId array) {
  const Elements* const elements = Pe::mine().elements(array);
  return elements ? elements->shape : Shape{0, 0, 0};
}
void contribute(ElementBase& from, const void* data, std::size_t bytes, const Fold& fold,
                const Callback& then) {
  Pe::mine().contribute(from, data, bytes, fold, then);
}
void balance(ElementBase& from, const Callback& then) { Pe::mine().balance(from, then); }
void checkpoint(ElementBase& from, const char* path, const Callback& then) {
  Pe::mine().checkpoint(from, path, then);
}
ArrayId restore(const char* path, const Type& type) { return Pe::mine().restore(path, type); }
bool looks_closely() { return Pe::mine().looks_closely(); }
ArrayId array_of_file(ArrayId array) { return Pe::mine().array_of_file(array); }
std::uint64_t mark_of_entry(std::uint16_t entry) { return Entries::all().mark_of(entry); }
bool entry_of_mark(std::uint64_t mark, std::uint16_t& entry) { return Entries::all().find(mark, entry); }
void on_quiescence(const Callback& then) { Pe::mine().on_quiescence(then); }
void after(double seconds, const Callback& then) { Pe::mine().after(seconds, then); }
void finish(int status) { Pe::mine().finish(status); }
void failed(const char* what) { Pe::mine().failed(what); }
int pe() { return static_cast<int>(Pe::mine().number()); }
int pes() { return static_cast<int>(Pe::mine().count()); }
const BeingMade& being_made() { return Pe::mine().being_made(); }

bool parse(int& argc, char** argv, Settings& settings) {
  int kept = std::min(argc, 1);
  for (int i = 1, words = 1; i < argc; i += words) {
    words = 1;
    if (std::strcmp(argv[i], "--") == 0) {
      while (i < argc) argv[kept++] = argv[i++];
      break;
    }
    if (const char* const pes = value_of("--pes", argc, argv, i, words)) {
      const char* const end = pes + std::strlen(pes);
      const auto [at, error] = std::from_chars(pes, end, settings.pes);
      if (error != std::errc() || at != end || settings.pes < 1 || settings.pes > most_pes) {
        std::fprintf(stderr, "nigh chare: --pes takes a number from 1 to %d, not \"%s\"\n", most_pes, pes);
        return false;
      }
    } else if (const char* const mode = value_of("--mode", argc, argv, i, words)) {
      const std::string_view names[] = {"auto", "threads", "processes", "shm", "mpi"};
      const auto* const found = std::find(std::begin(names), std::end(names), mode);
      if (found == std::end(names)) {
        std::fprintf(stderr, "nigh chare: --mode takes auto, threads, processes, shm or mpi, not \"%s\"\n",
                     mode);
        return false;
      }
      settings.mode = static_cast<int>(found - names);
    } else if (const char* const bind = value_of("--bind", argc, argv, i, words)) {
      const std::string_view names[] = {"scatter", "compact", "none"};
      const auto* const found = std::find(std::begin(names), std::end(names), bind);
      if (found == std::end(names)) {
        std::fprintf(stderr, "nigh chare: --bind takes scatter, compact or none, not \"%s\"\n", bind);
        return false;
      }
      settings.bind = static_cast<int>(found - names);
    } else if (std::strcmp(argv[i], "--chare-debug") == 0) {
      settings.debug = true;
    } else if (const char* const trace = value_of("--chare-trace", argc, argv, i, words)) {
      if (!*trace) {
        std::fprintf(stderr, "nigh chare: --chare-trace takes the name of a file\n");
        return false;
      }
      settings.trace = trace;
    } else if (const char* const seconds = value_of("--chare-progress", argc, argv, i, words)) {
      char* end = nullptr;
      settings.progress = std::strtod(seconds, &end);
      if (end == seconds || *end || !(settings.progress >= 0.001 && settings.progress <= 1e6)) {
        std::fprintf(stderr, "nigh chare: --chare-progress takes seconds, such as 1, not \"%s\"\n", seconds);
        return false;
      }
    } else if (const char* const framing = value_of("--framing", argc, argv, i, words)) {
      if (!parse_framing(framing, settings)) {
        std::fprintf(
            stderr,
            "nigh chare: --framing takes two numbers of bytes, PIECE from %u to %u and MOST from 0 to %u, "
            "such as 8192,4096, not \"%s\"\n",
            least_piece, Framing::most, Framing::most, framing);
        return false;
      }
    } else if (std::strcmp(argv[i], "--by-pointer") == 0) {
      settings.by_pointer = true;
    } else if (std::strcmp(argv[i], "--comm-thread") == 0) {
      settings.comm_thread = true;
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  return true;
}

int run(const Settings& settings, void (*main)(void*), void* argument) {
  const bool is_framed = settings.piece > 0 || settings.most_framed > 0;
  if (is_framed && (settings.piece < least_piece || settings.piece > Framing::most ||
                    settings.most_framed > Framing::most)) {
    std::fprintf(stderr,
                 "nigh chare: framing.piece is from %u to %u bytes and most_framed up to %u, not %u and %u\n",
                 least_piece, Framing::most, Framing::most, settings.piece, settings.most_framed);
    return 2;
  }
  if (Pe::here()) throw std::logic_error("nigh::chare::run() was called by a PE: there is one job at a time");
  const bool started = nigh_space_size && nigh_space_size() > 0;  // by nigh run -n
  auto mode = static_cast<Mode>(settings.mode);
  if (mode == Mode::automatic)
    mode = started && !spans_nodes(nigh_space_size()) ? Mode::processes
           : started_by_mpi() > 1                     ? Mode::mpi
                                                      : Mode::threads;
  if (mode == Mode::processes && !started) {
    std::fprintf(stderr,
                 "nigh chare: for PEs that are processes start the program with nigh run -n 4 -- ...\n");
    return 2;
  }
  if (mode == Mode::shm && started) {
    std::fprintf(stderr, "nigh chare: --mode shm starts processes of its own: run it without nigh run -n\n");
    return 2;
  }
  if (mode == Mode::processes) return live_in_process(settings, main, argument);
  static_cast<void>(Entries::all());
  if (mode == Mode::shm) return run_forked(settings, main, argument);
  if (mode == Mode::mpi) return run_by_mpi(settings, main, argument);
  const CpuSet usable = sys::usable_cpus();
  const int pes = settings.pes > 0 ? settings.pes : usable.count();
  space::CommonRange range;
  static_cast<void>(range.settle_alone());  // else told when a heap is asked for
  const sys::Places places = sys::plan_places(usable, 0, pes, static_cast<sys::Bind>(settings.bind));
  return run_threads(settings, places, range, nullptr, main, argument);
}

}  // namespace core

int run_threads(core::Settings settings, const sys::Places& places, space::CommonRange& range,
                Cluster* cluster, void (*main)(void*), void* argument) {
  settings.pes = cluster ? static_cast<int>(cluster->local()) : places.all;
  if (settings.pes > most_pes) {
    std::fprintf(stderr, "nigh chare: at most %d PEs can be, not %d\n", most_pes, settings.pes);
    return 1;
  }
  const int ranks = settings.pes + (cluster && cluster->has_thread ? 1 : 0);
  space::ThreadSpace::Common common(ranks);
  std::vector<std::thread> threads;
  int status = 0;
  for (int i = 1; i < ranks; ++i) {
    try {
      threads.emplace_back(
          [&, i] { core::live(common, i, settings, places, range, cluster, nullptr, nullptr); });
    } catch (const std::system_error& e) {
      std::fprintf(stderr, "nigh chare: PE %d of %d can't be started: %s\n", i, settings.pes, e.what());
      for (int j = i; j < ranks; ++j) space::ThreadSpace(common, j).die();
      status = 1;
      break;
    }
  }
  if (status == 0)
    status = core::live(common, 0, settings, places, range, cluster, main, argument);
  else
    space::ThreadSpace(common, 0).die();
  if (cluster && !cluster->met.load(std::memory_order_relaxed)) cluster->transport->abandon();
  for (std::thread& thread : threads) thread.join();
  return status < 0 ? 1 : status;
}

}  // namespace nigh::chare
