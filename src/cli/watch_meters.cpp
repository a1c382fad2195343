// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh watch --meters`: the ladder of meters as it stands on this machine for this user, probed and not
// guessed, and what would have to be done to climb it.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/watch.hpp"
#include "sys/os.hpp"
#include "watch/meter.hpp"

namespace nigh::cli {

namespace {

std::string meters_json(const std::vector<watch::MeterState>& states, watch::Level chosen) {
  nlohmann::ordered_json out = {
      {"format", "nigh-meters"}, {"version", 1}, {"chosen", watch::level_name(chosen)}};
  auto& meters = out["meters"] = nlohmann::ordered_json::array();
  for (const watch::MeterState& one : states)
    meters.push_back({{"level", watch::level_name(one.level)},
                      {"name", one.name},
                      {"usable", one.usable},
                      {"confidence", one.confidence},
                      {"sees", one.sees},
                      {"missing", one.missing},
                      {"remedy", one.remedy}});
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::string meters_text(const std::vector<watch::MeterState>& states, watch::Level chosen) {
  std::string out = fmt::format("{:<2}{:<8}{:<8}{:<34}{}\n", "", "level", "usable", "meter",
                                "what it sees, or what is missing");
  for (const watch::MeterState& one : states) {
    std::string what = one.usable ? one.sees : one.missing;
    if (one.usable && one.confidence > 0) what += fmt::format(" (confidence at most {:g})", one.confidence);
    if (one.usable && !one.missing.empty()) what += "; " + one.missing;
    if (!one.remedy.empty()) what += "; " + one.remedy;
    out += fmt::format("{:<2}{:<8}{:<8}{:<34}{}\n", one.level == chosen ? "*" : "",
                       watch::level_name(one.level), one.usable ? "yes" : "no", one.name, what);
  }
  return out + "* is used: the first that can be\n";
}

}  // namespace

int watch_meters(const WatchOptions& options) {
  auto states = watch::probe_meters(sys::Os());
  watch::Level chosen = watch::choose(states).level;
  std::fputs((options.json ? meters_json(states, chosen) : meters_text(states, chosen)).c_str(), stdout);
  return 0;
}

}  // namespace nigh::cli
