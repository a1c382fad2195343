// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Work that may crash, hang or eat all memory, such as a parser of others on a file of anybody's: in a child
// of this process, with limits, so that whatever becomes of it is a sentence here. docs/decisions/0026.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"

namespace nigh::sys {

struct ChildLimits {
  int cpu_seconds = 10;
  int seconds = 60;                              // where others use the CPUs, too
  std::uint64_t bytes = std::uint64_t{2} << 30;  // of addresses, beyond those that this process has
};

// The result of `work`. `what` begins the sentence of an error: "reading x.xml". The child has the resources
// of this thread, writes no messages, and leaves nothing behind. Errors: invalid (it crashed, took too long,
// threw), io (no child).
Result<std::string> in_child(const std::string& what, const std::function<std::string()>& work,
                             const ChildLimits& limits = {});

}  // namespace nigh::sys
