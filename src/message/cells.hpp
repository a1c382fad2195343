// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The words that the members of a group show each other, and the rules by which they read them. Call number s
// of a group (all members make the same calls in the same order) uses cell s mod cell_count of each member:
//
//     Cells:  about | failed | departed | done | cell 0 .. 15 | upper areas | lower areas
//     Cell:   line 0  posted + what was posted: up to 48 bytes of operand, or where it lies
//             line 1  ready  + up to 48 bytes on their way down a tree
//             line 2  taken
//
// Only the owner writes his cells; peers read them. Each word only ever grows, so a word that is late is
// never mistaken for one of another call: `posted` holds s, `ready` and `taken` hold (s << 24 | steps). A
// cell is used again only after every member's `done` says that he has left the call that used it before;
// that is looked at once a batch of calls, never on the way of a single one. No member ever waits for a lock
// or changes another's words, so one that is preempted or dies can delay the others but not corrupt them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "message/atomic.hpp"
#include "message/collective_sizes.hpp"

namespace nigh::message {

inline constexpr std::uint64_t cell_batch = cell_count / 2;
inline constexpr std::size_t line_room = 48;  // bytes of operand beside a word in its line
inline constexpr std::size_t area_room = 4096;
// For ranks that outnumber CPUs: see copy_rather_than_wait.
inline constexpr std::size_t crowded_area_room = 32768;
// So that areas don't all lie in one set of the first-level cache.
inline constexpr std::size_t area_gap = 128;
inline constexpr std::uint64_t final_step = (1 << 24) - 1;

constexpr std::uint64_t step_word(std::uint64_t call, std::uint64_t step) { return call << 24 | step; }

// The form in which a member shows its operand. The reader follows the writer, so that no two need to agree.
enum class Form : std::uint32_t {
  none,    // nothing to read
  line,    // in this line
  area,    // in the area of the cell
  direct,  // where the user has it
  staged,  // in parts, in memory of his
};
// The order of several readers' blocks in it.
enum class Blocks : std::uint32_t { same, even, table };

struct Where {
  void* data = nullptr;      // what the others read
  void* result = nullptr;    // where the others write
  std::uint64_t stride = 0;  // Blocks::even: from one reader's block to the next; staged: from half to half
  std::uint64_t chunk = 0;   // staged: bytes of one reader in one part
  std::uint64_t parts_in = 0, parts_out = 0;  // data, result hold one round at a time; else all is there
};

struct CallCell {
  alignas(256) atomic<std::uint64_t> posted = 0;
  Form form = Form::none;
  Blocks blocks = Blocks::same;
  union {
    unsigned char small[line_room];
    Where where;
  };
  alignas(64) atomic<std::uint64_t> ready = 0;
  std::uint64_t unused = 0;
  unsigned char small_down[line_room] = {};
  alignas(64) atomic<std::uint64_t> taken = 0;

  CallCell() : where() {}
};
static_assert(sizeof(CallCell) == 256, "a line for each word that another member polls, and no page crossed");
static_assert(sizeof(Where) <= line_room);
inline constexpr std::size_t shown_bytes = 8 + line_room;  // from `form` to the end of the line

enum class Failure : std::uint32_t { none, peer_dead, no_memory };

// The words by which a member tells the others how far it is; the payload lies beside them.
struct CallRing {
  alignas(128) atomic<std::uint64_t> done = 0;  // the calls up to this one are over for this member
  CallCell cell[cell_count];
};

inline CallCell& cell_of(CallRing& ring, std::uint64_t call) { return ring.cell[call % cell_count]; }
inline const CallCell& cell_of(const CallRing& ring, std::uint64_t call) {
  return ring.cell[call % cell_count];
}

// The writer, after he has written payload and form.
inline void post(CallCell& cell, std::uint64_t call) {
  note_write(&cell.form, shown_bytes);
  cell.posted.store(call, std::memory_order_release);
}
// The reader, before he reads them.
inline bool posted(const CallCell& cell, std::uint64_t call) {
  return cell.posted.load(std::memory_order_acquire) >= call;
}
inline bool reached(const atomic<std::uint64_t>& word, std::uint64_t call, std::uint64_t step) {
  return word.load(std::memory_order_acquire) >= step_word(call, step);
}
inline void reach(atomic<std::uint64_t>& word, std::uint64_t call, std::uint64_t step) {
  word.store(step_word(call, step), std::memory_order_release);
}

// To post call s, all members must be done with this call; the answer holds for the whole batch of s.
constexpr std::uint64_t batch_end(std::uint64_t call) {
  return (call - 1) / cell_batch * cell_batch + cell_batch;
}
constexpr std::uint64_t must_be_done(std::uint64_t call) {
  return batch_end(call) <= cell_count ? 0 : batch_end(call) - cell_count;
}
inline bool is_done(const CallRing& ring, std::uint64_t call) {
  return ring.done.load(std::memory_order_acquire) >= call;
}
inline void leave(CallRing& ring, std::uint64_t call) { ring.done.store(call, std::memory_order_release); }

struct Cells {
  std::uint64_t members = 0;
  std::uint64_t area_bytes = area_room;
  atomic<std::uint32_t> failed = 0;                // Failure: this member has given the group up
  atomic<std::uint32_t> visited = 0;               // a member has met this one
  atomic<std::uint32_t> closed = 0;                // this member makes no more calls
  alignas(64) atomic<std::uint32_t> departed = 0;  // members that will never look at these cells again
  CallRing ring;

  // True if all others have departed.
  [[nodiscard]] bool left() const { return departed.load(std::memory_order_acquire) + 1 >= members; }

  // For what goes down a tree there is always area_room; for what its owner shows, as much as he asked for.
  unsigned char* area_down(std::uint64_t call) {
    return reinterpret_cast<unsigned char*>(this + 1) + call % cell_count * (area_room + area_gap);
  }
  unsigned char* area(std::uint64_t call) {
    return area_down(0) + cell_count * (area_room + area_gap) + call % cell_count * (area_bytes + area_gap);
  }
  static constexpr std::size_t total_bytes(std::size_t area_bytes = area_room) {
    return sizeof(Cells) + cell_count * (area_room + area_bytes + 2 * area_gap);
  }
};

}  // namespace nigh::message
