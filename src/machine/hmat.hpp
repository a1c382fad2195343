// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The ACPI Heterogeneous Memory Attribute Table, as firmware wrote it. The kernel's sysfs, and so hwloc,
// shows bandwidth and latency from each node's best initiator only; this table has every direction. It is
// bytes from outside: each offset is checked against the table before it is read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "sys/os.hpp"

namespace nigh {

struct HmatEntry {
  std::uint32_t initiator = 0;  // proximity domains
  std::uint32_t target = 0;
  double value = 0;  // MB/s or ns, always above 0
};

struct Hmat {
  std::vector<HmatEntry> bandwidth;
  std::vector<HmatEntry> latency;
};

// Among the kinds of access, "access" (both ways) is preferred, then read, then write; only figures of memory
// itself are taken, not those of memory-side caches. Entries that are not provided or unreachable are left
// out.
Result<Hmat> parse_hmat(std::string_view table);

// Fills the machine's matrices from the running computer's table. A table that can't be read or is damaged
// leaves the machine as it is, with a note; no table at all leaves it alone.
void add_hmat_links(Machine& machine, const sys::Os& os);

}  // namespace nigh
