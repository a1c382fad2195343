// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of the preloaded library: one sentence to stderr, straight to the kernel. stdio belongs to the
// program, and may be closed, redirected or not yet there.
#pragma once

namespace nigh::preload {

// "nigh: " + the text + newline, in one write. Callers see to it that a thing is said once.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace nigh::preload
