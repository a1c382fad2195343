// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/simulated.hpp"

#include <algorithm>

#include "plan/programs.hpp"

namespace nigh::watch {

namespace {

// Memory a part of the way (0 to 1) from here to there.
void approach(Application& now, const Application& goal, double part) {
  const auto mix = [part](std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += part * (b[i] - a[i]);
  };
  mix(now.shared, goal.shared);
  for (std::size_t i = 0; i < now.own.size(); ++i)
    if (now.threads[i] > 0) mix(now.own[i], goal.own[i]);
}

}  // namespace

SimulatedWorld::SimulatedWorld(Links links, std::vector<Application> applications)
    : links_(std::move(links)), work_(applications.size(), 0) {
  for (Application& application : applications) units_.push_back({units_.size() + 1, std::move(application)});
}

std::vector<Forecast> SimulatedWorld::forecasts() const {
  std::vector<Program> programs;
  std::vector<Placement> placements;
  for (const Unit& unit : units_) {
    programs.push_back(unit.application.program);
    placements.push_back(unit.application.placement());
  }
  auto out = simulate(links_, programs, placements);
  NIGH_CHECK(out.has_value());
  return *std::move(out);
}

void SimulatedWorld::pass(double seconds) {
  const std::vector<Forecast> speeds = forecasts();
  for (std::size_t u = 0; u < units_.size(); ++u) {
    work_[u] += seconds / speeds[u].seconds;
    units_[u].application.running += seconds;
  }
  for (Transfer& transfer : transfers_) {
    Application& now = units_[transfer.unit].application;
    std::vector<int> here(now.threads.size());
    for (std::size_t n = 0; n < here.size(); ++n) here[n] = static_cast<int>(n);
    const double left = now.migrated(transfer.goal, here);
    approach(now, transfer.goal, left > 0 ? std::min(1.0, transfer.rate * seconds / left) : 1.0);
  }
  time_ += seconds;
}

Sighting SimulatedWorld::sighting() const {
  Sighting out = {time_, Level::pmu, 1, units_};
  std::vector<Application> applications;
  for (const Unit& unit : units_) applications.push_back(unit.application);
  observe(links_, applications);
  for (std::size_t u = 0; u < units_.size(); ++u) out.units[u].application = std::move(applications[u]);
  return out;
}

void SimulatedWorld::apply(const Action& action) {
  const auto unit =
      std::find_if(units_.begin(), units_.end(), [&](const Unit& u) { return u.id == action.unit; });
  if (unit == units_.end()) return;
  const std::size_t index = static_cast<std::size_t>(unit - units_.begin());
  std::erase_if(transfers_, [&](const Transfer& transfer) { return transfer.unit == index; });
  if (action.kind == Action::Kind::restore) {
    unit->application.threads = action.after.threads;
    unit->application.own = action.after.own;
    unit->application.shared = action.after.shared;
    return;
  }
  if (action.kind == Action::Kind::threads) unit->application = unit->application.threads_moved(action.to);
  const bool lazy = action.how == Pages::lazy && action.kind != Action::Kind::all_pages;
  if (!lazy || touched) transfers_.push_back({index, action.after, lazy ? lazy_rate : move_rate});
}

}  // namespace nigh::watch
