// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// To come.
#include "watch/meter.hpp"
namespace nigh::watch {
MeterState probe_pmu(const sys::Os&) { MeterState s; s.level = Level::pmu; return s; }
std::unique_ptr<Meter> make_pmu(const sys::Os& os) { return make_none(os); }
}  // namespace nigh::watch
