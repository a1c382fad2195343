// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From what /sys/bus/event_source/devices says to the attributes of the events to open: a pure function of
// those files, so that recorded trees of machines we do not have are tests. Field positions are never
// assumed: each PMU tells them in its folder `format` (perf_event_open(2), "dynamic PMU").
#pragma once

#include <linux/perf_event.h>

#include <string>
#include <vector>

#include "base/result.hpp"
#include "sys/os.hpp"

namespace nigh::watch {

enum class PmuKind { ibs, pebs, spe };

struct PmuPlan {
  PmuKind kind = PmuKind::ibs;
  std::string name;  // "AMD IBS op", ...
  std::vector<perf_event_attr>
      attrs;                // the event that samples, last; before it a group leader, if it needs one
  bool rate_known = false;  // periods count accesses, so samples times period are a rate
  bool neoverse = false;    // SPE: the data source is in Arm's encoding
};

// Sets a field of `attr` that `format/NAME` of the PMU in `folder` describes ("config:0-7,32-35",
// "config1:5"). Errors: unsupported (the PMU has no such field).
Result<void> set_field(const sys::Os& os, const std::string& folder, const std::string& name,
                       std::uint64_t value, perf_event_attr& attr);
// The same for a whole event: "event=0xcd,umask=0x1,ldlat=3" (a word without a value is 1).
Result<void> set_event(const sys::Os& os, const std::string& folder, const std::string& words,
                       perf_event_attr& attr);

// `kernel_too`: this user may sample in the kernel (else it must be left out). Errors: unsupported (no PMU
// here samples addresses), permission (this PMU can't leave the kernel out).
Result<PmuPlan> plan_pmu(const sys::Os& os, bool kernel_too);

}  // namespace nigh::watch
