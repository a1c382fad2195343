// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/plan_transpose.hpp"
#include "benchmark/transpose_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/commands.hpp"
#include "cli/numbers.hpp"
#include "machine/draw.hpp"
#include "plan/transpose_costs.hpp"
#include "plan/transpose_model.hpp"

namespace nigh::cli {

namespace {
using Document = nlohmann::ordered_json;

struct ElementType {
  const char* name;
  int bytes;
  double words_of_point;  // 8-byte words that a point of the FFT has; of real types: of the complex one
};
constexpr ElementType element_types[] = {
    {"double", 8, 2}, {"float", 4, 1}, {"complex", 16, 2}, {"complex-float", 8, 1}};

struct TransposePlan {
  const Machine& machine;
  const TransposeOptions& options;
  ElementType type = element_types[0];
  TransposeDemand demand{};
  TransposeCosts costs{};
  std::vector<TransposeForecast> ways{};
};

bool read_number(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out > 0;
}

Result<void> read_size(const std::string& text, TransposeDemand& out) {
  const std::size_t at = text.find_first_of("xX");
  if (at == std::string::npos || !read_number(std::string_view(text).substr(0, at), out.rows) ||
      !read_number(std::string_view(text).substr(at + 1), out.columns))
    return fail(Errc::invalid,
                fmt::format("--transpose: '{}' is not a matrix; expected rows and columns, such as 1000x2000",
                            printable(text)));
  return {};
}

Result<ElementType> read_type(const std::string& name) {
  std::string names;
  for (const ElementType& type : element_types) {
    if (name == type.name) return type;
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  }
  return fail(Errc::invalid, fmt::format("--type: there is no '{}'; use one of {}", printable(name), names));
}

Result<TransposePlan> make_transpose_plan(const TransposeOptions& options, const Machine& machine,
                                          const Probe* probe, const MpiProbe* mpi) {
  TransposePlan plan{machine, options};
  if (auto ok = read_size(options.size, plan.demand); !ok) return tl::unexpected(ok.error());
  auto type = read_type(options.type);
  if (!type) return tl::unexpected(type.error());
  plan.type = *type;
  plan.demand.element_bytes = type->bytes;
  plan.demand.nodes = options.nodes;
  plan.demand.cores = options.cores > 0 ? options.cores : std::max(machine.count(Kind::core), 1);
  plan.costs = transpose_costs(machine, probe, plan.demand.cores, mpi);
  auto ways = every_way(plan.costs.network, plan.costs.copying, plan.demand);
  if (!ways) return tl::unexpected(ways.error());
  plan.ways = *std::move(ways);
  return plan;
}

std::pair<int, TransposeMethod> kind_of(const TransposeForecast& forecast) {
  return {forecast.way.ranks, forecast.way.method};
}

// The fastest number of panels for each choice of ranks, threads and method; in order of ranks, then method.
std::vector<TransposeForecast> best_panels(const std::vector<TransposeForecast>& ways) {
  std::vector<TransposeForecast> out;
  for (const TransposeForecast& one : ways)  // the fastest first, so the first of its kind stays
    if (std::none_of(out.begin(), out.end(),
                     [&](const TransposeForecast& other) { return kind_of(other) == kind_of(one); }))
      out.push_back(one);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return kind_of(a) < kind_of(b); });
  return out;
}

double fft_of(const TransposePlan& plan, const TransposeDemand& demand, double seconds) {
  return fft_speed(static_cast<double>(demand.rows) * static_cast<double>(demand.columns), plan.options.flops,
                   plan.type.words_of_point, transpose_speed(demand, seconds));
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.{}f}", seconds * 1e3, seconds < 1 ? 3 : 0);
}

std::string transpose_table(const TransposePlan& plan) {
  const bool fft = plan.options.flops > 0;
  std::string out = fmt::format("{:>5}  {:>7}  {:<11}  {:>6}", "ranks", "threads", "method", "panels");
  for (const char* name : {"reorder", "on node", "between", "transpose", "sync", "overlap", "total ms"})
    out += fmt::format("  {:>9}", name);
  out += fmt::format("  {:>8}{}\n", "Mword/s", fft ? "  FFT Mflop/s" : "");
  for (const auto& [way, steps] : plan.options.all ? plan.ways : best_panels(plan.ways)) {
    out += fmt::format("{:>5}  {:>7}  {:<11}  {:>6}", way.ranks, way.threads, method_name(way.method),
                       way.panels);
    for (const double seconds :
         {steps.local_reorder, steps.on_node, steps.between_nodes, steps.local_transpose,
          steps.synchronisation, -steps.overlapped, steps.total()})
      out += fmt::format("  {:>9}", seconds == 0 ? "-" : milliseconds(seconds));
    out += fmt::format("  {:>8.4g}", transpose_speed(plan.demand, steps.total()));
    if (fft) out += fmt::format("  {:>11.4g}", fft_of(plan, plan.demand, steps.total()));
    out += '\n';
  }
  return out;
}

// The gain by the method, apart from ranks x threads.
std::string against_three_steps(const std::vector<TransposeForecast>& ways) {
  const auto seed = std::find_if(ways.begin(), ways.end(), [](const TransposeForecast& f) {
    return f.way.method == TransposeMethod::three_steps;
  });
  if (seed == ways.end() || seed == ways.begin()) return "";
  return fmt::format("{:.1f} times as fast as {}, the best of the three steps\n",
                     seed->steps.total() / ways.front().steps.total(), way_text(seed->way));
}

void print_transpose(const TransposePlan& plan) {
  const TransposeDemand& d = plan.demand;
  const std::string name = plan.machine.title.empty() ? plan.machine.name : plan.machine.title;
  std::string out = fmt::format("{} x {} {}, {:.4g} MB, {} node{} x {} core{}: {}\n", d.rows, d.columns,
                                plan.type.name, d.bytes() * 1e-6, d.nodes, d.nodes == 1 ? "" : "s", d.cores,
                                d.cores == 1 ? "" : "s", printable(name));
  for (const std::string& line : plan.costs.told) out += line + '\n';
  out += "predicted, ms of each step; Mword/s: 8-byte words transposed by a node\n\n" + transpose_table(plan);
  out += "\nbest: " + why_best(plan.ways) + '\n' + against_three_steps(plan.ways);
  std::fputs(out.c_str(), stdout);
}

Document forecast_document(const TransposePlan& plan, const TransposeDemand& demand,
                           const TransposeForecast& forecast) {
  const auto& [way, steps] = forecast;
  Document out = benchmark::way_document(way, steps);
  out["mwords_per_s"] = transpose_speed(demand, steps.total());
  if (plan.options.flops > 0) out["fft_mflops"] = fft_of(plan, demand, steps.total());
  return out;
}

// Points that can't be (a matrix smaller than the ranks) are left out.
void add_points(const TransposePlan& plan, const TransposeDemand& demand, const Document& at, Document& out) {
  auto ways = every_way(plan.costs.network, plan.costs.copying, demand);
  if (!ways) return;
  for (const TransposeForecast& forecast : best_panels(*ways)) {
    Document point = at;
    point.update(forecast_document(plan, demand, forecast));
    out.push_back(std::move(point));
  }
}

// Haan's pictures (slides 17 to 22) for these figures: the steps over the size of a square matrix, over the
// number of nodes, and over both.
Document curves(const TransposePlan& plan) {
  Document sizes = Document::array(), nodes = sizes, grid = sizes;
  for (const int count : benchmark::transpose_nodes) {
    TransposeDemand demand = plan.demand;
    demand.nodes = count;
    add_points(plan, demand, {{"nodes", count}}, nodes);
    for (const std::uint64_t side : benchmark::transpose_sides) {
      demand.rows = demand.columns = side;
      add_points(plan, demand, {{"side", side}, {"nodes", count}}, grid);
    }
  }
  for (const std::uint64_t side : benchmark::transpose_sides) {
    TransposeDemand demand = plan.demand;
    demand.rows = demand.columns = side;
    add_points(plan, demand, {{"side", side}}, sizes);
  }
  return {{"sizes", std::move(sizes)}, {"nodes", std::move(nodes)}, {"grid", std::move(grid)}};
}

void print_transpose_document(const TransposePlan& plan) {
  const TransposeDemand& d = plan.demand;
  Document out = {{"format", "nigh-transpose"},
                  {"version", 1},
                  {"machine", printable(plan.machine.name)},
                  {"rows", d.rows},
                  {"columns", d.columns},
                  {"type", plan.type.name},
                  {"nodes", d.nodes},
                  {"cores", d.cores},
                  {"rests_on", plan.costs.told},
                  {"why", why_best(plan.ways)}};
  auto& ways = out["ways"] = Document::array();
  for (const TransposeForecast& forecast : plan.ways) ways.push_back(forecast_document(plan, d, forecast));
  if (plan.options.curves) out["curves"] = curves(plan);
  std::fputs((out.dump(1) + '\n').c_str(), stdout);
}
}  // namespace

CLI::Option* add_transpose_options(CLI::App& command, const std::shared_ptr<TransposeOptions>& options) {
  auto* transpose = command.add_option(
      "--transpose", options->size, "A matrix, rows x columns, that nodes transpose together: 10000x10000");
  command
      .add_option("--cores", options->cores, "Cores of a node that work on it; default: all of the machine")
      ->check(CLI::Range(1, 65536))
      ->needs(transpose);
  command.add_option("--type", options->type, "double, float, complex or complex-float")->needs(transpose);
  command
      .add_option("--flops", options->flops,
                  "Mflop/s of a node: what a 2-D FFT by this transpose would reach")
      ->check(number_from(1e-3, 1e12))
      ->needs(transpose);
  command
      .add_flag("--curves", options->curves,
                "With --json: the steps over sizes and over numbers of nodes, too")
      ->needs(transpose);
  return transpose;
}

Result<BestTranspose> best_transpose(const TransposeOptions& options, const Machine& machine,
                                     const Probe* probe, const MpiProbe* mpi) {
  auto plan = make_transpose_plan(options, machine, probe, mpi);
  if (!plan) return tl::unexpected(plan.error());
  const TransposeWay& way = plan->ways.front().way;
  BestTranspose out{way.ranks, way.threads, why_best(plan->ways), ""};
  for (const std::string& line : plan->costs.told) out.table += line + '\n';
  out.table += transpose_table(*plan);
  return out;
}

int run_transpose_plan(const TransposeOptions& options, const Machine& machine, const Probe* probe,
                       const MpiProbe* mpi) {
  if (!std::isfinite(options.flops))
    return report_failure("plan", "--flops takes a number of Mflop/s, such as 800");
  auto plan = make_transpose_plan(options, machine, probe, mpi);
  if (!plan) return report_failure("plan", plan.error().message);
  if (options.json)
    print_transpose_document(*plan);
  else
    print_transpose(*plan);
  return 0;
}

}  // namespace nigh::cli
