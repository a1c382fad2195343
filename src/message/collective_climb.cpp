// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Small operands along the tree of levels: each member posts to its parent what it and its children have
// combined, and the result comes down through the lower half of the same cells. A border is crossed by one
// line each way, however many members there are on its other side; with no operand at all this is the
// barrier.
#include "message/collective_state.hpp"

namespace nigh::message {
namespace {

int root_of(const Call& call) {
  return call.kind == Kind::bcast || call.kind == Kind::reduce ? call.root : 0;
}
bool climbs(const Call& call) { return call.kind != Kind::bcast; }
bool comes_down(const Call& call) { return call.kind != Kind::reduce; }
std::size_t bytes_of(const Call& call) { return call.kind == Kind::barrier ? 0 : call.bytes; }

Bytes* room_down(Group::State& g, int member, std::uint64_t call, std::size_t bytes) {
  if (bytes <= line_room) return g.cell(member, call).small_down;
  return g.cells[static_cast<std::size_t>(member)]->area_down(call);
}

// Combines, level by level, what the parts of my domains have posted.
void combine_up(Group::State& g, Group::Pending& p, int root, Bytes* out) {
  const Tree& tree = g.small_tree;
  const Call& call = p.call;
  const std::size_t bytes = bytes_of(call);
  if (bytes == 0) return;
  const Bytes* partial = operand_of(call);
  const int end = tree.rise(g.me, root);
  for (int level = 0; level < end; ++level) {
    const std::vector<int>& parts = tree.parts(level, tree.domain(level, g.me));
    if (parts.size() == 1) continue;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const int speaker = level == 0 ? parts[i] : tree.speaker(level - 1, parts[i], root);
      g.in[i] = speaker == g.me ? partial : g.payload(speaker, p.number);
    }
    void* to = out;
    g.kernel_of (*call.combine)(&to, 1, g.in.data(), static_cast<int>(parts.size()), 0,
                                bytes / call.combine->element_bytes, call.combine->user);
    partial = out;
  }
  if (partial != out) copy_some(out, partial, bytes);
}

bool go_up(Group::State& g, Group::Pending& p, int root) {
  g.small_tree.children(g.me, root, g.family);
  for (; p.next < static_cast<int>(g.family.size()); ++p.next, ++p.moved)
    if (!g.is_posted(p, g.family[static_cast<std::size_t>(p.next)])) return false;
  const int parent = g.small_tree.parent(g.me, root);
  if (parent < 0) {
    combine_up(g, p, root, as_bytes(p.call.receive));
    return true;
  }
  combine_up(g, p, root, g.post_room(p.number, bytes_of(p.call)));
  post(g.mine(p), p.number);
  g.ring(parent);
  return true;
}

bool go_down(Group::State& g, Group::Pending& p, int root) {
  const int parent = g.small_tree.parent(g.me, root);
  if (parent >= 0 && !g.is_ready(p, parent, 1)) return false;
  const std::size_t bytes = bytes_of(p.call);
  const Bytes* from = parent >= 0                  ? room_down(g, parent, p.number, bytes)
                      : p.call.kind == Kind::bcast ? bcast_source(p.call)
                                                   : as_bytes(p.call.receive);
  g.small_tree.children(g.me, root, g.family);
  if (!g.family.empty()) {
    copy_some(room_down(g, g.me, p.number, bytes), from, bytes);
    g.set_ready(p, 1);
    for (int child : g.family) g.ring(child);
  }
  if (parent >= 0) copy_some(p.call.receive, from, bytes);
  return true;
}

}  // namespace

void engines::climb(Group::State& g, Group::Pending& p) {
  const int root = root_of(p.call);
  if (p.step == 0) {
    if (climbs(p.call) && !go_up(g, p, root)) return;
    p.advance_to(1);
  }
  if (comes_down(p.call) && !go_down(g, p, root)) return;
  g.end(p);
}

}  // namespace nigh::message
