// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh plan`: where the threads of nested teams would go and why, on this computer or on any other that can
// be named, without running anything: a picture and a table, JSON or SVG. With --transpose, how a matrix
// would best be transposed by a cluster of such computers (plan_transpose.hpp); with --ranks, where the ranks
// of a job should run on one (plan_ranks.hpp).
#include "machine/draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.hpp"
#include "cli/help_format.hpp"
#include "cli/plan_ranks.hpp"
#include "cli/plan_transpose.hpp"
#include "cli/terminal.hpp"
#include "launch/rank_map_words.hpp"
#include "machine/load.hpp"
#include "plan/nested.hpp"
#include "plan/write_as.hpp"
#include "report/documents.hpp"
#include "sys/os.hpp"

namespace nigh::cli {

namespace {
constexpr std::size_t folded_above = 64;  // threads; longer tables are folded unless --all
constexpr std::size_t fold_shows = 24;

struct PlanOptions {
  std::string teams;
  std::string mask;
  std::string model;
  std::string machine;
  std::string as;
  int root = 0;
  bool json = false;
  bool svg = false;
  bool all = false;
  bool no_color = false;
};

struct Planned {
  Machine machine;
  CpuSet mask;
  std::string spec;
  std::vector<PlannedThread> threads;
};

bool is_this_machine(const PlanOptions& options) {
  return options.model.empty() && (options.machine.empty() || options.machine == "this");
}

Result<Machine> chosen_machine(const PlanOptions& options) {
  return options.model.empty() ? load_machine(options.machine) : load_model(options.model);
}

// The requested mask; else, for this machine, the mask of this process; else the whole model.
Result<CpuSet> chosen_mask(const PlanOptions& options, const Machine& machine) {
  if (options.mask.empty()) return is_this_machine(options) ? sys::affinity() : machine.pus();
  auto mask = CpuSet::parse(options.mask);
  if (!mask) return fail_in("--mask", mask.error());
  return *mask;
}

Result<Planned> make_plan(const PlanOptions& options) {
  auto spec = TeamSpec::parse(options.teams);  // the likeliest mistake, told before anything slow
  if (!spec) return tl::unexpected(spec.error());
  auto machine = chosen_machine(options);
  if (!machine) return tl::unexpected(machine.error());
  auto mask = chosen_mask(options, *machine);
  if (!mask) return tl::unexpected(mask.error());
  auto tree = CoreTree::cut(*machine, *mask);
  if (!tree) return tl::unexpected(tree.error());
  CpuSet usable = tree->mask;
  auto threads = expand(NestedPlan(*std::move(tree), *spec), options.root);
  if (!threads) return tl::unexpected(threads.error());
  return Planned{*std::move(machine), usable, spec->to_string(), *std::move(threads)};
}

std::string path_text(const std::vector<int>& path) {
  std::string out;
  for (int index : path) out += (out.empty() ? "" : ".") + std::to_string(index);
  return out;
}

// The first thread on each PU, "+1" for each further one; a colour for each outermost thread's teams.
PuMarks marks_of(const Planned& plan) {
  PuMarks marks;
  std::map<int, int> count;
  for (int pu : plan.machine.pus().members())
    if (!plan.mask.test(pu)) marks[pu] = {"", -1};
  for (const auto& thread : plan.threads)
    if (++count[thread.pu] == 1)
      marks[thread.pu] = {path_text(thread.path), thread.path.size() > 1 ? thread.path.front() : 0};
  for (auto& [pu, mark] : marks)
    if (count[pu] > 1) mark.text += '+' + std::to_string(count[pu] - 1);
  return marks;
}

std::string number_or_dash(int number) { return number < 0 ? "-" : std::to_string(number); }

void print_table(const Planned& plan, bool all) {
  std::size_t wide = 6;
  for (const auto& thread : plan.threads) wide = std::max(wide, path_text(thread.path).size());
  fmt::print("{:<{}}  {:>5}  {:>5}  {:>4}  {}\n", "thread", wide, "PU", "core", "node", "why");
  std::size_t count = plan.threads.size();
  bool folded = !all && count > folded_above;
  for (std::size_t i = 0; i < count; ++i) {
    if (folded && i == fold_shows) {
      fmt::print("... {} more; --all shows them\n", count - fold_shows);
      break;
    }
    const auto& t = plan.threads[i];
    fmt::print("{:<{}}  {:>5}  {:>5}  {:>4}  {}\n", path_text(t.path), wide, t.pu, number_or_dash(t.core),
               number_or_dash(t.numa_node), t.reason);
  }
}

void print_text(const Planned& plan, const PlanOptions& options) {
  std::string name = plan.machine.title.empty() ? plan.machine.name : plan.machine.title;
  fmt::print("{} on {}\n", plan.spec, printable(name));
  fmt::print("{} threads, PUs {}{}\n\n", plan.threads.size(), plan.mask.to_list(),
             options.root > 0 ? fmt::format(", root thread {}", options.root) : "");
  fmt::print("{}\n", draw_text(plan.machine, marks_of(plan), terminal_width(), use_color(options.no_color)));
  print_table(plan, options.all);
}

void print_json(const Planned& plan, int root) {
  const auto document = report::plan_document(plan.machine, plan.mask, plan.spec, root, plan.threads);
  std::fputs((document.dump(1) + '\n').c_str(), stdout);
}

// Measurements of this machine count for it alone.
int run_transpose(const PlanOptions& options, TransposeOptions transpose) {
  transpose.json = options.json;
  transpose.all = options.all;
  auto machine = chosen_machine(options);
  if (!machine) return report_failure("plan", machine.error().message);
  if (!is_this_machine(options)) return run_transpose_plan(transpose, *machine, nullptr, nullptr);
  auto probe = load_probe(*machine);
  auto mpi = load_mpi_probe(*machine);
  tell_if_unused("plan", probe);
  tell_if_unused("plan", mpi);
  apply_stored_probe(*machine);
  return run_transpose_plan(transpose, *machine, probe ? &*probe : nullptr, mpi ? &*mpi : nullptr);
}

int run_ranks_plan(const PlanOptions& options, RankMapOptions ranks) {
  ranks.json = options.json;
  ranks.all = options.all;
  ranks.as = options.as;
  auto machine = chosen_machine(options);
  if (!machine) return report_failure("plan", machine.error().message);
  auto mask = chosen_mask(options, *machine);
  if (!mask) return report_failure("plan", mask.error().message);
  return run_rank_map(ranks, *machine, *mask);
}

int run_plan(const PlanOptions& options) {
  auto plan = make_plan(options);
  if (!plan) return report_failure("plan", plan.error().message);
  if (!options.as.empty()) {
    auto lines = write_as(options.as, *TeamSpec::parse(plan->spec), plan->threads);
    if (!lines) return report_failure("plan", "--as: " + lines.error().message);
    std::fputs(lines->c_str(), stdout);
  } else if (options.json)
    print_json(*plan, options.root);
  else if (options.svg)
    std::fputs((draw_svg(plan->machine, marks_of(*plan)) + "\n").text().c_str(), stdout);
  else
    print_text(*plan, options);
  return 0;
}
bool names_form(const std::string& form, bool of_ranks) {
  const auto is = [&](const char* one) { return form == one; };
  return of_ranks ? std::ranges::any_of(launch::rank_map_forms, is) : std::ranges::any_of(plan_forms, is);
}
}  // namespace

void add_plan(CLI::App& app, int& status) {
  auto options = std::make_shared<PlanOptions>();
  auto* command = app.add_subcommand("plan",
                                     "Show where the threads of nested teams or the ranks of a job would go, "
                                     "or how to transpose a matrix, and why");
  auto* teams = command->add_option(
      "--teams", options->teams, "Team sizes and strategies, outermost level first: 4,scatter,2,subcompact");
  auto words = std::make_shared<TransposeOptions>();
  auto* transpose = add_transpose_options(*command, words)->excludes(teams);
  auto map = std::make_shared<RankMapOptions>();
  auto* ranks = add_rank_map_options(*command, map)->excludes(teams)->excludes(transpose);
  auto* nodes = command->add_option("--nodes", words->nodes, "Nodes of the transpose or of the ranks")
                    ->check(CLI::Range(1, 65536));
  command->add_option("--mask", options->mask, "PUs that may be used, as in 0-5,8,12-15")
      ->excludes(transpose);
  auto* model =
      command->add_option("--model", options->model, "A shipped machine model (nigh machine --list-models)");
  command
      ->add_option("--machine", options->machine,
                   "this, a model, a .json or .xml file, or synthetic:DESCRIPTION")
      ->excludes(model);
  command
      ->add_option("--root", options->root,
                   "Which of the process's root threads that open regions: 0 is the first")
      ->check(CLI::Range(0, NestedPlan::max_roots - 1))
      ->excludes(transpose)
      ->excludes(ranks);
  auto* json = command->add_flag("--json", options->json, "Print the plan as JSON");
  auto* svg = command->add_flag("--svg", options->svg, "Print the picture as SVG")
                  ->excludes(json)
                  ->excludes(transpose)
                  ->excludes(ranks);
  command
      ->add_option(
          "--as", options->as,
          "Print the plan in others' words: omp (OMP_PLACES), gomp (GOMP_CPU_AFFINITY), likwid, slurm; of "
          "ranks: rankfile (Open MPI), hosts (a line for each rank: SLURM_HOSTFILE, Hydra), rankmap (MPICH "
          "5)")
      ->excludes(transpose)
      ->excludes(json)
      ->excludes(svg);
  command->add_flag("--all", options->all,
                    "List all threads, nodes or numbers of panels, however many there are");
  command->add_flag("--no-color", options->no_color, "No colours, also on a terminal");
  group_options(*command, "Threads", {"--teams", "--mask", "--root"});
  group_options(*command, "Ranks", {"--ranks", "--ranks-per-node", "--hosts"});
  group_options(*command, "Transposes", {"--transpose", "--cores", "--type", "--flops", "--curves"});
  group_options(*command, "The machine", {"--machine", "--model", "--nodes"});
  command->callback([=, &status] {
    if (teams->empty() && transpose->empty() && ranks->empty())
      throw CLI::RequiredError("--teams, --transpose or --ranks");
    if (!nodes->empty() && transpose->empty() && ranks->empty())
      throw CLI::RequiresError("--nodes", "--transpose or --ranks");
    const bool known = options->as.empty() || names_form(options->as, !ranks->empty());
    if (!known)
      throw CLI::ValidationError("--as", ranks->empty() ? "takes omp, gomp, likwid or slurm for teams"
                                                        : "takes rankfile, hosts or rankmap for ranks");
    if (words->curves && !options->json) throw CLI::RequiresError("--curves", "--json");
    map->nodes = words->nodes;
    if (!ranks->empty())
      status = run_ranks_plan(*options, *map);
    else
      status = transpose->empty() ? run_plan(*options) : run_transpose(*options, *words);
  });
}

}  // namespace nigh::cli
