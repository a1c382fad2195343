// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A large reduction under way, as its two halves see it: collective_reduce.cpp keeps the rounds, what is
// shown and who waits for whom; collective_pieces.cpp does the arithmetic of one round.
#pragma once

#include "message/collective_state.hpp"

namespace nigh::message {

class Reduction {
 public:
  Reduction(Group::State& g, Group::Pending& p);
  void run();

 private:
  Group::State& g;
  Group::Pending& p;
  const Call& call;
  const Tree& tree;
  std::size_t element;

  // --- rounds (collective_reduce.cpp) ---
  bool begin();
  bool show_result();
  void open_round();
  bool compute();  // false: waits
  bool close_round();
  bool shows(int member);
  bool everyone_shows();
  bool everyone_at(std::uint64_t step, const std::vector<int>& members);
  [[nodiscard]] bool scatters() const { return call.kind == Kind::reduce_scatter; }
  [[nodiscard]] bool scans() const { return call.kind == Kind::scan || call.kind == Kind::exscan; }
  [[nodiscard]] bool serial() const { return !p.piecewise; }
  [[nodiscard]] std::size_t block_offset_of(int member) const {
    return block_offset(call, call.receive_bytes, nullptr, member);
  }
  // Steps of `taken` in one round.
  [[nodiscard]] std::uint64_t phases() const {
    if (!p.by_levels) return 1;
    const auto levels = static_cast<std::uint64_t>(tree.top()) + 1;
    return call.kind == Kind::allreduce ? 2 * levels : levels;
  }
  // The part of the operand that belongs to this round, in bytes; reduce_scatter: of every block.
  [[nodiscard]] std::size_t round_start() const { return p.round * p.chunk; }
  [[nodiscard]] std::size_t round_length(std::size_t whole) const {
    const std::size_t start = round_start();
    return whole <= start ? 0 : whole - start < p.chunk ? whole - start : p.chunk;
  }

  // --- pieces (collective_pieces.cpp) ---
  // Where this round's operand and result of a member are.
  const Bytes* input(int member);
  Bytes* output(int member);
  // Elements [first, last) of the round are piece number `piece` of `pieces`, cut at cache lines.
  struct Piece {
    std::size_t first, last;
  };
  [[nodiscard]] Piece piece_of(int piece, int pieces) const;
  [[nodiscard]] int level_pieces() const { return 2 * g.size; }
  void combine_flat();
  void combine_scan();
  void combine_block();
  void combine_up(int level);
  void fetch_down(int level);
  void combine_members(const std::vector<int>& sources, bool operands, Bytes* out, int out_member,
                       Piece piece);
  void copy_piece(int from, Piece piece);
};

}  // namespace nigh::message
