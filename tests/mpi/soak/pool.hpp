// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The communicators of a soak: made from each other in all the ways there are, freed at random. Every rank
// keeps the members of each, whether it is one or not, so that all draw the same traffic.
#pragma once

#include <mpi.h>

#include <vector>

#include "random.hpp"

namespace soak {

struct Comm {
  MPI_Comm handle = MPI_COMM_NULL;  // null on ranks that are not members
  std::vector<int> members;         // world ranks, in this communicator's order
  int me = -1;                      // this rank's place, or -1
  int number = 0;
  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
};

class Pool {
 public:
  explicit Pool(MPI_Comm world, bool threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  [[nodiscard]] Comm& operator[](int index) { return comms_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] int count() const { return static_cast<int>(comms_.size()); }
  void change(Rng& rng);  // collective over the job: makes or frees one

 private:
  std::vector<Comm> comms_;
  int my_world_ = 0;
  int made_ = 0;
  bool threads_ = false;  // several pools at once: no tags or leaders in common
  void add(MPI_Comm handle, std::vector<int> members);
  void duplicate(Rng& rng, const Comm& parent);
  void split(Rng& rng, const Comm& parent);
  void subset(Rng& rng, const Comm& parent);
  void cart(Rng& rng, const Comm& parent);
  void merge(Rng& rng, const Comm& parent);
};

}  // namespace soak
