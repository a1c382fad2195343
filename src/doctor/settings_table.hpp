// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The variables of the environment that nigh reads: one table, which `nigh settings` prints, docs/settings.md
// is made of, and a check compares with the sources (tests/checks/words.py).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nigh::doctor {

struct Setting {
  const char* name;
  const char* group;
  std::vector<std::string> words;  // the values that it may have; empty: see `values`
  const char* values;              // in words; "": those above
  const char* standard;            // what counts where it is not set
  const char* sentence;
};

std::span<const Setting> settings_table();

// Set by nigh itself for what it starts; not for users.
std::span<const std::string> own_variables();

struct SettingNow {
  const Setting* setting = nullptr;
  std::optional<std::string> value;  // in the environment
  bool usable = true;                // else it counts as not set
};

// All settings, in the order of the table.
std::vector<SettingNow> settings_now(const std::vector<std::string>& environment);

// A sentence for each variable of the environment that begins with NIGH_ and is read by nothing.
std::vector<std::string> unknown_settings(const std::vector<std::string>& environment);

}  // namespace nigh::doctor
