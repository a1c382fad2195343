// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "message/layout.hpp"

namespace nigh::message {
void copy_bytes(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
}  // namespace nigh::message
