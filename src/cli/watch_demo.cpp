// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh watch --demo`: the service on a machine that is not there. Three programs of AsymSched's evaluation
// start on bad nodes of its Opteron; the governor that also works on real machines measures, decides, moves
// and verifies, in simulated seconds. For machines with one node, where there is nothing to place, and for
// whoever wants to see what it would say.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/watch.hpp"
#include "machine/load.hpp"
#include "plan/programs.hpp"
#include "watch/simulated.hpp"
#include "watch/snapshot.hpp"

namespace nigh::cli {

namespace {

constexpr int seconds = 45;

Result<std::vector<Application>> bad_start(int nodes) {
  std::vector<Application> out;
  for (const auto& [name, where] : std::vector<std::pair<const char*, std::vector<int>>>{
           {"streamcluster", {0, 5, 7}}, {"graph500", {1, 6, 2}}, {"specjbb", {3, 4}}}) {
    auto application = known_application(name, where, nodes);
    if (!application) return tl::unexpected(application.error());
    application->running = 600;  // long enough for pages to be worth moving
    out.push_back(*std::move(application));
  }
  return out;
}

double pace(const std::vector<Forecast>& forecasts, std::size_t i) { return 1 / forecasts[i].seconds; }

struct Stage {
  const WatchOptions& options;
  Machine machine;
  Links links;
  watch::SimulatedWorld world;
  watch::Governor governor;
  std::vector<std::string> said;
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  bool screen;

  watch::Snapshot snapshot() {
    watch::Snapshot out = watch::make_snapshot(machine, links, world.sighting());
    out.predicted = true;
    out.policy = policy_name(options.governor.policy);
    out.mode = "applying";
    out.meter = "simulator";
    out.elapsed = world.time();
    out.state = governor.state() == watch::Governor::State::settling  ? "settling"
                : governor.state() == watch::Governor::State::holding ? "holding"
                                                                      : "watching";
    out.moves = governor.moves();
    out.rollbacks = governor.rollbacks();
    out.said = said;
    return out;
  }

  void second() {
    world.pass(1);
    watch::Step step = governor.look(world.sighting());
    for (const watch::Action& action : step.actions) world.apply(action);
    for (const watch::Event& event : step.events) {
      said.push_back(fmt::format("{:.0f} s {}: {}", world.time(), event.kind, event.sentence));
      if (!options.json && !screen) fmt::print("{}\n", said.back());
      nlohmann::ordered_json line = {
          {"elapsed", world.time()}, {"kind", event.kind}, {"sentence", event.sentence}};
      line.update(event.details);
      events.push_back(std::move(line));
    }
    if (!screen) return;
    fmt::print("\033[H\033[J{}", to_screen(snapshot(), 80, true));
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
};

}  // namespace

int watch_demo(const WatchOptions& options) {
  auto machine = load_model("opteron-6272");
  auto links = machine ? Links::of(*machine) : tl::unexpected(machine.error());
  auto start = links ? bad_start(links->nodes()) : tl::unexpected(links.error());
  if (!start) return report_failure("watch", start.error().message);
  watch::GovernorOptions governor = options.governor;
  governor.apply = true;
  Stage stage{options,
              *machine,
              *links,
              {*links, *start},
              {*links, governor},
              {},
              nlohmann::ordered_json::array(),
              !options.json && isatty(STDOUT_FILENO) != 0};
  const std::vector<Forecast> before = stage.world.forecasts();
  if (!options.json)
    fmt::print("A simulated {} with three programs on bad nodes; nothing here is timed or moved.\n",
               machine->title);
  for (int s = 0; s < seconds; ++s) stage.second();
  const std::vector<Forecast> after = stage.world.forecasts();
  if (options.json) {
    nlohmann::ordered_json out = to_json(stage.snapshot());
    out["events"] = stage.events;
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return 0;
  }
  if (!stage.screen) fmt::print("\n{}", to_screen(stage.snapshot()));
  fmt::print("\npredicted speed, before = 1:");
  for (std::size_t i = 0; i < before.size(); ++i)
    fmt::print(" {} {:.2f}{}", (*start)[i].program.name, pace(after, i) / pace(before, i),
               i + 1 < before.size() ? "," : "\n");
  return 0;
}

}  // namespace nigh::cli
