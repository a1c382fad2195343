// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Types that the PEs of a job share: the mailbox that each shows the others, the runtime's own messages, what
// waits at a PE, and the settings that the job was started with.
#pragma once

#include <cstdint>

#include "chare/entries.hpp"
#include "message/atomic.hpp"
#include "message/inbox.hpp"
#include "message/pool.hpp"
#include "nigh/chare/core.hpp"
#include "plan/levels.hpp"
#include "space/common_range.hpp"
#include "space/space.hpp"

namespace nigh::chare {

using core::Header;

// The words that a PE shows the others (space::Root::chare), in memory of the space.
struct alignas(128) Mailbox {
  message::PoolDoor door;
  message::InboxMemory<> inbox;
  std::uint64_t digest = 0;                  // of the program's entry methods
  std::uint32_t free_places = 0;             // space::CommonRange
  char range_file[64] = {};                  // of the first PE of a space
  std::uint64_t mark = 0;                    // random
  message::atomic<std::uint32_t> stage = 0;  // how far its end has come
  message::atomic<bool> stop = false;        // by whoever ends the job
  message::atomic<int> status = 0;
  plan::Seat seat;  // where its PE runs

  // With an inbox for that many; null: there is no memory.
  static Mailbox* make(space::Space& space, std::uint32_t producers);
};

// The runtime's own messages.
enum class System : std::uint16_t {
  declare = first_system_entry,
  partial,         // of a reduction, to the parent
  quiescence,      // a callback for PE 0
  done_inserting,  // another
  tally,           // PE 0 asks how many elements of an array are there
  tallied,
  measure,  // balance()
  measured,
  moves,
  element,
  settled,
  save,  // checkpoint()
  saved,
  restore,
  count,  // a wave's way down; these are not counted themselves
  counted,
  stop,     // to the first PE of another process
  goodbye,  // between drivers: nothing comes behind it
};

enum Flags : unsigned {  // none: a call of an entry method of one element
  to_all = 1,            // `element` is the PE that it came from
  constructor = 2,
  of_the_system = 4,
  written_out = 8,  // its arguments are as they go between processes
  to_some = 16,     // `element` says how many; their numbers are the last of its bytes
  parcel = 32       // for another process: cluster.hpp
};

// --- what waits at a PE ---

struct Ranked {  // a message with a priority
  Header* message;
  std::uint64_t number;  // of equal ones the first comes first
  bool operator<(const Ranked& other) const {
    return message->priority != other.message->priority ? message->priority > other.message->priority
                                                        : number > other.number;
  }
};
struct Early {  // a message for an array that this PE does not know yet, to one element or to all
  Header* message;
  Index index;
  bool is_for_all;
};
struct Restored {  // an array that had another id in a file, and how often it had been restored by then
  std::uint16_t array = 0, times = 0;
};
struct RestoreTally {  // at PE 0
  Callback then;
  std::uint64_t elements = 0;
  std::uint32_t missing = 0;
};
struct Timer {
  std::int64_t at;
  Callback then;
  bool operator<(const Timer& other) const { return at > other.at; }
};

// The properties that all PEs of one job have in common.
struct Kind {
  message::PoolMemory pool;   // memory that all of them reach
  message::RingMemory rings;  // the same, aligned to a line
  bool processes = false;     // each is one
  bool debug = false;
  const char* trace = nullptr;          // where to; null: nowhere
  double progress = 0;                  // seconds from one line to the next; 0: none
  bool by_pointer = false;              // small messages, too
  space::CommonRange* range = nullptr;  // for the elements' heaps
};

inline constexpr std::int64_t long_ns = 1000;   // several times what it takes to publish a message
inline constexpr unsigned sampled = 127;        // one short run of so many
inline constexpr unsigned copies_at_once = 3;   // that are published together: 1, 2, 5, 7 and 14 took longer
inline constexpr std::uint32_t tree_arity = 4;  // of the tree of PEs
inline constexpr message::PoolAccounting accounting{account_of};  // kept where there is a trace
// A callback of the runtime's own: PE 0 asks how many elements that array has.
inline constexpr auto tally_elements = static_cast<Callback::Kind>(100);
// Another: all elements of that array have asked to be balanced; the result is what is called then.
inline constexpr auto balance_elements = static_cast<Callback::Kind>(101);
// And to be written to files.
inline constexpr auto save_elements = static_cast<Callback::Kind>(102);
// PE 0 says how far the job is.
inline constexpr auto tell_progress = static_cast<Callback::Kind>(103);

}  // namespace nigh::chare
