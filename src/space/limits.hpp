// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The limits that forbid a slot, or a large extent of it. The rule: a program that would get an error without
// us (no memory, no address space) must still get it, and never a signal in its place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::space {

// Why this process gets no slot, or nullptr; makes `span` smaller where a limit demands it.
const char* forbidden(std::uint64_t& span);
// True if `bytes` more, beside `used`, may come from the slot: neither the machine's nor a cgroup's memory
// nor this process's limits would be passed. Only large extents are asked for.
bool affordable(std::size_t bytes, std::uint64_t used);

}  // namespace nigh::space
