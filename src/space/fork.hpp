// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The child of a fork would share the slot with its parent, and one would overwrite the other's heap. So the
// parent waits in its fork handler while the child copies what was ever touched into private memory at the
// same addresses; then the space is over in the child. vfork, posix_spawn, system and popen share memory
// until exec anyhow and are untouched; peers' slots are never inherited.
#pragma once

namespace nigh::space {

void fork_start();

}  // namespace nigh::space
