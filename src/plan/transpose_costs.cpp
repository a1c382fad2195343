// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The assumptions stand here, together. The parts for transposing lie between the results of this project's
// kernels with one and with two threads on cores with AVX-512 (nigh bench copy, 128 MiB): 0.76 and 0.83 of
// the fastest copy where both sides are powers of two, 0.68 and 0.57 where rows begin at no line.
#include "plan/transpose_costs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machine/probe_copy.hpp"

namespace nigh {

namespace {
constexpr double assumed_core = 10000, assumed_memory_of_core = 5000;  // MB/s, read and written
constexpr double assumed_cache_gain = 3;                               // of a cache over one thread in memory
constexpr double assumed_powers = 0.8, assumed_others = 0.63;
constexpr double assumed_barrier_us = 0.5, assumed_message_us = 1;

// MB/s of all memories to their own CPUs; 0 when one of them is not known.
double memory_rate(const Machine& machine, Source& source) {
  double sum = 0;
  const std::size_t n = machine.node_count();
  for (std::size_t i = 0; i < n; ++i) {
    if (machine.objects[static_cast<std::size_t>(machine.nodes[i])].pus.empty()) continue;
    if (machine.bandwidth.empty() || machine.bandwidth.value[i * n + i] <= 0) return 0;
    sum += machine.bandwidth.value[i * n + i];
    source = machine.bandwidth.source[i * n + i];
  }
  return sum;
}

CopyRates known_rates(const Machine& machine, const Probe* probe, std::vector<std::string>& told) {
  CopyRates out;
  out.transpose_powers = assumed_powers;
  out.transpose_others = assumed_others;
  out.barrier_us = assumed_barrier_us;
  out.message_us = assumed_message_us;
  Source source = Source::guessed;
  double node = probe == nullptr ? 0 : probed_memory_rate(*probe);
  if (node > 0)
    source = Source::measured;
  else
    node = memory_rate(machine, source);
  const double measured = probed_core_rate(probe, "memory");
  const int own = std::max(machine.count(Kind::core), 1);
  if (node <= 0) {
    source = Source::guessed;
    node = measured > 0 ? measured : assumed_memory_of_core * own;
  }
  const double core = std::min(measured > 0 ? measured : assumed_core, node);
  out.levels = copy_levels(machine, probe, core, node, assumed_cache_gain);
  out.source = source;
  told.push_back(
      fmt::format("copying: memory {:.0f} MB/s a node ({}), {:.0f} one core ({}), read and written", node,
                  source == Source::guessed ? "assumed" : source_name(source), core,
                  measured > 0 ? "measured" : "assumed"));
  told.push_back(fmt::format(
      "assumed: transposing at {:.2f} of copying (powers of two) and {:.2f} (others), a barrier {} us "
      "for each doubling of the threads",
      assumed_powers, assumed_others, assumed_barrier_us));
  return out;
}

std::string measured_by(const MpiProbe& probe) {
  return fmt::format("measured by nigh machine --probe-mpi on {}, {} node{} x {} rank{}, {}", probe.date,
                     probe.nodes, probe.nodes == 1 ? "" : "s", probe.ranks, probe.ranks == 1 ? "" : "s",
                     probe.library);
}

std::string network_line(const Network& network, const std::string& source) {
  const NetworkRange &first = network.ranges.front(), &last = network.ranges.back();
  return fmt::format("network ({}): latency {:.4g} us, one process {:.4g} MB/s, a node {:.4g} MB/s", source,
                     first.latency_us, last.process_rate, last.node_rate);
}

// More cores than the machine has stand for a larger machine of the same kind.
void grow(CopyRates& copying, int own, int cores, std::vector<std::string>& told) {
  if (cores <= own || own < 1) return;
  for (CopyLevel& level : copying.levels) level.node_rate *= static_cast<double>(cores) / own;
  told.push_back(fmt::format("assumed: the machine has {} core{}; memory of {} cores is as much faster", own,
                             own == 1 ? "" : "s", cores));
}
}  // namespace

Network assumed_network() {
  return {.ranges = {{8192, 2, 4000, 12000}, {0, 5, 11000, 12000}}, .source = Source::guessed};
}

TransposeCosts transpose_costs(const Machine& machine, const Probe* probe, int cores, const MpiProbe* mpi) {
  TransposeCosts out;
  int own = machine.count(Kind::core);
  const bool given = !machine.network.empty(), measured = !given && mpi != nullptr && !mpi->network.empty();
  out.network = given ? machine.network : measured ? mpi->network : assumed_network();
  out.told.push_back(network_line(out.network, given      ? source_name(machine.network.source)
                                               : measured ? measured_by(*mpi)
                                                          : "assumed: 100 Gbit/s"));
  const auto tell = [&out](const std::string& source) {
    const CopyLevel& memory = out.copying.levels.back();
    out.told.push_back(
        fmt::format("copying ({}): memory {:.4g} MB/s a node, {:.4g} one core, read and written", source,
                    memory.node_rate, memory.core_rate));
  };
  if (!machine.copying.empty()) {
    out.copying = machine.copying;
    tell(source_name(out.copying.source));
  } else if (mpi != nullptr && !mpi->copying.empty()) {
    out.copying = mpi->copying;
    own = mpi->cores;
    tell(mpi->copying_from.empty() ? measured_by(*mpi) : "measured by " + mpi->copying_from);
  } else {
    out.copying = known_rates(machine, probe, out.told);
  }
  grow(out.copying, own, cores, out.told);
  return out;
}

}  // namespace nigh
