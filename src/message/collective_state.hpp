// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The inside of a group: its calls under way and the engines that move them. An engine is a function that
// takes a call as far as it can without waiting; it looks at the words of one member after the other and,
// where one is not yet far enough, notes whom it awaits and returns. The same engines serve run(), which
// waits for just that member between two looks, and advance(), which doesn't wait at all.
//
//     small   operands that fit into cells: everyone posts, whoever needs it reads; nobody waits for a reader
//     climb   the same along the tree of levels: operands up, results down
//     move    gather, scatter, allgather, alltoall: each reader copies from where the writer has it
//     spread  bcast down the tree in chunks
//     reduce  pieces of the operand, each combined by one member (or all by the root), in rounds
#pragma once

#include <memory>
#include <vector>

#include "message/cells.hpp"
#include "message/collective.hpp"
#include "message/collective_sizes.hpp"
#include "message/collective_tree.hpp"
#include "message/layout.hpp"

namespace nigh::message {

using Bytes = unsigned char;

struct Stage {
  Bytes* data = nullptr;
  std::size_t bytes = 0;
  bool used = false;
};

class Group::Pending {
 public:
  using Engine = void (*)(State&, Pending&);

  Call call;
  Engine engine = nullptr;
  std::uint64_t number = 0;  // of the call in its group
  Outcome outcome = Outcome::pending;
  bool granted = false;  // its cell is free to use
  int awaited = -1;      // the member without which it can't go on
  int also_awaited = -1;
  int step = 0, next = 0;
  std::uint64_t moved = 0;  // counts every bit of progress

  // The state of the engines for large operands; each uses what it needs.
  Stage *stage = nullptr, *stage_result = nullptr;
  Form form = Form::none;
  Blocks blocks = Blocks::same;
  const Bytes* operand = nullptr;
  Bytes* result = nullptr;
  std::uint64_t parts = 0, part = 0;    // as a writer: how many, how many are shown
  std::uint64_t round = 0, rounds = 0;  // as a reader; of reductions
  std::size_t chunk = 0;
  bool sink_done = false, answer = false;  // move: have all; somebody waits for my word
  bool staged_in = false, staged_out = false, by_levels = false, piecewise = true;  // reductions

  void advance_to(int new_step) { step = new_step, next = 0, ++moved; }
};

struct Group::State {
  space::Space& space;
  Waiter& waiter;
  int me, size;
  std::vector<Cells*> cells;
  std::vector<int> ranks;
  Tree tree, small_tree;
  bool reproducible = false;
  Outcome broken = Outcome::ok;
  bool busy = false;

  std::uint64_t number = 0, granted = 0;       // the last call made; the last that may be posted
  std::uint64_t done = 0, done_ahead = 0;      // all up to done are over; bit i: done + 1 + i is over, too
  std::vector<Pending*> active;                // in order
  Pending* lone = nullptr;                     // the only one, when run() waits for it
  std::vector<std::unique_ptr<Pending>> made;  // every handle there ever was
  std::vector<Pending*> spare;                 // those not in use
  std::vector<std::unique_ptr<Stage>> stages;
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<int> family;     // scratch: children
  std::vector<Bytes> scratch;  // of scans
  struct Card {
    int colour, key;
    Cells* cells;
  };
  std::vector<Card> cards;  // what the members say to each other when the group is split
  Counts counts;
  std::uint64_t idle = 0;  // looks of advance() without progress
  std::int64_t looked_ns = 0;

  State(space::Space& space, Waiter& waiter, int member, std::vector<Cells*> cells, std::vector<int> ranks,
        const plan::Levels& levels);

  [[nodiscard]] std::unique_ptr<Group> beginning_of(int colour, std::vector<int>& members) const;

  // --- calls ---
  [[nodiscard]] Pending::Engine engine_for(const Call& call) const;
  Outcome run_small(const Call& call);
  int first_to_await(int member, int last, std::uint64_t call);
  Pending* new_pending();
  void enlist(Pending& p, const Call& call);
  // True if this call may be posted; if not, `awaited` is a member that is not yet far enough.
  bool grant(std::uint64_t call, int& awaited);
  void drive(Pending& p);
  bool progress();
  void wait_for(Pending& p);
  void run_lone(Pending& p, Pending::Engine engine);
  void end(Pending& p, Outcome outcome = Outcome::ok);
  void finish_number(std::uint64_t call);
  void give_up(Outcome why);
  void look_for_dead();
  void let_go(Pending& p);

  // --- words ---
  CallRing& ring_of(int member) { return cells[static_cast<std::size_t>(member)]->ring; }
  CallCell& cell(int member, std::uint64_t call) { return cell_of(ring_of(member), call); }
  CallCell& mine(const Pending& p) { return cell(me, p.number); }
  CallCell& theirs(int member, const Pending& p) { return cell(member, p.number); }
  // The cell of that member, once posted.
  const CallCell& shown(int member, const Pending& p) {
    const CallCell& from = theirs(member, p);
    note_read(&from.form, shown_bytes);
    return from;
  }
  bool failed(int member) {
    return cells[static_cast<std::size_t>(member)]->failed.load(std::memory_order_acquire) != 0;
  }
  bool closed(int member) {
    return cells[static_cast<std::size_t>(member)]->closed.load(std::memory_order_acquire) != 0;
  }
  // True when so; else the call awaits that member.
  bool is_posted(Pending& p, int member) { return posted(theirs(member, p), p.number) || await(p, member); }
  bool is_ready(Pending& p, int member, std::uint64_t step) {
    return reached(theirs(member, p).ready, p.number, step) || await(p, member);
  }
  bool is_taken(Pending& p, int member, std::uint64_t step) {
    return reached(theirs(member, p).taken, p.number, step) || await(p, member);
  }
  bool await(Pending& p, int member);  // false
  void set_ready(Pending& p, std::uint64_t step) { reach(mine(p).ready, p.number, step); }
  void set_taken(Pending& p, std::uint64_t step) { reach(mine(p).taken, p.number, step); }
  void ring_all() {
    for (int member = 0; member < size; ++member)
      if (member != me) ring(member);
  }
  void ring(int member) { waiter.ring(ranks[static_cast<std::size_t>(member)]); }

  // --- memory ---
  Bytes* area(int member, std::uint64_t call) { return cells[static_cast<std::size_t>(member)]->area(call); }
  Stage* take_stage(std::size_t bytes);
  bool stage_for(Pending& p, Stage*& stage, std::size_t bytes);  // false: gave up

  // --- small operands in cells ---
  Bytes* post_room(std::uint64_t call, std::size_t bytes);
  const Bytes* payload(int member, std::uint64_t call);
  void show_cell(std::uint64_t call);  // without waking those who wait for it
  void post_cell(std::uint64_t call);
  // Up to this a writer who may choose copies into his area and goes on; beyond, readers copy from where the
  // data lies and he waits for them. With more ranks than CPUs that wait is a switch or two of process.
  [[nodiscard]] std::size_t copy_rather_than_wait() const {
    return waiter.patience().crowded ? cells[static_cast<std::size_t>(me)]->area_bytes : small_move;
  }

  CombineKernel kernel_of(const Combine& combine) const {
    return reproducible && combine.ordered ? combine.ordered : combine.kernel;
  }
  // True if the operands may be combined domain by domain.
  [[nodiscard]] bool may_regroup(const Call& call, const Tree& over) const;
  void count_crossing(int other, std::size_t bytes);
};

namespace engines {
void alone(Group::State& g, Group::Pending& p);
void small(Group::State& g, Group::Pending& p);
void climb(Group::State& g, Group::Pending& p);
void gather(Group::State& g, Group::Pending& p);
void move(Group::State& g, Group::Pending& p);
void spread(Group::State& g, Group::Pending& p);
void reduce(Group::State& g, Group::Pending& p);
}  // namespace engines

inline const Bytes* as_bytes(const void* data) { return static_cast<const Bytes*>(data); }
inline Bytes* as_bytes(void* data) { return static_cast<Bytes*>(data); }

// Operand of a call that may say in_place.
inline const Bytes* operand_of(const Call& call) {
  return as_bytes(call.send == in_place ? call.receive : call.send);
}
inline const Bytes* bcast_source(const Call& call) {
  return as_bytes(call.send && call.send != in_place ? call.send : call.receive);
}

// The offset and the length of block `member`.
inline std::size_t block_bytes_of(const Call& call, const std::size_t* bytes, int member) {
  return bytes ? bytes[member] : call.bytes;
}
inline std::size_t block_offset(const Call& call, const std::size_t* bytes, const std::size_t* offsets,
                                int member) {
  if (offsets) return offsets[member];
  if (!bytes) return call.bytes * static_cast<std::size_t>(member);
  std::size_t sum = 0;
  for (int before = 0; before < member; ++before) sum += bytes[before];
  return sum;
}

inline void copy_some(void* to, const void* from, std::size_t bytes) {
  note_read(from, bytes);
  note_write(to, bytes);
  if (bytes == 8)
    __builtin_memcpy(to, from, 8);
  else if (bytes != 0)
    __builtin_memcpy(to, from, bytes);
}

}  // namespace nigh::message
