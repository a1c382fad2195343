// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The ranks that measure: one on each node, or all, while the others sleep; and the number of repetitions, so
// that a median is of use. Included by the probe alone.
#pragma once

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr double shortest_batch = 0.0005;  // seconds

int rank = 0, ranks = 1;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "probe: %s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

// Nobody spins: all but those who measure are waiting here.
void quiet_barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) usleep(1500);
  }
}

struct Where {
  MPI_Comm node = MPI_COMM_NULL;
  int local = 0, index = 0, nodes = 1;  // rank on the node, which node
  int each = 1, most = 1;               // ranks of the node with the fewest, with the most
  int cpus = 1;                         // that the ranks of a node may use together
  int threads = 1;                      // of each rank, so that all CPUs are used
  bool bound = false;                   // some rank may not use all CPUs of its node
  [[nodiscard]] int cores() const { return each * threads; }
};

Where find_out() {
  Where out;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &out.node);
  int here = 1, leader = rank;
  MPI_Comm_rank(out.node, &out.local);
  MPI_Comm_size(out.node, &here);
  MPI_Bcast(&leader, 1, MPI_INT, 0, out.node);
  std::vector<int> leaders(static_cast<std::size_t>(ranks));
  MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::sort(leaders.begin(), leaders.end());
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
  out.nodes = static_cast<int>(leaders.size());
  out.index = static_cast<int>(std::lower_bound(leaders.begin(), leaders.end(), leader) - leaders.begin());
  MPI_Allreduce(&here, &out.each, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&here, &out.most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  cpu_set_t mine, all;
  CPU_ZERO(&mine);
  CPU_ZERO(&all);
  sched_getaffinity(0, sizeof mine, &mine);
  MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, out.node);
  int cpus = std::max(1, CPU_COUNT(&all));
  MPI_Allreduce(&cpus, &out.cpus, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  out.threads = std::max(1, out.cpus / out.each);
  int bound = CPU_EQUAL(&mine, &all) ? 0 : 1, any = 0;
  MPI_Allreduce(&bound, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  out.bound = any != 0;
  return out;
}

// Those who take part in something, in the order of nodes; the others have none.
class Some {
 public:
  Some(const Where& where, int each) : each_(each) {
    const bool take_part = where.local < each;
    MPI_Comm_split(MPI_COMM_WORLD, take_part ? 0 : MPI_UNDEFINED, where.index * each + where.local, &comm_);
    if (member()) MPI_Comm_rank(comm_, &me_);
  }
  ~Some() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Some(const Some&) = delete;
  Some& operator=(const Some&) = delete;
  [[nodiscard]] bool member() const { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int me() const { return me_; }
  [[nodiscard]] int each() const { return each_; }  // of a node

  // Seconds of the slowest for one call of `once`, which all call as often. Alone: what one does does not
  // wait for what others do; then the time is from when the first one begins until the last is through, since
  // where CPUs are shared some don't begin before others end.
  enum class Calls { alone, wait_for_each_other };
  [[nodiscard]] double batch(Calls kind, int calls, const std::function<void()>& once) const;
  // The median of some batches, which together take about `budget` seconds, or three calls.
  [[nodiscard]] double time(Calls kind, double budget, const std::function<void()>& once) const;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int each_ = 1, me_ = 0;
};
using Calls = Some::Calls;

double Some::batch(Calls kind, int calls, const std::function<void()>& once) const {
  MPI_Barrier(comm_);
  const double from = MPI_Wtime();
  for (int i = 0; i < calls; ++i) once();
  if (kind == Calls::alone) MPI_Barrier(comm_);
  double mine = MPI_Wtime() - from, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, comm_);
  return all / calls;
}

// The number of calls: one short call is mostly the clock and the barrier.
int calls_of(double seconds) {
  return std::clamp(static_cast<int>(shortest_batch / std::max(seconds, 1e-7)), 1, 1000);
}

double Some::time(Calls kind, double budget, const std::function<void()>& once) const {
  constexpr int least = 3, most = 15;
  once();  // connections are made, pages touched
  const double first = std::min(batch(kind, 1, once), batch(kind, 1, once));
  const int calls = calls_of(first);
  const int batches = std::clamp(static_cast<int>(budget / (first * calls)), least, most);
  std::vector<double> times;
  while (static_cast<int>(times.size()) < batches) times.push_back(batch(kind, calls, once));
  return median(times);
}

}  // namespace
