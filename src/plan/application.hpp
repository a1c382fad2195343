// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A running application as the policies of asymmetric placement see it: where its threads are, which part of
// their accesses goes to memory that threads of several nodes use (`shared`) and which to memory that only
// threads of one node use (`own`), and where both lie. From it: clusters, the pieces that are placed.
//
//     node 0        node 3                 A group: the threads of an application on one node, taken to share
//     ┌──────┐      ┌──────┐               data. Groups with high traffic between them form a cluster
//     (Lepers, │ 8 thr│◄────►│ 8 thr│  one cluster  Quema, Fedorova, USENIX ATC 2015, slides 7 and 8).
//     └──────┘      └──────┘
//
// Nodes are indices into Machine::nodes everywhere in this room.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "plan/simulate.hpp"

namespace nigh {

// Nodes and objects have numbers, vectors have indices.
inline std::size_t index_of(int number) { return static_cast<std::size_t>(number); }

struct Application {
  Program program;              // its demand, as measured or known
  std::vector<double> threads;  // by node
  double sharing = 1;           // part of the accesses that goes to memory used from several nodes
  std::vector<double> shared;   // where that memory is: its parts by node, together 1
  // own[i][j]: the part on node j of what only threads of node i use; rows of nodes with threads sum up to 1.
  std::vector<std::vector<double>> own;
  double megabytes = 0;        // resident
  double accesses = 0;         // from memory in the last interval, all threads
  double accesses_per_us = 0;  // of all threads; 0: not known
  double running = 0;          // s so far
  double remaining = 0;        // s to go, 0: not known
  bool movable = true;         // false: it stays where it is, and nobody else is sent to its nodes

  // All of its memory on one node, as programs have it that initialise in one thread.
  static Application with_master(Program program, std::vector<double> threads, int master,
                                 double sharing = 1);
  [[nodiscard]] Placement placement() const;
  // Threads and memory moved: node n's go to to[n]. Memory of different nodes may meet on one.
  [[nodiscard]] Application moved(const std::vector<int>& to) const;
  // Threads moved alone: memory stays where it is.
  [[nodiscard]] Application threads_moved(const std::vector<int>& to) const;
  // Megabytes on each node; memory is taken to be accessed alike, so that parts of accesses are parts of it.
  [[nodiscard]] std::vector<double> resident() const;
  // Megabytes that have to move for memory to lie as it does in `after`, whose threads went by `to`.
  [[nodiscard]] double migrated(const Application& after, const std::vector<int>& to) const;
  [[nodiscard]] double locality() const;  // part of the accesses to the thread's own node
  // Standard deviation of the accesses by node over their mean, of the nodes that it uses.
  [[nodiscard]] double imbalance() const;
  [[nodiscard]] Result<void> check(const Links& links) const;
};

struct ClusterOptions {
  double high = 0.1;  // part of a group's accesses that makes traffic to another node's memory "high"
};

struct Cluster {
  std::size_t application = 0;
  std::vector<int> nodes;  // of its groups, ascending
  // traffic[a * k + b]: accesses of group a to the memory that goes where group b goes.
  std::vector<double> traffic;
  std::vector<double> megabytes;  // that move when that group moves
  std::vector<double> threads;    // of each group
  // Memory of nodes where the application has no thread goes to the group that uses it most: the node, the
  // group.
  std::vector<std::pair<int, std::size_t>> adopted;
  double remote = 0;  // accesses of its groups to other nodes' memory, as it is now
  double weight = 0;  // ln(remote), at least 0

  [[nodiscard]] std::size_t size() const { return nodes.size(); }
};

// The clusters of all applications, in their order. Deterministic.
std::vector<Cluster> find_clusters(const std::vector<Application>& applications,
                                   const ClusterOptions& options = {});

}  // namespace nigh
