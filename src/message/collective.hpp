// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives in place on the peers' memory (Brightwell, CUG 2009, pp. 10-12): small operands travel in the
// members' cells, large ones are read, and results written, where they lie; what is private to a rank is
// staged by that rank alone, so no agreement is ever needed. Each call is a small state machine: run() drives
// it to its end, start() and advance() let it proceed between other work, so blocking and non-blocking forms
// are one implementation and may be mixed in any order that all members share. A dead member ends a call with
// Outcome::peer_dead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "message/layout.hpp"
#include "message/wait.hpp"
#include "plan/levels.hpp"
#include "space/space.hpp"

namespace nigh::message {

enum class Outcome { ok, pending, peer_dead, no_memory };

enum class Kind : std::uint32_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  reduce_scatter,
  gather,
  scatter,
  allgather,
  alltoall,
  scan,
  exscan
};

// out[o][i] = in[0][i] op in[1][i] op ... for elements i of [first, last), in this order, for every o: an
// output may be the same memory as an input. `user` is Combine::user.
using CombineKernel = void (*)(void* const* out, int outs, const void* const* in, int ins, std::size_t first,
                               std::size_t last, void* user);
struct Combine {
  CombineKernel kernel = nullptr;
  std::size_t element_bytes = 0;
  void* user = nullptr;
  bool floating_sum =
      false;  // a sum or product of floats: the reproducible mode puts its operands in a fixed order
  bool commutative = false;         // operands may be combined in another order than that of the members
  CombineKernel ordered = nullptr;  // as kernel, but the same bits whichever member holds which operand
};

enum class Op : std::uint32_t {
  sum,
  prod,
  min,
  max,
  land,
  lor,
  lxor,
  band,
  bor,
  bxor,
  minloc,
  maxloc,
  count
};
enum class Element : std::uint32_t {
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64,
  f80,
  c32,
  c64,
  c80,  // c32: complex of two f32
  f32_int,
  f64_int,
  i64_int,
  i32_int,
  i16_int,
  f80_int,  // pairs, for minloc and maxloc (MPI's layouts)
  f32_f32,
  f64_f64,
  i32_i32,  // Fortran's pairs (2REAL, 2DOUBLE PRECISION, 2INTEGER)
  boolean,
  count
};
// nullptr when the operation is not defined on that element (MPI 4.0, 6.9.2).
const Combine* find_combine(Op op, Element element);

// One call, the same kind, root and sizes on all members, as MPI's function of that name. Sizes are bytes;
// `bytes` is that of one rank's block. Null arrays: every block has `bytes`, in rank order without gaps; else
// offsets and counts in bytes for each member (the v-forms, reduce_scatter's counts). send == in_place: as
// MPI_IN_PLACE; in a scatter it is the root's receive that may be in_place. A bcast's buffer is `receive`;
// its root may name it `send` instead.
struct Call {
  Kind kind = Kind::barrier;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t bytes = 0;
  int root = 0;
  const Combine* combine = nullptr;  // must live until the call has ended
  const std::size_t *send_bytes = nullptr, *send_offsets = nullptr;
  const std::size_t *receive_bytes = nullptr, *receive_offsets = nullptr;
  // For an alltoall with all four arrays: the layout of each member's block, from the block's offset on;
  // null: in one piece. Members may differ in what they give.
  const Layout* const* send_layouts = nullptr;
  const Layout* const* receive_layouts = nullptr;
  bool sparse = false;  // of an alltoall: most members exchange nothing; only those that do wake each other
};
inline const void* const in_place = reinterpret_cast<const void*>(-1);

// The words that the members of a group show each other; in memory of the space.
struct Cells;

class Group {
 public:
  // Each member makes its cells, all tell each other where they are (by whatever means they have), then each
  // makes the group. `space_ranks[m]`: the rank in the space of member m. `levels`: who is near whom; may be
  // flat. `crowded`: ranks outnumber CPUs (Patience), so let the cells hold more.
  static Cells* make_cells(space::Space& space, int members, bool crowded = false);
  Group(space::Space& space, Waiter& waiter, int member, std::vector<Cells*> cells,
        std::vector<int> space_ranks, const plan::Levels& levels);
  // Without the others' cells, but with its own: meet() says where theirs are, before the first call. Nothing
  // can fail after this. nullptr: no memory.
  static std::unique_ptr<Group> unmet(space::Space& space, Waiter& waiter, int member,
                                      std::vector<int> space_ranks, const plan::Levels& levels);
  void meet(int member, Cells* cells);
  [[nodiscard]] Cells* cells() const;  // its own
  // For owners who use cells again. Takes leave of the other members: from now on the cells are the caller's,
  // who waits until left() says that no member reads them, and all that is left to do is to destroy the
  // group.
  [[nodiscard]] Cells* depart();
  static void leave_peer(Cells* peers);  // the same for one that has never made a group
  // Notes that its owner makes no more calls: who only gives him something (a reduce or gather to him, his
  // part of a bcast or scatter) waits no longer. depart() does so.
  static void close(Cells* own);
  // Notes in a member's cells that somebody has met it.
  static void visit(Cells* peers);
  [[nodiscard]] static bool visited(const Cells* own);
  [[nodiscard]] static bool left(const Cells* own);
  static void renew(Cells* own, int members, bool met);  // `met`: there was a group
  // A call of this group: the members of the same colour, in the order of key, then member, have a group of
  // their own; a negative colour none. All of a colour have it, or none, when one of them has no memory or is
  // not `able` for reasons of its own; this group goes on.
  Outcome split(int colour, int key, bool able, std::unique_ptr<Group>& made);
  ~Group();  // local; waits for nobody, cells are released when no peer can still read them
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] int member() const;
  [[nodiscard]] int size() const;
  // Same bits whatever the placement, and whichever member holds which operand.
  void set_reproducible(bool on);

  Outcome run(const Call& call);
  // This member has no memory for a call that the others make: it ends for all.
  void abandon();

  // Non-blocking. The arrays of the call must live until it has ended. nullptr: no memory.
  class Pending;
  struct State;  // inside only: collective_state.hpp
  Pending* start(const Call& call);
  // ok: ended, and the handle is gone. Drives the older calls of this group as well.
  Outcome advance(Pending* pending);
  // Drives all calls of the group; true when something moved.
  bool progress();

  struct Counts {
    std::uint64_t calls = 0, in_place = 0, staged = 0, bytes = 0;
    // Bytes of large operands that this member moved over the borders of levels 0, 1, .. (the last: of all).
    static constexpr int borders = 8;
    std::uint64_t crossed[borders] = {};
  };
  [[nodiscard]] const Counts& counts() const;
  [[nodiscard]] bool validate() const;

 private:
  void leave_unmet();
  std::unique_ptr<State> state_;
};

}  // namespace nigh::message
