// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The census of a job over several nodes. Collectives can only be split into steps within and between nodes
// where all ranks do so: one that lacks nigh, or has another version or other settings, would leave the
// others waiting for ever. MPI has no question that such a rank does not have to answer. So `nigh run` leaves
// a process behind, beside the launcher that it becomes, to which each rank that has nigh says so once
// (sys/census_protocol.hpp).
//
//     rank: I am rank 3 of 16, this version, these settings      census: entered
//     ... its first collectives over several nodes are the library's ...
//     rank: are we all there?                                    census: all | not all
//
// It answers "all" when every rank of the world has entered and all agree; "not all" when one does not, or
// when no further one has entered for half a second. An answer is given once and kept: a rank that asks later
// gets the one that the others have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sys/census_protocol.hpp"

namespace nigh::launch {

// The book of those who have entered, and what follows. Times in seconds, of any clock that only grows. No
// I/O.
class CensusBook {
 public:
  enum class Verdict { open, all, not_all };
  static constexpr double patience = 0.5;  // after the last rank that entered
  // Beyond it worlds that are not all there are forgotten, and then no new one is counted. One that is all
  // there is kept: its ranks may still ask.
  static constexpr std::size_t most_worlds = 256;

  // A rank has entered. It counts once, however often it says so.
  Verdict enter(const sys::CensusQuestion& question, double now);
  // The verdict on the world that this rank has entered. One that has not cannot be told later than others:
  // then not all.
  Verdict ask(const sys::CensusQuestion& question, double now);
  // Decides what has waited long enough; seconds until the next such moment, negative: there is none.
  double decide(double now);

 private:
  struct Rank {
    std::uint32_t rank, process;
  };
  struct World {
    std::uint64_t name = 0, settings = 0;
    std::uint32_t ranks = 0;
    double last = 0;  // s, when the last one entered
    std::vector<Rank> entered = {};
    Verdict verdict = Verdict::open;
  };
  World* find(const sys::CensusQuestion& question);
  World* open_for(const sys::CensusQuestion& question, double now);
  std::vector<World> worlds_;
};

// Leaves the census behind, until this process, or the program that it becomes, has ended. The value of
// NIGH_MPI_CENSUS. Errors: io: no port, no address that other nodes could reach.
Result<std::string> start_census();

}  // namespace nigh::launch
