// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchmark/transpose_model.hpp"
#include "machine/load.hpp"
#include "plan/asymmetric.hpp"
#include "plan/programs.hpp"

namespace nigh::benchmark {

namespace {

constexpr double ghz = 2.1;  // of an Opteron 6272: the slide counts cycles

Result<Links> links_of_the_slides() {
  auto machine = load_model("opteron-6272");
  if (!machine) return tl::unexpected(machine.error());
  return Links::of(*machine);
}

BenchFile new_file() {
  BenchFile file;
  file.machine = {{"model", "opteron-6272"}, {"computed", true}};
  return file;
}

BenchRecord new_record(const std::string& bench, const std::string& name, const std::string& subject,
                       const std::string& unit, std::vector<double> values) {
  BenchRecord out;
  out.bench = bench;
  out.case_name = name;
  out.subject = subject;
  out.unit = unit;
  out.value = spread_of(values);
  out.samples = static_cast<int>(values.size());
  out.core_state = "n/a";
  out.verified = true;
  out.values = std::move(values);
  return out;
}

// The rows of slide 5 whose place in its table is certain.
struct Row {
  int a, b, master;
  double seconds, cycles, bandwidth, far;
};
constexpr Row slide5[] = {{0, 1, 1, 148, 750, 5598, 0},   {0, 4, 4, 228, 1169, 2999, 0},
                          {0, 2, 0, 228, 1179, 2973, 0},  {0, 2, 2, 168, 855, 4329, 0},
                          {0, 3, 0, 340, 1527, 1915, 98}, {0, 3, 3, 185, 1040, 3741, 98},
                          {0, 5, 0, 340, 1601, 1903, 98}, {0, 5, 5, 228, 1206, 2884, 98}};

// One quantity of one row, predicted and published. `limit`: the largest difference that is right.
void compare(BenchFile& file, const std::string& row, const std::string& what, const std::string& unit,
             double predicted, double published, double limit) {
  for (const bool ours : {true, false}) {
    BenchRecord record = new_record("slide5", row + " " + what, ours ? "nigh" : "published", unit,
                                    {ours ? predicted : published});
    record.result = what;
    record.teams = row;
    if (ours && std::abs(predicted - published) > limit * published) {
      record.verified = false;
      record.errors = {fmt::format("{:.0f} % from what was published", 100 * (predicted / published - 1))};
    }
    file.records.push_back(std::move(record));
  }
}

Result<BenchFile> run_slide5() {
  auto links = links_of_the_slides();
  if (!links) return tl::unexpected(links.error());
  BenchFile file = new_file();
  for (const Row& row : slide5) {
    const int other = row.a == row.master ? row.b : row.a;
    auto program = known_application("streamcluster", {row.master, other}, links->nodes());
    if (!program) return tl::unexpected(program.error());
    auto forecast = simulate(*links, {program->program}, {program->placement()}, {.idle_latency = 40});
    if (!forecast) return tl::unexpected(forecast.error());
    const Forecast& f = forecast->front();
    double bandwidth = 0;
    for (std::size_t i = 0; i < f.flows.size(); ++i)
      if (f.flows[i].cpus == other) bandwidth = f.rates[i];
    const std::string name = fmt::format("{}-{} master {}", row.a, row.b, row.master);
    compare(file, name, "time", "s", f.seconds, row.seconds, 0.1);
    compare(file, name, "latency", "cycles", f.latency * ghz, row.cycles, 0.1);
    compare(file, name, "bandwidth", "MB/s", bandwidth, row.bandwidth, 0.1);
  }
  return file;
}

struct Mix {
  std::vector<std::pair<const char*, int>> programs;  // and on how many nodes
  [[nodiscard]] std::string name() const {
    std::string out;
    for (const auto& [program, nodes] : programs)
      out += fmt::format("{}{}-{}", out.empty() ? "" : " + ", program, nodes);
    return out;
  }
};

// One program on three nodes (slide 10), and the mixes of slide 11, which fill the machine.
const std::vector<Mix>& mixes() {
  static const std::vector<Mix> all = {
      {{{"streamcluster", 3}}},
      {{{"graph500", 3}}},
      {{{"specjbb", 3}}},
      {{{"swaptions", 3}}},
      {{{"ep", 3}}},
      {{{"specjbb", 3}, {"graph500", 3}, {"matrixmultiply", 2}}},
      {{{"streamcluster", 3}, {"graph500", 3}, {"specjbb", 2}}},
      {{{"streamcluster", 3}, {"streamcluster", 3}, {"streamcluster", 2}}},
      {{{"specjbb", 5}, {"matrixmultiply", 3}}},
      {{{"specjbb", 5}, {"streamcluster", 3}}},
  };
  return all;
}

// Speed above the average, in per cent: the geometric mean over a mix.
double above(const std::vector<double>& average, const std::vector<double>& seconds) {
  double sum = 0;
  for (std::size_t a = 0; a < average.size(); ++a) sum += std::log(average[a] / seconds[a]);
  return 100 * (std::exp(sum / static_cast<double>(average.size())) - 1);
}

std::vector<double> seconds_of(const std::vector<Forecast>& forecasts) {
  std::vector<double> out;
  for (const Forecast& forecast : forecasts) out.push_back(forecast.seconds);
  return out;
}

// Every n-th static placement is where a run may have started; it has run for long and will go on for long,
// so that moving pays for itself.
class Starts {
 public:
  Starts(std::size_t placements, std::size_t wanted) : step_(std::max<std::size_t>(1, placements / wanted)) {}
  bool take() { return seen_++ % step_ == 0; }

 private:
  std::size_t step_, seen_ = 0;
};

struct Ends {
  std::vector<double> memory_only, paper, improved;
};

void decide_from(const Links& links, std::vector<Application> start, const std::vector<double>& average,
                 Ends& ends) {
  for (Application& application : start) application.running = application.remaining = 1e5;
  observe(links, start);
  const auto end = [&](Policy policy, std::vector<double>& out) {
    auto decision = decide(policy, links, start);
    NIGH_CHECK(decision.has_value());
    out.push_back(above(average, seconds_of(decision->apply ? decision->then : decision->now)));
  };
  end(Policy::memory_only, ends.memory_only);
  end(Policy::paper, ends.paper);
  end(Policy::improved, ends.improved);
}

void add_mix(const Links& links, const Mix& mix, const std::vector<Application>& applications,
             std::size_t wanted, BenchFile& file) {
  const Survey survey_of = *survey(links, applications);
  Starts starts(survey_of.placements, wanted);
  Ends ends;
  auto visited = survey(links, applications, [&](const std::vector<Application>& start) {
    if (starts.take()) decide_from(links, start, survey_of.average, ends);
  });
  NIGH_CHECK(visited.has_value());
  const auto& average = survey_of.average;
  const auto add = [&](const char* subject, std::vector<double> values) -> BenchRecord& {
    BenchRecord record = new_record("placement", mix.name(), subject, "%", std::move(values));
    record.result = fmt::format("{} of {} placements as starts", ends.paper.size(), survey_of.placements);
    file.records.push_back(std::move(record));
    return file.records.back();
  };
  add("worst", {above(average, survey_of.worst.seconds)});
  add("average", {0.0});
  BenchRecord& hops = add("hops", {above(average, survey_of.hops)});
  hops.value.low = above(average, survey_of.worst_hops.seconds);
  hops.value.high = above(average, survey_of.best_hops.seconds);
  add("memory-only", ends.memory_only);
  const double best = above(average, survey_of.best.seconds);
  add("best", {best});
  BenchRecord& paper = add("paper", ends.paper);
  // Its own 90 % rule may stay below the best by more than the slides' figures show: told, not hidden.
  if ((100 + paper.value.median) < 0.95 * (100 + best))
    paper.errors = {fmt::format("{:.2f} % below the best static placement: there are fewer pages to move",
                                100 - 100 * (100 + paper.value.median) / (100 + best))};
  const double of_paper = paper.value.median;  // the reference is gone once the next record is added
  BenchRecord& improved = add("improved", ends.improved);
  for (std::size_t i = 0; i < ends.paper.size() && improved.verified; ++i)
    if (100 + ends.improved[i] < 0.979 * (100 + ends.paper[i]) ||
        100 + improved.value.median < 100 + of_paper - 0.1) {
      improved.verified = false;
      improved.errors = {"below paper"};
    }
}

Result<BenchFile> run_placement(std::size_t starts) {
  auto links = links_of_the_slides();
  if (!links) return tl::unexpected(links.error());
  BenchFile file = new_file();
  for (const Mix& mix : mixes()) {
    std::vector<Application> applications;
    int next = 0;
    for (const auto& [program, count] : mix.programs) {
      std::vector<int> nodes;
      for (int i = 0; i < count; ++i) nodes.push_back(next++);
      auto application = known_application(program, nodes, links->nodes());
      if (!application) return tl::unexpected(application.error());
      applications.push_back(*std::move(application));
    }
    add_mix(*links, mix, applications, starts, file);
  }
  return file;
}

}  // namespace

const std::vector<ModelBench>& model_benches() {
  static const std::vector<ModelBench> all = {
      {"slide5",
       "the simulator against AsymSched's table: streamcluster on two nodes of an Opteron 6272 machine"},
      {"placement",
       "policies of asymmetric placement in the simulator: speed relative to the average placement"},
      {transpose_bench,
       "the cost model of the distributed transpose against Haan's figures: ranks or threads on 16 "
       "nodes"},
  };
  return all;
}

bool is_model_bench(const std::string& name) {
  return std::any_of(model_benches().begin(), model_benches().end(),
                     [&](const ModelBench& bench) { return bench.name == name; });
}

Result<BenchFile> run_model_bench(const std::string& name, std::size_t starts) {
  if (name == transpose_bench) return run_transpose_model();
  return name == "slide5" ? run_slide5() : run_placement(starts);
}

}  // namespace nigh::benchmark
