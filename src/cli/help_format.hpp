// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The form of --help: options in groups by purpose, the one value that each takes as one word.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <vector>

namespace nigh::cli {

class HelpFormat final : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  // Options that are in no group, --help among them, come last.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
};

// Puts options, by a name of each, under this heading; they must be there.
void group_options(CLI::App& command, const char* heading, std::initializer_list<const char*> options);

}  // namespace nigh::cli
