// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A program that is started to be watched: it gets our terminal and our signals as if a shell had started it,
// and the kernel is asked to tell who touches its memory without moving it (a NUMA policy that is inherited
// over exec).
#pragma once

#include <functional>
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
// The end of the process: its exit status, 128+N for signal N; 127: it is no child of ours, or its end was
// reported before. nullopt: it runs.
std::optional<int> ended(int pid);
// The same after waiting for at most so many seconds, or until a signal comes.
std::optional<int> ended_within(int pid, double seconds);

// fork(2), before there are threads. In the child 0, after `ready` has succeeded in the parent; in the parent
// the child's number. Errors: io; that of `ready`: the child has ended without doing anything.
Result<int> start_copy(const std::function<Result<void>()>& ready);
// A process that goes on beside this one, and beside the program that this one becomes, and is no child of
// it: of its descriptors it has only `keep`, it is in no terminal's session, and it ends with `work`. Errors:
// io.
Result<void> start_detached(const std::vector<int>& keep, const std::function<void()>& work);
int own_pid();
void send_signal(int pid, int signal);

}  // namespace nigh::sys
