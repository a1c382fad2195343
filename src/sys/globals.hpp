// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The program's own global variables, as bytes: which of them are others than a moment ago. Of the writable
// data of the main program only, the first MiB of each part; nothing is opened unless something has changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nigh::sys {

class Globals {
 public:
  Globals();  // as they are now
  // Names of those that have changed, as a person would write them. Variables of the C++ and C libraries that
  // lie in the program, and guards of its static ones, are left out. Empty, too: the program has no symbols.
  [[nodiscard]] std::vector<std::string> changed() const;

 private:
  struct Part {
    const unsigned char* begin;
    std::vector<unsigned char> bytes;
  };
  std::vector<Part> parts_;
  std::uintptr_t base_ = 0;  // what is added to addresses in the file
};

}  // namespace nigh::sys
