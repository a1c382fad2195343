// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/peers.hpp"

#include <algorithm>
#include <memory>

#include "sys/peer_memory.hpp"

namespace nigh::transpose {

namespace {
constexpr std::size_t buffer_bytes = std::size_t{256} << 10;
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

bool take_from_process(const Slabs& slabs, std::size_t from, const Peer& peer, std::size_t to, std::byte* b,
                       int part, int parts, const Way& way) {
  const std::size_t row = slabs.columns.count(to) * slabs.element,
                    stride = slabs.columns.things * slabs.element;
  const std::size_t rows = slabs.rows.count(from);
  if (row == 0 || rows == 0) return true;
  const auto mine = static_cast<std::size_t>(part), count = static_cast<std::size_t>(parts);
  const std::size_t per_line = 64 / slabs.element;
  const auto cut = [&](std::size_t p) {
    return std::min(rows, (rows + per_line - 1) / per_line * p / count * per_line);
  };
  const std::size_t end = cut(mine + 1);
  const std::size_t at_once = std::clamp(buffer_bytes / row / per_line * per_line, per_line, most_rows);
  const std::unique_ptr<std::byte[]> buffer(new std::byte[at_once * row]);
  iovec remote[most_rows];
  for (std::size_t first = cut(mine); first < end; first += at_once) {
    const std::size_t now = std::min(at_once, end - first);
    const std::byte* there = peer.a + first * stride + slabs.columns.first(to) * slabs.element;
    for (std::size_t i = 0; i < now; ++i) remote[i] = {const_cast<std::byte*>(there) + i * stride, row};
    if (sys::read_process(peer.process, buffer.get(), now * row, remote, now) != static_cast<long>(now * row))
      return false;
    const Block block{buffer.get(),
                      slabs.columns.count(to),
                      b + (slabs.rows.first(from) + first) * slabs.element,
                      slabs.rows.things,
                      now,
                      slabs.columns.count(to)};
    transpose_part(block, slabs.element, 0, 1, way);
  }
  return true;
}

}  // namespace nigh::transpose
