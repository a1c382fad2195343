// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The state of the service at one moment: nodes, links, applications, its last message. One value, three
// forms: a terminal screen of 80 columns, JSON (the feed, `--json`), and Prometheus' text format. The meter's
// level and confidence and our own cost stand in all of them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "watch/governor.hpp"

namespace nigh::watch {

struct Snapshot {
  std::string machine;       // its name or title
  std::string policy, mode;  // "improved"; "advising", "applying"
  std::string meter;         // "kernel hint faults"
  Level level = Level::none;
  double confidence = 0;
  double cost = 0;     // of nigh itself, as a part of one core
  double elapsed = 0;  // s
  std::string state;   // "watching", "waiting for newcomers", "settling", "holding until 12 s"
  int moves = 0, rollbacks = 0;
  bool predicted = false;  // the simulator's, not a real machine's

  struct Node {
    int number = 0;  // of the operating system
    double threads = 0;
    double megabytes = 0;    // of what is watched
    double local = 0;        // part of its threads' accesses that stay on it
    double from_others = 0;  // MB/s predicted that other nodes take from its memory
  };
  std::vector<Node> nodes;
  struct Link {
    int to = 0, from = 0;  // numbers; data flows from the memory to the CPUs
    double load = 0;       // 0 to 1, predicted by the link model for where accesses go now
    bool assumed = false;
  };
  std::vector<Link> links;  // busiest first
  struct Row {
    std::string name;
    std::string threads;  // "0:8 5:8"
    double megabytes = 0;
    double locality = 0;
    double weight = 0;  // ln(remote accesses) of its cluster
    std::vector<std::vector<double>>
        traffic;  // [node of threads][node of memory], parts of the unit's accesses
  };
  std::vector<Row> units;
  std::vector<std::string> said;  // last sentences, newest last
};

// The parts that follow from a sighting; the caller adds the rest.
Snapshot make_snapshot(const Machine& machine, const Links& links, const Sighting& sighting);

// Lines of at most `columns` (at least 72) characters, without colours or with.
std::string to_screen(const Snapshot& snapshot, int columns = 80, bool color = false);
nlohmann::ordered_json to_json(const Snapshot& snapshot);
std::string to_prometheus(const Snapshot& snapshot);

}  // namespace nigh::watch
