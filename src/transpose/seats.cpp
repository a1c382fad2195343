// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/seats.hpp"

#include <cstdlib>
#include <mutex>

#include "sys/places.hpp"
#include "sys/variables.hpp"

namespace nigh::transpose {

namespace {
sys::Bind wanted() {
  const int word = sys::word_in_variable("NIGH_TRANSPOSE_BIND", {"none", "compact", "scatter"});
  return word == 0 ? sys::Bind::none : word == 1 ? sys::Bind::compact : sys::Bind::scatter;
}

struct Known {
  CpuSet usable;
  int all;
  sys::Bind bind;
  std::vector<int> cpus;
};

// The planner takes milliseconds to read the machine: plans are made more often than masks change.
std::vector<int> all_seats(int all) {
  static std::mutex mutex;
  static std::vector<Known> known;
  const CpuSet usable = sys::usable_cpus();
  const sys::Bind bind = wanted();
  const std::lock_guard lock(mutex);
  for (const Known& one : known)
    if (one.all == all && one.bind == bind && one.usable == usable) return one.cpus;
  constexpr std::size_t most = 16;
  if (known.size() == most) known.erase(known.begin());
  known.push_back({usable, all, bind, sys::plan_places(usable, 0, all, bind).cpus});
  return known.back().cpus;
}
}  // namespace

std::vector<CpuSet> seats(int threads, const Sharing& sharing) {
  if (threads <= 1) return {};
  const std::vector<int> cpus = all_seats(sharing.all);
  std::vector<CpuSet> out;
  for (std::size_t i = 0, at = static_cast<std::size_t>(sharing.first);
       at < cpus.size() && i < static_cast<std::size_t>(threads); ++i, ++at)
    out.push_back({cpus[at]});
  return out;
}

std::string seats_text(const std::vector<CpuSet>& seats) {
  CpuSet others;
  for (std::size_t i = 1; i < seats.size(); ++i)
    for (const int cpu : seats[i].members()) others.set(cpu);
  return others.empty() ? "" : ", all but the caller on CPUs " + others.to_list();
}

}  // namespace nigh::transpose
