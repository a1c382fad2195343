// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The common parts of the policies of asymmetric.hpp: applications after an assignment, and its cost.
#pragma once

#include <vector>

#include "plan/asymmetric.hpp"

namespace nigh {

struct Replaced {
  std::vector<Application> after;
  std::vector<std::vector<int>> to;
};

// Everybody stays.
Replaced unmoved(const std::vector<Application>& applications);
// Clusters, and the memory they have adopted, where the assignment says.
Replaced replaced(const std::vector<Application>& applications, const std::vector<Cluster>& clusters,
                  const std::vector<Options>& options, const Assignment& assignment);

// Predicted for all of them at once; NIGH_CHECKs that they were checked before.
std::vector<Forecast> forecasts(const Links& links, const std::vector<Application>& applications,
                                double tolerance = 1e-5);

// Megabytes that each application has to move.
std::vector<double> migrations(const std::vector<Application>& before, const Replaced& state);

// The clusters of all applications that may be moved, those that are not considered without weight, and what
// they can choose from: all nodes but those of who may not be moved.
struct Field {
  std::vector<Cluster> clusters;
  std::vector<Options> options;
};
Field field_of(const Links& links, const std::vector<Application>& applications,
               const PolicyOptions& options);

// P_w of a state: of each cluster, at the nodes where its groups are.
double value_of(const Links& links, const Field& field, const Replaced& state);

Replaced paper_choice(const Links& links, const std::vector<Application>& applications,
                      const PolicyOptions& options, const Field& field, Decision& decision);
Replaced improved_choice(const Links& links, const std::vector<Application>& applications,
                         const PolicyOptions& thresholds, Decision& decision);

// "a: threads of nodes 0,5 to 3,0, 12.0 MB of pages; b: stays". `numbers`: what the nodes are called; empty:
// their indices.
std::string told(const std::vector<Application>& before, const Replaced& state,
                 const std::vector<int>& numbers);

}  // namespace nigh
