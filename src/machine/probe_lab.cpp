// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The real laboratory. Samples are bounded by time, not by a number of passes, so the same code ends in time
// on an emulated CPU. A stream goes on where the last one of its slice stopped: beginning again at the start
// would find what is still in the cache. Before each sample some pages of all memory it uses are asked where
// they are.
#include "machine/probe_lab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "sys/threads.hpp"

namespace nigh::probe {

namespace {
constexpr std::size_t head_bytes = std::size_t{64} << 10;
constexpr std::size_t chunk_bytes = std::size_t{256} << 10;
constexpr std::size_t chase_steps = 2048;
constexpr std::size_t pages_at_start = 4096, pages_per_sample = 48;

struct Arena {
  NodeShare* share = nullptr;
  sys::Buffer buffer;
  Chain chain;
  const void* at = nullptr;
  std::vector<std::size_t> cursor;  // per slice
  [[nodiscard]] std::byte* slice(std::size_t slot) const {
    return buffer.data() + head_bytes + share->sizes.chase + slot * share->sizes.slice;
  }
};

// `had` is the time on a CPU between begin and end. What one thread does alone is divided by that, so that
// being put aside for another program does not count; what threads do together is divided by the time that
// passed.
struct Timed {
  double amount = 0, begin = 0, end = 0, had = 0;
};

class RealLab : public Lab {
 public:
  RealLab(Layout& layout, sys::Os os, const std::atomic<bool>* cancel)
      : layout_(layout), os_(std::move(os)), cancel_(cancel) {}
  Result<void> open(double chain_seconds);

  double now() override { return sys::now_seconds(); }
  Result<std::vector<double>> stream(const std::vector<Stream>& jobs, double seconds) override;
  Result<std::vector<double>> chase(int pu, std::size_t node, const std::vector<Stream>& beside,
                                    double seconds) override;
  Result<std::vector<double>> working_set(int pu, std::uint64_t bytes, double seconds) override;
  Result<std::vector<double>> ping_pong(int a, int b, double seconds) override;
  [[nodiscard]] std::vector<std::string> remarks() const override;

 private:
  [[nodiscard]] bool cancelled() const { return cancel_ != nullptr && cancel_->load(); }
  Result<void> furnish(Arena& arena);
  Result<void> touch(const sys::Buffer& buffer, const std::vector<int>& pus);
  Result<void> build_chains(double seconds);
  Result<void> verify(const sys::Buffer& buffer, int node, std::size_t pages);
  Result<void> prepare_set(int pu, std::uint64_t bytes);
  [[nodiscard]] const NodeShare* home_of(int pu) const;
  Timed run_stream(const Stream& job, double seconds, const std::atomic<bool>* stop);
  void note_once(const std::string& text);

  Layout& layout_;
  sys::Os os_;
  const std::atomic<bool>* cancel_;
  sys::Crew crew_;
  std::deque<Arena> arenas_;
  bool bound_ = true, asked_by_maps_ = false;
  sys::Buffer set_buffer_;  // for working_set
  Chain set_chain_;
  int set_node_ = -1;
  std::uint64_t set_bytes_ = 0;
  std::atomic<std::uint64_t> sink_{0};
  std::mutex account_;
  double wall_ = 0, had_ = 0;  // of all streams: time that passed, time on a CPU
};

void RealLab::note_once(const std::string& text) {
  if (std::find(layout_.notes.begin(), layout_.notes.end(), text) == layout_.notes.end())
    layout_.notes.push_back(text);
}

const NodeShare* RealLab::home_of(int pu) const {
  for (const NodeShare& share : layout_.nodes)
    if (std::find(share.pus.begin(), share.pus.end(), pu) != share.pus.end()) return &share;
  return nullptr;
}

Result<void> RealLab::verify(const sys::Buffer& buffer, int node, std::size_t pages) {
  auto found = asked_by_maps_ ? sys::placement_from_maps(os_, buffer.data())
                              : sys::placement(buffer.data(), buffer.bytes(), pages);
  if (!found && !asked_by_maps_) {
    asked_by_maps_ = true;
    note_once(found.error().message + "; /proc/self/numa_maps is read instead");
    found = sys::placement_from_maps(os_, buffer.data());
  }
  if (!found && !os_.exists("/sys/devices/system/node/node1")) return {};  // there is nowhere else to be
  if (!found) return tl::unexpected(found.error());
  if (found->all_on(node)) return {};
  return fail(Errc::io, fmt::format("the memory for node {} is elsewhere ({})", node, found->to_text()));
}

// Touches every page from `pus`, each a part of it.
Result<void> RealLab::touch(const sys::Buffer& buffer, const std::vector<int>& pus) {
  constexpr std::size_t page = 4096;
  std::size_t pages = buffer.bytes() / page;
  return crew_.run(pus, [&](std::size_t k) {
    for (std::size_t i = pages * k / pus.size(); i < pages * (k + 1) / pus.size(); ++i) {
      if (i % 4096 == 0 && cancelled()) return;
      buffer.data()[i * page] = std::byte{1};
    }
  });
}

// Memory for one node; when it can't be had there, the node is left without and a note says why.
Result<void> RealLab::furnish(Arena& arena) {
  NodeShare& share = *arena.share;
  auto buffer = sys::Buffer::map(head_bytes + share.sizes.total(share.threads));
  if (!buffer) return tl::unexpected(buffer.error());
  arena.buffer = std::move(*buffer);
  if (bound_) {
    auto binding = arena.buffer.bind(share.node);
    bool refused =
        !binding && (binding.error().code == Errc::permission || binding.error().code == Errc::unsupported);
    if (!binding && !refused) return binding;
    bound_ = !refused;
  }
  bool one_node = !os_.exists("/sys/devices/system/node/node1");
  if (!bound_ && !one_node)
    note_once(
        "binding memory is refused here (mbind): it is placed by first touch from each node's own PUs, and "
        "nodes "
        "without PUs can't be measured; allow it with --cap-add=SYS_NICE (docker, podman) or run outside");
  if (!bound_ && share.pus.empty())
    return fail(Errc::permission, fmt::format("node {}: not measured", share.node));
  auto done = touch(arena.buffer, share.pus.empty() ? std::vector<int>{layout_.pus().front()} : share.pus);
  if (!done) return done;
  if (cancelled()) return {};
  if (auto right = verify(arena.buffer, share.node, pages_at_start); !right) return right;
  share.huge_bytes = sys::huge_bytes(os_, arena.buffer.data(), arena.buffer.bytes());
  arena.chain = Chain(arena.buffer.data() + head_bytes, 0x6e696768U + static_cast<std::uint64_t>(share.node));
  arena.cursor.assign(static_cast<std::size_t>(share.threads), 0);
  return {};
}

Result<void> RealLab::build_chains(double seconds) {
  double deadline = now() + seconds;
  auto grow = [&](Arena& arena) {
    std::size_t all = arena.share->sizes.chase / line_bytes;
    while (arena.chain.lines() < all && !cancelled() && (now() < deadline || arena.chain.lines() == 0))
      arena.chain.grow_to(std::min(all, arena.chain.lines() + 16384));
    arena.chain.seal();
    arena.share->chain_bytes = arena.chain.lines() * line_bytes;
  };
  std::vector<int> pus;
  std::vector<Arena*> with_pus, without;
  for (Arena& arena : arenas_) {
    if (arena.share->sizes.slice == 0) continue;
    (arena.share->pus.empty() ? without : with_pus).push_back(&arena);
    if (!arena.share->pus.empty()) pus.push_back(arena.share->pus.front());
  }
  if (auto done = crew_.run(pus, [&](std::size_t k) { grow(*with_pus[k]); }); !done) return done;
  deadline = std::max(deadline, now() + seconds / 4);
  auto done = crew_.run({layout_.pus().front()}, [&](std::size_t) {
    for (Arena* arena : without) grow(*arena);
  });
  for (const NodeShare& share : layout_.nodes)
    if (share.chain_bytes < share.sizes.chase)
      layout_.notes.push_back(
          fmt::format("node {}: the chase walks {:.1f} MiB ({:.1f} times the last-level cache): "
                      "there was no time to build a longer chain",
                      share.node, static_cast<double>(share.chain_bytes) / 1048576.0,
                      static_cast<double>(share.chain_bytes) / static_cast<double>(share.llc)));
  return done;
}

Result<void> RealLab::open(double chain_seconds) {
  bool any = false;
  for (NodeShare& share : layout_.nodes) {
    Arena& arena = arenas_.emplace_back();
    arena.share = &share;
    if (share.sizes.slice == 0) continue;
    auto done = furnish(arena);
    if (!done) {
      note_once(done.error().message);
      share.sizes = {};
      arena.buffer = {};
    }
    any = any || done;
    if (cancelled()) return {};
  }
  if (!any) return fail(Errc::io, layout_.notes.empty() ? "no memory to measure" : layout_.notes.back());
  return build_chains(chain_seconds);
}

Timed RealLab::run_stream(const Stream& job, double seconds, const std::atomic<bool>* stop) {
  Arena& arena = arenas_[job.node];
  std::byte* slice = arena.slice(job.slot);
  std::size_t size = arena.share->sizes.slice, at = arena.cursor[job.slot];
  std::uint64_t sum = 0, bytes = 0;
  Timed timed;
  double had = sys::thread_seconds();
  timed.begin = now();
  do {
    std::size_t part = std::min(chunk_bytes, size - at);
    bytes += probe::stream(job.mix, slice + at, part, sum);
    at = at + part == size ? 0 : at + part;
    timed.end = now();
  } while (stop != nullptr ? !stop->load(std::memory_order_relaxed) : timed.end < timed.begin + seconds);
  arena.cursor[job.slot] = at;
  had = sys::thread_seconds() - had;
  std::lock_guard hold(account_);
  wall_ += timed.end - timed.begin;
  had_ += had;
  sink_ += sum;
  timed.amount = static_cast<double>(bytes);
  return timed;
}

Result<std::vector<double>> RealLab::stream(const std::vector<Stream>& jobs, double seconds) {
  std::vector<int> pus;
  for (const Stream& job : jobs) {
    pus.push_back(job.pu);
    auto right = verify(arenas_[job.node].buffer, layout_.nodes[job.node].node, pages_per_sample);
    if (!right) return tl::unexpected(right.error());
  }
  std::vector<Timed> timed(jobs.size());
  sys::StartLine line(jobs.size());
  auto done = crew_.run(pus, [&](std::size_t k) {
    line.wait();
    timed[k] = run_stream(jobs[k], seconds, nullptr);
  });
  if (!done) return tl::unexpected(done.error());
  double begin = timed[0].begin, end = timed[0].end;
  for (const Timed& t : timed) begin = std::min(begin, t.begin), end = std::max(end, t.end);
  std::vector<double> rates;
  for (const Timed& t : timed) rates.push_back(t.amount / (end - begin) / 1e6);
  return rates;
}

Result<std::vector<double>> RealLab::chase(int pu, std::size_t node, const std::vector<Stream>& beside,
                                           double seconds) {
  Arena& arena = arenas_[node];
  if (auto right = verify(arena.buffer, arena.share->node, pages_per_sample); !right)
    return tl::unexpected(right.error());
  std::vector<int> pus{pu};
  for (const Stream& job : beside) pus.push_back(job.pu);
  std::vector<Timed> timed(pus.size());
  std::atomic<bool> stop{false};
  sys::StartLine line(pus.size());
  auto done = crew_.run(pus, [&](std::size_t k) {
    line.wait();
    if (k > 0) {
      timed[k] = run_stream(beside[k - 1], seconds, &stop);
      return;
    }
    std::uint64_t steps = 0;
    double had = sys::thread_seconds();
    timed[0].begin = now();
    do {
      arena.at = arena.chain.walk(arena.at, chase_steps);
      steps += chase_steps;
      timed[0].end = now();
    } while (timed[0].end < timed[0].begin + seconds);
    timed[0].amount = static_cast<double>(steps);
    timed[0].had = sys::thread_seconds() - had;
    stop.store(true);
  });
  if (!done) return tl::unexpected(done.error());
  double rate = 0;
  for (std::size_t k = 1; k < timed.size(); ++k)
    rate += timed[k].amount / (timed[k].end - timed[k].begin) / 1e6;
  return std::vector<double>{timed[0].had * 1e9 / timed[0].amount, rate};
}

// The buffer of the last size is kept: samples of one size come one after the other.
Result<void> RealLab::prepare_set(int pu, std::uint64_t bytes) {
  const NodeShare* home = home_of(pu);
  NIGH_CHECK(home != nullptr);
  if (set_bytes_ == bytes && set_node_ == home->node) return {};
  if (set_buffer_.bytes() < bytes || set_node_ != home->node) {
    auto buffer = sys::Buffer::map(bytes);
    if (!buffer) return tl::unexpected(buffer.error());
    if (bound_)
      if (auto binding = buffer->bind(home->node); !binding) return binding;
    set_buffer_ = std::move(*buffer);
    set_node_ = home->node;
    if (auto done = touch(set_buffer_, {pu}); !done) return done;
  }
  set_bytes_ = bytes;
  set_chain_ = Chain(set_buffer_.data(), 0x7365U);
  return crew_.run({pu}, [&](std::size_t) {
    set_chain_.grow_to(bytes / line_bytes);
    set_chain_.seal();
  });
}

Result<std::vector<double>> RealLab::working_set(int pu, std::uint64_t bytes, double seconds) {
  if (auto done = prepare_set(pu, bytes); !done) return tl::unexpected(done.error());
  if (auto right = verify(set_buffer_, set_node_, pages_per_sample); !right)
    return tl::unexpected(right.error());
  Timed walked, read;
  auto done = crew_.run({pu}, [&](std::size_t) {
    std::uint64_t sum = 0;
    std::size_t pass =
        std::max<std::size_t>(bytes, chunk_bytes) / bytes;     // passes between looks at the clock
    probe::stream(Mix::read, set_buffer_.data(), bytes, sum);  // into the cache
    double had = sys::thread_seconds();
    read.begin = now();
    do {
      for (std::size_t i = 0; i < pass; ++i)
        read.amount += static_cast<double>(probe::stream(Mix::read, set_buffer_.data(), bytes, sum));
      read.end = now();
    } while (read.end < read.begin + seconds / 2);
    read.had = sys::thread_seconds() - had;
    const void* at = nullptr;
    had = sys::thread_seconds();
    walked.begin = now();
    do {
      at = set_chain_.walk(at, chase_steps);
      walked.amount += chase_steps;
      walked.end = now();
    } while (walked.end < walked.begin + seconds / 2);
    walked.had = sys::thread_seconds() - had;
    sink_ += sum;
  });
  if (!done) return tl::unexpected(done.error());
  return std::vector<double>{walked.had * 1e9 / walked.amount, read.amount / read.had / 1e6};
}

Result<std::vector<double>> RealLab::ping_pong(int a, int b, double seconds) {
  Ball spare;
  Ball* ball = &spare;
  for (Arena& arena : arenas_)
    if (arena.share == home_of(a) && arena.buffer.data() != nullptr) ball = new (arena.buffer.data()) Ball;
  ball->side.store(0);
  std::uint64_t rounds = 0, answered = 0;
  Timed timed;
  sys::StartLine line(2);
  auto done = crew_.run({a, b}, [&](std::size_t k) {
    line.wait();
    if (k == 1) {
      answered = ball->answer();
      return;
    }
    ball->serve(++rounds);  // both are awake now
    timed.begin = now();
    do {
      for (int i = 0; i < 16; ++i) ball->serve(++rounds);
      timed.end = now();
    } while (timed.end < timed.begin + seconds);
    ball->stop();
  });
  if (!done) return tl::unexpected(done.error());
  NIGH_CHECK(rounds == answered);
  return std::vector<double>{(timed.end - timed.begin) * 1e9 / (2.0 * static_cast<double>(rounds - 1))};
}

std::vector<std::string> RealLab::remarks() const {
  if (wall_ <= 0 || had_ >= 0.95 * wall_) return {};
  return {fmt::format(
      "the measuring threads had their PUs for only {:.0f} % of the time: other programs were running, "
      "so bandwidths are too low",
      100 * had_ / wall_)};
}
}  // namespace

Result<std::unique_ptr<Lab>> open_lab(Layout& layout, const sys::Os& os, double chain_seconds,
                                      const std::atomic<bool>* cancel) {
  auto lab = std::make_unique<RealLab>(layout, os, cancel);
  if (auto done = lab->open(chain_seconds); !done) return tl::unexpected(done.error());
  return lab;
}

}  // namespace nigh::probe
