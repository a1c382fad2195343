// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A program that is started to be watched: it gets our terminal and our signals as if a shell had started it,
// and the kernel is asked to tell who touches its memory without moving it (a NUMA policy that is inherited
// over exec).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"

namespace nigh::sys {

// MPOL_BIND | MPOL_F_NUMA_BALANCING over these nodes for the calling thread and all that it makes from now
// on: memory comes from them, by first touch as before; hint faults tell who uses it, and the kernel moves
// pages between these nodes alone (set_mempolicy(2), Linux 5.12). Errors: unsupported (an older kernel, or
// one without NUMA), permission (a container refuses it), invalid (none of the nodes may be used).
Result<void> measure_only_policy(const CpuSet& nodes);

// The memory policies of numactl(8), see set_mempolicy(2).
enum class MemoryPolicy { bind, preferred, interleave, weighted_interleave };
// For the calling thread and all that it makes from now on. Errors: unsupported (an older kernel, or one
// without NUMA), permission (a container refuses it), invalid (none of the nodes may be used).
Result<void> set_memory_policy(MemoryPolicy policy, const CpuSet& nodes);

// fork and exec, with that policy where nodes are given, in the cgroup with this cgroup.procs file (a real
// path) where one is given and takes it. Errors: invalid (no such program, none named), permission, io,
// unsupported (the policy, for whatever reason). After an error nothing was started.
Result<int> start_program(const std::vector<std::string>& words, const std::optional<CpuSet>& nodes,
                          const std::string& group_procs = "");
// Whether it has ended, and how: its exit status, 128+N for signal N; 127: it is no child of ours, or was
// told of before.
std::optional<int> ended(int pid);
int own_pid();
void send_signal(int pid, int signal);

}  // namespace nigh::sys
