// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/transpose_model.hpp"

#include <fmt/format.h>

#include <cmath>

#include "machine/load.hpp"

namespace nigh::benchmark {

namespace {
constexpr int haan_nodes = 16;
constexpr double haan_mflops = 800;  // of a node, 4 x 200 (slide 26)

// The published figures of one size: speeds of the hybrid and of the MPI program, of their FFTs, and the
// speed-up of the hybrid one. 0: not published.
struct Published {
  std::uint64_t side;
  const char* points;
  double hybrid, mpi, hybrid_fft, mpi_fft, ratio;
};
constexpr Published published[] = {{1000, "10^6", 5.6, 2.5, 208, 108, 2.3},
                                   {10000, "10^8", 0, 0, 0, 0, 1.1},
                                   {31623, "10^9", 7.8, 7.0, 338, 317, 0}};

void add_pair(BenchFile& file, const std::string& name, const std::string& unit, double ours, double theirs) {
  if (theirs == 0) return;
  for (const bool published_one : {false, true}) {
    BenchRecord record;
    record.bench = transpose_bench;
    record.case_name = name;
    record.subject = published_one ? "published" : "nigh";
    record.unit = unit;
    record.values = {published_one ? theirs : ours};
    record.value = spread_of(record.values);
    record.samples = 1;
    record.core_state = "n/a";
    record.verified = published_one || std::abs(ours - theirs) <= 0.1 * theirs;
    if (!record.verified)
      record.errors = {fmt::format("{:.0f} % from what was published", 100 * (ours / theirs - 1))};
    file.records.push_back(std::move(record));
  }
}

void add_size(BenchFile& file, const Published& row, double hybrid, double mpi) {
  const TransposeDemand demand = haan_demand(row.side, haan_nodes);
  const double points = demand.bytes() / 8;
  const auto speeds = [&](const char* way, double seconds, double speed, double fft) {
    const double c = transpose_speed(demand, seconds);
    add_pair(file, fmt::format("{} {} transpose", way, row.points), "Mword/s", c, speed);
    add_pair(file, fmt::format("{} {} FFT", way, row.points), "Mflop/s", fft_speed(points, haan_mflops, 2, c),
             fft);
  };
  speeds("1x4", hybrid, row.hybrid, row.hybrid_fft);
  speeds("4x1", mpi, row.mpi, row.mpi_fft);
  add_pair(file, fmt::format("1x4 over 4x1, {} x {}", row.side, row.side), "times", mpi / hybrid, row.ratio);
}
}  // namespace

TransposeDemand haan_demand(std::uint64_t side, int nodes) {
  return {.rows = side, .columns = side, .nodes = nodes, .cores = 4};
}

Result<TransposeSteps> haan_steps(std::uint64_t side, int nodes, const TransposeWay& way) {
  static const auto machine = load_model("winterhawk2");
  if (!machine) return tl::unexpected(machine.error());
  return predict(machine->network, machine->copying, haan_demand(side, nodes), way);
}

Result<BenchFile> run_transpose_model() {
  BenchFile file;
  file.machine = {{"model", "winterhawk2"}, {"computed", true}};
  for (const Published& row : published) {
    const auto hybrid = haan_steps(row.side, haan_nodes, haan_hybrid),
               mpi = haan_steps(row.side, haan_nodes, haan_mpi);
    if (!hybrid || !mpi) return tl::unexpected((hybrid ? mpi : hybrid).error());
    add_size(file, row, hybrid->total(), mpi->total());
  }
  return file;
}

nlohmann::ordered_json way_document(const TransposeWay& way, const TransposeSteps& steps) {
  return {{"ranks", way.ranks},
          {"threads", way.threads},
          {"method", method_name(way.method)},
          {"panels", way.panels},
          {"seconds",
           {{"local_reorder", steps.local_reorder},
            {"on_node", steps.on_node},
            {"between_nodes", steps.between_nodes},
            {"local_transpose", steps.local_transpose},
            {"synchronisation", steps.synchronisation},
            {"overlapped", steps.overlapped},
            {"total", steps.total()}}}};
}

nlohmann::ordered_json haan_document() {
  auto ways = nlohmann::ordered_json::array(), grid = ways;
  for (const TransposeWay& way : {haan_hybrid, haan_mpi}) {
    if (const auto steps = haan_steps(10000, haan_nodes, way)) ways.push_back(way_document(way, *steps));
    for (const std::uint64_t side : transpose_sides)
      for (const int nodes : transpose_nodes)
        if (const auto steps = haan_steps(side, nodes, way)) {
          nlohmann::ordered_json point = {{"side", side}, {"nodes", nodes}};
          point.update(way_document(way, *steps));
          grid.push_back(std::move(point));
        }
  }
  return {{"format", "nigh-transpose"},
          {"version", 1},
          {"machine", "winterhawk2"},
          {"rows", 10000},
          {"columns", 10000},
          {"type", "double"},
          {"nodes", haan_nodes},
          {"cores", 4},
          {"rests_on", {"IBM SP, 4 x POWER3-II a node: the four published transpose speeds"}},
          {"why", "the ways of Haan (SCICOMP 2000)"},
          {"ways", std::move(ways)},
          {"curves", {{"grid", std::move(grid)}}}};
}

}  // namespace nigh::benchmark
