// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/recorder.hpp"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "chare/entries.hpp"
#include "message/wait.hpp"
#include "sys/os.hpp"

namespace nigh::chare {

namespace {

constexpr double us(std::int64_t ns) { return static_cast<double>(ns) * 1e-3; }

std::string name_of_part(const std::string& path, std::uint32_t pe) {
  return path + "." + std::to_string(pe);
}

std::int64_t since_1970() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

__attribute__((format(printf, 2, 3))) void add(std::string& out, const char* format, ...) {
  char line[400];
  va_list list;
  va_start(list, format);
  const int length = std::vsnprintf(line, sizeof line, format, list);
  va_end(list);
  out.append(line, std::min(sizeof line - 1, static_cast<std::size_t>(std::max(length, 0))));
}

// Names of C++ have no control characters.
std::string quoted(const std::string& text) {
  std::string out(1, '"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out.append(1, '"');
}

template <class Item>
void append(std::string& out, const Item* items, std::size_t count) {
  if (count > 0) out.append(reinterpret_cast<const char*>(items), count * sizeof(Item));
}
template <class Item>
bool take(const std::string& from, std::size_t& at, Item* items, std::size_t count) {
  if (count > (from.size() - at) / sizeof(Item)) return false;
  if (count > 0) std::memcpy(static_cast<void*>(items), from.data() + at, count * sizeof(Item));
  at += count * sizeof(Item);
  return true;
}

}  // namespace

struct Recorder::Part {
  Head head;
  std::vector<Known> intervals;
  std::vector<Run> runs;
};

void Recorder::Interval::add(const Interval& other) {
  busy_ns += other.busy_ns;
  own += other.own, own_bytes += other.own_bytes;
  others += other.others, others_bytes += other.others_bytes;
  far += other.far, far_bytes += other.far_bytes;
  waiting = std::max(waiting, other.waiting);
}

Recorder::Recorder(std::uint32_t process, std::uint32_t pe) : begun_(message::now_ns()) {
  head_.process = process;
  head_.pe = pe;
  head_.begun = since_1970();
  intervals_.reserve(most_intervals);
}

Recorder::Known& Recorder::interval(std::int64_t at) {
  auto number = static_cast<std::size_t>(std::max<std::int64_t>(at - begun_, 0) / head_.width);
  while (number >= most_intervals) {  // two become one
    for (std::size_t i = 0; i < intervals_.size(); i += 2) {
      Known both = intervals_[i];
      if (i + 1 < intervals_.size()) {
        both.add(intervals_[i + 1]);
        both.waiting_known |= intervals_[i + 1].waiting_known;
      }
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

void Recorder::ran(std::uint16_t entry, From from, std::size_t bytes, std::int64_t begun, std::int64_t took) {
  interval(begun + took);  // no wider ones while this run is shared out
  Known& first = interval(begun);
  switch (from) {
    case From::here: ++first.own, first.own_bytes += bytes; break;
    case From::others: ++first.others, first.others_bytes += bytes; break;
    case From::far: ++first.far, first.far_bytes += bytes; break;
  }
  for (std::int64_t at = begun; at < begun + took;) {
    const std::int64_t end =
        begun_ + (std::max<std::int64_t>(at - begun_, 0) / head_.width + 1) * head_.width;
    const std::int64_t here = std::min(end, begun + took) - at;
    interval(at).busy_ns += here;
    at += here;
  }
  if (took < noted_run) return;
  if (runs_.size() < most_runs)
    runs_.push_back({begun - begun_, took, entry});
  else
    ++head_.left_out;
}

Result<void> Recorder::write(const std::string& path) {
  head_.ended = since_1970();
  head_.intervals = intervals_.size();
  head_.runs = runs_.size();
  std::string out;
  append(out, &head_, 1);
  append(out, intervals_.data(), intervals_.size());
  append(out, runs_.data(), runs_.size());
  return sys::write_file(name_of_part(path, head_.pe), out);
}

Result<std::string> Recorder::merge(const std::string& path, std::uint32_t pes, const Entries& entries) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  std::int64_t first = 0, last = 0;
  std::uint64_t left_out = 0;
  Interval all;
  std::string busy;
  for (std::uint32_t pe = 0; pe < pes; ++pe) {
    const std::string file = name_of_part(path, pe);
    const auto text = sys::read_file(file);
    if (!text) return fail_in("PE " + std::to_string(pe) + "'s part is not there", text.error());
    std::remove(file.c_str());
    Part part;
    std::size_t at = 0;
    bool whole = take(*text, at, &part.head, 1) && part.head.intervals <= most_intervals &&
                 part.head.runs <= most_runs;
    if (whole) {
      part.intervals.resize(part.head.intervals);
      part.runs.resize(part.head.runs);
      whole = take(*text, at, part.intervals.data(), part.intervals.size()) &&
              take(*text, at, part.runs.data(), part.runs.size());
    }
    if (!whole) return fail(Errc::invalid, file + " is cut off");
    const Head& head = part.head;
    if (pe == 0) first = head.begun;
    last = std::max(last, head.ended);
    left_out += head.left_out;
    const std::int64_t shift = head.begun - first;
    add(out, "%s{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":\"process %u\"}},\n",
        pe > 0 ? ",\n" : "", head.process, head.process);
    add(out, "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"PE %u\"}}",
        head.process, pe, pe);
    Interval sum;
    for (std::size_t i = 0; i < part.intervals.size(); ++i) {
      const Known& in = part.intervals[i];
      sum.add(in);
      const double ts = us(shift + static_cast<std::int64_t>(i) * head.width), ms = us(head.width) * 1e-3;
      auto rate = [ms](std::uint64_t count) { return static_cast<double>(count) / ms; };
      add(out, ",\n{\"ph\":\"C\",\"pid\":%u,\"name\":\"PE %u busy %%\",\"ts\":%.3f,\"args\":{\"busy\":%.4g}}",
          head.process, pe, ts, 100 * static_cast<double>(in.busy_ns) / static_cast<double>(head.width));
      add(out,
          ",\n{\"ph\":\"C\",\"pid\":%u,\"name\":\"PE %u messages a ms, "
          "from\",\"ts\":%.3f,\"args\":{\"itself\":"
          "%.4g,\"others\":%.4g,\"other processes\":%.4g}}",
          head.process, pe, ts, rate(in.own), rate(in.others), rate(in.far));
      add(out,
          ",\n{\"ph\":\"C\",\"pid\":%u,\"name\":\"PE %u KiB a ms, "
          "from\",\"ts\":%.3f,\"args\":{\"itself\":%.4g,"
          "\"others\":%.4g,\"other processes\":%.4g}}",
          head.process, pe, ts, rate(in.own_bytes) / 1024, rate(in.others_bytes) / 1024,
          rate(in.far_bytes) / 1024);
      if (in.waiting_known)
        add(out,
            ",\n{\"ph\":\"C\",\"pid\":%u,\"name\":\"PE %u "
            "waiting\",\"ts\":%.3f,\"args\":{\"messages\":%" PRIu64 "}}",
            head.process, pe, ts, in.waiting);
    }
    for (const Run& run : part.runs) {
      add(out, ",\n{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"name\":", head.process, pe,
          us(shift + run.begun), us(run.took));
      out += quoted(run.entry < entries.entries.size() ? name_of(*entries.entries[run.entry]) : "?") + "}";
    }
    add(busy, "%s%.0f", pe > 0 ? ", " : "",
        100 * static_cast<double>(sum.busy_ns) /
            static_cast<double>(std::max<std::int64_t>(head.ended - head.begun, 1)));
    all.add(sum);
  }
  add(out, "\n],\"otherData\":{\"written by\":\"nigh chare\",\"runs left out\":%" PRIu64 "}}\n", left_out);
  if (auto written = sys::write_file(path, out); !written) return tl::unexpected(written.error());
  std::string said = path + ": ";
  const auto messages = static_cast<double>(all.own + all.others + all.far);
  add(said, "%u PEs, %.3f s, busy ", pes, static_cast<double>(last - first) * 1e-9);
  said += busy;
  add(said, " %%; %.0f messages, %.0f %% of them between PEs", messages,
      messages > 0 ? 100 * static_cast<double>(all.others + all.far) / messages : 0.0);
  if (left_out > 0) add(said, "; %" PRIu64 " runs of entry methods were left out of it", left_out);
  return said;
}

}  // namespace nigh::chare
