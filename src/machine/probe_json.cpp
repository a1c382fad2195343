// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The stored form of a Probe (docs/probe.md). A cache file is read as sternly as any input: whatever is not
// as written there makes it one of "damaged", and the caller goes on without it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "machine/probe.hpp"

namespace nigh {

namespace {
using OrderedJson = nlohmann::ordered_json;
using probe::Figure;
using probe::Mix;
constexpr int version = 1;

double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

OrderedJson put(const Figure& figure) {
  return {{"median", rounded(figure.median)},
          {"low", rounded(figure.low)},
          {"high", rounded(figure.high)},
          {"samples", figure.samples},
          {"discarded", figure.discarded}};
}

OrderedJson put(const Probe::Bandwidth& b) {
  return {{"from", b.from},
          {"to", b.to},
          {"mix", mix_name(b.mix)},
          {"threads", b.threads},
          {"mb_per_s", put(b.mb_per_s)}};
}

OrderedJson put(const Probe::Latency& l) {
  OrderedJson out = {{"from", l.from}, {"to", l.to}, {"streams", l.streams}, {"ns", put(l.ns)}};
  if (l.stream_mb_per_s.known()) out["stream_mb_per_s"] = put(l.stream_mb_per_s);
  return out;
}

OrderedJson put(const Probe::Node& n) {
  return {{"node", n.node},
          {"pus", n.pus.to_list()},
          {"llc_bytes", n.llc_bytes},
          {"slice_bytes", n.slice_bytes},
          {"chase_bytes", n.chase_bytes},
          {"total_bytes", n.total_bytes},
          {"huge_bytes", n.huge_bytes}};
}

OrderedJson put(const Probe::Point& p) { return {{"threads", p.threads}, {"mb_per_s", put(p.mb_per_s)}}; }

OrderedJson put(const Probe::Scaling& s);
OrderedJson put(const Probe::Together& t);
OrderedJson put(const Probe::Size& s);
OrderedJson put(const Probe::CorePair& p);

template <class T>
OrderedJson put(const std::vector<T>& all) {
  OrderedJson out = OrderedJson::array();
  for (const T& one : all) out.push_back(put(one));
  return out;
}

OrderedJson put(const Probe::Scaling& s) {
  return {{"from", s.from}, {"to", s.to}, {"knee", s.knee}, {"points", put(s.points)}};
}
OrderedJson put(const Probe::Together& t) {
  return {{"name", t.name}, {"links", put(t.links)}, {"total", put(t.total)}};
}
OrderedJson put(const Probe::Size& s) {
  return {{"bytes", s.bytes}, {"level", s.level}, {"ns", put(s.ns)}, {"mb_per_s", put(s.mb_per_s)}};
}
OrderedJson put(const Probe::CorePair& p) { return {{"a", p.a}, {"b", p.b}, {"ns", put(p.ns)}}; }

// Reading. The json library throws on a wrong type or a missing key; probe_from_json turns that into an
// Error.
void get(const OrderedJson& j, Figure& f) {
  f = {j.at("median"), j.at("low"), j.at("high"), j.at("samples"), j.at("discarded")};
  bool sane = f.samples >= 1 && f.low >= 0 && f.low <= f.median && f.median <= f.high && f.high < 1e15;
  if (!sane) throw std::invalid_argument("a figure is not low <= median <= high of at least one sample");
}

void get(const OrderedJson& j, CpuSet& set) {
  auto parsed = CpuSet::parse(j.get<std::string>());
  if (!parsed) throw std::invalid_argument(parsed.error().message);
  set = *parsed;
}

Mix mix_of(const std::string& name) {
  for (Mix mix : {Mix::read, Mix::two_to_one, Mix::one_to_one})
    if (name == mix_name(mix)) return mix;
  throw std::invalid_argument("there is no mix \"" + name + "\"");
}

void get(const OrderedJson& j, Probe::Bandwidth& b) {
  b = {j.at("from"), j.at("to"), j.at("threads"), mix_of(j.at("mix")), {}};
  get(j.at("mb_per_s"), b.mb_per_s);
}

void get(const OrderedJson& j, Probe::Latency& l) {
  l = {j.at("from"), j.at("to"), j.at("streams"), {}, {}};
  get(j.at("ns"), l.ns);
  if (j.contains("stream_mb_per_s")) get(j.at("stream_mb_per_s"), l.stream_mb_per_s);
}

void get(const OrderedJson& j, Probe::Node& n) {
  n.node = j.at("node");
  get(j.at("pus"), n.pus);
  n.llc_bytes = j.at("llc_bytes");
  n.slice_bytes = j.at("slice_bytes");
  n.chase_bytes = j.at("chase_bytes");
  n.total_bytes = j.at("total_bytes");
  n.huge_bytes = j.at("huge_bytes");
}

void get(const OrderedJson& j, Probe::Point& p) {
  p.threads = j.at("threads");
  get(j.at("mb_per_s"), p.mb_per_s);
}

void get(const OrderedJson& j, Probe::Scaling& s);
void get(const OrderedJson& j, Probe::Together& t);
void get(const OrderedJson& j, Probe::Size& s);
void get(const OrderedJson& j, Probe::CorePair& p);

template <class T>
void get(const OrderedJson& j, std::vector<T>& all) {
  if (!j.is_array()) throw std::invalid_argument("a list is missing");
  for (const OrderedJson& one : j) get(one, all.emplace_back());
}

void get(const OrderedJson& j, Probe::Scaling& s) {
  s = {j.at("from"), j.at("to"), j.at("knee"), {}};
  get(j.at("points"), s.points);
}

void get(const OrderedJson& j, Probe::Together& t) {
  t.name = j.at("name");
  get(j.at("links"), t.links);
  get(j.at("total"), t.total);
}

void get(const OrderedJson& j, Probe::Size& s) {
  s.bytes = j.at("bytes");
  s.level = j.at("level");
  get(j.at("ns"), s.ns);
  get(j.at("mb_per_s"), s.mb_per_s);
}

void get(const OrderedJson& j, Probe::CorePair& p) {
  p.a = j.at("a");
  p.b = j.at("b");
  get(j.at("ns"), p.ns);
}

void get(const OrderedJson& j, Probe& p) {
  p.topology = j.at("topology");
  p.date = j.at("date");
  p.kernel = j.at("kernel");
  p.cpu = j.at("cpu");
  p.vectors = j.at("vectors");
  p.quick = j.at("mode") == "quick";
  p.seconds = j.at("seconds");
  get(j.at("pus"), p.pus);
  get(j.at("nodes"), p.nodes);
  get(j.at("bandwidth"), p.bandwidth);
  get(j.at("latency"), p.latency);
  get(j.at("scaling"), p.scaling);
  get(j.at("together"), p.together);
  get(j.at("sizes"), p.sizes);
  get(j.at("core_pairs"), p.core_pairs);
  j.at("contradictions").get_to(p.contradictions);
  j.at("notes").get_to(p.notes);
}
}  // namespace

std::string probe_to_json(const Probe& p) {
  OrderedJson out = {{"format", "nigh-probe"},
                     {"version", version},
                     {"topology", p.topology},
                     {"date", p.date},
                     {"kernel", p.kernel},
                     {"cpu", p.cpu},
                     {"vectors", p.vectors},
                     {"mode", p.quick ? "quick" : "full"},
                     {"seconds", rounded(p.seconds)},
                     {"pus", p.pus.to_list()},
                     {"nodes", put(p.nodes)},
                     {"bandwidth", put(p.bandwidth)},
                     {"latency", put(p.latency)},
                     {"scaling", put(p.scaling)},
                     {"together", put(p.together)},
                     {"sizes", put(p.sizes)},
                     {"core_pairs", put(p.core_pairs)},
                     {"contradictions", p.contradictions},
                     {"notes", p.notes}};
  return out.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

Result<Probe> probe_from_json(std::string_view text, const std::string& where) {
  OrderedJson j = OrderedJson::parse(text, nullptr, false);
  if (j.is_discarded() || !j.is_object() || !j.contains("format") || j["format"] != "nigh-probe")
    return fail(Errc::invalid,
                where + " is not a nigh-probe file; it is ignored, measure again with nigh machine --probe");
  if (!j.contains("version") || j["version"] != version)
    return fail(Errc::invalid,
                fmt::format("{} has another version than {}; it is ignored, measure again with nigh "
                            "machine --probe",
                            where, version));
  try {
    Probe probe;
    get(j, probe);
    return probe;
  } catch (const std::exception& error) {
    return fail(Errc::invalid,
                fmt::format("{} is damaged ({}); it is ignored, measure again with nigh machine --probe",
                            where, error.what()));
  }
}

}  // namespace nigh
