// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The table itself.
#include "watch/meter.hpp"

namespace nigh::watch {

const std::vector<MeterOps>& meter_table() {
  static const std::vector<MeterOps> table = {{Level::pmu, probe_pmu, make_pmu},
                                              {Level::faults, probe_faults, make_faults},
                                              {Level::proc, probe_proc, make_proc},
                                              {Level::none, probe_none, make_none}};
  return table;
}

std::vector<MeterState> probe_meters(const sys::Os& os) {
  std::vector<MeterState> states;
  for (const MeterOps& ops : meter_table()) states.push_back(ops.probe(os));
  return states;
}

const MeterState& choose(const std::vector<MeterState>& states) {
  for (const MeterState& state : states)
    if (state.usable) return state;
  static const MeterState nothing;
  return nothing;
}

std::unique_ptr<Meter> make_meter(Level level, const sys::Os& os) {
  for (const MeterOps& ops : meter_table())
    if (ops.level == level) return ops.make(os);
  return make_none(os);
}

}  // namespace nigh::watch
