// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The environment as the loader hands it to the first constructor.
#pragma once

namespace nigh::preload {

// The value of a variable; null: it is not there.

}  // namespace nigh::preload
