// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions of large operands, in Brightwell's two forms: serial, where the root combines what it reads from
// the others, and parallel, where each member combines one piece from everybody's operand and writes it where
// it is wanted. Operands of more than a few megabytes go in rounds, on all members alike, so that a member
// whose memory is private stages a bounded part of it at a time and nobody has to agree on anything.
#include "message/collective_reduce.hpp"

#include <algorithm>
#include <new>

namespace nigh::message {

Reduction::Reduction(Group::State& g, Group::Pending& p)
    : g(g), p(p), call(p.call), tree(g.tree), element(p.call.combine->element_bytes) {}

bool Reduction::begin() {
  std::size_t whole = call.bytes, room = round_bytes, staged = 0;
  if (scatters()) {
    whole = 0;
    for (int member = 0; member < g.size; ++member)
      whole = std::max(whole, block_bytes_of(call, call.receive_bytes, member));
    room = std::max(round_bytes / static_cast<std::size_t>(g.size), std::size_t{64});
  }
  p.chunk = std::max(room / element, std::size_t{1}) * element;
  p.rounds = (whole + p.chunk - 1) / p.chunk;
  p.chunk = std::min(p.chunk, whole);
  staged = scatters() ? p.chunk * static_cast<std::size_t>(g.size) : p.chunk;
  p.piecewise = call.kind != Kind::reduce || call.bytes > serial_reduce;
  p.by_levels =
      p.piecewise && (call.kind == Kind::reduce || call.kind == Kind::allreduce) && g.may_regroup(call, tree);

  CallCell& cell = g.mine(p);
  cell.where = Where{};
  p.operand = operand_of(call);
  const std::size_t length = scatters() ? block_offset_of(g.size) : call.bytes;
  const bool unread = serial() && g.me == call.root;
  cell.where.data = g.space.global(p.operand, length);
  if (!cell.where.data && !unread) {
    if (!g.stage_for(p, p.stage, staged)) return false;
    p.staged_in = true;
    cell.where.data = p.stage->data;
  } else {
    ++g.counts.in_place;
  }
  if (!show_result()) return false;
  cell.where.parts_in = p.staged_in;
  cell.where.parts_out = p.staged_out;
  cell.form = Form::direct;
  if (scans()) g.scratch.resize(2 * std::max(std::size_t{4096}, element));
  g.post_cell(p.number);
  open_round();
  return true;
}

// Shows the memory where others write my result, or read my part of it.
bool Reduction::show_result() {
  CallCell& cell = g.mine(p);
  const bool root = call.kind == Kind::reduce && g.me == call.root;
  bool wanted = call.kind == Kind::allreduce || call.kind == Kind::scan || (root && !serial());
  wanted = wanted || (call.kind == Kind::exscan && g.me > 0);
  const bool area = p.by_levels && call.kind == Kind::reduce && !root;  // for my pieces of my domain's sum
  if (wanted) cell.where.result = g.space.global(call.receive, call.bytes);
  const bool beside = scatters() && call.send == in_place;  // others still read what lies there
  if (!(wanted && !cell.where.result) && !area && !beside) return true;
  if (!g.stage_for(p, p.stage_result, p.chunk)) return false;
  p.staged_out = true;
  cell.where.result = p.stage_result->data;
  return true;
}

void Reduction::open_round() {
  if (p.staged_in && scatters()) {
    for (int member = 0; member < g.size; ++member)
      if (const std::size_t bytes = round_length(block_bytes_of(call, call.receive_bytes, member)))
        copy_bytes(p.stage->data + static_cast<std::size_t>(member) * p.chunk,
                   p.operand + block_offset_of(member) + round_start(), bytes);
  } else if (p.staged_in) {
    copy_bytes(p.stage->data, p.operand + round_start(), round_length(call.bytes));
  }
  if (!p.staged_in && !p.staged_out) return;
  g.set_ready(p, p.round + 1);
  g.ring_all();
}

bool Reduction::shows(int member) {
  if (!g.is_posted(p, member)) return false;
  const Where& where = g.shown(member, p).where;
  return (!where.parts_in && !where.parts_out) || g.is_ready(p, member, p.round + 1);
}

bool Reduction::everyone_shows() {
  for (; p.next < g.size; ++p.next, ++p.moved)
    if (p.next != g.me && !shows(p.next)) return false;
  return true;
}

bool Reduction::everyone_at(std::uint64_t step, const std::vector<int>& members) {
  for (; p.next < static_cast<int>(members.size()); ++p.next, ++p.moved) {
    const int member = members[static_cast<std::size_t>(p.next)];
    if (member != g.me && !g.is_taken(p, member, step)) return false;
  }
  return true;
}

// One phase of this round; p.part counts those that are over.
bool Reduction::compute() {
  if (!p.by_levels) {
    if (serial() && g.me != call.root) return true;
    if (!everyone_shows()) return false;
    if (scatters())
      combine_block();
    else if (scans())
      combine_scan();
    else
      combine_flat();
    return true;
  }
  const int top = tree.top(), phase = static_cast<int>(p.part);
  const int level = phase <= top ? phase : 2 * top + 1 - phase;
  const std::vector<int>& members = tree.members(level, tree.domain(level, g.me));
  if (phase == 0) {
    for (; p.next < static_cast<int>(members.size()); ++p.next, ++p.moved) {
      const int member = members[static_cast<std::size_t>(p.next)];
      if (member == g.me) continue;
      if (!shows(member)) return false;
    }
  } else if (!everyone_at(p.round * phases() + p.part, members)) {
    return false;
  }
  if (phase <= top)
    combine_up(level);
  else
    fetch_down(level);
  return true;
}

bool Reduction::close_round() {
  const bool last = p.round + 1 == p.rounds;
  if (p.staged_in || p.staged_out || last) {
    const std::uint64_t end = (p.round + 1) * phases();
    if (!serial()) {
      if (!everyone_at(end, tree.members(tree.top(), 0))) return false;
    } else if (g.me != call.root && !g.is_taken(p, call.root, end)) {
      return false;
    }
  }
  if (!p.staged_out) return true;
  const bool mine = call.kind != Kind::reduce || g.me == call.root;
  const std::size_t whole = scatters() ? block_bytes_of(call, call.receive_bytes, g.me) : call.bytes;
  if (mine) copy_bytes(as_bytes(call.receive) + round_start(), p.stage_result->data, round_length(whole));
  return true;
}

void Reduction::run() {
  if (p.step == 0) {
    if (!begin()) return;
    p.advance_to(1);
  }
  for (;;) {
    while (p.step == 1) {
      if (!compute()) return;
      p.next = 0;
      ++p.part;
      if (!serial() || g.me == call.root) {
        g.set_taken(p, p.round * phases() + p.part);
        g.ring_all();
      }
      if (p.part == phases()) p.advance_to(2);
    }
    if (!close_round()) return;
    p.part = 0;
    p.advance_to(1);
    if (++p.round == p.rounds) break;
    open_round();
  }
  g.counts.bytes += call.bytes;
  g.end(p);
}

void engines::reduce(Group::State& g, Group::Pending& p) try {
  Reduction(g, p).run();
} catch (const std::bad_alloc&) { g.give_up(Outcome::no_memory); }

}  // namespace nigh::message
