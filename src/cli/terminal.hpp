// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The terminal that a command draws on.
#pragma once

namespace nigh::cli {

// Columns to draw in: 80 where nobody knows, at most 120.
int terminal_width();
// Not to a file, nor where --no-color (`refused`) or NO_COLOR is against it.
bool use_color(bool refused);

}  // namespace nigh::cli
