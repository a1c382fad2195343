// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kind of a file, before it is read: a pipe would block its reader, and a device might never end.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace nigh::sys {

// Bytes of a regular file. Errors: io (there is none), permission, invalid (a folder, a pipe, a device).
Result<std::uint64_t> file_size(const std::string& path);

}  // namespace nigh::sys
