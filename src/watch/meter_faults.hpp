// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The fault meter's parts that tests reach: who makes pages fault, and the event that is opened.
#pragma once

#include <linux/perf_event.h>

#include <memory>

#include "sys/os.hpp"
#include "watch/meter.hpp"

namespace nigh::watch {

// The part that makes a page in use fault again, so that its users are seen.
enum class Provoker {
  kernel,      // NUMA balancing takes pages away for a moment: reads and writes are seen
  soft_dirty,  // we write-protect pages through /proc/PID/clear_refs: writes only
  nobody,      // only the faults that come anyway
};

// PERF_COUNT_SW_PAGE_FAULTS with all that an Access needs. `page_sizes`: ask for the size of the page as it
// was before the fault (Linux 5.11), which is 0 for a first touch.
perf_event_attr fault_attr(bool page_sizes);

// `count_first_touches`: also pages that were not there before (for tests, as those need no provoker).
std::unique_ptr<Meter> make_fault_meter(const sys::Os& os, Provoker provoker, bool count_first_touches);

}  // namespace nigh::watch
