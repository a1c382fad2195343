// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The capacity of links between NUMA nodes that several flows use at once. The bandwidth matrix of a Machine
// has the rate of one pair alone; here that is distributed over the resources that flows share:
//
//     memory of node j ──► controller j ──► link j→k ──► link k→i ──► CPUs of node i
//                                          └─ only where i and j are more than one hop apart ─┘
//
// Each direction of a link is a resource of its own, for data (requests are small), and so is each ordered
// pair, whose capacity is the entry of the matrix: the readers of two links' ends may be slower than the
// links. Capacity is given out max-min fairly, as memory controllers and crossbars roughly do: nobody gets
// more while somebody who wants it has less. Which way a flow of two hops takes is not in any table of the
// firmware: it is assumed to be the widest of the shortest. (Lepers, Quema, Fedorova, USENIX ATC 2015, slides
// 3 and 5; Bertsekas and Gallager, Data Networks, 6.5.2)
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "machine/machine.hpp"

namespace nigh {

// Traffic from the memory of one node to the CPUs of another. Nodes are indices into Machine::nodes.
struct Flow {
  int cpus = 0;
  int memory = 0;
  double demand = std::numeric_limits<double>::infinity();  // MB/s that it takes if it can
};

class Links {
 public:
  // A machine whose bandwidth matrix lacks entries can't be planned for: the error says which are missing.
  static Result<Links> of(const Machine& machine);

  [[nodiscard]] int nodes() const { return nodes_; }
  // MB/s of CPUs of node `cpus` from the memory of node `memory`, nobody else about.
  [[nodiscard]] double alone(int cpus, int memory) const { return pair_[at(cpus, memory)]; }
  // True if that figure was guessed, or derived from distances: neither measured nor documented.
  [[nodiscard]] bool assumed(int cpus, int memory) const { return assumed_[at(cpus, memory)] != 0; }
  // By the SLIT: 0 for a node itself, 1 for the nearest others and those as near, and so on.
  [[nodiscard]] int hops(int cpus, int memory) const {
    return static_cast<int>(path(cpus, memory).size()) - 1;
  }
  // Nodes from the memory to the CPUs, both included.
  [[nodiscard]] const std::vector<int>& path(int cpus, int memory) const { return paths_[at(cpus, memory)]; }

  // MB/s of each flow, all at once.
  [[nodiscard]] std::vector<double> share(const std::vector<Flow>& flows) const;
  // MB/s in all at the most, if what flows get has to be in the proportions of their demands: all are slowed
  // by the narrowest place that one of them meets (maximum concurrent flow). `scratch` saves who asks often
  // an allocation: any vector, used for nothing else.
  [[nodiscard]] double sustained(const std::vector<Flow>& flows, std::vector<double>& scratch) const;
  [[nodiscard]] double sustained(const std::vector<Flow>& flows) const {
    std::vector<double> scratch;
    return sustained(flows, scratch);
  }
  // MB/s in all when the CPUs of each node of the set read the memories of the others, all pairs at once; of
  // a single node: its own memory.
  [[nodiscard]] double set_bandwidth(const std::vector<int>& set) const;
  // The load of the link between two neighbours, 0 to 1, under flows of these rates (MB/s); 0 where there is
  // none.
  [[nodiscard]] double load(int to, int from, const std::vector<Flow>& flows,
                            const std::vector<double>& rates) const;

 private:
  friend class Company;
  friend class Pile;
  [[nodiscard]] std::size_t at(int cpus, int memory) const {
    return static_cast<std::size_t>(cpus) * static_cast<std::size_t>(nodes_) +
           static_cast<std::size_t>(memory);
  }
  // The resources of a flow: its pair, the links along its path, its controller.
  [[nodiscard]] std::span<const std::uint32_t> resources(const Flow& flow) const {
    const std::size_t pair = at(flow.cpus, flow.memory);
    return {resources_.data() + first_[pair], resources_.data() + first_[pair + 1]};
  }
  void find_paths(const Machine& machine);
  void find_capacities();

  int nodes_ = 0;
  std::vector<double> pair_;
  std::vector<unsigned char> assumed_;
  std::vector<std::vector<int>> paths_;
  std::vector<std::uint32_t> resources_;  // as indices into capacity_, of one pair after the other
  std::vector<std::uint32_t> first_;      // of each pair in resources_, and the end
  std::vector<double> capacity_;  // MB/s of pairs (nodes x nodes), links (nodes x nodes), controllers (nodes)
};

// Flows that come in layers, the last of which is taken off again: sustained() of all that are there, for
// those who ask about many sets that begin alike.
class Pile {
 public:
  explicit Pile(const Links& links) : links_(links), load_(links.capacity_.size(), 0) {}
  void add(const std::vector<Flow>& flows);
  void take_off();
  [[nodiscard]] std::size_t layers() const { return layers_.size() - 1; }
  [[nodiscard]] double sustained() const {
    return layers_.back().sum > 0 ? layers_.back().pace * layers_.back().sum : 0;
  }

 private:
  struct Layer {
    std::size_t first = 0;  // of its changes
    double pace = std::numeric_limits<double>::infinity(), sum = 0;
  };
  struct Change {
    std::uint32_t resource;
    double before;
  };
  const Links& links_;
  std::vector<double> load_;
  std::vector<Layer> layers_ = {{}};
  std::vector<Change> changes_;
};

// The same flows asked again and again, as by a fixed point: what each gets while it moves as fast as it can
// and the others keep up their mean loads. At each place that it uses, those who want less than its share get
// what they want and leave the rest to it. (share() with one demand after the other set to infinity gives
// more only where two flows meet at several places.)
class Company {
 public:
  Company(const Links& links, const std::vector<Flow>& flows);
  // loads and rates: MB/s of each flow.
  void rates(const std::vector<double>& loads, std::vector<double>& rates) const;

 private:
  struct Place {
    double capacity = 0;
    std::size_t first = 0, last = 0;  // of its users in users_
  };
  std::vector<Place> shared_;       // used by two flows or more
  std::vector<std::size_t> users_;  // flows of one resource after the other
  std::vector<double> highest_;     // what each flow gets where it is alone
};

}  // namespace nigh
