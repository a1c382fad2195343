// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers of options that may have a fraction. CLI11's own Range asks whether a number is too small or too
// large, and nan is neither; so these ask whether it is within.
#pragma once

#include <cerrno>
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

namespace nigh::cli {

// A finite number from `least` to `most`.
inline CLI::Validator number_from(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool whole = end != text.c_str() && *end == '\0';
    if (whole && std::isfinite(value) && value >= least && value <= most) return {};
    return "Value " + text + " not in range " + CLI::detail::to_string(least) + " to " +
           CLI::detail::to_string(most);
  };
  return {check, "FLOAT in [" + CLI::detail::to_string(least) + " - " + CLI::detail::to_string(most) + "]"};
}

}  // namespace nigh::cli
