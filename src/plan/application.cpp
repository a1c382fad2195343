// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/sets.hpp"

namespace nigh {

namespace {

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

Result<void> parts_of_one(const std::vector<double>& parts, std::size_t nodes, const std::string& what) {
  double total = 0;
  for (const double part : parts) total += part >= 0 ? part : -2;
  if (parts.size() == nodes && std::abs(total - 1) < 1e-6) return {};
  return fail(Errc::invalid, fmt::format("{}: {} parts that sum up to {}, not {} with the sum 1", what,
                                         parts.size(), total, nodes));
}

// Nodes with threads that access each other's memory, or a third node's, to a high part of what they access.
DisjointSets related(const Application& application, const Placement& placement, double high) {
  const std::size_t n = application.threads.size();
  DisjointSets sets(n);
  for (std::size_t memory = 0; memory < n; ++memory) {
    std::size_t first = application.threads[memory] > 0 ? memory : n;
    for (std::size_t i = 0; i < n; ++i) {
      if (application.threads[i] == 0 || placement.traffic[i][memory] < high) continue;
      if (first == n) first = i;
      sets.join(first, i);
    }
  }
  return sets;
}

// Fills in what a cluster's groups access, and what moves with each.
void measure(const Application& application, const Placement& placement, double high, Cluster& cluster) {
  const std::size_t k = cluster.size();
  const double all = sum(application.threads);
  const std::vector<double> resident = application.resident();
  const auto accesses = [&](std::size_t group, std::size_t memory) {
    const std::size_t node = index_of(cluster.nodes[group]);
    return application.accesses * application.threads[node] / all * placement.traffic[node][memory];
  };
  cluster.traffic.assign(k * k, 0);
  for (std::size_t b = 0; b < k; ++b) {
    const std::size_t node = index_of(cluster.nodes[b]);
    cluster.threads.push_back(application.threads[node]);
    cluster.megabytes.push_back(resident[node]);
    for (std::size_t a = 0; a < k; ++a) cluster.traffic[a * k + b] = accesses(a, node);
  }
  for (std::size_t memory = 0; memory < application.threads.size(); ++memory) {
    if (application.threads[memory] > 0) continue;
    std::size_t user = 0;
    for (std::size_t a = 1; a < k; ++a)
      if (accesses(a, memory) > accesses(user, memory)) user = a;
    // A high part: so that no other cluster has one, or they would be one.
    if (placement.traffic[index_of(cluster.nodes[user])][memory] < high) continue;
    cluster.adopted.emplace_back(static_cast<int>(memory), user);
    for (std::size_t a = 0; a < k; ++a) cluster.traffic[a * k + user] += accesses(a, memory);
  }
  for (std::size_t a = 0; a < k; ++a)
    for (std::size_t memory = 0; memory < application.threads.size(); ++memory)
      cluster.remote += memory == index_of(cluster.nodes[a]) ? 0 : accesses(a, memory);
  cluster.weight = std::log(std::max(1.0, cluster.remote));
}

}  // namespace

Application Application::with_master(Program program, std::vector<double> threads, int master,
                                     double sharing) {
  Application out;
  out.program = std::move(program);
  out.threads = std::move(threads);
  out.sharing = sharing;
  out.shared.assign(out.threads.size(), 0);
  out.shared[index_of(master)] = 1;
  out.own.assign(out.threads.size(), std::vector<double>(out.threads.size(), 0));
  for (std::size_t i = 0; i < out.threads.size(); ++i)
    if (out.threads[i] > 0) out.own[i] = out.shared;
  return out;
}

Placement Application::placement() const {
  Placement out;
  out.threads = threads;
  out.traffic.assign(threads.size(), std::vector<double>(threads.size(), 0));
  for (std::size_t i = 0; i < threads.size(); ++i)
    for (std::size_t j = 0; threads[i] > 0 && j < threads.size(); ++j)
      out.traffic[i][j] = sharing * shared[j] + (1 - sharing) * own[i][j];
  return out;
}

Application Application::threads_moved(const std::vector<int>& to) const {
  Application out = *this;
  const std::size_t n = threads.size();
  std::fill(out.threads.begin(), out.threads.end(), 0);
  for (auto& row : out.own) std::fill(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    out.threads[index_of(to[i])] += threads[i];
    for (std::size_t j = 0; j < n; ++j) out.own[index_of(to[i])][j] += threads[i] * own[i][j];
  }
  for (std::size_t i = 0; i < n; ++i)
    for (double& part : out.own[i]) part = out.threads[i] > 0 ? part / out.threads[i] : 0;
  return out;
}

Application Application::moved(const std::vector<int>& to) const {
  Application out = threads_moved(to);
  const auto send = [&](std::vector<double>& parts) {
    std::vector<double> sent(parts.size(), 0);
    for (std::size_t j = 0; j < parts.size(); ++j) sent[index_of(to[j])] += parts[j];
    parts = std::move(sent);
  };
  send(out.shared);
  for (auto& row : out.own) send(row);
  return out;
}

std::vector<double> Application::resident() const {
  std::vector<double> out(threads.size(), 0);
  const double all = sum(threads);
  for (std::size_t j = 0; j < threads.size(); ++j) {
    out[j] = megabytes * sharing * shared[j];
    for (std::size_t i = 0; i < threads.size(); ++i)
      if (threads[i] > 0) out[j] += megabytes * (1 - sharing) * threads[i] / all * own[i][j];
  }
  return out;
}

double Application::migrated(const Application& after, const std::vector<int>& to) const {
  double out = 0;
  const double all = sum(threads);
  for (std::size_t j = 0; j < threads.size(); ++j) {
    out += megabytes * sharing * std::max(0.0, after.shared[j] - shared[j]);
    for (std::size_t i = 0; i < threads.size(); ++i)
      if (threads[i] > 0)
        out += megabytes * (1 - sharing) * threads[i] / all *
               std::max(0.0, after.own[index_of(to[i])][j] - own[i][j]);
  }
  return out;
}

double Application::locality() const {
  const Placement where = placement();
  double local = 0;
  for (std::size_t i = 0; i < threads.size(); ++i)
    local += threads[i] > 0 ? threads[i] * where.traffic[i][i] : 0;
  return local / sum(threads);
}

double Application::imbalance() const {
  const Placement where = placement();
  double total = 0, squares = 0, nodes = 0;
  for (std::size_t j = 0; j < threads.size(); ++j) {
    double accessed = 0;
    for (std::size_t i = 0; i < threads.size(); ++i)
      if (threads[i] > 0) accessed += threads[i] * where.traffic[i][j];
    if (accessed == 0 && threads[j] == 0) continue;
    ++nodes;
    total += accessed;
    squares += accessed * accessed;
  }
  const double mean = total / nodes;
  return std::sqrt(std::max(0.0, squares / nodes - mean * mean)) / mean;
}

Result<void> Application::check(const Links& links) const {
  const std::size_t n = index_of(links.nodes());
  if (threads.size() != n || own.size() != n)
    return fail(Errc::invalid, fmt::format("{}: it is described for {} nodes, the machine has {}",
                                           program.name, threads.size(), n));
  if (!(sharing >= 0 && sharing <= 1))
    return fail(Errc::invalid, fmt::format("{}: a part of {} of its accesses is shared; 0 to 1 can be",
                                           program.name, sharing));
  if (auto good = parts_of_one(shared, n, program.name + ": shared memory"); !good) return good;
  for (std::size_t i = 0; i < n; ++i)
    if (threads[i] > 0)
      if (auto good =
              parts_of_one(own[i], n, fmt::format("{}: memory of threads on node {}", program.name, i));
          !good)
        return good;
  if (!(megabytes >= 0) || !(accesses >= 0))
    return fail(Errc::invalid, fmt::format("{}: {} MB, {} accesses", program.name, megabytes, accesses));
  return {};
}

std::vector<Cluster> find_clusters(const std::vector<Application>& applications,
                                   const ClusterOptions& options) {
  std::vector<Cluster> out;
  for (std::size_t a = 0; a < applications.size(); ++a) {
    const Application& application = applications[a];
    const Placement placement = application.placement();
    DisjointSets sets = related(application, placement, options.high);
    for (std::size_t root = 0; root < application.threads.size(); ++root) {
      Cluster cluster;
      cluster.application = a;
      for (std::size_t i = root; i < application.threads.size(); ++i)
        if (application.threads[i] > 0 && sets.find(i) == root) cluster.nodes.push_back(static_cast<int>(i));
      if (cluster.nodes.empty()) continue;
      measure(application, placement, options.high, cluster);
      out.push_back(std::move(cluster));
    }
  }
  return out;
}

}  // namespace nigh
