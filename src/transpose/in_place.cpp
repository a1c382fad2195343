// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include <new>

#include "transpose/blocks.hpp"
#include "transpose/local.hpp"

namespace nigh::transpose {

bool transpose_in_place(std::byte* data, std::size_t rows, std::size_t columns, std::size_t element,
                        Team& team) {
  if (rows <= 1 || columns <= 1 || !is_element(element)) return is_element(element);
  if (rows == columns) {
    transpose_square(data, rows, columns, element, team);
    return true;
  }
  try {
    transpose_blocks(data, cut_blocks(rows, columns, element), element, team);
    return true;
  } catch (const std::bad_alloc&) { return false; }
}

}  // namespace nigh::transpose
