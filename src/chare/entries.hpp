// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The entry methods, constructors and folds that the program has instantiated, numbered by their names: the
// processes of one binary have the same numbers without talking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nigh/chare/core.hpp"

namespace nigh::chare {

// Numbers from here on are the runtime's own messages.
inline constexpr std::uint16_t first_system_entry = 0xff00;

struct Entries {
  std::vector<const core::Entry*> entries;
  std::vector<const core::Fold*> folds;
  std::vector<const core::Type*> types;
  std::uint64_t digest = 0;  // of all names

  // All of the program; numbered when first asked. A program has less than 65000 of them.
  static const Entries& all();
};

// As a person would write it: "Cell::receive", "Cell(int)".
std::string name_of(const core::Entry& entry);
std::string name_of(const core::Type& type);  // "Cell"

}  // namespace nigh::chare
