// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/peers.hpp"

#include <algorithm>
#include <memory>

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
bool take_from_process(const Slabs& slabs, std::size_t from, const Peer& peer, std::size_t to, std::byte* b,
                       int part, int parts, const Way& way) {
  const std::size_t rows = slabs.rows.count(from), columns = slabs.columns.count(to), element = slabs.element;
  if (rows == 0 || columns == 0) return true;
  const std::size_t stride = slabs.columns.things * element, per_line = line / element;
  const Range mine =
      share(columns, per_line, static_cast<std::size_t>(part), static_cast<std::size_t>(parts));
  const std::unique_ptr<std::byte[]> buffer(new std::byte[buffer_bytes]);
  iovec remote[most_rows];
  for (std::size_t column = mine.first, width = 0; column < mine.end; column += width) {
    width = std::min(run_bytes / element, mine.end - column);
    const std::size_t run = width * element, at_once = std::min(most_rows, buffer_bytes / run);
    for (std::size_t row = 0, now = 0; row < rows; row += now) {
      now = std::min(at_once, rows - row);
      const std::byte* there = peer.a + row * stride + (slabs.columns.first(to) + column) * element;
      for (std::size_t i = 0; i < now; ++i) remote[i] = {const_cast<std::byte*>(there) + i * stride, run};
      if (sys::read_process(peer.process, buffer.get(), now * run, remote, now) !=
          static_cast<long>(now * run))
        return false;
      const std::size_t at = column * slabs.rows.things + slabs.rows.first(from) + row;
      transpose_part({buffer.get(), width, b + at * element, slabs.rows.things, now, width}, element, 0, 1,
                     way);
    }
  }
  return true;
}

}  // namespace nigh::transpose
