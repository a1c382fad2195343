// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The interface of the leaks' cures to the rest of the library.
#pragma once

namespace nigh::preload {

void watch_forks();  // once, at the first region

// For the forked child, from core.cpp: the lock may have been held by a thread that is no more, and so are
// the roots.
void reset_lock();
void forget_other_roots();

}  // namespace nigh::preload
