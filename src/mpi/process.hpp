// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One MPI process as the interposer sees it: its space, who of MPI_COMM_WORLD is reachable in it, what is
// switched on, and the counters behind --explain. Set up when the library's MPI_Init has returned and taken
// down before its MPI_Finalize; in between everything here but the counters is constant, so that any thread
// may read it. Who has us is learned from the space alone, never by an MPI call: a rank without us would not
// answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "message/offer.hpp"
#include "message/wait.hpp"
#include "mpi/library.hpp"
#include "plan/levels.hpp"
#include "space/process_space.hpp"

namespace nigh::mpi {

// Why a call was left to the library. `covered` is the one that was not.
enum class Reason : int {
  covered,
  small,      // below the threshold, the library is as fast
  unshared,   // a buffer that peers can't see, and staging it does not pay
  distant,    // a member or the peer is not reachable: another node, without us
  alone,      // a communicator of one process
  foreign,    // a communicator that we have not seen made
  inter,      // an inter-communicator
  type,       // a datatype that we don't handle
  operation,  // a user's operation, or one that is not defined on this type
  memory,     // no memory of the space left
  self,       // a message of a rank to itself
  order,      // NIGH_REPRODUCIBLE=library: a reduction whose bits depend on the order of its operands
  uncovered,  // a function that we have no version of
  other,
  count
};
inline constexpr int reason_count = static_cast<int>(Reason::count);

// Bytes are those that a rank sends (point-to-point, to windows and files) or receives (collectives, from
// windows and files).
struct Counters {
  std::uint64_t calls[function_count][reason_count];
  std::uint64_t bytes[function_count][reason_count];
  std::uint64_t staged_bytes;  // of messages that were covered: copied twice
};

// The page that a rank shows its peers at Root::mpi, made before join(). It stays as long as the process
// lives.
struct Directory;
struct Page {
  static constexpr std::uint32_t magic_word = 0x6d706933;
  std::uint32_t magic = magic_word;
  std::uint32_t functions = function_count;
  std::int32_t world_rank = -1, world_size = 0;
  std::uint32_t parts = 0;  // bit per Part that is switched on
  std::int32_t fake_node = 0;
  std::uint32_t library_order = 0;  // NIGH_REPRODUCIBLE=library; one rank that asks is enough
  std::uint64_t cpus[128] = {};     // affinity of the process, 8192 CPUs
  plan::Seat seat;
  Counters counters = {};
  char text[8192] = {};                         // what the space says for --explain, written at the end
  std::atomic<Directory*> directory = nullptr;  // of the groups that it belongs to
  std::atomic<char*> sample = nullptr;          // p2p_stage.cpp
  std::atomic<std::uint32_t> aside = 0;         // it is in no group, whatever it has shown
  std::atomic<std::uint32_t> ended = 0;         // counters and text are complete
  std::atomic<std::uint32_t> told = 0;          // of the first rank: one of us has printed the account
  message::atomic<std::uint32_t> reading = 0;   // probes that are just taking descriptors out (early.hpp)
};

struct Process {
  space::ProcessSpace* space = nullptr;
  message::Waiter* waiter = nullptr;  // its progress function keeps the library going
  message::Offers* offers = nullptr;
  Page* page = nullptr;  // ours

  int world_rank = 0, world_size = 1;
  std::vector<int> space_of_world;  // world rank -> rank of the space, or -1
  std::vector<plan::Seat> seats;    // by rank of the space
  int thread_level = MPI_THREAD_SINGLE;
  bool multiple = false;                // several threads may be in MPI at once
  std::atomic<bool> contended = false;  // several may be in our collectives: `multiple`, or see away.hpp
  bool started = false;                 // between our set-up and our take-down
  bool reproducible = false;            // NIGH_REPRODUCIBLE=1
  bool library_order = false;           // NIGH_REPRODUCIBLE=library, of any rank of this node
  bool hierarchy = false;               // NIGH_MPI_HIERARCHY=1 promises that all ranks of the job have us

  // True for each part whose functions are ours (all of its members agree where that matters, see reaches()).
  bool parts[static_cast<int>(Part::count)] = {};
  [[nodiscard]] bool on(Part part) const { return parts[static_cast<int>(part)]; }

  // By rank of the space: bit per Part that this peer has on too; 0 for one that is not reachable.
  std::vector<std::uint32_t> peer_parts;
  [[nodiscard]] bool reaches(int space_rank, Part part) const {
    return space_rank >= 0 &&
           (peer_parts[static_cast<std::size_t>(space_rank)] >> static_cast<int>(part) & 1u) != 0;
  }
};

extern Process g_process;
inline Process& process() { return g_process; }

// Ranks have met in a collective of ours since somebody last looked for something of the library's. In one of
// the library's own it would have noticed what was sent before; now the first looks may only do so on their
// way out, one message each (MPICH), and say that there is nothing.
inline std::atomic<bool> g_met = false;

template <class Look>
[[gnu::noinline]] int look_again(const int* flag, Look& call) {
  g_met.store(false, std::memory_order_relaxed);
  constexpr int looks = 16;
  int error = MPI_SUCCESS;
  for (int i = 0; i < looks && error == MPI_SUCCESS && !*flag; ++i) error = call();
  return error;
}
// A function of the library's that says in `flag` whether it found something.
template <class Look>
inline int look(const int* flag, Look&& call) {
  const int error = call();
  if (error != MPI_SUCCESS || *flag || !g_met.load(std::memory_order_relaxed)) [[likely]]
    return error;
  return look_again(flag, call);
}

// Calls that were ours so far, of any function: whether it has grown tells who carried a call.
inline std::uint64_t g_covered_calls = 0;

// One more call of `function` that ended so. A few cycles; exact unless MPI_THREAD_MULTIPLE threads race.
inline void count(Function function, Reason reason) {
  if (reason == Reason::covered) {
    std::atomic_ref<std::uint64_t> covered(g_covered_calls);
    covered.store(covered.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  auto& calls = g_process.page->counters.calls[static_cast<int>(function)][static_cast<int>(reason)];
  std::atomic_ref<std::uint64_t>(calls).store(calls + 1, std::memory_order_relaxed);
}
inline void count_bytes(Function function, Reason reason, std::uint64_t bytes) {
  auto& sum = g_process.page->counters.bytes[static_cast<int>(function)][static_cast<int>(reason)];
  std::atomic_ref<std::uint64_t>(sum).store(sum + bytes, std::memory_order_relaxed);
}

inline void count(Function function, Reason reason, std::uint64_t bytes) {
  count(function, reason);
  count_bytes(function, reason, bytes);
}

// Called once set up and before take-down; the other files of a half register what they need at load time:
//     static const mpi::Hooks hooks(start, stop);
// start() runs with process() filled; stop() before the library's MPI_Finalize, everything else of us still
// works.
class Hooks {
 public:
  Hooks(void (*start)(), void (*stop)());
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

 private:
  friend void run_start_hooks();
  friend void run_stop_hooks();
  void (*start_)();
  void (*stop_)();
  Hooks* next_;
};
void run_start_hooks();
void run_stop_hooks();

// One line on stderr, "nigh: ...", the first time that this sentence is said.
void say(const char* sentence);

// --- for the frame: init.cpp, explain.cpp ---
// Before the library's initialisation: from now on peers find this process.
void prepare_process();
// After it. False: nothing is ours in this process, stand_aside_reason() says why.
bool start_process();
void stop_process();
const char* stand_aside_reason();
// The same number on all ranks of the job, and in no other job.
std::uint64_t job_hash();
// True when the account is wanted: else functions of the library's are not counted.
bool explains();
// The account of --explain. The first after stop_process(), the second after the library's MPI_Finalize, by
// one rank.
void close_account();
void print_account();
// Before a rank ends without MPI_Finalize: what was counted so far, told once a node. `how`: "... called
// MPI_Abort".
void print_account_now(const char* how);

}  // namespace nigh::mpi
