// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/help_format.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace nigh::cli {
namespace {

constexpr const char* no_group = "Options";  // CLI11's

// "INT:INT in [1 - 1024]" is a number, "TEXT:{a,b}" one of these words.
std::string value_words(const std::string& type) {
  const std::size_t open = type.find('{');
  if (open != std::string::npos && type.back() == '}') {
    std::string words = type.substr(open + 1, type.size() - open - 2);
    std::replace(words.begin(), words.end(), ',', '|');
    return words;
  }
  std::string first = type.substr(0, type.find(':'));
  if (first == "INT" || first == "UINT" || first == "FLOAT") return "N";
  return first;
}

// Stands after the options in the usage of a command that takes a program.
std::string program_words_of(const std::string& command) {
  if (command == "run" || command == "tune") return " -- PROGRAM [ARGUMENTS]";
  if (command == "watch") return " [-- PROGRAM [ARGUMENTS]]";
  return command == "compare" ? " (-- PROGRAM [ARGUMENTS] | 'COMMAND' 'COMMAND')" : "";
}

}  // namespace

std::string HelpFormat::make_option_name(const CLI::Option* option, bool is_positional) const {
  std::string name = CLI::Formatter::make_option_name(option, is_positional);
  return name.substr(0, name.find('{'));  // what a flag stands for without a value
}

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (!option->get_option_text().empty()) return option->get_option_text();
  const std::string words = value_words(option->get_type_name());
  if (option->get_expected_min() == 0 && option->get_type_size() != 0)  // a flag
    return words.find('|') == std::string::npos ? "" : "[=" + words + "]";
  if (option->get_type_size() == 0 || words.empty()) return "";
  return " " + words + (option->get_default_str().empty() ? "" : " (" + option->get_default_str() + ")");
}

std::string HelpFormat::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  if (mode != CLI::AppFormatMode::Normal || app->get_parent() == nullptr)
    return CLI::Formatter::make_help(app, std::move(name), mode);
  std::string out = make_description(app) +
                    make_usage(app, app->get_parent()->get_name() + " " + app->get_name()) +
                    make_positionals(app);
  std::vector<std::string> groups = app->get_groups();
  if (const auto rest = std::find(groups.begin(), groups.end(), no_group); rest != groups.end())
    std::rotate(rest, rest + 1, groups.end());
  for (const std::string& group : groups) {
    const std::vector<const CLI::Option*> options = app->get_options(
        [&](const CLI::Option* one) { return one->get_group() == group && one->nonpositional(); });
    if (group.empty() || options.empty()) continue;
    out += make_group(group == no_group && groups.size() > 1 ? "Other options" : group, false, options);
  }
  return out + "\n" + make_footer(app);
}

std::string HelpFormat::make_usage(const CLI::App* app, std::string name) const {
  const std::string program = app->get_parent() == nullptr ? "" : program_words_of(app->get_name());
  if (program.empty()) return CLI::Formatter::make_usage(app, std::move(name));
  return "Usage: " + name + " [OPTIONS]" + program + "\n";
}

void group_options(CLI::App& command, const char* heading, std::initializer_list<const char*> options) {
  for (const char* one : options) command.get_option(one)->group(heading);
}

}  // namespace nigh::cli
