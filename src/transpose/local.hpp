// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Transposing and copying in one address space: who does which part, and by the way of the caches or past
// them. A thread writes whole rows of the result, so that their pages, touched first by it, lie on its NUMA
// node.
//
//     from   0   1   2 ...  threads: a range of columns each        to   ┌────────┐ 0
//          ┌───┬───┬───┐                                                 ├────────┤ 1
//          │   │   │   │                                                 ├────────┤ 2
//          └───┴───┴───┘                                                 └────────┘
#pragma once

#include <algorithm>

#include "transpose/kernels.hpp"
#include "transpose/team.hpp"

namespace nigh::transpose {

// Streamed: written past the caches, which is faster for all that is larger than a cache near the core, and
// leaves what they hold. Automatic: streamed where a thread reads and writes more than fits in
// `cached_bytes`.
enum class Stores : std::uint8_t { automatic, cached, streamed };

struct CopyOptions {
  Stores stores = Stores::automatic;
  std::size_t cached_bytes = std::size_t{1} << 20;
  const Kernels* kernels = nullptr;  // nullptr: the widest
};

// The meaning of Stores::automatic for a whole of that many bytes.
[[nodiscard]] constexpr bool streams(const CopyOptions& way, std::size_t bytes, int parts) {
  if (way.stores != Stores::automatic) return way.stores == Stores::streamed;
  return 2 * bytes / static_cast<std::size_t>(parts) > way.cached_bytes;
}

struct IndexRange {
  std::size_t first = 0, end = 0;
};
// `count` things for part `part` of `parts`, cut at multiples of `grain`.
[[nodiscard]] constexpr IndexRange share(std::size_t count, std::size_t grain, std::size_t part,
                                         std::size_t parts) {
  const std::size_t grains = (count + grain - 1) / grain;
  const auto cut = [&](std::size_t p) { return std::min(count, (grains * p / parts) * grain); };
  return {cut(part), cut(part + 1)};
}

[[nodiscard]] constexpr bool is_element(std::size_t bytes) { return bytes == 4 || bytes == 8 || bytes == 16; }

// The part of thread `part` of `parts`; all parts together are the whole. `element` is 4, 8 or 16 bytes; with
// another nothing is done.
void transpose_part(const Block& block, std::size_t element, int part, int parts,
                    const CopyOptions& way = {});
void transpose(const Block& block, std::size_t element, Team& team, const CopyOptions& way = {});
void copy_part(const Rows& rows, int part, int parts, const CopyOptions& way = {});
void copy(const Rows& rows, Team& team, const CopyOptions& way = {});

// A rows x columns matrix, row by row without gaps, becomes columns x rows in its own memory. Besides it
// O(rows + columns) elements for each thread are used. Returns false, with nothing changed, when there is no
// memory for those. Squares are exchanged about the diagonal; others are cut into blocks (blocks.hpp).
[[nodiscard]] bool transpose_in_place(std::byte* data, std::size_t rows, std::size_t columns,
                                      std::size_t element, Team& team);
// Blocks that lie opposite each other about the diagonal of a matrix, one of rows x columns; strides in
// elements. They change places, each turned: the share of thread `part` of `parts`.
struct Opposites {
  std::byte* one = nullptr;
  std::size_t one_stride = 0;
  std::byte* other = nullptr;
  std::size_t other_stride = 0;
  std::size_t rows = 0, columns = 0;
};
void exchange_part(const Opposites& blocks, std::size_t element, int part, int parts);
// A square whose rows are `stride` elements apart.
void transpose_square(std::byte* data, std::size_t side, std::size_t stride, std::size_t element, Team& team);

}  // namespace nigh::transpose
