// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Operands that fit into cells. Each member that has something to show copies it into its cell and posts it;
// each that needs some waits for those posts and is done: one cache line from writer to reader, no answer. Up
// to 48 bytes ride in the line of the word itself. run_small() is the same in a straight line, for a member
// that has nothing else under way.
#include "message/collective_state.hpp"

namespace nigh::message {
namespace {

struct Range {
  int first = 0, last = 0;
};

std::size_t total(const Group::State& g, const Call& call, const std::size_t* bytes) {
  if (!bytes) return call.bytes * static_cast<std::size_t>(g.size);
  return block_offset(call, bytes, nullptr, g.size);
}

std::size_t largest(const Group::State& g, const Call& call, const std::size_t* bytes) {
  if (!bytes) return call.bytes;
  std::size_t most = 0;
  for (int member = 0; member < g.size; ++member)
    if (bytes[member] > most) most = bytes[member];
  return most;
}

// The bytes that this member shows, if any.
inline bool shows(const Group::State& g, const Call& call, std::size_t& bytes) {
  bytes = call.bytes;
  switch (call.kind) {
    case Kind::bcast: return g.me == call.root;
    case Kind::reduce:
    case Kind::gather: return g.me != call.root;
    case Kind::alltoall: bytes = call.bytes * static_cast<std::size_t>(g.size); return true;
    case Kind::reduce_scatter: bytes = total(g, call, call.receive_bytes); return true;
    case Kind::allgather: bytes = block_bytes_of(call, call.receive_bytes, g.me); return true;
    case Kind::barrier: bytes = 0; return true;
    default: return true;
  }
}

inline const Bytes* shown(const Group::State& g, const Call& call) {
  if (call.kind == Kind::bcast) return bcast_source(call);
  if (call.kind == Kind::allgather && call.send == in_place)
    return as_bytes(call.receive) + block_offset(call, call.receive_bytes, call.receive_offsets, g.me);
  return operand_of(call);
}

inline void post_small(Group::State& g, const Call& call, std::uint64_t number) {
  std::size_t bytes = 0;
  if (!shows(g, call, bytes)) return;
  Bytes* room = g.post_room(number, bytes);
  if (bytes != 0) copy_some(room, shown(g, call), bytes);
  g.post_cell(number);
}

// The members that this member has to see.
inline Range needs(const Group::State& g, const Call& call) {
  switch (call.kind) {
    case Kind::bcast: return g.me == call.root ? Range{} : Range{call.root, call.root + 1};
    case Kind::reduce:
    case Kind::gather: return g.me == call.root ? Range{0, g.size} : Range{};
    case Kind::scan:
    case Kind::exscan: return {0, g.me};
    default: return {0, g.size};
  }
}

// Combines what members [0, count) show; our own operand lies where the user has it, unless `own_cell`.
void combine(Group::State& g, const Call& call, std::uint64_t number, int count, std::size_t offset,
             std::size_t bytes, bool own_cell) {
  for (int member = 0; member < count; ++member)
    g.in[static_cast<std::size_t>(member)] =
        (member == g.me && !own_cell ? operand_of(call) : g.payload(member, number)) + offset;
  void* out = call.receive;
  if (bytes == 0) return;
  if (count == 1) {
    if (out != g.in[0]) copy_some(out, g.in[0], bytes);
    return;
  }
  g.kernel_of (*call.combine)(&out, 1, g.in.data(), count, 0, bytes / call.combine->element_bytes,
                              call.combine->user);
}

void collect(Group::State& g, const Call& call, std::uint64_t number) {
  for (int member = 0; member < g.size; ++member) {
    Bytes* to = as_bytes(call.receive) + block_offset(call, call.receive_bytes, call.receive_offsets, member);
    const std::size_t bytes = block_bytes_of(call, call.receive_bytes, member);
    if (member != g.me)
      copy_some(to, g.payload(member, number), bytes);
    else if (call.send != in_place)
      copy_some(to, call.send, bytes);
  }
}

void exchange(Group::State& g, const Call& call, std::uint64_t number) {
  const std::size_t mine = call.bytes * static_cast<std::size_t>(g.me);
  for (int member = 0; member < g.size; ++member) {
    if (member == g.me && call.send == in_place) continue;
    const Bytes* from = member == g.me ? as_bytes(call.send) : g.payload(member, number);
    copy_some(as_bytes(call.receive) + call.bytes * static_cast<std::size_t>(member), from + mine,
              call.bytes);
  }
}

inline void finish_small(Group::State& g, const Call& call, std::uint64_t number) {
  switch (call.kind) {
    case Kind::barrier: return;
    case Kind::bcast:
      if (g.me != call.root) copy_some(call.receive, g.payload(call.root, number), call.bytes);
      return;
    case Kind::reduce:
      if (g.me == call.root) combine(g, call, number, g.size, 0, call.bytes, false);
      return;
    case Kind::allreduce: return combine(g, call, number, g.size, 0, call.bytes, false);
    case Kind::scan: return combine(g, call, number, g.me + 1, 0, call.bytes, false);
    case Kind::exscan:
      if (g.me > 0) combine(g, call, number, g.me, 0, call.bytes, false);
      return;
    case Kind::reduce_scatter:
      return combine(g, call, number, g.size, block_offset(call, call.receive_bytes, nullptr, g.me),
                     block_bytes_of(call, call.receive_bytes, g.me), true);
    case Kind::gather:
      if (g.me == call.root) collect(g, call, number);
      return;
    case Kind::allgather: return collect(g, call, number);
    case Kind::alltoall: return exchange(g, call, number);
    case Kind::scatter: return;  // always moved: see collective_move.cpp
  }
}

}  // namespace

Bytes* Group::State::post_room(std::uint64_t call, std::size_t bytes) {
  CallCell& mine = cell(me, call);
  mine.form = bytes <= line_room ? Form::line : Form::area;
  mine.blocks = Blocks::same;
  return bytes <= line_room ? mine.small : area(me, call);
}

void Group::State::show_cell(std::uint64_t call) { post(cell(me, call), call); }

void Group::State::post_cell(std::uint64_t call) {
  show_cell(call);
  ring_all();
}

const Bytes* Group::State::payload(int member, std::uint64_t call) {
  const CallCell& from = cell(member, call);
  note_read(&from.form, sizeof from.form);
  return from.form == Form::line ? from.small : area(member, call);
}

Group::Pending::Engine Group::State::engine_for(const Call& call) const {
  if (size == 1) return engines::alone;
  const bool wide = !small_tree.flat();
  switch (call.kind) {
    case Kind::barrier: return wide ? engines::climb : engines::small;
    case Kind::bcast:
      if (call.bytes > small_bcast) return engines::spread;
      return wide ? engines::climb : engines::small;
    case Kind::reduce:
    case Kind::allreduce:
      if (call.bytes > small_reduction) return engines::reduce;
      return wide && may_regroup(call, small_tree) ? engines::climb : engines::small;
    case Kind::scan:
    case Kind::exscan: return call.bytes <= small_reduction ? engines::small : engines::reduce;
    case Kind::reduce_scatter:
      return total(*this, call, call.receive_bytes) <= small_reduction ? engines::small : engines::reduce;
    case Kind::gather:
      if (me == call.root && call.receive_bytes) return engines::gather;
      return call.bytes <= small_move ? engines::small : engines::gather;
    case Kind::allgather:
      return largest(*this, call, call.receive_bytes) <= small_move ? engines::small : engines::move;
    case Kind::alltoall:
      if (call.receive_bytes || call.send_bytes) return engines::move;
      return total(*this, call, nullptr) <= small_move ? engines::small : engines::move;
    case Kind::scatter: return engines::move;
  }
  return engines::small;
}

// Among the members in [member, last) that have not posted yet, one that can't while we keep this CPU; else
// `member`.
int Group::State::first_to_await(int member, int last, std::uint64_t call) {
  for (int other = member; other < last; ++other)
    if (other != me && waiter.in_the_way_of(ranks[static_cast<std::size_t>(other)]) &&
        !posted(cell(other, call), call))
      return other;
  return member;
}

Outcome Group::State::run_small(const Call& call) {
  const std::uint64_t s = number + 1;
  if (s > granted) {
    int awaited = -1;
    while (!grant(s, awaited) && broken == Outcome::ok) {
      const std::uint64_t need = must_be_done(s);
      auto free = [&] { return is_done(ring_of(awaited), need) || failed(awaited); };
      if (waiter.until(free, ranks[static_cast<std::size_t>(awaited)]) == Waited::peer_dead)
        give_up(Outcome::peer_dead);
    }
    if (broken != Outcome::ok) return broken;
  }
  number = s;
  post_small(*this, call, s);
  const Range range = needs(*this, call);
  for (int member = range.first; member < range.last; ++member) {
    while (member != me && !posted(cell(member, s), s)) {
      const int awaited = waiter.patience().crowded ? first_to_await(member, range.last, s) : member;
      const CallCell& from = cell(awaited, s);
      waiter.until([&] { return posted(from, s) || failed(awaited); },
                   ranks[static_cast<std::size_t>(awaited)]);
      if (!posted(from, s)) {
        give_up(Outcome::peer_dead);
        return broken;
      }
    }
  }
  finish_small(*this, call, s);
  finish_number(s);
  return Outcome::ok;
}

// Here, so that the way of a small call is one function.
Outcome Group::run(const Call& call) try {
  State& g = *state_;
  if (g.broken != Outcome::ok) return g.broken;
  ++g.counts.calls;
  const Pending::Engine engine = g.engine_for(call);
  const bool alone = g.active.empty() && !g.lone;
  if (alone && engine == engines::small) return g.run_small(call);
  Pending p;
  p.call = call;
  if (alone) {
    g.run_lone(p, engine);
  } else {
    g.enlist(p, call);
    g.wait_for(p);
  }
  return p.outcome;
} catch (const std::bad_alloc&) {  // it could not be put on the list
  state_->give_up(Outcome::no_memory);
  return Outcome::no_memory;
}

void engines::small(Group::State& g, Group::Pending& p) {
  const Range range = needs(g, p.call);
  if (p.step == 0) {
    post_small(g, p.call, p.number);
    p.advance_to(1);
    p.next = range.first;
  }
  for (; p.next < range.last; ++p.next, ++p.moved)
    if (p.next != g.me && !g.is_posted(p, p.next)) return;
  finish_small(g, p.call, p.number);
  g.end(p);
}

}  // namespace nigh::message
