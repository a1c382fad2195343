// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh tune -- CMD`: tries what is worth trying (tune_candidates.hpp) in races (tune_race.hpp), holds the
// winner against a plain `nigh run` in fresh pairs, and keeps it as the command's profile where it is surely
// faster. The fresh pairs matter: the winner of a race is partly the one with luck.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/compare_run.hpp"
#include "cli/numbers.hpp"
#include "launch/launcher.hpp"
#include "machine/load.hpp"
#include "machine/probe.hpp"
#include "sys/os.hpp"
#include "sys/program.hpp"
#include "sys/raw_file.hpp"
#include "sys/threads.hpp"
#include "tune/profile.hpp"
#include "tune/race.hpp"

namespace nigh::cli {

namespace {

struct TuneOptions {
  std::string check;
  double seconds = 600, precision = 0.02;
  bool json = false, dry_run = false, forget = false;
};

// A choice that was tried.
struct Tried {
  tune::Choice choice;
  std::vector<double> seconds;
  tune::Ratio ratio;  // to the first of its stage
  std::string why;    // it left; "": it did not, or it was slower
  bool stayed = false;
};

struct StageSeen {
  std::string name;
  std::vector<Tried> tried;
  std::size_t best = 0;
};

constexpr std::size_t most_pairs = 40;
constexpr double too_slow = 4;  // times the fastest so far: the run is ended

class Tuner {
 public:
  Tuner(const TuneOptions& options, std::string self, tune::TuneFacts facts)
      : options_(options),
        self_(std::move(self)),
        facts_(facts),
        deadline_(sys::now_seconds() + options.seconds) {}
  Result<void> go();
  [[nodiscard]] const std::vector<StageSeen>& stages() const { return stages_; }
  [[nodiscard]] const tune::Choice& best() const { return best_; }
  [[nodiscard]] tune::Choice plain() const { return first_choice(facts_); }
  [[nodiscard]] const tune::Ratio& gain() const { return gain_; }
  [[nodiscard]] std::size_t pairs() const { return ratios_.size(); }
  [[nodiscard]] std::size_t runs() const { return runs_; }
  [[nodiscard]] bool same_results() const { return same_; }
  // The winner is another than a plain nigh run, and surely faster.
  [[nodiscard]] bool won() const { return gain_.known && gain_.high < 1; }

 private:
  [[nodiscard]] TimedCommand subject_of(const tune::Choice& choice) const;
  Result<TimedRun> run(const tune::Choice& choice, std::optional<double> most = std::nullopt);
  Result<StageSeen> race(const tune::TuneStage& stage, double until);
  Result<void> confirm();
  void progress(const std::string& text) const;

  const TuneOptions& options_;
  std::string self_;
  tune::TuneFacts facts_;
  double deadline_;
  std::vector<StageSeen> stages_;
  tune::Choice best_;
  std::vector<double> ratios_;
  tune::Ratio gain_;
  std::optional<std::size_t> result_;
  std::size_t runs_ = 0;
  bool same_ = true;
};

TimedCommand Tuner::subject_of(const tune::Choice& choice) const {
  const std::vector<std::string> command = written_in(program_words(), choice);
  TimedCommand out{text_of(choice), {self_, "run", "--no-profile", "--quiet"}};
  if (choice.threads > 0) out.words.insert(out.words.end(), {"--threads", std::to_string(choice.threads)});
  if (choice.alone) out.words.insert(out.words.end(), {"--off", "mpi,teams"});
  out.words.insert(out.words.end(), choice.options.begin(), choice.options.end());
  out.words.push_back("--");
  out.words.insert(out.words.end(), command.begin(), command.end());
  return out;
}

Result<TimedRun> Tuner::run(const tune::Choice& choice, std::optional<double> most) {
  auto run = run_once(subject_of(choice), options_.check, most);
  ++runs_;
  if (!run) return run;
  if (!result_) result_ = run->result;
  if (*result_ != run->result) {
    if (!options_.check.empty()) return fail(Errc::invalid, "another result than the first run (--check)");
    same_ = false;
  }
  return run;
}

void Tuner::progress(const std::string& text) const {
  if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K{}", text.substr(0, 78));
}

// Error: the first choice, which is what the user would have without us, fails.
Result<StageSeen> Tuner::race(const tune::TuneStage& stage, double until) {
  tune::Race race(stage.choices.size(), options_.precision);
  StageSeen out{stage.name, {}, 0};
  for (const tune::Choice& choice : stage.choices) out.tried.push_back({choice, {}, {}, "", false});
  double fastest = 0;
  while (const auto next = race.next()) {
    progress(fmt::format("{}: {} runs, now {}", stage.name, race.runs(), text_of(stage.choices[*next])));
    const bool timed = fastest > 0 && *next != 0;
    auto run = this->run(stage.choices[*next], timed ? std::optional(too_slow * fastest + 1) : std::nullopt);
    if (!run && *next == 0) return tl::unexpected(run.error());
    if (run) {
      race.finished(run->seconds);
      fastest = fastest > 0 ? std::min(fastest, run->seconds) : run->seconds;
    } else {
      out.tried[*next].why = run.error().message;
      race.failed();
    }
    if (sys::now_seconds() > until) race.stop();
  }
  progress("");
  for (std::size_t one = 0; one < out.tried.size(); ++one) {
    out.tried[one].seconds = race.times(one);
    out.tried[one].ratio = race.ratio(one);
    out.tried[one].stayed = race.is_in(one);
  }
  out.best = race.leader();
  return out;
}

// Fresh pairs, each beginning with the other one.
Result<void> Tuner::confirm() {
  for (std::size_t pair = 0; pair < most_pairs; ++pair) {
    progress(fmt::format("pair {} of {} against {}", pair + 1, text_of(best_), text_of(plain())));
    double seconds[2] = {};
    for (const std::size_t one : {pair % 2, 1 - pair % 2}) {
      auto run = this->run(one == 0 ? plain() : best_);
      if (!run) return tl::unexpected(run.error());
      seconds[one] = run->seconds;
    }
    ratios_.push_back(seconds[1] / seconds[0]);
    gain_ = tune::ratio_of(ratios_);
    if (gain_.known && (gain_.high < 1 || gain_.low > 1 || gain_.high - gain_.low <= 2 * options_.precision))
      break;
    if (sys::now_seconds() > deadline_ && gain_.known) break;
  }
  progress("");
  return {};
}

// Two thirds of the time for the races, in equal parts.
Result<void> Tuner::go() {
  best_ = plain();
  if (auto first = run(best_); !first) return tl::unexpected(first.error());  // fills the caches; not counted
  double left = 2 * options_.seconds / 3;
  std::size_t stages_left = std::size(tune::all_stages);
  for (const tune::StageKind kind : tune::all_stages) {
    const tune::TuneStage stage = stage_of(kind, facts_, best_);
    const double part = left / static_cast<double>(stages_left--);
    if (stage.choices.size() < 2) continue;
    const double began = sys::now_seconds();
    auto seen = race(stage, began + part);
    if (!seen) return tl::unexpected(seen.error());
    best_ = seen->tried[seen->best].choice;
    stages_.push_back(*std::move(seen));
    left -= std::min(left, sys::now_seconds() - began);
  }
  return best_ == plain() ? Result<void>{} : confirm();
}

// "always [madvise] never" -> "madvise"
std::string huge_page_setting() {
  char word[32];
  sys::raw_huge_setting("enabled", word, sizeof word);
  return word;
}

Result<tune::TuneFacts> facts_of(const std::vector<std::string>& command) {
  auto machine = load_this_machine();
  auto mask = machine ? sys::affinity() : tl::unexpected(machine.error());
  if (!mask) return tl::unexpected(mask.error());
  tune::TuneFacts out;
  out.pus = mask->count();
  out.cores = 0;
  for (const int core : machine->of_kind(Kind::core))
    out.cores += machine->objects[static_cast<std::size_t>(core)].pus.intersects(*mask) ? 1 : 0;
  out.cores = std::clamp(out.cores, 1, out.pus);
  out.nodes = static_cast<int>(machine->node_count());
  out.huge_pages = huge_page_setting();
  const auto launcher = launch::launcher_of(command.front());
  const std::string program = launcher ? program_of(*launcher, command) : command.front();
  const auto path = sys::find_program(program);
  if (const auto facts = path ? sys::inspect_program(*path, false) : fail(Errc::io, "");
      facts && facts->elf) {
    const auto any = [&](std::initializer_list<const char*> names) {
      return std::any_of(facts->libraries.begin(), facts->libraries.end(), [&](const std::string& library) {
        return std::any_of(names.begin(), names.end(),
                           [&](const char* name) { return library.starts_with(name); });
      });
    };
    // Neither says anything of what its libraries load, so only a program that has one of them is known.
    const bool mpi = !sys::mpi_of(facts->libraries).empty(),
               openmp = any({"libgomp.so", "libomp.so", "libiomp5.so"});
    if (mpi || openmp) out.mpi = mpi || launcher.has_value(), out.openmp = openmp;
  }
  out.launcher = launcher.has_value();
  out.mpi = out.mpi && out.launcher;
  for (const std::string& word : command) {
    out.ranks_free = out.ranks_free || word.find("{ranks}") != std::string::npos;
    out.threads_free = out.threads_free || word.find("{threads}") != std::string::npos;
  }
  if (const char* threads = std::getenv("OMP_NUM_THREADS"); threads != nullptr)
    out.threads = std::clamp(std::atoi(threads), 0, 65536);
  return out;
}

std::string state_of(const Tried& tried, bool best) {
  if (best) return "best";
  if (!tried.why.empty()) return tried.why;
  if (tried.seconds.empty()) return "not run";
  return tried.stayed ? "" : "left: slower";
}

void print_stages(const std::vector<StageSeen>& stages) {
  for (const StageSeen& stage : stages) {
    fmt::print("{:<44} {:>9} {:>5}  ratio to the first\n", stage.name, "median s", "runs");
    for (std::size_t one = 0; one < stage.tried.size(); ++one) {
      const Tried& tried = stage.tried[one];
      const std::string ratio = one == 0 || tried.seconds.empty() ? "" : ratio_text(tried.ratio);
      const std::string line = fmt::format("  {:<42} {:>9.3f} {:>5}  {:<22} {}", text_of(tried.choice),
                                           tune::median_of(tried.seconds), tried.seconds.size(), ratio,
                                           state_of(tried, one == stage.best));
      fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
    }
  }
}

std::string verdict(const Tuner& tuner, double precision) {
  const std::string plain = text_of(tuner.plain());
  if (tuner.best() == tuner.plain())
    return fmt::format("nothing is faster than {} by more than {:.1f} %", plain, 100 * precision);
  const std::string against =
      fmt::format("{} against {}: {} of the time in {} fresh pairs", text_of(tuner.best()), plain,
                  ratio_text(tuner.gain()), tuner.pairs());
  return tuner.won() ? against : against + ", which is no difference for sure: nothing is kept";
}

nlohmann::ordered_json ratio_json(const tune::Ratio& ratio) {
  nlohmann::ordered_json out = {{"median", ratio.median}};
  if (ratio.known) out["low"] = ratio.low, out["high"] = ratio.high;
  return out;
}

nlohmann::ordered_json choice_json(const tune::Choice& choice) {
  return {{"options", choice.options},
          {"ranks", choice.ranks},
          {"threads", choice.threads},
          {"alone", choice.alone}};
}

void print_json(const Tuner& tuner, const TuneOptions& options, const std::string& kept) {
  nlohmann::ordered_json document = {{"format", "nigh-tune"},
                                     {"version", 1},
                                     {"command", program_words()},
                                     {"runs", tuner.runs()},
                                     {"stages", nlohmann::ordered_json::array()}};
  for (const StageSeen& stage : tuner.stages()) {
    auto list = nlohmann::ordered_json::array();
    for (const Tried& tried : stage.tried) {
      nlohmann::ordered_json one = choice_json(tried.choice);
      one["seconds"] = tried.seconds;
      one["ratio"] = ratio_json(tried.ratio);
      if (!tried.why.empty()) one["failed"] = tried.why;
      list.push_back(one);
    }
    document["stages"].push_back({{"name", stage.name}, {"best", stage.best}, {"choices", list}});
  }
  document["best"] = choice_json(tuner.best());
  if (tuner.pairs() > 0) document["time_ratio"] = ratio_json(tuner.gain()), document["pairs"] = tuner.pairs();
  document["output"] = tuner.same_results() ? "equal" : "different";
  document["verdict"] = verdict(tuner, options.precision);
  document["kept"] = kept.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(kept);
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

int dry_run(const tune::TuneFacts& facts) {
  for (const tune::StageKind kind : tune::all_stages) {
    const tune::TuneStage stage = stage_of(kind, facts, first_choice(facts));
    if (stage.choices.size() < 2) continue;
    fmt::print("{}\n", stage.name);
    for (const tune::Choice& choice : stage.choices) fmt::print("  {}\n", text_of(choice));
  }
  return 0;
}

// The path of the kept profile; "": none was kept, or an older one was removed.
Result<std::string> keep(const Tuner& tuner) {
  if (!tuner.won()) {
    auto removed = tune::remove_profile(program_words());
    if (!removed && removed.error().sys_errno != ENOENT) return tl::unexpected(removed.error());
    return std::string();
  }
  auto machine = load_this_machine();
  if (!machine) return tl::unexpected(machine.error());
  const tune::Profile profile{
      program_words(), topology_hash(*machine), name_of_cpu(), tuner.best(), now_text(), tuner.gain(),
      tuner.pairs()};
  auto stored = store_profile(profile);
  return stored ? tune::profile_path(program_words()) : tl::unexpected(stored.error());
}

int tune(const TuneOptions& options) {
  const std::vector<std::string>& command = program_words();
  if (command.empty())
    return report_failure("tune", "say what to tune: nigh tune -- mpirun -n {ranks} ./app");
  if (!is_pattern(options.check))
    return report_failure("tune", "--check: '" + options.check + "' is no regular expression");
  if (options.forget) {
    auto removed = tune::remove_profile(command);
    return removed ? 0 : report_failure("tune", removed.error().message);
  }
  auto self = sys::own_executable();
  if (!self) return report_failure("tune", self.error().message);
  auto facts = facts_of(command);
  if (!facts) return report_failure("tune", facts.error().message);
  if (options.dry_run) return dry_run(*facts);
  Tuner tuner(options, *self, *facts);
  if (auto done = tuner.go(); !done) return report_failure("tune", done.error().message);
  auto kept = keep(tuner);
  if (options.json) {
    print_json(tuner, options, kept.value_or(""));
  } else {
    print_stages(tuner.stages());
    fmt::print("{}\n", verdict(tuner, options.precision));
    if (!tuner.same_results())
      fmt::print("the outputs differ from run to run: say with --check what of them must be equal\n");
    if (kept && !kept->empty()) fmt::print("kept for nigh run with the same command: {}\n", *kept);
  }
  return kept ? 0 : report_failure("tune", kept.error().message);
}

}  // namespace

void add_tune(CLI::App& app, int& status) {
  auto* command =
      app.add_subcommand("tune", "Find the fastest way to run a command, and keep it for nigh run");
  auto options = std::make_shared<TuneOptions>();
  command->add_option("--time", options->seconds, "Seconds to spend, but for the pairs that prove the winner")
      ->check(number_from(1, 1e6))
      ->capture_default_str();
  command
      ->add_option("--precision", options->precision,
                   "Differences below this share of the time are of no interest")
      ->check(number_from(0.001, 1))
      ->capture_default_str();
  command->add_option(
      "--check", options->check,
      "The part of the output that must be equal: lines that match, their first group if they have one");
  command->add_flag("--dry-run", options->dry_run, "Show what would be tried, run nothing");
  command->add_flag("--forget", options->forget, "Remove what was kept for this command");
  command->add_flag("--json", options->json, "JSON");
  command->footer(
      "{ranks} and {threads} in the command are numbers to be found:\n"
      "  nigh tune -- ./app input\n"
      "  nigh tune --check 'energy = (.*)' -- mpirun -n {ranks} ./app -t {threads}");
  command->callback([options, &status] { status = tune(*options); });
}

}  // namespace nigh::cli
