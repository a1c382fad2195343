// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The arithmetic of one round of a large reduction. Every element is combined by one member alone, in the
// order of the members (domain by domain where the call may be regrouped), and written from there to all who
// want it: so all get the same bits.
#include <algorithm>
#include <numeric>

#include "message/collective_reduce.hpp"

namespace nigh::message {

const Bytes* Reduction::input(int member) {
  if (member == g.me) return p.operand + (scatters() ? 0 : round_start());
  const Where& where = g.shown(member, p).where;
  return as_bytes(where.data) + (where.parts_in || scatters() ? 0 : round_start());
}

Bytes* Reduction::output(int member) {
  const Where& where = g.shown(member, p).where;
  if (serial()) return as_bytes(call.receive) + round_start();  // the root's own
  return as_bytes(where.result) + (where.parts_out ? 0 : round_start());
}

Reduction::Piece Reduction::piece_of(int piece, int pieces) const {
  const std::size_t elements = round_length(call.bytes) / element;
  const std::size_t unit = 64 / std::gcd(std::size_t{64}, element), units = (elements + unit - 1) / unit;
  const auto cut = [&](int number) {
    return std::min(elements,
                    units * static_cast<std::size_t>(number) / static_cast<std::size_t>(pieces) * unit);
  };
  return {cut(piece), cut(piece + 1)};
}

void Reduction::combine_flat() {
  const Piece piece = serial() ? Piece{0, round_length(call.bytes) / element} : piece_of(g.me, g.size);
  if (piece.first == piece.last) return;
  const std::size_t bytes = (piece.last - piece.first) * element;
  int outs = 0;
  for (int member = 0; member < g.size; ++member) {
    g.in[static_cast<std::size_t>(member)] = input(member);
    g.count_crossing(member, bytes);
    if (call.kind != Kind::allreduce && member != call.root) continue;
    g.out[static_cast<std::size_t>(outs++)] = output(member);
    g.count_crossing(member, bytes);
  }
  g.kernel_of (*call.combine)(g.out.data(), outs, g.in.data(), g.size, piece.first, piece.last,
                              call.combine->user);
}

// The running combination of a block stays in the cache while it goes from member to member.
void Reduction::combine_scan() {
  const Piece piece = piece_of(g.me, g.size);
  const std::size_t width = std::max(std::size_t{4096} / element, std::size_t{1});
  Bytes* running = g.scratch.data();
  Bytes* next = running + g.scratch.size() / 2;
  const CombineKernel kernel = call.combine->kernel;
  for (std::size_t first = piece.first; first < piece.last; first += width) {
    const std::size_t count = std::min(width, piece.last - first), at = first * element;
    copy_some(running, input(0) + at, count * element);
    if (call.kind == Kind::scan && output(0) + at != input(0) + at)
      copy_some(output(0) + at, running, count * element);
    for (int member = 1; member < g.size; ++member) {
      copy_some(next, input(member) + at, count * element);
      if (call.kind == Kind::exscan) copy_some(output(member) + at, running, count * element);
      const void* in[] = {running, next};
      void* out[] = {running};
      kernel(out, 1, in, 2, 0, count, call.combine->user);
      if (call.kind == Kind::scan) copy_some(output(member) + at, running, count * element);
    }
  }
}

// reduce_scatter: my block from all.
void Reduction::combine_block() {
  const std::size_t elements = round_length(block_bytes_of(call, call.receive_bytes, g.me)) / element;
  if (elements == 0) return;
  const std::size_t direct = block_offset_of(g.me) + round_start();
  const std::size_t staged = static_cast<std::size_t>(g.me) * p.chunk;
  for (int member = 0; member < g.size; ++member) {
    const bool parts = member != g.me && g.shown(member, p).where.parts_in != 0;
    g.in[static_cast<std::size_t>(member)] = input(member) + (parts ? staged : direct);
    g.count_crossing(member, elements * element);
  }
  void* out = p.staged_out ? p.stage_result->data : as_bytes(call.receive) + round_start();
  g.kernel_of (*call.combine)(&out, 1, g.in.data(), g.size, 0, elements, call.combine->user);
}

void Reduction::combine_members(const std::vector<int>& sources, bool operands, Bytes* out, int out_member,
                                Piece piece) {
  const std::size_t bytes = (piece.last - piece.first) * element, at = piece.first * element;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    g.in[i] = operands ? input(sources[i]) : output(sources[i]);
    g.count_crossing(sources[i], bytes);
  }
  g.count_crossing(out_member, bytes);
  if (sources.size() == 1) {
    if (out != g.in[0]) copy_bytes(out + at, as_bytes(g.in[0]) + at, bytes);
    return;
  }
  void* to = out;
  g.kernel_of (*call.combine)(&to, 1, g.in.data(), static_cast<int>(sources.size()), piece.first, piece.last,
                              call.combine->user);
}

// My pieces of what my domain on this level adds up to, from those of its parts.
void Reduction::combine_up(int level) {
  const int domain = tree.domain(level, g.me);
  const std::vector<int>& parts = tree.parts(level, domain);
  const bool to_root = level == tree.top() && call.kind == Kind::reduce;
  const int target = to_root ? call.root : g.me;
  for (int number = 0; number < level_pieces(); ++number) {
    const Piece piece = piece_of(number, level_pieces());
    if (piece.first == piece.last || tree.owner(level, domain, number) != g.me) continue;
    if (level == 0) {
      combine_members(parts, true, output(target), target, piece);
      continue;
    }
    g.family.clear();
    for (int part : parts) g.family.push_back(tree.owner(level - 1, part, number));
    combine_members(g.family, false, output(target), target, piece);
  }
}

void Reduction::copy_piece(int from, Piece piece) {
  const std::size_t bytes = (piece.last - piece.first) * element, at = piece.first * element;
  if (from == g.me || bytes == 0) return;
  copy_bytes(output(g.me) + at, output(from) + at, bytes);
  g.count_crossing(from, bytes);
}

// The result of my domain comes to the owners of its parts, and on level 0 to everybody.
void Reduction::fetch_down(int level) {
  const int domain = tree.domain(level, g.me);
  for (int number = 0; number < level_pieces(); ++number) {
    const bool mine = level == 0 || tree.owner(level - 1, tree.domain(level - 1, g.me), number) == g.me;
    if (mine) copy_piece(tree.owner(level, domain, number), piece_of(number, level_pieces()));
  }
}

}  // namespace nigh::message
