// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>

#include "benchmark/fingerprint.hpp"
#include "launch/ranks_run.hpp"
#include "machine/load.hpp"
#include "plan/transpose_costs.hpp"
#include "sys/os.hpp"

namespace nigh::benchmark {

namespace {
using json = nlohmann::ordered_json;  // steps stay in their order

// One line of the program: a shape by a method.
struct Line {
  std::string method;
  std::uint64_t rows = 0, columns = 0;
  int nodes = 1, ranks = 1, threads = 1, passes = 1;
  double low = 0, high = 0;  // of the total
  bool verified = false;
  std::vector<std::pair<std::string, double>> seconds;

  [[nodiscard]] std::string shape() const { return fmt::format("{}x{}", rows, columns); }
  [[nodiscard]] TransposeDemand demand() const { return {rows, columns, 8, nodes, ranks * threads}; }
};

Line read_line(const json& in) {
  Line out;
  in.at("rows").get_to(out.rows);
  in.at("columns").get_to(out.columns);
  in.at("method").get_to(out.method);
  in.at("nodes").get_to(out.nodes);
  in.at("ranks").get_to(out.ranks);
  in.at("threads").get_to(out.threads);
  in.at("passes").get_to(out.passes);
  in.at("low").get_to(out.low);
  in.at("high").get_to(out.high);
  in.at("verified").get_to(out.verified);
  for (const auto& [step, value] : in.at("seconds").items())
    out.seconds.emplace_back(step, value.get<double>());
  return out;
}

BenchRecord record_of(const Line& line, const char* subject, const std::string& step, double seconds) {
  BenchRecord out;
  out.bench = steps_bench;
  out.case_name =
      fmt::format("{} node{} x {} cores", line.nodes, line.nodes == 1 ? "" : "s", line.ranks * line.threads);
  out.subject = subject;
  out.size_bytes = static_cast<std::uint64_t>(line.demand().bytes());
  out.unit = "ms";
  out.values = {1e3 * seconds};
  out.value = spread_of(out.values);
  out.samples = 1;
  out.core_state = "n/a";
  out.verified = line.verified;
  if (!line.verified) out.errors = {line.shape() + " was not transposed"};
  out.runtime = line.method;
  out.teams = fmt::format("{}x{}", line.ranks, line.threads);
  out.result = step;
  out.shape = line.shape();
  return out;
}

// Steps that overlap are not timed one by one: the program says 0.
void add_measured(const Line& line, BenchFile& file) {
  for (const auto& [step, seconds] : line.seconds) {
    if (seconds <= 0) continue;
    BenchRecord record = record_of(line, "measured", step, seconds);
    record.samples = line.passes;
    if (step == "total") record.value = {1e3 * seconds, 1e3 * line.low, 1e3 * line.high};
    file.records.push_back(std::move(record));
  }
}

void add_predicted(const Line& line, const TransposeSteps& steps, BenchFile& file) {
  for (const auto& [name, seconds] : {std::pair("local_reorder", steps.local_reorder),
                                      {"on_node", steps.on_node},
                                      {"between_nodes", steps.between_nodes},
                                      {"local_transpose", steps.local_transpose},
                                      {"total", steps.total()}})
    file.records.push_back(record_of(line, "predicted", name, seconds));
}

Result<void> check_size(const std::string& size) {
  const std::size_t at = size.find('x');
  const auto number = [](const std::string& text) {
    return !text.empty() && text.size() < 8 && text.find_first_not_of("0123456789") == std::string::npos &&
           std::stoul(text) > 0 && std::stoul(text) <= 1UL << 20;
  };
  if (at != std::string::npos && number(size.substr(0, at)) && number(size.substr(at + 1))) return {};
  return fail(Errc::invalid, fmt::format("--size takes matrices of up to 1048576 rows and columns, such as "
                                         "1024x1024,1000x600; not '{}'",
                                         size));
}

Result<std::vector<std::string>> start(const StepsRequest& request) {
  launch::RanksRequest ranks{
      .launcher = request.launcher,
      .library = request.library,
      .program = "mpi-steps",
      .words = {"--passes", std::to_string(request.passes), "--threads", std::to_string(request.threads)},
      .lead = "{\"steps\":\"transpose\"",
      .lines = 2 * request.sizes.size(),
      .timeout_seconds = request.timeout_seconds};
  for (const std::string& size : request.sizes) {
    if (auto ok = check_size(size); !ok) return tl::unexpected(ok.error());
    ranks.words.push_back(size);
  }
  return run_on_ranks(ranks);
}

// The best of the panels that the method may have.
Result<TransposeSteps> forecast(const TransposeCosts& costs, const TransposeDemand& demand,
                                const TransposeWay& way) {
  auto ways = every_way(costs.network, costs.copying, demand);
  if (!ways) return tl::unexpected(ways.error());
  for (const TransposeForecast& one : *ways)  // the fastest first
    if (one.way.ranks == way.ranks && one.way.method == way.method) return one.steps;
  return predict(costs.network, costs.copying, demand, way);
}
}  // namespace

Result<BenchFile> steps_of_lines(const std::vector<std::string>& lines, const StepsForecast& predict) {
  BenchFile file;
  for (const std::string& one : lines) {
    try {
      const Line line = read_line(json::parse(one));
      const bool ours = line.method == method_name(TransposeMethod::one_pass);
      auto predicted = predict(
          line.demand(),
          {line.ranks, line.threads, ours ? TransposeMethod::one_pass : TransposeMethod::three_steps});
      if (!predicted) return tl::unexpected(predicted.error());
      add_measured(line, file);
      add_predicted(line, *predicted, file);
    } catch (const json::exception& error) {
      return fail(Errc::io, std::string("the ranks' report can't be read: ") + error.what());
    }
  }
  if (file.records.empty()) return fail(Errc::io, "the ranks printed no report of what they measured");
  return file;
}

Result<BenchFile> run_transpose_steps(const StepsRequest& request) {
  auto machine = load_this_machine();
  if (!machine) return tl::unexpected(machine.error());
  auto mask = sys::affinity();
  if (!mask) return tl::unexpected(mask.error());
  auto lines = start(request);
  if (!lines) return tl::unexpected(lines.error());
  const auto probe = load_probe(*machine);
  const auto mpi = load_mpi_probe(*machine);
  std::vector<std::string> rests_on;
  auto file = steps_of_lines(*lines, [&](const TransposeDemand& demand, const TransposeWay& way) {
    const TransposeCosts costs =
        transpose_costs(*machine, probe ? &*probe : nullptr, demand.cores, mpi ? &*mpi : nullptr);
    rests_on = costs.told;
    return forecast(costs, demand, way);
  });
  if (!file) return file;
  if (!probe && probe.error().sys_errno != ENOENT) rests_on.push_back(probe.error().message);
  if (!mpi && mpi.error().sys_errno != ENOENT) rests_on.push_back(mpi.error().message);
  file->machine = fingerprint(*machine, *mask, sys::Os());
  file->machine["where"] = fmt::format("ranks started by {}", fmt::join(request.launcher, " "));
  file->machine["rests_on"] = rests_on;
  return file;
}

std::string steps_table(const BenchFile& file) {
  std::string out;
  for (const auto& line : file.machine.value("rests_on", json::array()))
    out += line.get<std::string>() + '\n';
  std::string last;
  for (const BenchRecord& r : file.records) {
    if (r.subject != "measured") continue;
    if (const std::string now = r.case_name + ", " + r.teams; now != last) {
      out += fmt::format("\n{} ranks x threads\n{:>12}  {:<11}  {:<15}  {:>11}  {:>12}\n", now, "matrix",
                         "method", "step", "measured ms", "predicted ms");
      last = now;
    }
    const auto same = std::find_if(file.records.begin(), file.records.end(), [&](const BenchRecord& p) {
      return p.subject == "predicted" && p.shape == r.shape && p.runtime == r.runtime &&
             p.result == r.result && p.teams == r.teams;
    });
    const double said = same == file.records.end() ? 0 : same->value.median;
    out += fmt::format("{:>12}  {:<11}  {:<15}  {:>11.4g}  {:>12.4g}  {:+.1f} %\n", r.shape, r.runtime,
                       r.result, r.value.median, said, 100 * (said / r.value.median - 1));
  }
  return out;
}

}  // namespace nigh::benchmark
