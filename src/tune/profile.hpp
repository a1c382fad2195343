// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The best options that `nigh tune` found for one command on one machine, kept for `nigh run`: a file for
// each command line below $XDG_CONFIG_HOME/nigh/profiles (else ~/.config/nigh/profiles), so that a lookup
// opens one file.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "tune/candidates.hpp"
#include "tune/ratio.hpp"

namespace nigh::tune {

struct Profile {
  std::vector<std::string> command;  // as it was typed, {ranks} and {threads} in it
  std::string topology, cpu;         // of the machine: topology_hash, name_of_cpu
  Choice choice;
  std::string date;
  Ratio gain;  // its time to that of a plain `nigh run`
  std::size_t pairs = 0;
};

// Two programs that are called alike, ./app in two folders, have a profile each: the path of the program (of
// the launcher's, where there is one) counts, without links. Errors: neither XDG_CONFIG_HOME nor HOME is set.
Result<std::string> profile_path(const std::vector<std::string>& command);
std::string profile_to_json(const Profile& profile);
Result<Profile> profile_from_json(const std::string& text, const std::string& where);
Result<void> store_profile(const Profile& profile);
Result<void> remove_profile(const std::vector<std::string>& command);
// Errors: io with ENOENT where there is none; invalid (one sentence) where the file is damaged or another
// command's.
Result<Profile> load_profile(const std::vector<std::string>& command);

}  // namespace nigh::tune
