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

// The purpose of a block of a pool: the number of an entry method or of a message of the runtime, or one of
// these. `message_tag`: a message from another process, or a copy that has to wait here.
inline constexpr std::uint32_t buffer_tag = 0x10000, message_tag = 0x10001;
inline constexpr std::uint32_t bags_tag = 0x10002;  // the pool's own
// In accounts the runtime's own messages are one.
constexpr std::uint32_t account_of(std::uint32_t tag) {
  return tag >= first_system_entry && tag < buffer_tag ? first_system_entry : tag;
}

struct Entries {
  std::vector<const core::Entry*> entries;
  std::vector<const core::Fold*> folds;
  std::vector<const core::Type*> types;
  std::uint64_t digest = 0;  // of all names

  // The number of an entry method by its name, the same in another build of the program. And back; false:
  // there is none.
  [[nodiscard]] std::uint64_t mark_of(std::uint16_t entry) const;
  [[nodiscard]] bool find(std::uint64_t mark, std::uint16_t& entry) const;

  // All of the program; numbered when first asked. A program has less than 65000 of them.
  static const Entries& all();
};

// The name as a person would write it: "Cell::receive", "Cell(int)".
std::string name_of(const core::Entry& entry);
std::string name_of(const core::Type& type);  // "Cell"

}  // namespace nigh::chare
