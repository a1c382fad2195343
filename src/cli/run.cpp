// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run`: prepares the environment, says what it changed and becomes the program, so that exit status,
// signals, terminal and process number are the program's own. Everything decided is decided in
// openmp/environment.cpp; here is only the wiring, and the words of --dry-run.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/commands.hpp"
#include "cli/help_format.hpp"
#include "cli/run.hpp"
#include "cli/run_gpus.hpp"
#include "cli/run_map.hpp"
#include "cli/run_record.hpp"
#include "cli/watch.hpp"
#include "launch/launcher.hpp"
#include "launch/start_check.hpp"
#include "machine/load.hpp"
#include "plan/spec.hpp"
#include "sys/os.hpp"
#include "sys/preload_bar.hpp"
#include "sys/program.hpp"
#include "sys/raw_file.hpp"
#include "sys/start.hpp"

namespace nigh::cli {

using openmp::Explain;
using openmp::LaunchEnvironment;

int run_failed(const std::string& message) {
  report_failure("run", message);
  return run_status_failed;
}

void run_say(const RunOptions& options, const std::string& sentence) {
  if (!options.quiet) std::fprintf(stderr, "nigh run: %s\n", one_line(sentence).c_str());
}

Result<std::string> find_module(const std::string& file) {
  auto self = sys::own_executable();
  if (!self) return tl::unexpected(self.error());
  const std::filesystem::path prefix = std::filesystem::path(*self).parent_path().parent_path();
  for (const std::filesystem::path& folder : {prefix / "lib", prefix / NIGH_INSTALL_LIBDIR})
    if (std::string path = (folder / file).lexically_normal().string(); sys::is_readable_file(path))
      return path;
  return fail(Errc::io, "can't find " + file + " in " + (prefix / "lib").string() + " or " +
                            (prefix / NIGH_INSTALL_LIBDIR).string() + "; is nigh installed completely?");
}

Result<std::string> find_library(const std::string& file) {
  auto path = find_module(file);
  if (!path || openmp::can_be_preloaded(*path)) return path;
  return fail(Errc::unsupported, "can't preload " + *path +
                                     ": LD_PRELOAD takes no blanks and colons in a path; install nigh "
                                     "elsewhere");
}

// The PUs the plan may use: those of this process, or all of the machine that is imagined, cut to --mask.
Result<CpuSet> usable_pus(const RunOptions& options, const CpuSet& own) {
  CpuSet usable = own;
  if (!options.machine.empty()) {
    auto machine = load_machine(options.machine);
    if (!machine) return fail_in("--machine", machine.error());
    usable = machine->pus();
  }
  if (options.mask.empty()) return usable;
  auto wanted = CpuSet::parse(options.mask);
  if (!wanted) return fail_in("--mask", wanted.error());
  CpuSet cut = usable & *wanted;
  if (cut.empty())
    return fail(Errc::invalid,
                "--mask: none of the PUs " + options.mask + " is among the usable ones, " + usable.to_list());
  return cut;
}

bool has_teams(const RunOptions& options) {
  return !options.teams.empty() || !openmp::value_of(sys::environment(), "OMP_NESTING_TEAM_SIZE").empty();
}

namespace {

// The spec to use and where it was written; the command line wins.
struct WrittenSpec {
  std::string text;
  bool typed_here = true;
};

Result<WrittenSpec> written_spec(const RunOptions& options, const openmp::Environment& user) {
  if (!options.teams.empty()) return WrittenSpec{options.teams, true};
  std::string inherited = openmp::value_of(user, "OMP_NESTING_TEAM_SIZE");
  if (!inherited.empty()) return WrittenSpec{inherited, false};
  return fail(Errc::invalid,
              "say how to place the teams: --teams 4,scatter,2,subcompact (size and strategy of each nesting "
              "level, outermost first), or the same in OMP_NESTING_TEAM_SIZE");
}

Result<Explain> wanted_account(const RunOptions& options) {
  if (options.json && options.explain.empty() && options.explain_file.empty() && !options.dry_run)
    return fail(Errc::invalid, "--json is the form of --explain or --dry-run; give one of them");
  if (options.explain.empty() && options.explain_file.empty()) return Explain::off;
  return options.json || options.explain == "json" ? Explain::json : Explain::text;
}

}  // namespace

// A launcher is one also where no MPI of ours is asked for: its ranks must not all plan on the same PUs.
bool starts_ranks(const RunOptions& options) {
  return options.ranks == 0 &&
         (options.mpi || options.auto_hybrid || launch::launcher_of(options.command.front()).has_value());
}

// The launcher is around us, not in the command.
static bool is_one_rank(const RunOptions& options) {
  return !launch::launcher_of(options.command.front()) && launch::start_facts(options.command, 0).in_job;
}

Result<Ready> make_ready(const RunOptions& options, const CpuSet& own) {
  openmp::Environment user = sys::environment();
  Ready ready;
  auto explain = wanted_account(options);
  if (!explain) return tl::unexpected(explain.error());
  auto written = written_spec(options, user);
  if (!written) return tl::unexpected(written.error());
  auto spec = TeamSpec::parse(written->text);
  if (!spec && (written->typed_here || options.dry_run))
    return fail_in(written->typed_here ? "--teams" : "OMP_NESTING_TEAM_SIZE", spec.error());
  if (!spec) {
    run_say(options, "OMP_NESTING_TEAM_SIZE: " + spec.error().message + "; the program runs unbound");
    ready.environment.variables = std::move(user);
    ready.bind = false;
    return ready;
  }
  auto mask = usable_pus(options, own);
  if (!mask) return tl::unexpected(mask.error());
  auto library = find_library("libnigh-openmp.so");
  if (!library) return tl::unexpected(library.error());
  ready.launch = {.spec = written->text,
                  .sizes = {},
                  .mask = *mask,
                  .machine = options.machine,
                  .explain = *explain,
                  .explain_file = options.explain_file,
                  .library = *library,
                  .keep_env = options.keep_env,
                  .quiet = options.quiet,
                  .ranks = starts_ranks(options),
                  .narrowed = !options.mask.empty(),
                  .divided = is_one_rank(options) && own.count() < sys::raw_cpus_online()};
  for (const auto& level : spec->levels) ready.launch.sizes.push_back(level.size);
  ready.environment = openmp::launch_environment(user, ready.launch);
  return ready;
}

bool look_at_program(const std::string& program, LaunchEnvironment& environment) {
  auto path = sys::find_program(program);
  auto facts = path ? sys::inspect_program(*path) : fail(Errc::io, "exec will say why");
  if (!facts) return true;  // also a file that is executable but not readable
  const bool foreign = sys::is_foreign_loader(facts->loader.c_str());
  if (foreign) environment = {sys::environment(), {}, {}, {}};
  for (auto& remark : openmp::program_remarks(program, *facts))
    environment.remarks.push_back(std::move(remark));
  return !foreign;
}

// ---- the real thing ----

static int become(const RunOptions& options, const openmp::Environment& variables) {
  std::fflush(nullptr);
  const int error = sys::become(options.command, variables);
  run_failed(options.command.front() + ": " + std::strerror(error));
  return error == ENOENT ? run_status_not_found : run_status_cannot_execute;
}

int start(const RunOptions& options, const Ready& ready) {
  if (ready.bind && !options.mask.empty() && options.machine.empty())
    if (auto bound = sys::set_affinity(ready.launch.mask); !bound) return run_failed(bound.error().message);
  return become(options, ready.environment.variables);
}

namespace {

// The kernel tells who touches the program's memory without moving it; where it can't, the program runs as it
// would have. Error: invalid: --memory names no nodes of this machine.
Result<void> set_watch_policy(const RunOptions& options) {
  auto machine = load_this_machine();
  auto nodes = machine ? policy_nodes(*machine, options.watch_nodes) : tl::unexpected(machine.error());
  if (!nodes && machine) return tl::unexpected(nodes.error());
  if (nodes && machine->node_count() < 2) {
    run_say(options, "--watch: one NUMA node, nothing to watch");
    return {};
  }
  auto set = nodes ? sys::measure_only_policy(*nodes) : tl::unexpected(nodes.error());
  if (!set) run_say(options, "--watch: " + set.error().message);
  return {};
}

// Without /proc nigh does not know where its libraries are; a program that needs neither is started as it is.
int start_without_us(const RunOptions& options, const std::string& why) {
  if (options.dry_run) return run_failed(why);
  if (!options.teams.empty() && options.teams != "auto")
    if (auto spec = TeamSpec::parse(options.teams); !spec)
      return run_failed("--teams: " + spec.error().message);
  run_say(options, why + "; the program runs unbound");
  return become(options, sys::environment());
}

int run(const RunOptions& given) {
  auto own = sys::affinity();  // first of all: nothing may have bound us yet
  if (!own) return run_failed(own.error().message);
  if (given.command.empty())
    return run_failed("say what to run: nigh run -- ./app, nigh run -- mpirun -n 4 ./app");
  const auto is_off = [&](const std::string& part) {
    return std::find(given.off.begin(), given.off.end(), part) != given.off.end();
  };
  if (!given.only.empty() && std::all_of(given.only.begin(), given.only.end(), is_off))
    return run_failed("--only and --off name the same: that leaves nothing to do");
  if (!given.web.empty() && !given.dry_run)
    if (auto status = run_with_page(given)) return *status;
  auto profiled = with_profile(given);
  if (!profiled) return run_failed(profiled.error().message);
  auto mapped = with_rank_map(*profiled);
  if (!mapped) return run_failed(mapped.error().message);
  auto equipped = with_gpus(*mapped, *own);
  if (!equipped) return run_failed(equipped.error().message);
  const RunOptions& options = *equipped;
  if (auto self = sys::own_executable(); !self && options.ranks == 0)
    return start_without_us(options, self.error().message);
  if (auto prepared = prepare_memory(options); !prepared) return run_failed(prepared.error().message);
  if (auto prepared = prepare_record(options); !prepared) return run_failed(prepared.error().message);
  if (options.watch && !options.dry_run)
    if (auto set = set_watch_policy(options); !set) return run_failed("--watch: " + set.error().message);
  if (options.ranks > 0) return run_ranks(options, *own);
  if (options.auto_hybrid) {
    auto made = auto_hybrid(options);
    return made ? run_mpi(*made, *own) : run_failed(made.error().message);
  }
  if (is_automatic(options)) return run_automatic(options, *own);
  if (options.mpi || (has_teams(options) && starts_ranks(options))) return run_mpi(options, *own);
  // No teams to place: the program is only made measurable.
  if (options.watch && !has_teams(options) && !options.dry_run) return become(options, sys::environment());
  auto ready = make_ready(options, *own);
  if (!ready) return run_failed(ready.error().message);
  if (ready->bind) look_at_program(options.command.front(), ready->environment);
  for (const auto& remark : ready->environment.remarks) run_say(options, remark);
  return options.dry_run ? dry_run(options, *ready) : start(options, *ready);
}

}  // namespace

namespace {

void add_memory_options(CLI::App& command, const std::shared_ptr<RunOptions>& options) {
  CLI::Option* policies[] = {
      command.add_option("--interleave", options->interleave,
                         "Memory from these NUMA nodes in turns: 0-3, all"),
      command.add_option("--weighted-interleave", options->weighted_interleave,
                         "The same by the nodes' bandwidths (Linux 6.9)"),
      command.add_option("--membind", options->membind, "Memory from these NUMA nodes only"),
      command.add_option("--preferred", options->preferred,
                         "Memory from these NUMA nodes as long as there is some")};
  for (CLI::Option* one : policies)
    for (CLI::Option* other : policies)
      if (one != other) one->excludes(other);
  for (CLI::Option* one : policies) one->excludes(command.get_option("--watch"));  // a policy, too
  command.add_flag("--huge-pages", options->huge_pages, "Huge pages for the memory of libc's malloc");
  command.add_option("--threads", options->threads, "Threads of each process: sets OMP_NUM_THREADS")
      ->check(CLI::Range(1, 65536));
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto* command =
      app.add_subcommand("run", "Run a program with its OpenMP teams, ranks or MPI messages near each other");
  auto options = std::make_shared<RunOptions>();
  command->add_option(
      "--teams", options->teams,
      "Size and strategy of each nesting level, outermost first: 4,scatter,2,subcompact; or auto");
  auto* ranks =
      command->add_option("-n,--ranks", options->ranks, "Start this many ranks, a space of their own");
  ranks->check(CLI::Validator(
      [](const std::string& text) {
        return std::string(text == "p" ? "-np is mpirun's word, here it is -n: nigh run -n 4 -- ./app" : "");
      },
      ""));
  ranks->check(CLI::Range(1, 1024));
  command
      ->add_option("--bind", options->bind, "With -n: shares of the PUs for ranks: compact, scatter or none")
      ->check(CLI::IsMember({"compact", "scatter", "none"}))
      ->needs(ranks);
  command
      ->add_flag("--mpi", options->mpi, "The command starts MPI ranks (mpirun, srun): speed up its messages")
      ->excludes(ranks);
  add_hybrid_options(*command, options, ranks);
  const CLI::IsMember features({"mpi", "teams"});
  command->add_option("--only", options->only, "Turns on only this: mpi (messages), teams (OpenMP threads)")
      ->delimiter(',')
      ->check(features);
  command->add_option("--off", options->off, "All that helps but: mpi, teams")
      ->delimiter(',')
      ->check(features);
  auto* watch = command->add_flag("--watch", options->watch,
                                  "Let the kernel tell who touches the program's memory, for nigh watch -p");
  command->add_option("--memory", options->watch_nodes, "With --watch: the nodes that its memory comes from")
      ->needs(watch);
  command->add_option("--share", options->share, "Share between ranks also: data (static variables)")
      ->check(CLI::IsMember({"data"}));
  command
      ->add_option("--record", options->record,
                   "Record what MPI ranks send each other, and when they wait in which function")
      ->excludes(ranks);
  add_rank_map_option(*command, options);
  command
      ->add_flag("--gpus", options->gpus,
                 "Each rank sees the GPUs nearest to its PUs only, and is bound to these")
      ->excludes(ranks);
  add_memory_options(*command, options);
  command->add_flag("--web{0}", options->web,
                    "Show the run on a page while it goes on; --web=[ADDRESS:]PORT: there");
  command->add_option("--mask", options->mask, "Use these PUs only, of those allowed: 0-5,8");
  command->add_flag("--explain{text}", options->explain, "Account for what was bound when the program ends")
      ->check(CLI::IsMember({"text", "json"}));
  command->add_option("--explain-file", options->explain_file,
                      "File of the account; %p is the process number");
  command->add_flag("--json", options->json, "JSON, for --dry-run and --explain");
  auto* dry =
      command->add_flag("--dry-run", options->dry_run, "Show what would be set and the plan, run nothing");
  command->add_option("--machine", options->machine, "With --dry-run: plan for another machine")->needs(dry);
  command->add_flag("--no-profile", options->no_profile, "Do not use what nigh tune found for this command");
  command->add_flag("--keep-env", options->keep_env,
                    "Leave OMP_PROC_BIND and its like, and all you set, as it is");
  command->add_flag("-q,--quiet", options->quiet, "Only errors on stderr");
  group_options(*command, "Ranks",
                {"--ranks", "--bind", "--mpi", "--auto-hybrid", "--transpose", "--nodes", "--cores",
                 "--rank-map", "--gpus"});
  group_options(*command, "Threads", {"--teams", "--threads", "--mask"});
  group_options(*command, "Memory",
                {"--interleave", "--weighted-interleave", "--membind", "--preferred", "--huge-pages",
                 "--share", "--watch", "--memory"});
  group_options(*command, "Observation", {"--web", "--record", "--explain", "--explain-file"});
  for (const auto& [option, value] :
       {std::pair{"--record", " FOLDER"}, {"--rank-map", " FILE"}, {"--explain-file", " FILE"}})
    command->get_option(option)->option_text(value);
  command->get_option("--web")->option_text("[=[ADDRESS:]PORT]");
  command->footer(
      "The program and its arguments come last:\n"
      "  nigh run -- mpirun -n 4 ./app input\n"
      "  nigh run --teams 4,scatter,2,subcompact -- ./app input");
  command->callback([options, &status] {
    options->command = program_words();
    status = run(*options);
  });
}

std::vector<std::string>& program_words() {
  static std::vector<std::string> words;
  return words;
}

// CLI11 would read some of the program's own words (brackets, a second "--"), so it never sees them.
int keep_program_words(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return argc;
  // Only after "--": watch may also be given processes, machine and bench need no program.
  if (std::strcmp(argv[1], "watch") == 0 || std::strcmp(argv[1], "machine") == 0 ||
      std::strcmp(argv[1], "bench") == 0 || std::strcmp(argv[1], "compare") == 0 ||
      std::strcmp(argv[1], "tune") == 0 || std::strcmp(argv[1], "rank-gpus") == 0) {
    int at = 2;
    while (at < argc && std::strcmp(argv[at], "--") != 0) ++at;
    if (at < argc) program_words().assign(argv + at + 1, argv + argc);
    return at;
  }
  if (std::strcmp(argv[1], "run") != 0) return argc;
  const CLI::App* command = app.get_subcommand("run");
  int at = 2;
  while (at < argc && argv[at][0] == '-' && std::strcmp(argv[at], "--") != 0) {
    const CLI::Option* option = command->get_option_no_throw(argv[at]);
    at += option != nullptr && option->get_items_expected_max() > 0 ? 2 : 1;
  }
  if (at >= argc) return argc;
  int first = std::strcmp(argv[at], "--") == 0 ? at + 1 : at;
  program_words().assign(argv + first, argv + argc);
  return at;
}

}  // namespace nigh::cli
