// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/slabs.hpp"

#include <algorithm>

namespace nigh::transpose {

std::size_t rows_of_panel(const Slabs& slabs, std::size_t bytes) {
  const std::size_t longest = std::max<std::size_t>(1, slabs.rows.most() * slabs.element);
  const std::size_t count = std::max<std::size_t>(1, bytes / longest);
  const std::size_t per_line = line / slabs.element;
  return count < per_line ? count : count / per_line * per_line;
}

std::size_t panels(const Slabs& slabs, std::size_t to, std::size_t bytes) {
  const std::size_t each = rows_of_panel(slabs, bytes);
  return (slabs.columns.count(to) + each - 1) / each;
}

Panel panel(const Slabs& slabs, std::size_t to, std::size_t bytes, std::size_t index) {
  const std::size_t each = rows_of_panel(slabs, bytes), all = slabs.columns.count(to);
  const std::size_t first = std::min(all, index * each);
  return {first, std::min(each, all - first)};
}

void take(const Slabs& slabs, std::size_t from, const std::byte* a, std::size_t to, std::byte* b, int part,
          int parts, const Way& way) {
  if (slabs.rows.count(from) == 0 || slabs.columns.count(to) == 0) return;  // nor need there be memory
  const Block block{a + slabs.columns.first(to) * slabs.element,
                    slabs.columns.things,
                    b + slabs.rows.first(from) * slabs.element,
                    slabs.rows.things,
                    slabs.rows.count(from),
                    slabs.columns.count(to)};
  transpose_part(block, slabs.element, part, parts, way);
}

void pack(const Slabs& slabs, std::size_t from, const std::byte* a, std::size_t to, Panel panel,
          std::byte* message, int part, int parts, const Way& way) {
  if (slabs.rows.count(from) == 0 || panel.count == 0) return;
  const Block block{a + (slabs.columns.first(to) + panel.first) * slabs.element,
                    slabs.columns.things,
                    message,
                    slabs.rows.count(from),
                    slabs.rows.count(from),
                    panel.count};
  transpose_part(block, slabs.element, part, parts, way);
}

void unpack(const Slabs& slabs, std::size_t from, const std::byte* message, Panel panel, std::byte* b,
            int part, int parts, const Way& way) {
  if (slabs.rows.count(from) == 0 || panel.count == 0) return;
  const std::size_t run = slabs.rows.count(from) * slabs.element, row = slabs.rows.things * slabs.element;
  copy_part(
      {message, run, b + panel.first * row + slabs.rows.first(from) * slabs.element, row, panel.count, run},
      part, parts, way);
}

}  // namespace nigh::transpose
