// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The way in through OMPT (LLVM's libomp, Intel's libiomp5).
#pragma once

namespace nigh::preload {

// True if a runtime in this process has taken us as its tool: the wrappers in front of that runtime's GOMP_
// functions then stand aside.
bool ompt_active();
bool ompt_has_places();       // that runtime binds threads by itself, however it was told to
const char* ompt_declined();  // why we declined to be the tool; null: we did not

}  // namespace nigh::preload
