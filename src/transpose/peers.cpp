// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/peers.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "sys/peer_memory.hpp"

namespace nigh::transpose {

namespace {
constexpr std::size_t buffer_bytes = std::size_t{256} << 10;
constexpr std::size_t run_bytes = 4096;
constexpr std::size_t most_rows = 512;  // below IOV_MAX
}  // namespace

const char* reach_name(Reach reach) {
  switch (reach) {
    case Reach::message: return "messages";
    case Reach::process_memory: return "process_vm_readv";
    case Reach::memory: return "loads";
  }
  return "?";
}

bool readable(pid_t process, const std::byte* at) {
  std::byte here{};
  const iovec there{const_cast<std::byte*>(at), 1};
  return sys::read_process(process, &here, 1, &there, 1) == 1;
}

// Long runs of few columns: a run is as long as a page, so that the kernel has little to do for each, and the
// panel has as many rows as the buffer takes, since where it begins and ends lines of the result are written
// in parts.
static bool turn_from_process(pid_t process, const Block& block, std::size_t element, std::byte* buffer,
                              const CopyOptions& way) {
  iovec remote[most_rows];
  for (std::size_t column = 0, width = 0; column < block.columns; column += width) {
    width = std::min(run_bytes / element, block.columns - column);
    const std::size_t run = width * element, at_once = std::min(most_rows, buffer_bytes / run);
    for (std::size_t row = 0, now = 0; row < block.rows; row += now) {
      now = std::min(at_once, block.rows - row);
      const std::byte* there = block.from + (row * block.from_stride + column) * element;
      for (std::size_t i = 0; i < now; ++i)
        remote[i] = {const_cast<std::byte*>(there) + i * block.from_stride * element, run};
      if (sys::read_process(process, buffer, now * run, remote, now) != static_cast<long>(now * run))
        return false;
      transpose_part(
          {buffer, width, block.to + (column * block.to_stride + row) * element, block.to_stride, now, width},
          element, 0, 1, way);
    }
  }
  return true;
}

const char* take_from_process(const Slabs& slabs, std::size_t from, pid_t process, const From& a,
                              std::size_t to, const To& b, const Panel& panel, int part, int parts,
                              const CopyOptions& way) {
  const std::size_t rows = slabs.rows.count(from), columns = slabs.columns.count(to), element = slabs.element;
  if (rows == 0 || columns == 0) return nullptr;
  const std::unique_ptr<std::byte[]> buffer(new (std::nothrow) std::byte[buffer_bytes]);
  if (buffer == nullptr) return "there is no memory to read a neighbour's rows into";
  const IndexRange mine = share(panel.count, std::min(columns, line / element),
                                static_cast<std::size_t>(part), static_cast<std::size_t>(parts));
  for (std::size_t at = panel.first + mine.first, end = panel.first + mine.end, count = 0; at < end;
       at += count) {
    const std::size_t matrix = at / columns, column = at % columns;
    count = std::min(end - at, columns - column);
    const Block block{
        a.at + (matrix * a.layout.apart + slabs.columns.first(to) + column) * element,
        a.layout.stride,
        b.at + (matrix * b.layout.apart + column * b.layout.stride + slabs.rows.first(from)) * element,
        b.layout.stride,
        rows,
        count};
    if (!turn_from_process(process, block, element, buffer.get(), way))
      return "the kernel no longer lets a neighbour's memory be read";
  }
  return nullptr;
}

}  // namespace nigh::transpose
