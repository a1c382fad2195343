// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh watch --meters`: the ladder of meters as it stands on this machine for this user, probed and not
// guessed, and what would have to be done to climb it.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "sys/os.hpp"
#include "watch/meter.hpp"

namespace nigh::cli {

namespace {

struct Options {
  bool meters = false, json = false;
};

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
  return out.dump(2) + '\n';
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

int show(const Options& options) {
  if (!options.meters) {
    report_failure("watch", "say --meters: it is all that this command can do yet");
    return 2;
  }
  auto states = watch::probe_meters(sys::Os());
  watch::Level chosen = watch::choose(states).level;
  std::fputs((options.json ? meters_json(states, chosen) : meters_text(states, chosen)).c_str(), stdout);
  return 0;
}

}  // namespace

void add_watch(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("watch", "Watch where the memory of running programs is used from");
  auto* meters = command->add_flag("--meters", options->meters,
                                   "Tell how this machine can be measured by this user, and what is missing");
  command->add_flag("--json", options->json, "For programs (docs/interfaces.md)")->needs(meters);
  command->callback([options, &status] { status = show(*options); });
}

}  // namespace nigh::cli
