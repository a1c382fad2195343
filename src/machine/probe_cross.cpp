// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Lines up what was measured with what the firmware claims: read bandwidth and idle latency, each against
// SLIT and against the entries that came from HMAT. (Bandwidth against SLIT as well: a distance stands for
// both.)
#include <fmt/format.h>

#include <cmath>

#include "machine/probe_run.hpp"

namespace nigh::probe {

namespace {
struct Measured {
  std::vector<Figure> bandwidth, latency;
};

Measured matrices(const Probe& probe, const std::vector<int>& nodes) {
  Measured out;
  for (int from : nodes)
    for (int to : nodes) {
      const auto* b = probe.find(from, to, Mix::read);
      const auto* l = probe.find_latency(from, to, false);
      out.bandwidth.push_back(b != nullptr ? b->mb_per_s : Figure{});
      out.latency.push_back(l != nullptr ? l->ns : Figure{});
    }
  return out;
}

std::vector<double> from_hmat(const LinkMatrix& matrix) {
  std::vector<double> out(matrix.value.size(), 0);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (matrix.source[i] == Source::hmat) out[i] = matrix.value[i];
  return out;
}

void compare(Probe& probe, const CrossCheck& check, const char* figure) {
  for (std::string& sentence : contradictions(check)) probe.contradictions.push_back(std::move(sentence));
  double agreement = rank_agreement(check);
  if (std::isfinite(agreement))
    probe.notes.push_back(fmt::format("{} and {} of the remote links: rank agreement {:.2f} (1: same order)",
                                      check.what, figure, agreement));
}
}  // namespace

void cross_check(Probe& probe, const Machine& machine) {
  std::vector<int> nodes;
  for (int index : machine.nodes) nodes.push_back(machine.objects[static_cast<std::size_t>(index)].os_index);
  if (nodes.size() < 2) return;
  Measured measured = matrices(probe, nodes);
  std::vector<double> slit(machine.slit.begin(), machine.slit.end());
  if (slit.size() == nodes.size() * nodes.size()) {
    compare(probe, {nodes, measured.bandwidth, true, slit, false, "SLIT"}, "read bandwidth");
    compare(probe, {nodes, measured.latency, false, slit, false, "SLIT"}, "idle latency");
  }
  if (!machine.bandwidth.empty()) {
    std::vector<double> hmat = from_hmat(machine.bandwidth);
    compare(probe, {nodes, measured.bandwidth, true, hmat, true, "HMAT bandwidth"}, "read bandwidth");
  }
  if (!machine.latency.empty()) {
    std::vector<double> hmat = from_hmat(machine.latency);
    compare(probe, {nodes, measured.latency, false, hmat, false, "HMAT latency"}, "idle latency");
  }
}

}  // namespace nigh::probe
