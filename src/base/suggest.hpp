// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// "did you mean": the word that somebody who mistyped one most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nigh {

// "; did you mean scatter?", or nothing where no word is near.
std::string suggestion(std::span<const std::string> words, std::string_view typed);

}  // namespace nigh
