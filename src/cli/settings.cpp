// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh settings`: the variables of the environment that nigh reads, and what they are here.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "doctor/settings_table.hpp"
#include "machine/draw.hpp"
#include "sys/program.hpp"

namespace nigh::cli {
namespace {

std::string values_of(const doctor::Setting& setting) {
  return setting.words.empty() ? fmt::format("({})", setting.values)
                               : fmt::format("{}", fmt::join(setting.words, "|"));
}

void print_settings(const std::vector<doctor::SettingNow>& settings) {
  std::string group;
  for (const doctor::SettingNow& now : settings) {
    const doctor::Setting& setting = *now.setting;
    if (group != setting.group) fmt::print("{}{}\n", group.empty() ? "" : "\n", setting.group);
    group = setting.group;
    fmt::print("  {}={}{}\n      {}\n", setting.name, values_of(setting),
               *setting.standard == '\0' ? "" : fmt::format("   default: {}", setting.standard),
               setting.sentence);
    if (now.value)
      fmt::print("      here: {}{}\n", printable(*now.value),
                 now.usable ? "" : ", which is none of its values: it counts as not set");
  }
}

void print_settings_json(const std::vector<doctor::SettingNow>& settings,
                         const std::vector<std::string>& unknown) {
  nlohmann::ordered_json document = {{"format", "nigh-settings"},
                                     {"version", 1},
                                     {"settings", nlohmann::ordered_json::array()},
                                     {"unknown", unknown},
                                     {"own", doctor::own_variables()}};
  for (const doctor::SettingNow& now : settings) {
    nlohmann::ordered_json one = {{"name", now.setting->name},
                                  {"group", now.setting->group},
                                  {"values", now.setting->words},
                                  {"values_in_words", now.setting->values},
                                  {"default", now.setting->standard},
                                  {"sentence", now.setting->sentence},
                                  {"value", nullptr},
                                  {"usable", now.usable}};
    if (now.value) one["value"] = *now.value;
    document["settings"].push_back(std::move(one));
  }
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void add_settings(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "settings", "Show the variables of the environment that nigh reads, and their values here");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "JSON");
  command->callback([json, &status] {
    const std::vector<std::string> environment = sys::environment();
    const std::vector<doctor::SettingNow> settings = doctor::settings_now(environment);
    const std::vector<std::string> unknown = doctor::unknown_settings(environment);
    if (*json) {
      print_settings_json(settings, unknown);
    } else {
      print_settings(settings);
      for (const std::string& sentence : unknown) fmt::print("\n{}\n", sentence);
    }
    status = 0;
  });
}

}  // namespace nigh::cli
