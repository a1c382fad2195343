// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The improved policy: the value that AsymSched computes says nothing of several clusters on one link, of
// memory controllers, of half-used nodes, nor of where shared memory would better lie; the simulator does. So
// the most valuable assignments are only where the search starts: each is simulated with several layouts of
// its memory, and the best is improved by small steps until none helps or the number of simulations is used
// up. What is best is what is left after paying for the move: speeds by their geometric mean, less the part
// of the remaining time that moving takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "plan/assignment.hpp"

namespace nigh {

namespace {

class Improver {
 public:
  Improver(const Links& links, const std::vector<Application>& applications, const PolicyOptions& options)
      : links_(links), applications_(applications), options_(options), best_(unmoved(applications)) {
    for (const Forecast& forecast : forecasts(links, applications, tolerance))
      now_.push_back(forecast.seconds);
  }

  [[nodiscard]] bool spent() const { return simulations_ >= options_.simulations; }
  [[nodiscard]] const Replaced& best() const { return best_; }
  [[nodiscard]] double gain() const { return best_score_; }

  // Keeps the state if it is the best so far; whether it is.
  bool look(const Replaced& state) {
    if (spent() || !fits(state)) return false;
    ++simulations_;
    const double score = score_of(state);
    if (score <= best_score_ + 1e-6) return false;
    best_score_ = score;
    best_ = state;
    return true;
  }

  // The state with its memory laid out in each of the usual ways.
  void look_at_layouts(const Replaced& state) {
    look(state);
    for (const bool spread : {false, true}) {
      if (spread && !options_.spread) continue;
      Replaced other = state;
      for (std::size_t a = 0; a < other.after.size(); ++a)
        if (applications_[a].movable) lay_out(other.after[a], spread);
      look(other);
    }
  }

  // Steps until none helps: groups to other nodes or swapped, shared memory a little more here, less there.
  void climb() {
    for (bool better = true; better && !spent();) {
      better = false;
      for (std::size_t a = 0; a < applications_.size(); ++a) {
        if (!applications_[a].movable) continue;
        better = move_groups(a) || better;
        better = shift_memory(a) || better;
      }
    }
  }

 private:
  static constexpr double tolerance = 1e-4;

  // An application that comes to an occupied node needs room there; without figures a node is one
  // application's.
  [[nodiscard]] bool fits(const Replaced& state) const {
    for (std::size_t node = 0; node < index_of(links_.nodes()); ++node) {
      double threads = 0;
      int users = 0, users_before = 0;
      for (std::size_t a = 0; a < state.after.size(); ++a) {
        threads += state.after[a].threads[node];
        users += state.after[a].threads[node] > 0 ? 1 : 0;
        users_before += applications_[a].threads[node] > 0 ? 1 : 0;
      }
      if (users <= std::max(1, users_before)) continue;
      if (options_.slots.empty() || threads > options_.slots[node]) return false;
    }
    return true;
  }

  [[nodiscard]] double score_of(const Replaced& state) const {
    const std::vector<Forecast> then = forecasts(links_, state.after, tolerance);
    const std::vector<double> megabytes = migrations(applications_, state);
    double score = 0;
    for (std::size_t a = 0; a < then.size(); ++a) {
      // An application that has run for a while will, for all one knows, run as long again.
      const double left =
          applications_[a].remaining > 0 ? applications_[a].remaining : applications_[a].running;
      score += std::log(now_[a] / then[a].seconds);
      if (megabytes[a] > 0) score -= megabytes[a] / 1000 * options_.seconds_per_gb / std::max(left, 1e-3);
    }
    return score / static_cast<double>(then.size());
  }

  // Memory that threads of one node use goes there; shared memory stays, or is spread over the threads.
  static void lay_out(Application& application, bool spread) {
    const double all = std::accumulate(application.threads.begin(), application.threads.end(), 0.0);
    for (std::size_t i = 0; i < application.threads.size(); ++i) {
      if (spread) application.shared[i] = application.threads[i] / all;
      std::fill(application.own[i].begin(), application.own[i].end(), 0);
      application.own[i][i] = application.threads[i] > 0 ? 1 : 0;
    }
  }

  // Two nodes swapped, for this application alone or for everybody on them; with its memory or without.
  [[nodiscard]] Replaced swapped(std::size_t a, int x, int y, bool everybody, bool memory) const {
    Replaced state = best_;
    std::vector<int> step(state.to[a].size());
    std::iota(step.begin(), step.end(), 0);
    std::swap(step[index_of(x)], step[index_of(y)]);
    for (std::size_t b = 0; b < state.after.size(); ++b) {
      if (b != a && (!everybody || !applications_[b].movable)) continue;
      state.after[b] = memory ? state.after[b].moved(step) : state.after[b].threads_moved(step);
      for (int& node : state.to[b]) node = step[index_of(node)];
    }
    return state;
  }

  bool move_groups(std::size_t a) {
    bool better = false;
    for (int x = 0; x < links_.nodes(); ++x)
      for (int y = 0; y < links_.nodes() && !spent(); ++y) {
        const std::vector<double>& threads = best_.after[a].threads;
        if (x == y || threads[index_of(x)] == 0 || (y < x && threads[index_of(y)] > 0)) continue;
        for (const bool memory : {true, false}) {
          const Replaced alone = swapped(a, x, y, false, memory);
          better = look(fits(alone) ? alone : swapped(a, x, y, true, memory)) || better;
        }
      }
    return better;
  }

  bool shift_memory(std::size_t a) {
    if (applications_[a].sharing == 0 || !options_.spread) return false;
    bool better = false;
    for (const double part : {0.25, 0.05})
      for (std::size_t x = 0; x < index_of(links_.nodes()); ++x)
        for (std::size_t y = 0; y < index_of(links_.nodes()) && !spent(); ++y) {
          if (x == y || best_.after[a].shared[x] <= 0) continue;
          Replaced state = best_;
          std::vector<double>& shared = state.after[a].shared;
          const double moved = std::min(part, shared[x]);
          shared[x] -= moved;
          shared[y] += moved;
          better = look(state) || better;
        }
    return better;
  }

  const Links& links_;
  const std::vector<Application>& applications_;
  const PolicyOptions& options_;
  Replaced best_;
  double best_score_ = 0;
  std::vector<double> now_;
  std::size_t simulations_ = 0;
};

}  // namespace

Replaced improved_choice(const Links& links, const std::vector<Application>& applications,
                         const PolicyOptions& thresholds, Decision& decision) {
  Replaced here = unmoved(applications);
  // An application behind a slow link asks for little: a threshold would leave just that one where it is.
  PolicyOptions options = thresholds;
  options.consider_all = true;
  const Field field = field_of(links, applications, options);
  const bool same_field = std::all_of(applications.begin(), applications.end(), [&](const Application& one) {
    return !one.movable || considered(one, thresholds);
  });
  Decision of_paper;
  const Replaced paper =
      paper_choice(links, applications, thresholds,
                   same_field ? field : field_of(links, applications, thresholds), of_paper);
  decision.value_now = value_of(links, field, here);
  Improver improver(links, applications, options);
  improver.look_at_layouts(paper);
  improver.look_at_layouts(here);
  const Assignments top = most_valuable(field.options, links.nodes(), options.candidates, options.assign);
  for (const Assignment& assignment : top.list)
    improver.look_at_layouts(replaced(applications, field.clusters, field.options, assignment));
  improver.climb();
  decision.exact = false;  // a search by steps claims nothing
  if (!top.list.empty()) decision.value_best = top.list.front().value;
  decision.value = value_of(links, field, improver.best());
  return improver.gain() >= options.least_gain ? improver.best() : here;
}

}  // namespace nigh
