// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Gather, scatter, allgather and alltoall of any size. Who has data shows where it lies; who wants it copies
// it from there, starting with his neighbour so that not all read from one. What is private to a rank, or is
// overwritten by the call itself (an alltoall in place), is shown in parts through two halves of a stage: one
// is read while the other is filled. The reader follows whatever form the writer chose. Only a gather goes
// the other way round where it can: its members write into the root's buffer, all at once, instead of leaving
// all copies to the root. Blocks in pieces (alltoall, MPI's derived types) are packed into the stage and
// unpacked from it part by part.
#include <algorithm>

#include "message/collective_state.hpp"

namespace nigh::message {
namespace {

class Move {
 public:
  Move(Group::State& g, Group::Pending& p) : g(g), p(p), call(p.call) {}

  // --- who moves what ---
  [[nodiscard]] bool writes() const {
    if (call.kind == Kind::scatter) return g.me == call.root;
    if (call.kind == Kind::gather) return g.me != call.root;
    return true;
  }
  [[nodiscard]] bool reads() const {
    if (call.kind == Kind::scatter) return g.me != call.root;
    if (call.kind == Kind::gather) return g.me == call.root;
    return true;
  }
  [[nodiscard]] bool in_place_exchange() const {
    return call.kind == Kind::alltoall && call.send == in_place;
  }
  [[nodiscard]] std::size_t to_bytes(int reader) const {
    if (call.kind == Kind::gather) return reader == call.root ? call.bytes : 0;
    if (call.kind == Kind::allgather) return block_bytes_of(call, call.receive_bytes, g.me);
    return block_bytes_of(call, in_place_exchange() ? call.receive_bytes : call.send_bytes, reader);
  }
  [[nodiscard]] std::size_t to_offset(int reader) const {
    if (in_place_exchange()) return block_offset(call, call.receive_bytes, call.receive_offsets, reader);
    return block_offset(call, call.send_bytes, call.send_offsets, reader);
  }
  [[nodiscard]] const Bytes* source() const {
    if (call.kind == Kind::allgather && call.send == in_place)
      return as_bytes(call.receive) + block_offset(call, call.receive_bytes, call.receive_offsets, g.me);
    return operand_of(call);
  }
  [[nodiscard]] Blocks blocks() const {
    if (call.kind == Kind::gather || call.kind == Kind::allgather) return Blocks::same;
    const bool even = in_place_exchange() ? !call.receive_bytes && !call.receive_offsets
                                          : !call.send_bytes && !call.send_offsets;
    return even ? Blocks::even : Blocks::table;
  }
  [[nodiscard]] const Layout* to_layout(int reader) const {
    return call.send_layouts ? call.send_layouts[reader] : nullptr;
  }
  [[nodiscard]] const Layout* layout_of(int writer) const {
    return call.receive_layouts ? call.receive_layouts[writer] : nullptr;
  }
  [[nodiscard]] std::size_t from_bytes(int writer) const {
    if (call.kind == Kind::scatter) return writer == call.root ? call.bytes : 0;
    return block_bytes_of(call, call.receive_bytes, writer);
  }
  [[nodiscard]] Bytes* place_of(int writer) const {
    if (call.kind == Kind::scatter) return as_bytes(call.receive);
    return as_bytes(call.receive) + block_offset(call, call.receive_bytes, call.receive_offsets, writer);
  }

  bool begin();
  bool show_parts();
  bool fetch();
  bool all_taken();
  void copy_own();

 private:
  Group::State& g;
  Group::Pending& p;
  const Call& call;

  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(g.size); }
  // Those who wait for this member's words: its readers, or its writers.
  void wake(std::size_t (Move::*bytes)(int) const) {
    if (!call.sparse) return g.ring_all();
    for (int member = 0; member < g.size; ++member)
      if (member != g.me && (this->*bytes)(member) != 0) g.ring(member);
  }
  bool post_inline();
  bool post_direct();
  bool post_staged();
  void stage_part();
  bool fetch_part(int writer);
};

bool Move::post_inline() {
  CallCell& cell = g.mine(p);
  const std::size_t most = g.copy_rather_than_wait();
  const std::size_t table = p.blocks == Blocks::table ? width() * sizeof(std::uint64_t) : 0;
  std::size_t bytes = table;
  if (p.blocks == Blocks::same)
    bytes = writes() ? to_bytes(call.kind == Kind::gather ? call.root : g.me) : 0;
  else if (p.blocks == Blocks::even)
    bytes = call.bytes * width();
  else
    for (int reader = 0; reader < g.size && bytes <= most; ++reader) bytes += to_bytes(reader);
  if (bytes > most) return false;
  Bytes* room = g.post_room(p.number, bytes);
  p.form = cell.form;
  if (p.blocks != Blocks::table) {
    copy_some(room, source(), bytes);
    return true;
  }
  std::uint64_t at = table;
  for (int reader = 0; reader < g.size; ++reader) {
    const std::size_t length = to_bytes(reader);
    __builtin_memcpy(room + static_cast<std::size_t>(reader) * sizeof(at), &at, sizeof(at));
    if (length && to_layout(reader))
      copy(room + at, nullptr, source() + to_offset(reader), to_layout(reader), 0, length);
    else if (length)
      copy_some(room + at, source() + to_offset(reader), length);
    at += length;
  }
  return true;
}

bool Move::post_direct() {
  // A block in pieces goes through the stage: packed and unpacked while a part is in the caches.
  if (in_place_exchange() || call.send_layouts) return false;
  // Offsets may be negative, as MPI's displacements: what counts is where the blocks really lie.
  std::ptrdiff_t low = 0, high = 0;
  for (int reader = 0; reader < g.size; ++reader) {
    const std::size_t length = to_bytes(reader);
    if (length == 0) continue;
    const auto first = p.blocks == Blocks::same ? 0 : static_cast<std::ptrdiff_t>(to_offset(reader));
    const std::ptrdiff_t last = first + static_cast<std::ptrdiff_t>(length);
    if (low == high) low = first, high = last;
    low = std::min(low, first);
    high = std::max(high, last);
  }
  void* data = g.space.global(source() + low, static_cast<std::size_t>(high - low));
  if (!data) return false;
  CallCell& cell = g.mine(p);
  p.form = Form::direct;
  cell.where = Where{};
  cell.where.data = as_bytes(data) - low;
  cell.where.stride = call.bytes;
  if (p.blocks == Blocks::table)
    for (int reader = 0; reader < g.size; ++reader) {
      const std::uint64_t at = to_bytes(reader) ? to_offset(reader) : 0;
      __builtin_memcpy(g.area(g.me, p.number) + static_cast<std::size_t>(reader) * sizeof(at), &at,
                       sizeof(at));
    }
  ++g.counts.in_place;
  return true;
}

bool Move::post_staged() {
  std::size_t most = 1;
  for (int reader = 0; reader < g.size; ++reader) most = std::max(most, to_bytes(reader));
  const std::size_t readers = p.blocks == Blocks::same ? 1 : width();
  p.chunk = std::max(stage_half / readers, stage_block);
  // In place, a part is overwritten when it is answered: all members must cut alike, whatever they have.
  if (!in_place_exchange()) p.chunk = std::min(p.chunk, (most + 63) / 64 * 64);
  p.parts = (most + p.chunk - 1) / p.chunk;
  const std::size_t half = p.chunk * readers;
  if (!g.stage_for(p, p.stage, 2 * half)) return false;
  CallCell& cell = g.mine(p);
  p.form = Form::staged;
  cell.where = Where{};
  cell.where.data = p.stage->data;
  cell.where.stride = half;
  cell.where.chunk = p.chunk;
  return true;
}

bool Move::begin() {
  if (!writes()) return true;
  p.blocks = blocks();
  if (!post_inline() && !post_direct() && !post_staged()) return false;
  CallCell& cell = g.mine(p);
  cell.form = p.form;
  cell.blocks = p.blocks;
  g.show_cell(p.number);
  wake(&Move::to_bytes);
  copy_own();
  return true;
}

void Move::copy_own() {
  if (call.send == in_place || call.receive == in_place || call.receive == nullptr) return;
  const bool to_root = call.kind == Kind::gather || call.kind == Kind::scatter;
  if (to_root && g.me != call.root) return;
  const Bytes* from = as_bytes(call.send);
  std::size_t bytes = block_bytes_of(call, call.receive_bytes, g.me);
  if (call.kind == Kind::scatter || call.kind == Kind::alltoall) {
    bytes = to_bytes(g.me);
    if (bytes) from += to_offset(g.me);
  }
  Bytes* to = call.kind == Kind::scatter ? as_bytes(call.receive) : place_of(g.me);
  if (!bytes || to == from) return;
  if (call.send_layouts || call.receive_layouts)
    copy(to, layout_of(g.me), from, to_layout(g.me), 0, bytes);
  else
    copy_bytes(to, from, bytes);
}

void Move::stage_part() {
  Bytes* half = p.stage->data + p.part % 2 * g.mine(p).where.stride;
  const std::size_t start = p.part * p.chunk;
  for (int reader = 0; reader < g.size; ++reader) {
    const std::size_t bytes = to_bytes(reader);
    if (bytes <= start || (reader == g.me && p.blocks != Blocks::same)) continue;
    const std::size_t length = std::min(p.chunk, bytes - start);
    if (p.blocks == Blocks::same) {
      copy_bytes(half, source() + start, length);
      break;
    }
    Bytes* const room = half + static_cast<std::size_t>(reader) * p.chunk;
    if (const Layout* layout = to_layout(reader))
      copy(room - start, nullptr, source() + to_offset(reader), layout, start, length);
    else
      copy_bytes(room, source() + to_offset(reader) + start, length);
  }
}

// The writer's side of parts: true when all are shown.
bool Move::show_parts() {
  for (; p.part < p.parts; ++p.part, ++p.moved) {
    if (p.part >= 2)
      for (int reader = 0; reader < g.size; ++reader)
        if (reader != g.me && to_bytes(reader) != 0 && !g.is_taken(p, reader, p.part - 1)) return false;
    stage_part();
    g.set_ready(p, p.part + 1);
    wake(&Move::to_bytes);
  }
  return true;
}

bool Move::fetch_part(int writer) {
  const CallCell& from = g.shown(writer, p);
  const std::size_t bytes = from_bytes(writer), me = static_cast<std::size_t>(g.me);
  if (from.form == Form::staged) {
    const std::size_t start = p.round * from.where.chunk;
    p.rounds = std::max(p.rounds, (bytes + from.where.chunk - 1) / from.where.chunk);
    p.answer = true;
    if (start >= bytes) return true;
    if (!g.is_ready(p, writer, p.round + 1)) return false;
    if (in_place_exchange() && p.form == Form::staged && p.part <= p.round) return g.await(p, g.me);
    const Bytes* part = as_bytes(from.where.data) + p.round % 2 * from.where.stride;
    if (from.blocks != Blocks::same) part += me * from.where.chunk;
    const std::size_t length = std::min(from.where.chunk, bytes - start);
    copy(place_of(writer), layout_of(writer), part - start, nullptr, start, length);
    return true;
  }
  if (p.round > 0) return true;
  const bool direct = from.form == Form::direct;
  const Bytes* data = direct ? as_bytes(from.where.data) : g.payload(writer, p.number);
  std::uint64_t at = 0;
  if (from.blocks == Blocks::table)
    __builtin_memcpy(&at, (direct ? g.area(writer, p.number) : data) + me * sizeof(at), sizeof(at));
  else if (from.blocks == Blocks::even)
    at = me * bytes;
  p.answer = p.answer || direct;
  copy(place_of(writer), layout_of(writer), data + at, nullptr, 0, bytes);
  return true;
}

// The reader's side: true when all is fetched.
bool Move::fetch() {
  while (!p.sink_done) {
    for (; p.next < g.size - 1; ++p.next, ++p.moved) {
      const int writer = (g.me + 1 + p.next) % g.size;
      if (from_bytes(writer) == 0) continue;
      if (!g.is_posted(p, writer) || !fetch_part(writer)) return false;
    }
    p.next = 0;
    ++p.round;
    p.sink_done = p.round >= p.rounds;
    if (!p.answer) continue;
    g.set_taken(p, p.sink_done ? final_step : p.round);
    wake(&Move::from_bytes);
  }
  return true;
}

bool Move::all_taken() {
  if (!writes() || p.form == Form::line || p.form == Form::area) return true;
  const std::uint64_t parts = p.form == Form::staged ? p.parts : 1;
  for (int reader = 0; reader < g.size; ++reader)
    if (reader != g.me && to_bytes(reader) != 0 && !g.is_taken(p, reader, parts)) return false;
  return true;
}

}  // namespace

void engines::move(Group::State& g, Group::Pending& p) {
  Move move(g, p);
  if (p.step == 0) {
    if (!move.begin()) return;
    if (!move.reads()) p.sink_done = true;
    p.advance_to(1);
  }
  if (p.step == 1) {
    bool shown = false, fetched = false;
    for (std::uint64_t before = p.moved - 1; before != p.moved;) {
      before = p.moved;
      shown = move.show_parts();
      p.also_awaited = shown ? -1 : p.awaited;
      fetched = move.fetch();
      if (p.outcome != Outcome::pending) return;
    }
    if (!shown || !fetched) return;
    p.also_awaited = -1;
    p.advance_to(2);
  }
  if (!move.all_taken()) return;
  g.counts.bytes += p.call.bytes;
  g.end(p);
}

// The root shows where it wants the blocks, or nothing if nobody else can write there.
static void open_gather(Group::State& g, Group::Pending& p) {
  const Call& call = p.call;
  CallCell& cell = g.mine(p);
  std::ptrdiff_t low = 0, high = 0;
  for (int member = 0; member < g.size; ++member) {
    const std::size_t bytes = block_bytes_of(call, call.receive_bytes, member);
    if (member == g.me || bytes == 0) continue;
    const auto at =
        static_cast<std::ptrdiff_t>(block_offset(call, call.receive_bytes, call.receive_offsets, member));
    if (low == high) low = at, high = at;
    low = std::min(low, at);
    high = std::max(high, at + static_cast<std::ptrdiff_t>(bytes));
    const auto word = static_cast<std::uint64_t>(at);
    __builtin_memcpy(g.area(g.me, p.number) + static_cast<std::size_t>(member) * sizeof(word), &word,
                     sizeof(word));
  }
  void* data = g.space.global(as_bytes(call.receive) + low, static_cast<std::size_t>(high - low));
  cell.form = data ? Form::direct : Form::none;
  p.form = cell.form;
  cell.where = Where{};
  if (data) cell.where.data = as_bytes(data) - low;
  g.post_cell(p.number);
  Move(g, p).copy_own();
}

static void gather_at_root(Group::State& g, Group::Pending& p) {
  if (p.step == 0) {
    open_gather(g, p);
    p.advance_to(1);
    if (p.form == Form::none) {
      p.engine = engines::move;
      return engines::move(g, p);
    }
  }
  const Call& call = p.call;
  for (; p.next < g.size; ++p.next, ++p.moved) {
    if (p.next == g.me) continue;
    const std::size_t bytes = block_bytes_of(call, call.receive_bytes, p.next);
    if (bytes > small_move) {
      if (!g.is_taken(p, p.next, final_step)) return;
      continue;
    }
    if (!g.is_posted(p, p.next)) return;
    copy_some(as_bytes(call.receive) + block_offset(call, call.receive_bytes, call.receive_offsets, p.next),
              g.payload(p.next, p.number), bytes);
  }
  g.end(p);
}

void engines::gather(Group::State& g, Group::Pending& p) {
  const Call& call = p.call;
  if (g.me == call.root) return gather_at_root(g, p);
  if (!g.is_posted(p, call.root)) return;
  const CallCell& root = g.shown(call.root, p);
  if (root.form != Form::direct) {
    p.engine = engines::move;
    return engines::move(g, p);
  }
  std::uint64_t at = 0;
  __builtin_memcpy(&at, g.area(call.root, p.number) + static_cast<std::size_t>(g.me) * sizeof(at),
                   sizeof(at));
  copy_bytes(as_bytes(root.where.data) + at, call.send, call.bytes);
  ++g.counts.in_place;
  g.counts.bytes += call.bytes;
  g.set_taken(p, final_step);
  g.ring(call.root);
  g.end(p);
}

// A group of one: every collective is a copy, or nothing.
void engines::alone(Group::State& g, Group::Pending& p) {
  const Call& call = p.call;
  const bool copies = call.kind != Kind::barrier && call.kind != Kind::bcast && call.kind != Kind::exscan;
  if (copies) {
    const bool reduces = call.kind != Kind::gather && call.kind != Kind::scatter &&
                         call.kind != Kind::allgather && call.kind != Kind::alltoall;
    if (!reduces)
      Move(g, p).copy_own();
    else if (call.send != in_place && call.send != call.receive)
      copy_some(call.receive, call.send, block_bytes_of(call, call.receive_bytes, 0));
  }
  g.end(p);
}

}  // namespace nigh::message
