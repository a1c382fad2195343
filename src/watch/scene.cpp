// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/sets.hpp"

namespace nigh::watch {

namespace {

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

void scale_to_one(std::vector<double>& parts) {
  const double total = sum(parts);
  for (double& part : parts) part = total > 0 ? part / total : 0;
}

constexpr double forgotten = 0.01;  // samples: below that nothing is known

// The most threads that one process may have before the question who shares with whom is left to the nodes
// alone.
constexpr std::size_t most_compared = 512;

// Threads are joined once their overlap is large enough; what is joined already costs nothing more, so that
// hundreds of threads on common memory are one set after a few regions.
class Joined {
 public:
  Joined(std::size_t count, double enough) : overlap_(count * count, 0), sets_(count), enough_(enough) {}
  // The parts of their touches that threads have in one region.
  void add(const std::vector<std::pair<std::size_t, double>>& touched) {
    for (std::size_t a = 0; a < touched.size(); ++a)
      for (std::size_t b = a + 1; b < touched.size(); ++b) {
        const auto [i, part_i] = touched[a];
        const auto [j, part_j] = touched[b];
        if (sets_.find(i) == sets_.find(j)) continue;
        double& sum = overlap_[std::min(i, j) * sets_.members() + std::max(i, j)];
        sum += std::min(part_i, part_j);
        if (sum >= enough_) sets_.join(i, j);
      }
  }
  DisjointSets& sets() { return sets_; }

 private:
  std::vector<double> overlap_;
  DisjointSets sets_;
  double enough_;
};

}  // namespace

Scene::Scene(const Machine& machine, SceneOptions options) : machine_(machine), options_(options) {
  for (std::size_t i = 0; i < machine.node_count(); ++i)
    index_of_[machine.node_number(i)] = static_cast<int>(i);
}

int Scene::node_index(int os_number) const {
  const auto found = index_of_.find(os_number);
  return found == index_of_.end() ? -1 : found->second;
}

void Scene::age(Process& process, double factor) const {
  for (auto& [tid, thread] : process.threads)
    for (double& count : thread.by_node) count *= factor;
  for (auto region = process.regions.begin(); region != process.regions.end();) {
    auto& by_thread = region->second.by_thread;
    for (auto& [tid, count] : by_thread) count *= factor;
    std::erase_if(by_thread, [](const auto& entry) { return entry.second < forgotten; });
    region = by_thread.empty() ? process.regions.erase(region) : std::next(region);
  }
  std::erase_if(process.threads, [](const auto& entry) { return sum(entry.second.by_node) < forgotten; });
}

void Scene::add(const Reading& reading, const std::vector<ProcessFacts>& facts) {
  std::set<int> named;
  for (const ProcessFacts& fact : facts) {
    Process& process = processes_[fact.pid];
    if (process.facts.start != fact.start) process = {};  // another process with an old number
    process.facts = fact;
    named.insert(fact.pid);
  }
  std::erase_if(processes_, [&](const auto& entry) { return named.count(entry.first) == 0; });
  for (auto& [pid, process] : processes_) {
    double known = 0;
    for (const auto& [tid, thread] : process.threads) known += sum(thread.by_node);
    const bool plenty = known > options_.plenty * static_cast<double>(process.threads.size());
    age(process, std::pow(0.5, reading.seconds / (plenty ? options_.half_life : options_.long_half_life)));
  }
  const double factor = std::pow(0.5, reading.seconds / options_.long_half_life);
  fresh_ += static_cast<double>(reading.samples);
  double weight = 0;
  for (const ThreadTraffic& seen : reading.threads) weight += sum(seen.by_node);
  if (reading.samples > 0 && weight > 0) weight_ = weight / static_cast<double>(reading.samples);
  samples_ = samples_ * factor + static_cast<double>(reading.samples);
  lost_ = lost_ * factor + static_cast<double>(reading.lost);
  rate_ = reading.rate;
  for (const ThreadTraffic& seen : reading.threads) {
    const auto process = processes_.find(seen.pid);
    if (process == processes_.end()) continue;
    Thread& thread = process->second.threads[seen.tid];
    thread.by_node.resize(machine_.node_count(), 0);
    if (const int node = seen.cpu >= 0 && !thread.just_moved ? machine_.node_of_pu(seen.cpu) : -1; node >= 0)
      thread.node = node;
    for (std::size_t n = 0; n < seen.by_node.size(); ++n)
      if (const int index = node_index(static_cast<int>(n)); index >= 0)
        thread.by_node[static_cast<std::size_t>(index)] += seen.by_node[n];
  }
  for (const RegionTouches& seen : reading.regions) {
    const auto process = processes_.find(seen.pid);
    if (process == processes_.end()) continue;
    Region& region = process->second.regions[seen.region];
    if (const int node = node_index(seen.node); node >= 0) region.node = node;
    for (const auto& [tid, count] : seen.by_thread) region.by_thread[tid] += count;
  }
  for (auto& [pid, process] : processes_)
    for (auto& [tid, thread] : process.threads) thread.just_moved = false;
}

void Scene::moved(int pid, const std::map<int, int>& threads) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  age(process->second, 0.1);
  for (const auto& [tid, node] : threads)
    if (const auto thread = process->second.threads.find(tid); thread != process->second.threads.end())
      thread->second.node = node, thread->second.just_moved = true;
  fresh_ = 0;
}

double Scene::confidence(double most) const { return confidence_of(most, samples_, lost_); }

// Threads whose touches overlap, by the union of pairs: the part of each one's touches that goes to a region,
// the smaller of the two, summed over the regions.
std::vector<std::vector<int>> Scene::groups_of(const Process& process) const {
  std::vector<int> tids;
  for (const auto& [tid, thread] : process.threads)
    if (thread.node >= 0 && sum(thread.by_node) >= options_.active) tids.push_back(tid);
  std::map<int, std::size_t> place;
  for (std::size_t i = 0; i < tids.size(); ++i) place[tids[i]] = i;
  std::vector<double> total(tids.size(), 0);
  for (const auto& [key, region] : process.regions)
    for (const auto& [tid, count] : region.by_thread)
      if (const auto at = place.find(tid); at != place.end()) total[at->second] += count;
  const bool told = !process.regions.empty() && tids.size() <= most_compared;
  if (!told) return tids.empty() ? std::vector<std::vector<int>>() : std::vector<std::vector<int>>{tids};
  // Few samples on much memory seldom fall on the same 2 MiB, even if all threads share it: then larger
  // pieces are compared, of which a thread has touched about every second. Taken as one by mistake, threads
  // are still told apart by the nodes that they access (find_clusters); taken as strangers, they would be
  // torn apart.
  const double samples = std::accumulate(total.begin(), total.end(), 0.0) / weight_;
  const double most = std::max(1.0, 2 * samples / static_cast<double>(std::max<std::size_t>(tids.size(), 1)));
  std::map<std::uint64_t, std::map<std::size_t, double>> pieces;
  int shift = 0;  // there are at least so many pieces with it
  while (static_cast<double>(process.regions.size() >> (shift + 1)) > most) ++shift;
  for (; pieces.empty() || static_cast<double>(pieces.size()) > most; ++shift) {
    pieces.clear();
    for (const auto& [key, region] : process.regions)
      for (const auto& [tid, count] : region.by_thread)
        if (const auto at = place.find(tid); at != place.end())
          pieces[key >> shift][at->second] += count / total[at->second];
    if (pieces.size() <= 1) break;
  }
  Joined joined(tids.size(), options_.overlap);
  for (const auto& [key, touched] : pieces) {
    joined.add({touched.begin(), touched.end()});
    if (joined.sets().count() == 1) break;
  }
  std::map<std::size_t, std::vector<int>> groups;
  for (std::size_t i = 0; i < tids.size(); ++i) groups[joined.sets().find(i)].push_back(tids[i]);
  std::vector<std::vector<int>> out;
  for (auto& [first, members] : groups) out.push_back(std::move(members));
  return out;
}

Watched Scene::unit_of(const Process& process, const std::vector<int>& tids, std::size_t number,
                       bool whole) const {
  const std::size_t n = machine_.node_count();
  Watched out;
  out.pid = process.facts.pid;
  out.start = process.facts.start;
  out.whole = whole;
  out.unit.id = (static_cast<std::uint64_t>(out.pid) << 32) | static_cast<std::uint32_t>(tids.front());
  Application& a = out.unit.application;
  a.program.name =
      fmt::format("{}/{}{}", process.facts.name, out.pid, whole ? "" : fmt::format("#{}", number + 1));
  a.running = process.facts.running;
  a.threads.assign(n, 0);
  a.shared.assign(n, 0);
  a.own.assign(n, std::vector<double>(n, 0));
  std::map<int, int> node_of;
  for (const int tid : tids) {
    const Thread& thread = process.threads.at(tid);
    const auto i = static_cast<std::size_t>(thread.node);
    a.threads[i] += 1;
    a.accesses += sum(thread.by_node);
    node_of[tid] = thread.node;
    out.threads.emplace_back(tid, thread.node);
    for (std::size_t j = 0; j < n; ++j) a.own[i][j] += thread.by_node[j];
  }
  // Known addresses separate memory that several nodes use from memory that one uses.
  double in_regions = 0, shared = 0;
  std::vector<std::vector<double>> own(n, std::vector<double>(n, 0));
  for (const auto& [key, region] : process.regions) {
    std::vector<double> users(n, 0);
    for (const auto& [tid, count] : region.by_thread)
      if (const auto at = node_of.find(tid); at != node_of.end())
        users[static_cast<std::size_t>(at->second)] += count;
    const double weight = sum(users);
    if (weight < forgotten || region.node < 0) continue;
    const auto most = static_cast<std::size_t>(std::max_element(users.begin(), users.end()) - users.begin());
    const bool alone = users[most] > (1 - options_.user) * weight;
    out.regions.push_back({key, region.node, alone ? static_cast<int>(most) : -1, weight});
    in_regions += weight;
    (alone ? own[most] : a.shared)[static_cast<std::size_t>(region.node)] += weight;
    shared += alone ? 0 : weight;
  }
  a.sharing = in_regions > 0 ? shared / in_regions : 0;
  for (std::size_t i = 0; i < n; ++i)
    if (in_regions > 0 && sum(own[i]) > 0) a.own[i] = own[i];
  for (auto& row : a.own) scale_to_one(row);
  if (shared == 0) a.shared.assign(n, 0), a.shared[static_cast<std::size_t>(node_of.begin()->second)] = 1;
  scale_to_one(a.shared);
  return out;
}

namespace {

// The demand for memory. Where the meter knows the rate: that much, and the rest of each second computing.
// Where not: memory-bound, so that predicted gains are upper limits.
void estimate_demand(const Links& links, double megabytes_per_second, Application& a) {
  const double threads = sum(a.threads);
  a.program.compute = 0;
  a.program.megabytes = 1000;
  if (megabytes_per_second <= 0) return;
  a.program.megabytes = std::max(megabytes_per_second / threads, 1e-6);
  const Placement placement = a.placement();
  double moving = 0;
  for (int i = 0; i < links.nodes(); ++i)
    for (int j = 0; j < links.nodes(); ++j) {
      const auto x = static_cast<std::size_t>(i), y = static_cast<std::size_t>(j);
      if (a.threads[x] > 0)
        moving = std::max(moving,
                          a.threads[x] * a.program.megabytes * placement.traffic[x][y] / links.alone(i, j));
    }
  a.program.compute = std::max(0.0, 1 - moving);
}

}  // namespace

std::vector<Watched> Scene::watched(const Links& links) const {
  std::vector<Watched> out;
  double all = 0;
  for (const auto& [pid, process] : processes_) {
    const auto groups = groups_of(process);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      out.push_back(unit_of(process, groups[g], g, groups.size() == 1));
      all += out.back().unit.application.accesses;
    }
    // Resident memory goes with the touches.
    double touches = 0;
    for (std::size_t g = out.size() - groups.size(); g < out.size(); ++g)
      touches += out[g].unit.application.accesses;
    for (std::size_t g = out.size() - groups.size(); g < out.size(); ++g)
      out[g].unit.application.megabytes =
          process.facts.megabytes * out[g].unit.application.accesses / touches;
  }
  for (Watched& one : out) {
    Application& a = one.unit.application;
    a.accesses_per_us = all > 0 ? rate_ * a.accesses / all : 0;
    estimate_demand(links, a.accesses_per_us * 64, a);
  }
  return out;
}

}  // namespace nigh::watch
