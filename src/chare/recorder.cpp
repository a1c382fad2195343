// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/recorder.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "chare/entries.hpp"
#include "message/wait.hpp"
#include "sys/os.hpp"
#include "sys/run_folder.hpp"

namespace nigh::chare {

namespace {

std::int64_t since_1970() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

template <class Item>
void append(std::string& out, const Item* items, std::size_t count) {
  if (count > 0) out.append(reinterpret_cast<const char*>(items), count * sizeof(Item));
}

}  // namespace

void Recorder::Interval::add(const Interval& other) {
  busy_ns += other.busy_ns;
  own += other.own, own_bytes += other.own_bytes;
  others += other.others, others_bytes += other.others_bytes;
  far += other.far, far_bytes += other.far_bytes;
  waiting = std::max(waiting, other.waiting);
  in_use = std::max(in_use, other.in_use);
  held = std::max(held, other.held);
}

void Recorder::Known::add(const Known& other) {
  Interval::add(other);
  waiting_known |= other.waiting_known;
  memory_known |= other.memory_known;
}

void Recorder::Known::note(const message::PoolPeak& memory) {
  in_use = std::max(in_use, memory.in_use);
  held = std::max(held, memory.held);
  memory_known = true;
}

// Both clocks at one time: the system may have stopped the thread between them.
Recorder::Recorder(std::uint32_t process, std::uint32_t pe) : begun_(message::now_ns()) {
  head_.process = process;
  head_.pe = pe;
  std::int64_t closest = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 16; ++i) {
    const std::int64_t before = message::now_ns(), wall = nigh::chare::since_1970();
    const std::int64_t between = message::now_ns() - before;
    if (between >= closest) continue;
    closest = between;
    head_.begun = wall - (before + between / 2 - begun_);
  }
  intervals_.reserve(most_intervals);
}

Recorder::Known& Recorder::interval(std::int64_t at) {
  auto number = static_cast<std::size_t>(std::max<std::int64_t>(at - begun_, 0) / head_.width);
  while (number >= most_intervals) {  // two become one
    for (std::size_t i = 0; i < intervals_.size(); i += 2) {
      Known both = intervals_[i];
      if (i + 1 < intervals_.size()) both.add(intervals_[i + 1]);
      intervals_[i / 2] = both;
    }
    intervals_.resize((intervals_.size() + 1) / 2);
    head_.width *= 2;
    number /= 2;
  }
  if (number >= intervals_.size()) intervals_.resize(number + 1);
  return intervals_[number];
}

void Recorder::waits(std::int64_t now, std::uint64_t messages) {
  Known& in = interval(now);
  in.waiting = std::max(in.waiting, messages);
  in.waiting_known = true;
}

void Recorder::ran(std::uint16_t entry, From from, std::size_t bytes, std::int64_t begun, std::int64_t took,
                   const message::PoolPeak& memory, Stamp sent) {
  interval(begun + took);  // no wider ones while this run is shared out
  Known& first = interval(begun);
  first.note(memory);
  switch (from) {
    case From::here: ++first.own, first.own_bytes += bytes; break;
    case From::others: ++first.others, first.others_bytes += bytes; break;
    case From::far: ++first.far, first.far_bytes += bytes; break;
  }
  for (std::int64_t at = begun; at < begun + took;) {
    const std::int64_t end =
        begun_ + (std::max<std::int64_t>(at - begun_, 0) / head_.width + 1) * head_.width;
    const std::int64_t here = std::min(end, begun + took) - at;
    Known& in = interval(at);
    in.busy_ns += here;
    in.note(memory);
    at += here;
  }
  if (took < noted_run) return;
  if (runs_.size() >= most_runs) {
    ++head_.left_out;
    return;
  }
  Run& run = runs_.emplace_back(Run{.begun = begun - begun_, .took = took, .entry = entry});
  if (!sent.is_one()) return;
  run.from = sent.pe();
  run.sent = static_cast<std::int64_t>(sent.time(since_1970(begun))) - head_.begun;
}

Result<std::string> Recorder::Goal::part(std::uint32_t pe) const {
  const std::string name = ".nigh-" + std::to_string(mark) + "." + std::to_string(pe);
  const std::size_t slash = path.rfind('/');
  if (sys::is_replaced(path)) return path.substr(0, slash == std::string::npos ? 0 : slash + 1) + name;
  const auto folder = sys::run_folder("chare");
  return folder ? *folder + "/" + name : folder;
}

Result<void> Recorder::write(const Goal& goal, const message::PoolAccounts* memory) {
  std::vector<Row> rows;
  auto add_row = [&](std::uint32_t tag, const message::PoolAccount& account) {
    if (account.blocks_ever > 0)
      rows.push_back({tag, account.blocks_ever, account.bytes_ever, account.most_bytes});
  };
  if (memory) {
    for (const auto& [tag, account] : memory->of) add_row(tag, account);
    add_row(bags_tag, memory->bags);
    head_.most_in_use = memory->all.most_bytes;
    head_.most_held = memory->most_held;
  }
  head_.rows = rows.size();
  head_.ended = nigh::chare::since_1970();
  head_.intervals = intervals_.size();
  head_.runs = runs_.size();
  std::string out;
  append(out, &head_, 1);
  append(out, intervals_.data(), intervals_.size());
  append(out, runs_.data(), runs_.size());
  append(out, rows.data(), rows.size());
  const auto part = goal.part(head_.pe);
  if (!part) return tl::unexpected(part.error());
  auto written = sys::write_file(*part, out);
  if (written) return {};
  return sys::io_error("can't write " + goal.path, written.error().sys_errno);  // as it was named
}

}  // namespace nigh::chare
