// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Phases come in the order of their worth to a plan, since --quick stops when its time is over: scaling (how
// many threads a link takes), the read matrix, idle latencies; then on several nodes all links together, on
// one node its cores and caches; then mixes, loaded latencies and pairs in both directions.
#include "machine/probe_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "machine/probe_rounds.hpp"

namespace nigh::probe {

Pace quick_pace() { return {20, 0.002, 0.04, 5, 5, 0.1, 64, 1, false}; }
Pace full_pace() { return {}; }

namespace {

class Programme {
 public:
  Programme(Lab& lab, const Layout& layout, const Pace& pace, const ProbeOptions& options, double started)
      : lab_(lab), layout_(layout), pace_(pace), rounds_(lab, pace, options, started) {
    for (std::size_t i = 0; i < layout.nodes.size(); ++i) {
      if (!layout.nodes[i].pus.empty()) from_.push_back(i);
      if (layout.nodes[i].sizes.slice > 0) to_.push_back(i);
    }
    for (std::size_t i : from_)
      if (layout.nodes[i].sizes.slice > 0) both_.push_back(i);
  }
  Result<Probe> run();

 private:
  struct Phase {
    std::string name;
    std::size_t samples;
    Result<void> (Programme::*body)();
  };
  struct Link {
    std::size_t from, to;
  };
  using Values = Result<std::vector<double>>;

  std::vector<Phase> phases();
  [[nodiscard]] std::size_t times(std::size_t n) const { return n * static_cast<std::size_t>(pace_.samples); }
  [[nodiscard]] const NodeShare& node(std::size_t i) const { return layout_.nodes[i]; }
  [[nodiscard]] std::vector<Link> links() const;
  [[nodiscard]] std::vector<Link> ladder_links() const;
  [[nodiscard]] int threads(Link link) const;
  [[nodiscard]] std::vector<Stream> jobs(Link link, int threads, Mix mix, int first = 0) const;
  [[nodiscard]] std::vector<WorkingSet> sets() const;
  Trial stream_trial(Link link, int threads, Mix mix);

  Result<void> scaling();
  Result<void> scale(Link link);
  Result<void> matrix(Mix mix);
  Result<void> read() { return matrix(Mix::read); }
  Result<void> two_to_one() { return matrix(Mix::two_to_one); }
  Result<void> one_to_one() { return matrix(Mix::one_to_one); }
  Result<void> latency(bool loaded);
  Result<void> idle() { return latency(false); }
  Result<void> loaded() { return latency(true); }
  Result<void> both_directions();
  Result<void> whole_sets();
  Result<void> together(const std::vector<std::pair<std::string, std::vector<Link>>>& groups);
  Result<void> cores();
  Result<void> sizes();

  Lab& lab_;
  const Layout& layout_;
  const Pace& pace_;
  Rounds rounds_;
  Probe probe_;
  std::vector<std::size_t> from_, to_, both_;  // nodes that access, whose memory is accessed, that do both
};

std::vector<Programme::Link> Programme::links() const {
  std::vector<Link> out;
  for (std::size_t i : from_)
    for (std::size_t j : to_) out.push_back({i, j});
  return out;
}

std::vector<Programme::Link> Programme::ladder_links() const {
  if (pace_.all_ladders) return links();
  std::vector<Link> out;
  for (std::size_t i : both_) out.push_back({i, i});
  return out;
}

// The number of threads that got most out of that link, else all the node has.
int Programme::threads(Link link) const {
  for (const Probe::Scaling& s : probe_.scaling) {
    if (s.from != node(link.from).node || s.to != node(link.to).node || s.points.empty()) continue;
    return std::max_element(
               s.points.begin(), s.points.end(),
               [](const auto& a, const auto& b) { return a.mb_per_s.median < b.mb_per_s.median; })
        ->threads;
  }
  return static_cast<int>(node(link.from).pus.size());
}

std::vector<Stream> Programme::jobs(Link link, int threads, Mix mix, int first) const {
  std::vector<Stream> out;
  for (auto k = static_cast<std::size_t>(first); k < static_cast<std::size_t>(threads); ++k)
    out.push_back({node(link.from).pus[k], link.to, k, mix});
  return out;
}

Trial Programme::stream_trial(Link link, int threads, Mix mix) {
  return {[this, work = jobs(link, threads, mix)](double seconds) -> Values {
            auto rates = lab_.stream(work, seconds);
            if (!rates) return rates;
            double sum = 0;
            for (double rate : *rates) sum += rate;
            return std::vector<double>{sum};
          },
          {},
          0};
}

Result<void> Programme::scaling() {
  for (Link link : ladder_links())
    if (auto done = scale(link); !done) return done;
  return {};
}

// All threads are measured even when the knee comes earlier: "all cores" is what a plan asks for.
Result<void> Programme::scale(Link link) {
  Probe::Scaling out{node(link.from).node, node(link.to).node, 0, {}};
  Knee knee;
  std::vector<int> ladder = thread_ladder(static_cast<int>(node(link.from).pus.size()));
  for (int count : ladder) {
    if (knee.done() && count != ladder.back()) continue;
    std::vector<Trial> trial{stream_trial(link, count, Mix::read)};
    if (auto done = rounds_.take(trial); !done) return done;
    Figure figure = trial[0].figure();
    if (!figure.known()) continue;
    knee.add(count, figure.median);
    out.points.push_back({count, figure});
  }
  out.knee = knee.at();
  if (!out.points.empty()) probe_.scaling.push_back(out);
  return {};
}

Result<void> Programme::matrix(Mix mix) {
  std::vector<Link> all = links();
  std::vector<Trial> trials;
  for (Link link : all) trials.push_back(stream_trial(link, threads(link), mix));
  auto done = rounds_.take(trials);
  for (std::size_t k = 0; k < all.size(); ++k)
    if (Figure figure = trials[k].figure(); figure.known())
      probe_.bandwidth.push_back(
          {node(all[k].from).node, node(all[k].to).node, threads(all[k]), mix, figure});
  return done;
}

Result<void> Programme::latency(bool with_load) {
  std::vector<Link> all;
  std::vector<Trial> trials;
  for (Link link : links()) {
    const NodeShare& from = node(link.from);
    int count = with_load ? static_cast<int>(from.pus.size()) : 1;
    if (with_load && count < 2) continue;
    all.push_back(link);
    trials.push_back({[this, link, pu = from.pus[0], beside = jobs(link, count, Mix::read, 1)](
                          double seconds) { return lab_.chase(pu, link.to, beside, seconds); },
                      {},
                      0});
  }
  auto done = rounds_.take(trials);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (!trials[k].figure().known()) continue;
    int streams = with_load ? static_cast<int>(node(all[k].from).pus.size()) - 1 : 0;
    probe_.latency.push_back({node(all[k].from).node, node(all[k].to).node, streams, trials[k].figure(),
                              with_load ? trials[k].figure(1) : Figure{}});
  }
  return done;
}

Result<void> Programme::both_directions() {
  std::vector<std::pair<std::string, std::vector<Link>>> groups;
  for (auto [a, b] : pick_pairs(static_cast<int>(both_.size()), ~std::size_t{0})) {
    std::size_t i = both_[static_cast<std::size_t>(a)], j = both_[static_cast<std::size_t>(b)];
    groups.push_back({fmt::format("{} and {} at each other", node(i).node, node(j).node), {{i, j}, {j, i}}});
  }
  return together(groups);
}

// Shift k: every node on the memory of the k-th after it, all at once, so that links shared by several pairs
// show.
Result<void> Programme::whole_sets() {
  std::vector<std::pair<std::string, std::vector<Link>>> groups;
  std::size_t n = both_.size(), shifts = pace_.all_ladders ? n : std::min<std::size_t>(n, 2);
  for (std::size_t k = 0; k < shifts; ++k) {
    std::vector<Link> set;
    for (std::size_t i = 0; i < n; ++i) set.push_back({both_[i], both_[(i + k) % n]});
    groups.emplace_back(k == 0 ? "all on their own memory" : fmt::format("all on the memory of node +{}", k),
                        set);
  }
  return together(groups);
}

Result<void> Programme::together(const std::vector<std::pair<std::string, std::vector<Link>>>& groups) {
  std::vector<Trial> trials;
  for (const auto& [name, set] : groups)
    trials.push_back({[this, &set = set](double seconds) -> Values {
                        std::vector<Stream> work;
                        std::vector<std::size_t> owner;
                        for (std::size_t l = 0; l < set.size(); ++l)
                          for (const Stream& job : jobs(set[l], threads(set[l]), Mix::read)) {
                            work.push_back(job);
                            owner.push_back(l + 1);
                          }
                        auto rates = lab_.stream(work, seconds);
                        if (!rates) return rates;
                        std::vector<double> sums(set.size() + 1, 0);
                        for (std::size_t k = 0; k < rates->size(); ++k) {
                          sums[owner[k]] += (*rates)[k];
                          sums[0] += (*rates)[k];
                        }
                        return sums;
                      },
                      {},
                      0});
  auto done = rounds_.take(trials);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!trials[g].figure().known()) continue;
    Probe::Together out{groups[g].first, {}, trials[g].figure()};
    for (std::size_t l = 0; l < groups[g].second.size(); ++l) {
      Link link = groups[g].second[l];
      out.links.push_back(
          {node(link.from).node, node(link.to).node, threads(link), Mix::read, trials[g].figure(l + 1)});
    }
    probe_.together.push_back(out);
  }
  return done;
}

Result<void> Programme::cores() {
  std::vector<int> pus = layout_.pus();
  auto pairs = pick_pairs(static_cast<int>(pus.size()), pace_.most_pairs);
  std::size_t all = pus.size() * (pus.size() - 1) / 2;
  if (pairs.size() < all)
    probe_.notes.push_back(
        fmt::format("core-to-core latency: a sample of {} of {} pairs", pairs.size(), all));
  std::vector<Trial> trials;
  for (auto [a, b] : pairs)
    trials.push_back({[this, x = pus[static_cast<std::size_t>(a)], y = pus[static_cast<std::size_t>(b)]](
                          double seconds) { return lab_.ping_pong(x, y, seconds); },
                      {},
                      0});
  auto done = rounds_.take(trials);
  for (std::size_t k = 0; k < pairs.size(); ++k)
    if (Figure figure = trials[k].figure(); figure.known())
      probe_.core_pairs.push_back({pus[static_cast<std::size_t>(pairs[k].first)],
                                   pus[static_cast<std::size_t>(pairs[k].second)], figure});
  return done;
}

std::vector<WorkingSet> Programme::sets() const {
  if (both_.empty() || layout_.caches.empty()) return {};
  return working_sets(layout_.caches, node(both_[0]).chain_bytes, pace_.sizes_per_octave);
}

Result<void> Programme::sizes() {
  std::vector<WorkingSet> all = sets();
  std::vector<Trial> trials;
  for (const WorkingSet& set : all)
    trials.push_back({[this, pu = node(both_[0]).pus[0], bytes = set.bytes](double seconds) {
                        return lab_.working_set(pu, bytes, seconds);
                      },
                      {},
                      0});
  auto done = rounds_.take(trials, false);
  for (std::size_t k = 0; k < all.size(); ++k)
    if (trials[k].figure().known())
      probe_.sizes.push_back({all[k].bytes, all[k].level, trials[k].figure(0), trials[k].figure(1)});
  return done;
}

std::vector<Programme::Phase> Programme::phases() {
  std::size_t n = links().size(), rungs = 0, load = 0, pus = layout_.pus().size(), m = both_.size();
  for (Link link : ladder_links())
    rungs += thread_ladder(static_cast<int>(node(link.from).pus.size())).size();
  for (Link link : links()) load += node(link.from).pus.size() > 1 ? 1 : 0;
  std::size_t pairs = pick_pairs(static_cast<int>(pus), pace_.most_pairs).size();
  Phase cores{"core to core", times(pairs), &Programme::cores},
      sizes{"caches", times(sets().size()), &Programme::sizes};
  Phase mixed{"2:1 mix", times(n), &Programme::two_to_one}, even{"1:1 mix", times(n), &Programme::one_to_one};
  Phase loaded{"loaded latency", times(load), &Programme::loaded};
  std::vector<Phase> out{{"threads to the knee", times(rungs), &Programme::scaling},
                         {"read bandwidth", times(n), &Programme::read},
                         {"idle latency", times(n), &Programme::idle}};
  if (layout_.nodes.size() == 1) {
    for (const Phase& phase : {cores, sizes, mixed, even, loaded}) out.push_back(phase);
  } else {
    out.push_back(
        {"whole sets", times(pace_.all_ladders ? m : std::min<std::size_t>(m, 2)), &Programme::whole_sets});
    for (const Phase& phase : {mixed, even, loaded}) out.push_back(phase);
    out.push_back({"both directions", times(m * (m - (m > 0 ? 1 : 0)) / 2), &Programme::both_directions});
    for (const Phase& phase : {cores, sizes}) out.push_back(phase);
  }
  return out;
}

Result<Probe> Programme::run() {
  std::vector<Phase> all = phases();
  for (const Phase& phase : all) rounds_.plan(phase.samples);
  for (const Phase& phase : all)
    if (rounds_.begin(phase.name, phase.samples))
      if (auto done = (this->*phase.body)(); !done) return tl::unexpected(done.error());
  rounds_.begin("done", 0);
  for (const NodeShare& share : layout_.nodes) {
    CpuSet pus;
    for (int pu : share.pus) pus.set(pu);
    probe_.pus |= pus;
    bool memory = share.sizes.slice > 0;
    probe_.nodes.push_back({share.node, pus, share.llc, share.sizes.slice, share.chain_bytes,
                            share.huge_bytes, memory ? share.sizes.total(share.threads) : 0});
  }
  std::vector<std::string> notes = layout_.notes;
  for (const std::vector<std::string>& more : {probe_.notes, rounds_.notes(), lab_.remarks()})
    notes.insert(notes.end(), more.begin(), more.end());
  probe_.notes = notes;
  probe_.quick = !pace_.all_ladders;
  probe_.vectors = stream_width();
  probe_.seconds = rounds_.elapsed();
  return probe_;
}

}  // namespace

Result<Probe> measure(Lab& lab, const Layout& layout, const Pace& pace, const ProbeOptions& options,
                      double started) {
  return Programme(lab, layout, pace, options, started).run();
}

}  // namespace nigh::probe
