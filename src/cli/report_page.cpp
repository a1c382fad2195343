// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/bench_catalog.hpp"
#include "cli/bench_model.hpp"
#include "cli/bench_table.hpp"
#include "cli/bench_transpose.hpp"
#include "cli/report_steps.hpp"
#include "cli/report_style.hpp"
#include "machine/draw.hpp"
#include "plan/nested.hpp"

namespace nigh::cli {

namespace {

std::string dotted(const std::vector<int>& path) {
  std::string out;
  for (int index : path) out += (out.empty() ? "" : ".") + std::to_string(index);
  return out;
}

// As `nigh plan` marks its picture: the first thread on a PU, "+1" for each further one.
PuMarks marks_of(const Machine& machine, const CpuSet& mask, const std::vector<PlannedThread>& threads) {
  PuMarks marks;
  std::map<int, int> count;
  for (int pu : machine.pus().minus(mask).members()) marks[pu] = {"", -1};
  for (const PlannedThread& thread : threads)
    if (++count[thread.pu] == 1)
      marks[thread.pu] = {dotted(thread.path), thread.path.size() > 1 ? thread.path.front() : 0};
  for (auto& [pu, mark] : marks)
    if (count[pu] > 1) mark.text += "+" + std::to_string(count[pu] - 1);
  return marks;
}

Markup figure(const Markup& svg, const Markup& caption) {
  return markup("<figure><div class=\"pic\">{}</div><figcaption>{}</figcaption></figure>\n", svg, caption);
}

Markup pictures(const std::vector<PlanPicture>& plans) {
  Markup out("<div class=\"gallery\">\n");
  for (const PlanPicture& plan : plans)
    out += figure(plan.svg, markup("<code>{}</code>. {}", plan.spec, plan.caption));
  return out + "</div>\n";
}

// How nigh compares with unbound over all headline cases of a benchmark: not its best case.
std::vector<double> ratios_of(const BenchFile& file, const std::string& bench) {
  std::vector<double> out;
  for (const BenchRecord& r : file.records)
    if (r.bench == bench && r.subject == "nigh" && r.ratio && is_headline(r)) out.push_back(r.ratio->median);
  return out;
}

struct Totals {
  std::size_t records = 0, verified = 0, runs = 0;
};

// A run of a program gives one sample to each of its results.
Totals totals_of(const std::vector<BenchFile>& files) {
  Totals out;
  for (const BenchFile& file : files) {
    if (says(file.machine, "computed")) continue;
    std::map<std::string, int> runs;
    for (const BenchRecord& r : file.records) {
      ++out.records;
      out.verified += r.verified ? 1 : 0;
      runs[r.bench + r.runtime + r.teams + r.subject + r.core_state] = r.samples;
    }
    for (const auto& [key, count] : runs) out.runs += static_cast<std::size_t>(count);
  }
  return out;
}

Markup fact(const std::string& figure, const std::string& words) {
  return markup("<div><b>{}</b><span>{}</span></div>\n", figure, words);
}

Markup facts(const ReportParts& parts) {
  Usable usable = usable_part(parts.machine, parts.mask);
  Markup out("<div class=\"facts\">\n");
  out += fact(fmt::format("{}", usable.cores), fmt::format("cores to use, {} PUs", usable.pus.size()));
  std::size_t nodes = parts.machine.node_count();
  out += fact(fmt::format("{}", nodes), nodes == 1 ? "NUMA node" : "NUMA nodes");
  if (Totals t = totals_of(parts.benches); t.records > 0) {
    out += fact(fmt::format("{}", t.runs), "runs of programs, in turn");
    out += fact(fmt::format("{} of {}", t.verified, t.records), "records numerically verified");
  }
  return out + "</div>\n";
}

Markup head(const ReportParts& parts) {
  const std::string& name = parts.machine.title.empty() ? parts.machine.name : parts.machine.title;
  return markup(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">"
      "<title>nigh: {0}</title><style>{1}</style></head>\n<body><main>\n<header><h1>Near, on {0}</h1>\n"
      "<p class=\"lead\">Where the threads of nested OpenMP programs belong on this machine, "
      "where they were seen, and what it was worth. Made by <code>nigh report</code> on {2}.</p></header>\n",
      name, Markup(report_style), parts.date);
}

Markup navigation(const ReportParts& parts) {
  Markup out("<nav><a href=\"#machine\">Machine</a><a href=\"#plans\">Plans</a>");
  if (!model_section(parts.benches).empty()) out += "<a href=\"#placement\">Asymmetric links</a>";
  for (const BenchFile& file : parts.benches)
    if (!transpose_model_html(file).empty()) out += "<a href=\"#transpose\">Transpose</a>";
  for (const BenchFile& file : parts.benches)
    if (!transpose_steps_html(file).empty()) out += "<a href=\"#steps\">Transpose, measured</a>";
  if (!parts.benches.empty()) out += "<a href=\"#benchmarks\">Benchmarks</a>";
  if (!parts.traces.empty()) out += "<a href=\"#traces\">Over time</a>";
  if (parts.peers) out += "<a href=\"#peers\">Other ways to bind</a>";
  if (!parts.account.empty()) out += "<a href=\"#account\">A run's account</a>";
  return out + "</nav>\n";
}

}  // namespace

Result<PlanPicture> picture_plan(const Machine& machine, const CpuSet& mask, const std::string& spec) {
  auto plan = NestedPlan::make(machine, mask, spec);
  if (!plan) return tl::unexpected(plan.error());
  auto threads = expand(*plan, 0);
  if (!threads) return tl::unexpected(threads.error());
  std::string caption = fmt::format("{} threads on {} of {} PUs.", threads->size(),
                                    (machine.pus() & mask).count(), machine.pus().count());
  return PlanPicture{spec, caption, draw_svg(machine, marks_of(machine, mask, *threads))};
}

Markup machine_section(const ReportParts& parts) {
  Markup out("<h2 id=\"machine\">The machine</h2>\n");
  out += markup("<p>{}. Allowed: PUs {}.</p>\n", parts.machine.summary(),
                (parts.mask & parts.machine.pus()).to_list());
  PuMarks off;
  for (int pu : parts.machine.pus().minus(parts.mask).members()) off[pu] = {"", -1};
  out += figure(draw_svg(parts.machine, off),
                {"Boxes hold what is inside them; numbers are the operating system's."});
  std::string matrices = draw_matrices(parts.machine);
  if (!matrices.empty())
    out += markup("<h3>From node to node, and how that is known</h3>\n<pre>{}</pre>\n", matrices);
  if (parts.machine.node_count() < 2)
    out +=
        "<p class=\"note\">One NUMA node: all memory is equally near, so first touch and the choice of node "
        "can't "
        "matter here, and nothing below shows what they are worth. What binding can change on such a machine "
        "is "
        "whether threads share a core and whether they move.</p>\n";
  for (const std::string& note : parts.machine.notes) out += markup("<p class=\"note\">{}</p>\n", note);
  return out;
}

Markup plan_section(const ReportParts& parts) {
  Markup out(
      "<h2 id=\"plans\">The plans</h2>\n<p>A label <code>2.3</code> is thread 3 of the team that thread 2 "
      "opened; a colour is a team; <code>+1</code> says that one more thread shares the PU.</p>\n");
  if (!parts.plans_here.empty()) out += markup("<h3>On this machine</h3>\n{}", pictures(parts.plans_here));
  if (!parts.plans_elsewhere.empty())
    out += markup(
        "<h3>The same planner on machines we do not have</h3>\n{}<p class=\"note\">Planned from models, by "
        "the "
        "same code; nothing was timed on these machines.</p>\n",
        pictures(parts.plans_elsewhere));
  return out;
}

Markup report_page(const ReportParts& parts) {
  Markup out = head(parts) + navigation(parts) + facts(parts) + machine_section(parts) + plan_section(parts);
  out += model_section(parts.benches);
  for (const BenchFile& file : parts.benches) out += transpose_model_html(file) + transpose_steps_html(file);
  std::vector<BenchFile> timed;
  for (const BenchFile& file : parts.benches)
    if (!says(file.machine, "computed") && transpose_steps_html(file).empty()) timed.push_back(file);
  if (!timed.empty()) out += bench_section(timed);
  if (!parts.traces.empty()) out += trace_section(parts.traces);
  if (parts.peers) out += peers_section(*parts.peers);
  if (!parts.account.empty())
    out += markup(
        "<h2 id=\"account\">A run's account</h2>\n<p>What <code>nigh run --explain</code> "
        "saw.</p>\n<pre>{}</pre>\n",
        parts.account);
  return out + markup("<footer>nigh " NIGH_VERSION
                      ", {}. This file is complete: no script, nothing "
                      "fetched.</footer>\n</main></body></html>\n",
                      parts.date);
}

std::string report_summary(const ReportParts& parts) {
  std::string out = parts.machine.summary() + "\n";
  Totals t = totals_of(parts.benches);
  if (t.records > 0)
    out += fmt::format("{} records from {} runs, {}\n", t.records, t.runs,
                       t.records == t.verified ? "all numerically verified"
                                               : fmt::format("{} of them WRONG", t.records - t.verified));
  for (const BenchFile& file : parts.benches)
    for (const BenchKind& kind : bench_kinds())
      if (auto ratios = ratios_of(file, kind.name); !ratios.empty()) {
        Spread all = spread_of(ratios);
        out += fmt::format("{:<16} nigh against {}: {:.2f} times, median of {} cases ({:.2f} to {:.2f})\n",
                           kind.name, kind.baseline(), all.median, ratios.size(), all.low, all.high);
      }
  std::size_t absent = 0;
  out += model_summary(parts.benches);
  for (const BenchFile& file : parts.benches) absent += file.absent.size();
  if (absent > 0)
    out += fmt::format("{} subject{} could not be measured; the page says why\n", absent,
                       absent == 1 ? "" : "s");
  return out;
}

}  // namespace nigh::cli
