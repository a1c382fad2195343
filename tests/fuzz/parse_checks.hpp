// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rules that hold for a parser on any text: shared by nigh_fuzz and the libFuzzer programs. Each returns the
// fault, or nothing.
#pragma once

#include <string>
#include <string_view>

#include "machine/load.hpp"
#include "plan/spec.hpp"

namespace nigh::fuzz {

inline std::string check_message(const Error& error) {
  if (error.message.empty()) return "refused without a word";
  if (error.message.find('\n') != std::string::npos) return "refused with more than one line";
  return {};
}

inline std::string check_spec_text(std::string_view text) {
  auto spec = TeamSpec::parse(text);
  if (!spec) return check_message(spec.error());
  if (spec->levels.empty() || spec->levels.size() > TeamSpec::max_levels)
    return "accepted with a wrong depth";
  for (const auto& level : spec->levels)
    if (level.size < 1 || level.size > TeamSpec::max_size) return "accepted with a wrong size";
  auto again = TeamSpec::parse(spec->to_string());
  return again && *again == *spec ? "" : "does not survive printing";
}

inline std::string check_cpu_list(std::string_view text) {
  auto set = CpuSet::parse(text);
  if (!set) return set.error().message.empty() ? "refused without a word" : "";
  auto again = CpuSet::parse(set->to_list());
  return again && *again == *set ? "" : "does not survive printing";
}

inline std::string check_machine_text(std::string_view text) {
  auto machine = machine_from_json(text, "fuzz");
  if (!machine) return check_message(machine.error());
  if (auto valid = machine->validate(); !valid) return "accepted, but " + valid.error().message;
  auto printed = machine_to_json(*machine);
  auto again = machine_from_json(printed, "printed");
  if (!again) return "does not survive printing: " + again.error().message;
  return machine_to_json(*again) == printed ? "" : "prints differently the second time";
}

}  // namespace nigh::fuzz
