// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A Mover walks the pages, keeps what each target has room for, and hands slices to the kernel: one after the
// other with rests (live), or from several threads inside a pause. Slices are found and queried before the
// pause begins, so that it holds nothing but moving.
#include "watch/move_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <set>
#include <thread>

#include "sys/memory.hpp"
#include "sys/threads.hpp"
#include "watch/call_size.hpp"
#include "watch/page_calls.hpp"

namespace nigh::watch {

namespace {
constexpr std::uint64_t first_window = std::uint64_t{32} << 20, live_window = std::uint64_t{64} << 20;
constexpr double pause_used = 0.7;  // part of the allowed pause that is planned for

void sleep_for(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// A piece of work for one call.
struct Slice {
  int target = 0;
  std::uint64_t page_bytes = 4096;
  std::vector<std::uint64_t> pages;
};

std::uint64_t bytes_of(const Slice& one) { return one.page_bytes * one.pages.size(); }

void cut(const PageGroup& group, std::uint64_t bytes, std::deque<Slice>& out) {
  std::size_t each = std::max<std::uint64_t>(bytes / group.page_bytes, 1);
  for (std::size_t at = 0; at < group.pages.size(); at += each) {
    auto from = group.pages.begin() + static_cast<std::ptrdiff_t>(at);
    auto to = group.pages.begin() + static_cast<std::ptrdiff_t>(std::min(at + each, group.pages.size()));
    out.push_back({group.target, group.page_bytes, {from, to}});
  }
}

class Mover {
 public:
  Mover(const sys::Os& os, const PagePlan& plan, const MoveOptions& options)
      : os_(os), plan_(plan), options_(options), size_(options.call_seconds) {}

  Result<MoveReport> run();

 private:
  [[nodiscard]] bool stop_asked() const { return options_.stop != nullptr && options_.stop->load(); }
  void fit(std::vector<PageGroup>& groups);
  std::uint64_t& room_of(int node);
  bool one_slice(const Slice& slice, MoveReport& report);
  void live(std::deque<Slice>& work);
  void frozen(std::deque<Slice>& work);
  bool pause(std::deque<Slice>& work);
  void crew(std::deque<Slice>& work, double until);
  void after_pause(double since);
  [[nodiscard]] std::uint64_t window() const;
  [[nodiscard]] int crew_size() const;
  void end(double since);

  const sys::Os& os_;
  const PagePlan& plan_;
  const MoveOptions& options_;
  MoveReport report_;
  std::map<int, std::uint64_t> room_;               // bytes each target may still take
  std::set<std::pair<int, std::uint64_t>> closed_;  // (target, page bytes) that takes no more
  CallSize size_;
  double rate_ = 0;  // bytes per second in pauses
  bool may_pause_ = false;
  bool over_ = false;  // gone, or not permitted
};

std::uint64_t& Mover::room_of(int node) {
  auto known = room_.find(node);
  if (known != room_.end()) return known->second;
  std::uint64_t room = 0;
  for (const sys::NodeMemory& one : sys::node_memory(os_))
    if (one.node == node) {
      auto reserve = static_cast<std::uint64_t>(options_.keep_free * static_cast<double>(one.total));
      // Down to there the kernel gives without reclaiming first.
      reserve = std::max(reserve, sys::kernel_reserve(os_, node));
      room = one.free > reserve ? one.free - reserve : 0;
    }
  return room_[node] = room;
}

// Cuts what has no room on its target. Free memory is asked for anew in each window: others use it, too.
void Mover::fit(std::vector<PageGroup>& groups) {
  room_.clear();
  for (PageGroup& one : groups) {
    std::uint64_t& room = room_of(one.target);
    std::size_t most = room / one.page_bytes;
    if (closed_.count({one.target, one.page_bytes}) != 0) most = 0;
    if (one.pages.size() > most) {
      report_.held_back += (one.pages.size() - most) * one.page_bytes;
      one.pages.resize(most);
    }
    room -= one.bytes();
  }
}

bool Mover::one_slice(const Slice& slice, MoveReport& report) {
  double since = sys::now_seconds();
  bool good = move_slice({plan_.process.pid, slice.target, slice.page_bytes, options_.also_shared},
                         slice.pages, report);
  report.longest_call = std::max(report.longest_call, sys::now_seconds() - since);
  return good;
}

void Mover::live(std::deque<Slice>& work) {
  while (!work.empty() && !stop_asked() && !over_) {
    Slice slice = std::move(work.front());
    work.pop_front();
    if (closed_.count({slice.target, slice.page_bytes}) != 0) {
      report_.held_back += bytes_of(slice);
      continue;
    }
    std::size_t units = std::max<std::size_t>(slice.page_bytes / sys::page_bytes(), 1);
    std::size_t fits = size_.pages(units);
    if (slice.pages.size() > fits) {
      auto mid = slice.pages.begin() + static_cast<std::ptrdiff_t>(fits);
      work.push_front({slice.target, slice.page_bytes, {mid, slice.pages.end()}});
      slice.pages.erase(mid, slice.pages.end());
    }
    MoveReport part;
    double since = sys::now_seconds();
    bool good = one_slice(slice, part);
    double took = sys::now_seconds() - since;
    report_.add(part);
    report_.moving += took;
    if (!good) closed_.insert({slice.target, slice.page_bytes});
    over_ = part.failed[static_cast<std::size_t>(Cause::gone)] +
                part.failed[static_cast<std::size_t>(Cause::permission)] >
            0;
    size_.took(slice.pages.size() * units, took);
    sleep_for(took * options_.call_rest);
  }
}

int Mover::crew_size() const {
  if (options_.threads > 0) return options_.threads;
  auto mine = sys::affinity();
  return std::clamp(mine ? mine->count() : 1, 1, 8);
}

// Several threads take slices from the front until none is left or time is up.
void Mover::crew(std::deque<Slice>& work, double until) {
  std::vector<Slice> slices(std::make_move_iterator(work.begin()), std::make_move_iterator(work.end()));
  work.clear();
  std::vector<char> taken(slices.size(), 0), bad(slices.size(), 0);
  std::atomic<std::size_t> next{0};
  auto body = [&](MoveReport& part) {
    while (sys::now_seconds() < until && !stop_asked()) {
      std::size_t i = next.fetch_add(1);
      if (i >= slices.size()) return;
      taken[i] = 1;
      bad[i] = one_slice(slices[i], part) ? 0 : 1;
    }
  };
  std::vector<MoveReport> parts(std::min<std::size_t>(static_cast<std::size_t>(crew_size()), slices.size()));
  std::vector<std::thread> helpers;
  for (std::size_t t = 1; t < parts.size(); ++t) helpers.emplace_back(body, std::ref(parts[t]));
  if (!parts.empty()) body(parts[0]);
  for (std::thread& one : helpers) one.join();
  for (const MoveReport& one : parts) report_.add(one);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (bad[i] != 0) closed_.insert({slices[i].target, slices[i].page_bytes});
    if (taken[i] == 0) work.push_back(std::move(slices[i]));
  }
  over_ = report_.failed[static_cast<std::size_t>(Cause::gone)] +
              report_.failed[static_cast<std::size_t>(Cause::permission)] >
          0;
}

void Mover::after_pause(double since) {
  double asked_for = sys::now_seconds() - since;
  auto thawed = options_.freezer->thaw();
  double lasted = thawed && thawed->seconds > 0 ? thawed->seconds : asked_for;
  if (options_.journal != nullptr && !options_.journal->thawed())
    report_.note = "the journal could not be written";
  ++report_.pauses;
  report_.paused += lasted;
  report_.longest_pause = std::max(report_.longest_pause, lasted);
  if (thawed && thawed->expired) ++report_.expired_pauses;
  if (!thawed) {
    may_pause_ = false;
    report_.note = thawed.error().message + "; the rest was moved live";
  }
  sleep_for(lasted * options_.pause_rest);
}

// One pause; false: it could not be.
bool Mover::pause(std::deque<Slice>& work) {
  std::vector<sys::ProcessId> who = {plan_.process};
  for (const sys::ProcessId& one : options_.freeze_with)
    if (!(one == plan_.process)) who.push_back(one);
  if (options_.journal != nullptr) {
    std::vector<sys::ProcessId> running;
    for (const sys::ProcessId& one : who)
      if (auto facts = sys::task_facts(os_, one.pid); facts && facts->state != 'T') running.push_back(one);
    auto written = options_.journal->will_freeze(running, sys::Freezer::group_file(os_, who));
    if (!written) {
      report_.note = written.error().message + "; moved live";
      return false;
    }
  }
  double since = sys::now_seconds();
  auto frozen = options_.freezer->freeze(os_, who, options_.pause_limit);
  if (!frozen) {
    report_.note = frozen.error().message + "; moved live";
    if (options_.journal != nullptr && !options_.journal->thawed())
      report_.note += ", and the journal could not be written";
    return false;
  }
  std::uint64_t before = report_.bytes;
  double begun = sys::now_seconds();
  crew(work, since + options_.pause_limit * pause_used);
  double took = sys::now_seconds() - begun;
  report_.moving += took;
  if (report_.bytes > before && took > 0) rate_ = static_cast<double>(report_.bytes - before) / took;
  after_pause(since);
  return true;
}

void Mover::frozen(std::deque<Slice>& work) {
  while (!work.empty() && !stop_asked() && !over_ && may_pause_) {
    std::deque<Slice> open;
    for (Slice& one : work) {
      if (closed_.count({one.target, one.page_bytes}) != 0)
        report_.held_back += bytes_of(one);
      else
        open.push_back(std::move(one));
    }
    work = std::move(open);
    if (!work.empty() && !pause(work)) may_pause_ = false;
  }
}

// The bytes that a pause can move, by the last one.
std::uint64_t Mover::window() const {
  if (!may_pause_) return live_window;
  if (rate_ <= 0) return first_window;
  return std::max(static_cast<std::uint64_t>(rate_ * options_.pause_limit * pause_used),
                  std::uint64_t{1} << 20);
}

void Mover::end(double since) {
  report_.seconds = sys::now_seconds() - since;
  bool alive = sys::lives(os_, plan_.process);
  report_.stopped = stop_asked() || !alive;
  if (!alive) report_.note = fmt::format("process {} has ended", plan_.process.pid);
}

Result<MoveReport> Mover::run() {
  double since = sys::now_seconds();
  if (!sys::lives(os_, plan_.process))
    return fail(Errc::io, fmt::format("process {} is gone: nothing to move", plan_.process.pid), ESRCH);
  auto walk = PageWalk::open(os_, plan_);
  if (!walk) return tl::unexpected(walk.error());
  report_.other_policy = walk->found().other_policy;
  may_pause_ = options_.freezer != nullptr;
  while (!stop_asked() && !over_) {
    auto groups = walk->next(window());
    if (!groups && report_.asked == 0 && groups.error().code == Errc::permission)
      return tl::unexpected(groups.error());
    if (!groups) {
      report_.note = groups.error().message;
      break;
    }
    if (groups->empty()) break;
    fit(*groups);
    // A call in a pause is an eighth of what all threads can do in it: time is looked at between calls.
    auto parts = static_cast<std::uint64_t>(crew_size()) * 8;
    std::uint64_t each = std::clamp<std::uint64_t>(window() / parts, std::uint64_t{1} << 20, live_window);
    if (!may_pause_) each = live_window;  // it cuts them itself
    std::deque<Slice> work;
    for (const PageGroup& one : *groups) cut(one, each, work);
    if (may_pause_) frozen(work);
    live(work);
  }
  end(since);
  return report_;
}
}  // namespace

Result<MoveReport> move_pages(const sys::Os& os, const PagePlan& plan, const MoveOptions& options) {
  return Mover(os, plan, options).run();
}

Result<MoveReport> move_touched(const sys::Os& os, const sys::ProcessId& process,
                                const std::vector<Touch>& touches, const MoveOptions& options) {
  constexpr int region_bits = 21;
  std::map<std::uint64_t, std::map<int, int>> votes;
  for (const Touch& one : touches) ++votes[one.address >> region_bits][one.node];
  std::map<int, std::vector<AddressRange>> by_target;
  for (const auto& [region, counts] : votes) {
    auto best = std::max_element(counts.begin(), counts.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
    by_target[best->first].push_back({region << region_bits, (region + 1) << region_bits});
  }
  MoveReport sum;
  for (auto& [target, ranges] : by_target) {
    auto one = move_pages(os, {process, {}, target, std::move(ranges)}, options);
    if (!one) return tl::unexpected(one.error());
    sum.add(*one);
  }
  return sum;
}

}  // namespace nigh::watch
