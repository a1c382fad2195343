// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A large bcast. Where all members are near each other they copy from the root's buffer where it lies, each
// starting at another place so that they don't all ask the same lines of the root at once. Where they are
// not, one member of each domain copies over the border, chunk by chunk, and those behind it follow it by a
// chunk. A buffer that is private to its rank is shown through a ring of chunks, so memory stays bounded.
#include <algorithm>

#include "message/collective_state.hpp"

namespace nigh::message {
namespace {

class Spread {
 public:
  Spread(Group::State& g, Group::Pending& p) : g(g), p(p), bytes(p.call.bytes) {
    parent = g.tree.parent(g.me, p.call.root);
    g.tree.children(g.me, p.call.root, g.family);
    chunks = (bytes + chunk_bytes - 1) / chunk_bytes;
  }

  void run() {
    if (p.step == 0) {
      if (!begin()) return;
      p.advance_to(1);
    }
    if (p.step == 1) {
      if (!pump()) return;
      p.advance_to(2);
    }
    if (p.form == Form::area) g.family.clear();  // they read a copy
    for (; p.next < static_cast<int>(g.family.size()); ++p.next, ++p.moved)
      if (!g.is_taken(p, g.family[static_cast<std::size_t>(p.next)], final_step)) return;
    g.counts.bytes += bytes;
    g.end(p);
  }

 private:
  Group::State& g;
  Group::Pending& p;
  std::size_t bytes, chunks;
  int parent;

  // Shows my children where to read.
  bool begin() {
    p.operand = bcast_source(p.call);
    if (g.family.empty()) return true;
    g.mine(p).where = Where{};
    if (parent < 0 && bytes <= g.copy_rather_than_wait())
      show_copy();
    else if (!show_buffer())
      return false;
    post(g.mine(p), p.number);
    ring_children();
    return true;
  }

  void show_copy() {
    CallCell& cell = g.mine(p);
    Bytes* room = g.area(g.me, p.number);
    copy_some(room, p.operand, bytes);
    cell.where.data = room;
    cell.form = Form::direct;
    p.form = Form::area;
    p.part = chunks;
  }

  bool show_buffer() {
    CallCell& cell = g.mine(p);
    const void* buffer = parent < 0 ? p.operand : as_bytes(p.call.receive);
    p.form = Form::direct;
    cell.where.data = g.space.global(buffer, bytes);
    if (cell.where.data) {
      ++g.counts.in_place;
      if (parent < 0) p.part = chunks;
      cell.where.parts_in = parent >= 0;
    } else {
      if (!g.stage_for(p, p.stage, std::min(chunks, std::uint64_t{ring_chunks}) * chunk_bytes)) return false;
      p.form = Form::staged;
      cell.where.data = p.stage->data;
      cell.where.parts_in = 1;
    }
    cell.form = p.form;
    return true;
  }

  void ring_children() {
    for (int child : g.family) g.ring(child);
  }
  [[nodiscard]] std::size_t length(std::uint64_t chunk) const {
    return std::min(chunk_bytes, bytes - chunk * chunk_bytes);
  }

  // All chunks, into my buffer and on to my children.
  bool pump() {
    if (parent >= 0 && p.round == 0 && !g.is_posted(p, parent)) return false;
    if (parent >= 0 && g.family.empty() && all_at_once()) return true;
    while (parent >= 0 ? p.round < chunks : p.part < chunks) {
      if (!g.family.empty() && !room_for_chunk()) return false;
      if (parent >= 0 && !fetch_chunk()) return false;
      if (!g.family.empty()) show_chunk();
      ++p.moved;
    }
    if (parent >= 0) {
      g.set_taken(p, final_step);
      g.ring(parent);
    }
    return true;
  }

  bool all_at_once() {
    const CallCell& from = g.shown(parent, p);
    if (from.where.parts_in || p.round != 0) return false;
    g.tree.children(parent, p.call.root, g.family);
    const auto place = std::find(g.family.begin(), g.family.end(), g.me) - g.family.begin();
    const std::size_t start = chunks * static_cast<std::size_t>(place) / g.family.size() * chunk_bytes;
    g.family.clear();
    const Bytes* data = as_bytes(from.where.data);
    copy_bytes(as_bytes(p.call.receive) + start, data + start, bytes - start);
    if (start != 0) copy_bytes(p.call.receive, data, start);
    g.count_crossing(parent, bytes);
    g.set_taken(p, final_step);
    g.ring(parent);
    return true;
  }

  bool room_for_chunk() {
    if (p.form != Form::staged || p.part < ring_chunks) return true;
    for (int child : g.family)
      if (!g.is_taken(p, child, p.part - ring_chunks + 1)) return false;
    return true;
  }

  bool fetch_chunk() {
    const CallCell& from = g.shown(parent, p);
    if (from.where.parts_in && !g.is_ready(p, parent, p.round + 1)) return false;
    const std::size_t at = p.round * chunk_bytes, length = this->length(p.round);
    const std::size_t source = from.form == Form::staged ? p.round % ring_chunks * chunk_bytes : at;
    copy_bytes(as_bytes(p.call.receive) + at, as_bytes(from.where.data) + source, length);
    g.count_crossing(parent, length);
    ++p.round;
    if (from.form == Form::staged) {
      g.set_taken(p, p.round);
      g.ring(parent);
    }
    return true;
  }

  void show_chunk() {
    const std::size_t at = p.part * chunk_bytes;
    if (p.form == Form::staged)
      copy_bytes(p.stage->data + p.part % ring_chunks * chunk_bytes,
                 (parent < 0 ? p.operand : as_bytes(p.call.receive)) + at, length(p.part));
    ++p.part;
    g.set_ready(p, p.part == chunks ? final_step : p.part);
    ring_children();
  }
};

}  // namespace

void engines::spread(Group::State& g, Group::Pending& p) { Spread(g, p).run(); }

}  // namespace nigh::message
