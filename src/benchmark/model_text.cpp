// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Computed benchmarks on the terminal: slide 5 as the table it is, predicted beside published, and the
// policies as a table. Everywhere it is said that these are predictions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchmark/model.hpp"
#include "benchmark/table.hpp"
#include "benchmark/transpose_model.hpp"

namespace nigh::benchmark {

namespace {

const std::vector<std::string>& policies() {
  static const std::vector<std::string> names = {"worst", "average", "hops",    "memory-only",
                                                 "best",  "paper",   "improved"};
  return names;
}

const BenchRecord* find(const BenchFile& file, const std::string& bench, const std::string& case_name,
                        const std::string& subject) {
  for (const BenchRecord& r : file.records)
    if (r.bench == bench && r.case_name == case_name && r.subject == subject) return &r;
  return nullptr;
}

// The subjects of one bench's records, in their order: rows of slide 5, mixes of programs.
std::vector<std::string> names_of(const BenchFile& file, const std::string& bench) {
  std::vector<std::string> out;
  for (const BenchRecord& r : file.records) {
    const std::string& name = bench == "slide5" ? r.teams : r.case_name;
    if (r.bench == bench && std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

// "+27", "-3", never "-0".
std::string signed_text(double value) { return std::abs(value) < 0.5 ? "+0" : fmt::format("{:+.0f}", value); }

struct Quantity {
  const char *name, *heading;
};
constexpr Quantity quantities[] = {
    {"time", "time, s"}, {"latency", "latency, cycles"}, {"bandwidth", "to the master, MB/s"}};

// "148 / 148 (+0 %)"
std::string pair_text(const BenchFile& file, const std::string& row, const Quantity& quantity) {
  const BenchRecord* ours = find(file, "slide5", row + " " + quantity.name, "nigh");
  const BenchRecord* theirs = find(file, "slide5", row + " " + quantity.name, "published");
  if (ours == nullptr || theirs == nullptr) return "-";
  return fmt::format("{:.0f} / {:.0f} ({:+.0f} %)", ours->value.median, theirs->value.median,
                     100 * (ours->value.median / theirs->value.median - 1));
}

std::string slide5_text(const BenchFile& file) {
  std::string out = "\nslide5: streamcluster on two nodes, predicted / published\n";
  out += fmt::format("  {:<14}", "nodes");
  for (const Quantity& q : quantities) out += fmt::format(" {:<24}", q.heading);
  for (const std::string& row : names_of(file, "slide5")) {
    out += fmt::format("\n  {:<14}", row);
    for (const Quantity& q : quantities) out += fmt::format(" {:<24}", pair_text(file, row, q));
  }
  return out + "\n";
}

std::string placement_text_table(const BenchFile& file) {
  std::string out = "\nplacement: predicted speed above the average placement, % (median over starts)\n";
  out += fmt::format("  {:<44}", "programs, nodes");
  for (const std::string& policy : policies()) out += fmt::format("{:>12}", policy);
  for (const std::string& mix : names_of(file, "placement")) {
    out += fmt::format("\n  {:<44}", mix);
    for (const std::string& policy : policies()) {
      const BenchRecord* r = find(file, "placement", mix, policy);
      out +=
          fmt::format("{:>12}", r == nullptr ? "-" : signed_text(r->value.median) + (r->verified ? "" : "!"));
    }
  }
  return out + "\n";
}

std::string errors_text(const BenchFile& file) {
  std::string out;
  for (const BenchRecord& r : file.records)
    for (const std::string& error : r.errors)
      out += fmt::format("  {} by {}: {}\n", r.case_name, r.subject, error);
  return out.empty() ? out : "\nworth knowing\n" + out;
}

}  // namespace

std::string model_table(const BenchFile& file) {
  if (const std::string text = transpose_model_text(file); !text.empty()) return text + errors_text(file);
  std::string out = "Predicted by the link model on opteron-6272; nothing was run on such a machine.\n";
  if (!names_of(file, "slide5").empty()) out += slide5_text(file);
  if (!names_of(file, "placement").empty()) out += placement_text_table(file);
  return out + errors_text(file);
}

std::string model_summary(const std::vector<BenchFile>& files) {
  std::string out;
  for (const BenchFile& file : files) {
    const std::vector<std::string> mixes = names_of(file, "placement");
    if (mixes.empty()) continue;
    out += "placement        predicted speed above the average placement, median of " +
           std::to_string(mixes.size()) + " mixes:";
    for (const std::string& policy : policies()) {
      std::vector<double> values;
      for (const std::string& mix : mixes)
        if (const BenchRecord* r = find(file, "placement", mix, policy)) values.push_back(r->value.median);
      if (policy != "average" && !values.empty())
        out += fmt::format(" {} {} %{}", policy, signed_text(spread_of(values).median),
                           policy == policies().back() ? "\n" : ",");
    }
  }
  return out;
}

}  // namespace nigh::benchmark
