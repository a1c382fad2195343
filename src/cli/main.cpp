// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The `nigh` command: wiring only. Each subcommand lives in its own file of this room.
#include <cstdio>

#include "cli/commands.hpp"

namespace nigh::cli {

int report_failure(const char* command, const std::string& message) {
  std::fprintf(stderr, "nigh %s: %s\n", command, message.c_str());
  return 1;
}

}  // namespace nigh::cli

int main(int argc, char** argv) {
  CLI::App app{"nigh: threads, memory and messages near each other on machines whose memory is a hierarchy"};
  app.name("nigh");
  app.set_version_flag("--version", "nigh " NIGH_VERSION);
  app.require_subcommand(1);
  int status = 0;
  nigh::cli::add_machine(app, status);
  nigh::cli::add_plan(app, status);
  nigh::cli::add_run(app, status);
  nigh::cli::add_bench(app, status);
  nigh::cli::add_report(app, status);
  argc = nigh::cli::keep_program_words(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return 2;
  }
  return status;
}
