// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh watch`: its options, and which of its parts they ask for.
#include "cli/watch.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/help_format.hpp"
#include "cli/numbers.hpp"
#include "sys/os.hpp"
#include "sys/run_folder.hpp"
#include "watch/journal.hpp"

namespace nigh::cli {

namespace {

int undo(const WatchOptions& options) {
  auto folder = sys::run_folder("watch");
  if (!folder) return report_failure("watch", folder.error().message);
  const watch::UndoReport report = watch::undo_all(sys::Os(), *folder);
  if (options.json) {
    nlohmann::ordered_json out = {{"format", "nigh-undo"},        {"version", 1},
                                  {"restored", report.restored},  {"left_alone", report.left_alone},
                                  {"gone", report.gone},          {"thawed", report.thawed},
                                  {"sentences", report.sentences}};
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return 0;
  }
  fmt::print("{} masks and files put back, {} left as others have set them, {} gone, {} thawed\n",
             report.restored, report.left_alone, report.gone, report.thawed);
  for (const std::string& sentence : report.sentences) fmt::print("{}\n", sentence);
  return 0;
}

struct Words {
  std::string policy = "improved", pages = "live";
  bool apply = false, advise = false;
};

int watch_command(WatchOptions& options, const Words& words) {
  auto policy = policy_from_name(words.policy);
  if (!policy) return report_failure("watch", policy.error().message);
  auto pages = watch::pages_from_name(words.pages);
  if (!pages) return report_failure("watch", pages.error().message);
  options.governor.policy = *policy;
  options.governor.pages = *pages;
  // Programs that the user started or named may be moved; with --all nothing is moved unless --apply says so.
  options.governor.apply = words.apply || (!words.advise && !options.all);
  if (options.meters) return watch_meters(options);
  if (options.undo) return undo(options);
  if (options.demo) return watch_demo(options);
  return watch_run(options);
}

}  // namespace

void add_watch(CLI::App& app, int& status) {
  auto options = std::make_shared<WatchOptions>();
  auto words = std::make_shared<Words>();
  auto* command = app.add_subcommand(
      "watch", "Measure running programs, decide where their threads and pages should be, and move them");
  auto* pids = command->add_option("-p,--pid", options->pids, "Watch these processes and what they start")
                   ->delimiter(',');
  pids->check(CLI::Range(1, 4194304));  // the kernel's limit
  auto* all = command->add_flag("--all", options->all,
                                "Watch every process that works; advises only, unless --apply");
  all->excludes(pids);
  auto* apply =
      command->add_flag("--apply", words->apply, "Move threads and pages (default for -p and a command)");
  command->add_flag("--advise", words->advise, "Move nothing, say what would be done")->excludes(apply);
  command->add_option("--policy", words->policy, "improved (default), paper, hops or memory-only")
      ->check(CLI::IsMember({"improved", "paper", "hops", "memory-only"}));
  command
      ->add_option("--pages", words->pages,
                   "live (default), lazy, or frozen: the application pauses meanwhile")
      ->check(CLI::IsMember({"live", "lazy", "frozen"}));
  command->add_option("--interval", options->interval, "Seconds between looks (default 1)")
      ->check(number_from(0.2, 60));
  command
      ->add_option("--cost", options->cost,
                   "Own CPU time, per cent of a core (default 1): above it, looks become rarer")
      ->check(number_from(0.05, 100));
  command->add_option("--duration", options->duration, "Stop watching after so many seconds")
      ->check(number_from(0.1, 1e8));
  command->add_option("--memory", options->memory_nodes,
                      "For a command: the nodes that its memory comes from (default: those of its PUs)");
  command->add_option("--machine", options->machine,
                      "The machine's links: a model or file, instead of what is found here");
  auto* log =
      command->add_option("--log", options->log, "Append each event to this file, as one line of JSON");
  auto* listen = command->add_option("--listen", options->listen,
                                     "Serve /metrics, /state.json and /events on [ADDRESS:]PORT");
  command->add_flag("--web{0}", options->web,
                    "Show it on a page, live; --web=[ADDRESS:]PORT: there (default: any free port)");
  auto* meters = command->add_flag("--meters", options->meters,
                                   "Tell how this machine can be measured by this user, and what is missing");
  auto* demo = command->add_flag("--demo", options->demo, "Show the service on a simulated machine");
  auto* undo_flag =
      command->add_flag("--undo", options->undo, "Put back the masks and cpusets that were changed");
  meters->excludes(demo)->excludes(undo_flag);
  demo->excludes(undo_flag)->excludes(log)->excludes(listen);
  command->add_flag("--json", options->json, "For programs (docs/interfaces.md)");
  command->add_flag("-q,--quiet", options->quiet, "Nothing on the terminal but errors");
  group_options(*command, "Processes to watch",
                {"--pid", "--all", "--memory", "--machine", "--duration", "--demo"});
  group_options(*command, "Actions",
                {"--apply", "--advise", "--policy", "--pages", "--interval", "--cost", "--undo"});
  group_options(*command, "Output", {"--web", "--log", "--listen", "--meters"});
  command->get_option("--web")->option_text("[=[ADDRESS:]PORT]");
  command->footer("A program to start and watch comes last: nigh watch -- ./app input");
  command->callback([options, words, &status] {
    options->command = program_words();
    status = watch_command(*options, *words);
  });
}

}  // namespace nigh::cli
