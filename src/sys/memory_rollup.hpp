// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a process, and the part of it in huge pages: /proc/PID/smaps_rollup (proc_pid_smaps(5); Linux
// 4.14). To write it the kernel walks all pages of the process: some ms for each GB.
#pragma once

namespace nigh::sys {

struct MemoryRollup {
  double resident_mib = 0;  // what it shares with others counts, too; 0: not known
  double huge_mib = 0;      // of these in pages of 2 MiB or more
};

// From the text of the file.
MemoryRollup memory_rollup(const char* text);
// The memory of this process; allocates nothing.
MemoryRollup own_memory_rollup();

}  // namespace nigh::sys
