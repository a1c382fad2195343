// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands.hpp"

namespace nigh::cli {
void add_machine(CLI::App&, int&) {}
}  // namespace nigh::cli
