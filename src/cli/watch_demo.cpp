// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh watch --demo`: the service on a machine that is not there. Three programs of AsymSched's evaluation
// start on bad nodes of its Opteron; the governor that also works on real machines measures, decides, moves
// and verifies, in simulated seconds. For machines with one node, where there is nothing to place, and for
// whoever wants to see what it would say.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/live_page.hpp"
#include "cli/watch.hpp"
#include "machine/load.hpp"
#include "plan/programs.hpp"
#include "sys/threads.hpp"
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
  std::unique_ptr<watch::Feed> page;

  // Somebody who looks sees each second for so long.
  [[nodiscard]] double pause() const { return page ? 0.25 : screen ? 0.15 : 0; }

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
    watch::GovernorStep step = governor.look(world.sighting());
    for (const watch::Action& action : step.actions) world.apply(action);
    for (const watch::Event& event : step.events) {
      said.push_back(fmt::format("{:.0f} s {}: {}", world.time(), event.kind, event.sentence));
      if (!options.json && !screen) fmt::print("{}\n", said.back());
      if (page) page->log(to_line(event, sys::unix_seconds(), world.time()));
      nlohmann::ordered_json line = {
          {"elapsed", world.time()}, {"kind", event.kind}, {"sentence", event.sentence}};
      line.update(event.details);
      events.push_back(std::move(line));
    }
    show();
    if (pause() > 0) sys::sleep_seconds(pause());
  }

  void show() {
    if (page) page->state(one_line_json(to_json(snapshot())), "");
    if (!screen) return;
    fmt::print("\033[H\033[J{}", to_screen(snapshot(), 80, true));
    std::fflush(stdout);
  }

  // The simulation begins when somebody looks at its page. False: Ctrl-C came before.
  bool open_page() {
    auto opened = open_live_page(options.web, "watch", "nigh watch --demo", &machine);
    if (!opened) return report_failure("watch", opened.error().message) == 0;
    page = *std::move(opened);
    std::fprintf(stderr, "nigh watch: the page is %s\n", page->url().c_str());
    while (!page->is_heard() && !sys::Interrupt::flag()) sys::sleep_seconds(0.05);
    return !sys::Interrupt::flag();
  }

  // Until Ctrl-C, or for --duration.
  void keep_page() {
    const double until = options.duration > 0 ? sys::now_seconds() + options.duration : 1e18;
    while (!sys::Interrupt::flag() && sys::now_seconds() < until) {
      sys::sleep_seconds(0.5);
      if (page->is_heard()) show();
    }
    page->end(one_line_json({{"status", nullptr}}));
    page.reset();
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
              !options.json && isatty(STDOUT_FILENO) != 0,
              nullptr};
  const sys::Interrupt interrupt;
  if (!options.web.empty() && !stage.open_page()) return 1;
  const std::vector<Forecast> before = stage.world.forecasts();
  if (!options.json)
    fmt::print("A simulated {} with three programs on bad nodes; nothing here is timed or moved.\n",
               machine->title);
  for (int s = 0; s < seconds && !sys::Interrupt::flag(); ++s) stage.second();
  if (stage.page) stage.keep_page();
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
