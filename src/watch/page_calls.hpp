// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One slice of pages through move_pages(2), and the truth about each page of it. The call gives up at the
// first batch that does not move wholly: it tells nothing of that batch nor of what comes after. So:
//
//   status:  n n n  -16  ? ? ? ?  -16  ? ? ?       (n: on the new node, ?: untold)
//            moved  told  tried,   told  never tried: called again
//                         asked
#pragma once

#include <cstdint>
#include <span>

#include "watch/move_report.hpp"

namespace nigh::watch {

struct CallTarget {
  int pid = 0;
  int node = 0;
  std::uint64_t page_bytes = 4096;
  bool also_shared = false;
};
// Adds every page of the slice to the report: as moved or failed (also asked, bytes, calls). False: no more
// of this kind can succeed (gone, not permitted, the node full or unusable); the rest of the slice is counted
// so.
bool move_slice(const CallTarget& to, std::span<const std::uint64_t> pages, MoveReport& report);

// Counts pages as failed without trying.
void give_up(std::size_t pages, Cause cause, MoveReport& report);

}  // namespace nigh::watch
