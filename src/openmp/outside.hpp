// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Masks that others change while the program runs.
#pragma once

namespace nigh::preload {

// After the kernel refused a place of the plan: whether it allows other PUs than the plan was made for. If so
// the calling thread runs on them, and the next outermost region has a plan for them; that is said once.
bool narrowed_from_outside();

}  // namespace nigh::preload
