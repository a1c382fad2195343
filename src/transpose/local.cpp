// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Cuts a matrix for the threads. Columns first, in whole lines' worth of them; a matrix with fewer columns
// than that gives each is cut along its rows, too.
#include "transpose/local.hpp"

#include <algorithm>

namespace nigh::transpose {

namespace {
const Kernels& kernels_of(const CopyOptions& way) {
  return way.kernels != nullptr ? *way.kernels : kernels();
}
}  // namespace

void transpose_part(const Block& block, std::size_t element, int part, int parts, const CopyOptions& way) {
  if (!is_element(element)) return;
  const std::size_t grain = line / element;
  const auto count = static_cast<std::size_t>(parts), mine = static_cast<std::size_t>(part);
  const std::size_t across = std::min(count, std::max<std::size_t>(1, block.columns / grain));
  const std::size_t along = count / across;  // the threads beyond across * along have nothing to do
  if (mine >= across * along) return;
  const IndexRange columns = share(block.columns, grain, mine % across, across);
  const IndexRange rows = share(block.rows, grain, mine / across, along);
  if (columns.first >= columns.end || rows.first >= rows.end) return;
  Block own = block;
  own.from += (rows.first * block.from_stride + columns.first) * element;
  own.to += (columns.first * block.to_stride + rows.first) * element;
  own.rows = rows.end - rows.first;
  own.columns = columns.end - columns.first;
  const bool whole = reinterpret_cast<std::uintptr_t>(block.to) % element == 0;
  const bool past = whole && streams(way, block.rows * block.columns * element, parts);
  const Kernels& set = kernels_of(way);
  (past ? set.streamed : set.cached)[Kernels::index(element)](own);
}

void transpose(const Block& block, std::size_t element, Team& team, const CopyOptions& way) {
  team.run([&](int thread) { transpose_part(block, element, thread, team.threads(), way); });
}

void copy_part(const Rows& rows, int part, int parts, const CopyOptions& way) {
  const auto count = static_cast<std::size_t>(parts), mine = static_cast<std::size_t>(part);
  const Kernels& set = kernels_of(way);
  const auto move = streams(way, rows.count * rows.bytes, parts) ? set.copy_streamed : set.copy_cached;
  Rows own = rows;
  if (rows.count >= count) {
    const IndexRange range = share(rows.count, 1, mine, count);
    own.from += range.first * rows.from_stride;
    own.to += range.first * rows.to_stride;
    own.count = range.end - range.first;
  } else {
    const IndexRange range = share(rows.bytes, line, mine, count);
    own.from += range.first;
    own.to += range.first;
    own.bytes = range.end - range.first;
  }
  if (own.count > 0 && own.bytes > 0) move(own);
}

void copy(const Rows& rows, Team& team, const CopyOptions& way) {
  team.run([&](int thread) { copy_part(rows, thread, team.threads(), way); });
}

}  // namespace nigh::transpose
