// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The `nigh` command: wiring only. Each subcommand lives in its own file of this room. What was printed must
// have arrived, or the status says so: a full disk is no success.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/suggest.hpp"
#include "cli/commands.hpp"
#include "cli/help_format.hpp"
#include "cli/run_gpus.hpp"

namespace nigh::cli {

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

int report_failure(const char* command, const std::string& message) {
  std::fprintf(stderr, "nigh %s: %s\n", command, one_line(message).c_str());
  return 1;
}

namespace {

// "; did you mean --explain?" to CLI11's "The following argument was not expected: --explian".
std::string near_option(const CLI::App& command, const std::string& complaint) {
  const std::size_t at = complaint.rfind(" --");
  if (complaint.find("not expected") == std::string::npos || at == std::string::npos) return "";
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  return suggestion(options, complaint.substr(at + 1));
}

// `nigh help run` is `nigh run --help`.
void turn_help_around(int& argc, std::vector<char*>& words) {
  static char help[] = "--help";
  if (argc < 2 || std::strcmp(words[1], "help") != 0) return;
  words.erase(words.begin() + 1);
  words.resize(static_cast<std::size_t>(std::min(argc - 1, 2)));
  words.push_back(help);
  argc = static_cast<int>(words.size());
}

// One sentence: what is wrong with the command line, and where to look.
int refuse_words(const CLI::App& app, const CLI::ParseError& error, const char* first) {
  std::string commands, command;
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    names.push_back(sub->get_name());
    commands += (commands.empty() ? "" : ", ") + sub->get_name();
    if (first != nullptr && sub->get_name() == first) command = ' ' + sub->get_name();
  }
  std::string what = error.what();
  if (command.empty() && first == nullptr) what = "say what to do: " + commands;
  if (command.empty() && first != nullptr && first[0] != '-')
    what =
        "there is no command '" + std::string(first) + "'; there are " + commands + suggestion(names, first);
  if (!command.empty()) what += near_option(*app.get_subcommand(command.substr(1)), what);
  std::fprintf(stderr, "nigh%s: %s (see nigh%s --help)\n", command.c_str(), one_line(what).c_str(),
               command.c_str());
  return 2;
}

int flushed(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "nigh: the output could not be written: %s\n", std::strerror(errno));
  return status != 0 ? status : 1;
}

}  // namespace
}  // namespace nigh::cli

int main(int argc, char** words) {
  std::vector<char*> all(words, words + argc);
  nigh::cli::turn_help_around(argc, all);
  all.push_back(nullptr);
  char** argv = all.data();
  CLI::App app{"nigh: threads, memory and messages near each other on machines whose memory is a hierarchy"};
  app.name("nigh");
  app.set_version_flag("--version", "nigh " NIGH_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<nigh::cli::HelpFormat>());
  int status = 0;
  nigh::cli::add_run(app, status);
  // `nigh run` stands in front of every program: it does not wait for the options of the others.
  if (argc < 2 || std::strcmp(argv[1], "run") != 0) {
    nigh::cli::add_compare(app, status);
    nigh::cli::add_tune(app, status);
    nigh::cli::add_doctor(app, status);
    nigh::cli::add_settings(app, status);
    nigh::cli::add_ps(app, status);
    nigh::cli::add_machine(app, status);
    nigh::cli::add_plan(app, status);
    nigh::cli::add_bench(app, status);
    nigh::cli::add_report(app, status);
    nigh::cli::add_watch(app, status);
    nigh::cli::add_rank_gpus(app, status);
  }
  argc = nigh::cli::keep_program_words(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return nigh::cli::flushed(app.exit(request));
  } catch (const CLI::ParseError& error) {
    return nigh::cli::refuse_words(app, error, argc > 1 ? argv[1] : nullptr);
  }
  return nigh::cli::flushed(status);
}
