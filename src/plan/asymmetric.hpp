// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The best nodes for running applications, on machines whose links differ: AsymSched's decision as its slides
// have it (`paper`), ours (`improved`), and the policies that they are compared with. Pure: no clock, no I/O,
// the same answer for the same question.
//
//     paper        sum over clusters of ln(remote accesses) x bandwidth; of what has 90 % of the most, the
//     fewest
//                  pages to move; not at all if that takes more than 5 % of the time an application has run
//     improved     simulates the most valuable of these, paper's choice, the present state and their
//     neighbours
//                  (swapped nodes, half-used nodes, memory spread by weight); moves if that pays
//     hops         the fewest hops between an application's nodes, as a scheduler decides that knows the SLIT
//     memory-only  threads stay; private pages to their threads, shared ones spread over the threads' nodes
//     worst, best, average   of all static placements (survey)
//
// Lepers, Quema, Fedorova, USENIX ATC 2015, slides 6 to 11.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "plan/application.hpp"
#include "plan/assign.hpp"

namespace nigh {

enum class Policy : std::uint8_t { paper, improved, hops, memory_only };
const char* policy_name(Policy policy);
Result<Policy> policy_from_name(std::string_view name);

struct PolicyOptions {
  ClusterOptions clusters;
  AssignLimits assign;
  double seconds_per_gb = 0.3;  // of moving pages; `improved` is given what was measured
  double most_of_run = 0.05;    // paper: part of the time an application has run that moving may take
  // paper: an application is considered when it asks for that much and is not placed well; 0 accesses: not
  // known.
  double least_accesses_per_us = 50, most_locality = 0.8, least_imbalance = 0.35;
  bool consider_all = false;
  // improved: threads that a node has room for where applications share it; empty: one application a node.
  std::vector<double> slots;
  std::size_t candidates = 24;    // improved: how many valuable assignments are simulated
  std::size_t simulations = 400;  // improved: in all
  std::vector<int> numbers;       // of the nodes, for what is said; empty: their indices
  // improved: shared memory may be spread over nodes (not where the kernel would gather it again).
  bool spread = true;
  double least_gain = 0.02;  // improved: gains below this part are noise
};

// The machine's names for its nodes, and their cores as slots: a second hardware thread of a core is no room.
PolicyOptions fitted_to(const Machine& machine, PolicyOptions options);

// True if it is worth looking at (slides 6 and 7; thresholds of the paper).
bool considered(const Application& application, const PolicyOptions& options);
// Threads were moved `seconds` ago, and still `old` (0 to 1) of the accesses go where the pages were: time to
// move all pages at once.
bool full_migration_due(double seconds, double old);

struct Decision {
  std::vector<Application> after;                   // in the order of the question
  std::vector<std::vector<int>> to;                 // for each: node n's threads go to to[n]
  std::vector<Forecast> now, then;                  // predicted, before and after
  std::vector<double> megabytes;                    // that move, of each application
  double value = 0, value_now = 0, value_best = 0;  // paper's sums; 0 where a policy has none
  bool apply = false;
  bool exact = true;   // false: the search was cut short
  std::string reason;  // one sentence
};

// Errors: applications that do not fit the machine (check()).
Result<Decision> decide(Policy policy, const Links& links, const std::vector<Application>& applications,
                        const PolicyOptions& options = {});

// Every static placement: threads of an application on other nodes, its memory where its threads' order puts
// it. Placements that differ in nothing but names count once each for every name (so that the average is
// that of all).
struct Survey {
  struct One {
    std::vector<Application> applications;
    std::vector<double> seconds;
  };
  One best, worst;              // by the geometric mean of the speeds
  std::vector<double> average;  // seconds of each application, mean over all placements
  std::vector<double> hops;     // the same over those with the fewest hops, between which hops can't tell
  One best_hops, worst_hops;    // of these
  std::size_t placements = 0;
};
// `visit`, where given, sees each placement.
Result<Survey> survey(const Links& links, const std::vector<Application>& applications,
                      const std::function<void(const std::vector<Application>&)>& visit = {});

}  // namespace nigh
