// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/governor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nigh::watch {

namespace {

const Unit* find(const std::vector<Unit>& units, std::uint64_t id) {
  for (const Unit& unit : units)
    if (unit.id == id) return &unit;
  return nullptr;
}

std::vector<Application> applications_of(const std::vector<Unit>& units) {
  std::vector<Application> out;
  for (const Unit& unit : units) out.push_back(unit.application);
  return out;
}

bool stays(const std::vector<int>& to) {
  for (std::size_t n = 0; n < to.size(); ++n)
    if (to[n] != static_cast<int>(n)) return false;
  return true;
}

// A unit that was sent from n to to[n] goes from to[n] to n; where two met, both go to where the first came
// from.
std::vector<int> backwards(const std::vector<int>& to) {
  std::vector<int> out(to.size());
  for (std::size_t n = 0; n < to.size(); ++n) out[n] = static_cast<int>(n);
  for (std::size_t n = to.size(); n-- > 0;)
    if (to[n] != static_cast<int>(n)) out[static_cast<std::size_t>(to[n])] = static_cast<int>(n);
  return out;
}

// The part of a unit's accesses that still go to the nodes that its memory was to leave (0 to 1).
double to_old_nodes(const Application& now, const Action& action) {
  const Placement placement = now.placement();
  double old = 0, all = 0;
  for (std::size_t i = 0; i < now.threads.size(); ++i)
    for (std::size_t j = 0; now.threads[i] > 0 && j < now.threads.size(); ++j) {
      const double accesses = now.threads[i] * placement.traffic[i][j];
      all += accesses;
      const bool left = action.before.resident()[j] > 0 && action.after.resident()[j] == 0;
      old += left ? accesses : 0;
    }
  return all > 0 ? old / all : 0;
}

nlohmann::ordered_json decision_details(const Decision& decision, const std::vector<Unit>& units,
                                        const std::vector<int>& numbers) {
  const auto number = [&](std::size_t node) {
    return node < numbers.size() ? numbers[node] : static_cast<int>(node);
  };
  nlohmann::ordered_json moves = nlohmann::ordered_json::array();
  for (std::size_t a = 0; a < units.size(); ++a) {
    if (stays(decision.to[a]) && decision.megabytes[a] == 0) continue;
    nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
    for (std::size_t n = 0; n < decision.to[a].size(); ++n)
      if (const int to = decision.to[a][n]; to != static_cast<int>(n))
        nodes.push_back({{"from", number(n)}, {"to", number(static_cast<std::size_t>(to))}});
    moves.push_back({{"application", units[a].application.program.name},
                     {"unit", units[a].id},
                     {"nodes", nodes},
                     {"megabytes", decision.megabytes[a]},
                     {"seconds_before", decision.now[a].seconds},
                     {"seconds_after", decision.then[a].seconds}});
  }
  return {{"moves", moves}, {"value_now", decision.value_now}, {"value", decision.value}};
}

double log_speed(const std::vector<Forecast>& now, const std::vector<Forecast>& then) {
  double sum = 0;
  for (std::size_t a = 0; a < now.size(); ++a) sum += std::log(now[a].seconds / then[a].seconds);
  return now.empty() ? 0 : sum / static_cast<double>(now.size());
}

}  // namespace

const char* pages_name(Pages pages) {
  switch (pages) {
    case Pages::lazy: return "lazy";
    case Pages::live: return "live";
    case Pages::frozen: return "frozen";
  }
  return "live";
}

Result<Pages> pages_from_name(std::string_view name) {
  for (const Pages pages : {Pages::lazy, Pages::live, Pages::frozen})
    if (name == pages_name(pages)) return pages;
  return fail(Errc::invalid, fmt::format("pages can go lazy, live or frozen, not '{}'", name));
}

Governor::Governor(Links links, GovernorOptions options)
    : links_(std::move(links)), options_(std::move(options)), back_off_(options_.back_off) {}

// The same units, with their threads on the same nodes, for some sightings: nothing is decided while programs
// start, end or are moved by others.
bool Governor::steady(const Sighting& sighting) {
  const bool same =
      last_.size() == sighting.units.size() && std::all_of(last_.begin(), last_.end(), [&](const Unit& unit) {
        const Unit* now = find(sighting.units, unit.id);
        return now != nullptr && now->application.threads == unit.application.threads;
      });
  same_ = same ? same_ + 1 : 1;
  last_ = sighting.units;
  return same_ >= options_.steady && sighting.complete && sighting.confidence >= options_.least_confidence;
}

void Governor::hold(double time, double seconds) {
  state_ = State::holding;
  hold_until_ = time + seconds;
  same_ = 0;
}

GovernorStep Governor::look(const Sighting& sighting) {
  GovernorStep step;
  const bool ready = steady(sighting);
  if (state_ == State::settling) settle(sighting, step);
  if (state_ == State::holding && sighting.time >= hold_until_) state_ = State::watching;
  if (state_ == State::watching && ready && !sighting.units.empty()) watch(sighting, step);
  return step;
}

void Governor::watch(const Sighting& sighting, GovernorStep& step) {
  auto decision = decide(options_.policy, links_, applications_of(sighting.units), options_.policy_options);
  if (!decision) {
    step.events.push_back({"failed", decision.error().message});
    return hold(sighting.time, options_.hold);
  }
  nlohmann::ordered_json details =
      decision_details(*decision, sighting.units, options_.policy_options.numbers);
  details["policy"] = policy_name(options_.policy);
  details["level"] = level_name(sighting.level);
  details["confidence"] = sighting.confidence;
  predicted_ = std::exp(log_speed(decision->now, decision->then)) - 1;
  // Less than what a later look can tell from noise (`paper` has a threshold of its own).
  const bool too_little = decision->apply && options_.policy != Policy::paper && predicted_ < options_.worse;
  if (!decision->apply || !options_.apply || too_little) {
    const std::string advice =
        too_little ? fmt::format("all of {}'s moves would gain less than {:.0f} %: nothing is moved for that",
                                 policy_name(options_.policy), 100 * options_.worse)
                   : (decision->apply ? "would move " : "") + decision->reason;
    if (advice != last_advice_) step.events.push_back({"advice", advice, details});
    last_advice_ = advice;
    return hold(sighting.time, options_.hold);
  }
  last_advice_.clear();
  for (std::size_t a = 0; a < sighting.units.size(); ++a) {
    Action action = {Action::Kind::threads,         sighting.units[a].id, decision->to[a],
                     sighting.units[a].application, decision->after[a],   options_.pages};
    if (!stays(action.to)) step.actions.push_back(action);
    action.kind = Action::Kind::pages;
    if (decision->megabytes[a] > 0.01 * action.before.megabytes) step.actions.push_back(action);
  }
  if (step.actions.empty()) return hold(sighting.time, options_.hold);
  step.events.push_back({"decision", decision->reason, details});
  before_ = sighting.units;
  applied_ = step.actions;
  full_.clear();
  state_ = State::settling;
  moved_at_ = sighting.time;
  ++moves_;
}

void Governor::done(int failed) {
  // Nothing could be done at all: there is nothing to verify, and no use in trying again soon.
  if (state_ == State::settling && failed > 0 && failed >= static_cast<int>(applied_.size())) {
    applied_.clear();
    --moves_;
    hold(moved_at_, back_off_);
    back_off_ = std::min(2 * back_off_, options_.longest_back_off);
  }
}

void Governor::settle(const Sighting& sighting, GovernorStep& step) {
  if (options_.pages == Pages::lazy)
    for (Action& action : applied_) {
      const Unit* now = find(sighting.units, action.unit);
      if (now == nullptr || std::find(full_.begin(), full_.end(), action.unit) != full_.end()) continue;
      const double old = to_old_nodes(now->application, action);
      if (!full_migration_due(sighting.time - moved_at_, old)) continue;
      full_.push_back(action.unit);
      Action full = action;
      full.kind = Action::Kind::all_pages;
      step.actions.push_back(full);
      step.events.push_back(
          {"full-migration",
           fmt::format("{}: {:.0f} s after its threads moved {:.0f} % of its accesses still go to the "
                       "old nodes: all pages at once",
                       now->application.program.name, sighting.time - moved_at_, 100 * old)});
    }
  if (!step.actions.empty()) moved_at_ = sighting.time;  // and verified from then on
  if (sighting.time - moved_at_ >= options_.verify_after) verify(sighting, step);
}

// Speed now against speed when it was decided, of those that still run, from what was measured both times.
double Governor::measured_gain(const Sighting& sighting) const {
  std::vector<Program> programs;
  std::vector<Placement> then, now;
  for (const Unit& unit : before_)
    if (const Unit* after = find(sighting.units, unit.id)) {
      programs.push_back(unit.application.program);
      then.push_back(unit.application.placement());
      now.push_back(after->application.placement());
    }
  if (programs.empty()) return 0;
  auto was = simulate(links_, programs, then), is = simulate(links_, programs, now);
  return was && is ? std::exp(log_speed(*was, *is)) - 1 : 0;
}

void Governor::verify(const Sighting& sighting, GovernorStep& step) {
  // Too little was seen since: a judgement would be a guess.
  const bool seen =
      sighting.confidence >= options_.least_confidence && sighting.fresh >= options_.least_fresh;
  if (!seen && sighting.time - moved_at_ < 10 * options_.verify_after) return;
  const double gain = measured_gain(sighting);
  nlohmann::ordered_json details = {{"predicted", predicted_}, {"measured", gain}};
  if (gain >= -options_.worse) {
    step.events.push_back({"verified",
                           fmt::format("{:+.0f} % speed by where accesses go now ({:+.0f} % predicted)",
                                       100 * gain, 100 * predicted_),
                           details});
    back_off_ = options_.back_off;
    return hold(sighting.time, options_.hold);
  }
  ++rollbacks_;
  for (auto action = applied_.rbegin(); action != applied_.rend(); ++action) {
    if (find(sighting.units, action->unit) == nullptr) continue;
    Action back = *action;
    back.kind = Action::Kind::restore;
    back.to = backwards(action->to);
    std::swap(back.before, back.after);
    step.actions.push_back(back);
  }
  step.events.push_back(
      {"rollback",
       fmt::format("{:+.0f} % speed by where accesses go now ({:+.0f} % predicted): taken back, next "
                   "look in {:.0f} s",
                   100 * gain, 100 * predicted_, back_off_),
       details});
  hold(sighting.time, back_off_);
  back_off_ = std::min(2 * back_off_, options_.longest_back_off);
}

}  // namespace nigh::watch
