// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One trace of all PEs' parts.
#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "chare/entries.hpp"
#include "chare/recorder.hpp"
#include "sys/os.hpp"

namespace nigh::chare {

namespace {

constexpr double us(std::int64_t ns) { return static_cast<double>(ns) * 1e-3; }

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

std::string bytes_for_people(std::uint64_t bytes) {
  std::string out;
  const auto count = static_cast<double>(bytes);
  bytes < std::uint64_t{1} << 20 ? add(out, "%.1f KiB", count / 1024)
                                 : add(out, "%.1f MiB", count / (1 << 20));
  return out;
}

template <class Item>
bool take(const std::string& from, std::size_t& at, std::vector<Item>& items, std::uint64_t count) {
  if (count > (from.size() - at) / sizeof(Item)) return false;
  items.resize(count);
  if (count > 0) std::memcpy(static_cast<void*>(items.data()), from.data() + at, count * sizeof(Item));
  at += count * sizeof(Item);
  return true;
}

}  // namespace

struct Recorder::Part {
  Head head;
  std::vector<Known> intervals;
  std::vector<Run> runs;
  std::vector<Row> rows;
};

struct Recorder::Merged {
  explicit Merged(const Entries& all_entries) : entries(all_entries) {}
  const Entries& entries;
  std::string events, footprint, busy;  // in JSON; the last: for people
  std::int64_t first = 0, last = 0;     // ns since 1970
  std::uint64_t left_out = 0;
  struct Arrow {  // a message, from when it was sent to when what it was for began
    std::uint32_t from = 0, to = 0;
    std::uint16_t entry = 0;
    std::int64_t sent = 0, begun = 0;
  };
  std::vector<Arrow> arrows;
  std::vector<std::uint32_t> processes;  // of PEs
  Interval all;
  struct Most {
    std::string of, at;
    std::uint64_t bytes = 0;
  } held, at_once;

  [[nodiscard]] std::string name_of_row(std::uint32_t tag) const {
    if (tag < entries.entries.size()) return name_of(*entries.entries[tag]);
    return tag == buffer_tag    ? "buffers"
           : tag == message_tag ? "received"
           : tag == bags_tag    ? "bags"
                                : "the runtime";
  }
  [[nodiscard]] std::string name_of_entry(std::uint16_t entry) const {
    return quoted(entry < entries.entries.size() ? name_of(*entries.entries[entry]) : "?");
  }
  // The contents of a part for PE `pe`.
  void add_pe(std::uint32_t pe, const Part& part);
  void add_interval(const Head& head, double ts, const Known& in);
  void add_arrows();  // when all PEs are known
  void add_footprint(const std::string& who, Part& part);
  [[nodiscard]] std::string summary(std::uint32_t pes) const;

  static Result<Part> read(const std::string& file);
};

Result<Recorder::Part> Recorder::Merged::read(const std::string& file) {
  const auto text = sys::read_file(file, sys::any_size);
  if (!text) return tl::unexpected(text.error());
  std::remove(file.c_str());
  Part part;
  std::vector<Head> head;
  std::size_t at = 0;
  bool whole = take(*text, at, head, 1);
  if (whole) {
    part.head = head[0];
    whole = take(*text, at, part.intervals, part.head.intervals) &&
            take(*text, at, part.runs, part.head.runs) && take(*text, at, part.rows, part.head.rows);
  }
  if (!whole) return fail(Errc::invalid, file + " is cut off");
  return part;
}

void Recorder::Merged::add_interval(const Head& head, double ts, const Known& in) {
  const double ms = us(head.width) * 1e-3;
  auto rate = [ms](std::uint64_t count) { return static_cast<double>(count) / ms; };
  auto counter = [&](const char* what) {
    add(events, ",\n{\"ph\":\"C\",\"pid\":%u,\"name\":\"PE %u %s\",\"ts\":%.3f,\"args\":", head.process,
        head.pe, what, ts);
  };
  counter("busy %");
  add(events, "{\"busy\":%.4g}}", 100 * static_cast<double>(in.busy_ns) / static_cast<double>(head.width));
  counter("messages a ms, from");
  add(events, "{\"itself\":%.4g,\"others\":%.4g,\"other processes\":%.4g}}", rate(in.own), rate(in.others),
      rate(in.far));
  counter("KiB a ms, from");
  add(events, "{\"itself\":%.4g,\"others\":%.4g,\"other processes\":%.4g}}", rate(in.own_bytes) / 1024,
      rate(in.others_bytes) / 1024, rate(in.far_bytes) / 1024);
  if (in.waiting_known) {
    counter("waiting");
    add(events, "{\"messages\":%" PRIu64 "}}", in.waiting);
  }
  if (in.memory_known) {
    counter("memory of messages, KiB");
    add(events, "{\"in use\":%.10g,\"held\":%.10g}}", static_cast<double>(in.in_use) / 1024,
        static_cast<double>(in.held) / 1024);
  }
}

void Recorder::Merged::add_arrows() {
  for (std::size_t i = 0; i < arrows.size(); ++i) {
    const auto& [from, to, entry, sent, begun] = arrows[i];
    if (from >= processes.size()) continue;
    auto end = [&, id = i, named = name_of_entry(entry)](const char* phase, std::uint32_t pe,
                                                         std::int64_t at) {
      add(events,
          ",\n{\"ph\":%s,\"cat\":\"message\",\"id\":%zu,\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"name\":", phase,
          id, processes[pe], pe, us(at));
      events += named + "}";
    };
    end("\"s\"", from, sent);
    end("\"f\",\"bp\":\"e\"", to, begun);
  }
}

void Recorder::Merged::add_pe(std::uint32_t pe, const Part& part) {
  const Head& head = part.head;
  processes.push_back(head.process);
  if (pe == 0) first = head.begun;
  last = std::max(last, head.ended);
  left_out += head.left_out;
  const std::int64_t shift = head.begun - first;
  add(events, "%s{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":\"process %u\"}},\n",
      pe > 0 ? ",\n" : "", head.process, head.process);
  add(events, "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"PE %u\"}}",
      head.process, pe, pe);
  Interval sum;
  for (std::size_t i = 0; i < part.intervals.size(); ++i) {
    sum.add(part.intervals[i]);
    add_interval(head, us(shift + static_cast<std::int64_t>(i) * head.width), part.intervals[i]);
  }
  for (const Run& run : part.runs) {
    add(events, ",\n{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"name\":", head.process, pe,
        us(shift + run.begun), us(run.took));
    events += name_of_entry(run.entry) + "}";
    if (run.from != Run{}.from)
      arrows.push_back({run.from, pe, run.entry, shift + run.sent, shift + run.begun});
  }
  add(busy, "%s%.0f", pe > 0 ? ", " : "",
      100 * static_cast<double>(sum.busy_ns) /
          static_cast<double>(std::max<std::int64_t>(head.ended - head.begun, 1)));
  all.add(sum);
}

void Recorder::Merged::add_footprint(const std::string& who, Part& part) {
  if (part.head.most_held > held.bytes) held = {"", who, part.head.most_held};
  footprint += footprint.empty() ? "\n" : ",\n";
  footprint += "{\"of\":" + quoted(who);
  add(footprint, ",\"process\":%u,\"most in use\":%" PRIu64 ",\"most held\":%" PRIu64 ",\"rows\":[",
      part.head.process, part.head.most_in_use, part.head.most_held);
  std::sort(part.rows.begin(), part.rows.end(),
            [](const Row& a, const Row& b) {  // the largest first; bags, which are no messages, last
              if ((a.tag == bags_tag) != (b.tag == bags_tag)) return b.tag == bags_tag;
              return a.most != b.most ? a.most > b.most : a.tag < b.tag;
            });
  const char* between = "\n";
  for (const Row& row : part.rows) {
    const std::string name = name_of_row(row.tag);
    if (row.tag != bags_tag && row.most > at_once.bytes) at_once = {name, who, row.most};
    footprint += std::exchange(between, ",\n") + std::string("{\"name\":") + quoted(name);
    add(footprint, ",\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"most bytes\":%" PRIu64 "}",
        row.messages, row.bytes, row.most);
  }
  footprint += "]}";
}

std::string Recorder::Merged::summary(std::uint32_t pes) const {
  std::string said;
  const auto messages = static_cast<double>(all.own + all.others + all.far);
  add(said, "%u PEs, %.3f s, busy ", pes, static_cast<double>(last - first) * 1e-9);
  said += busy;
  add(said, " %%; %.0f messages, %.0f %% of them between PEs", messages,
      messages > 0 ? 100 * static_cast<double>(all.others + all.far) / messages : 0.0);
  if (held.bytes > 0) said += "; " + held.at + " held the most memory, " + bytes_for_people(held.bytes);
  if (at_once.bytes > 0)
    said += "; most at once: " + at_once.of + ", " + bytes_for_people(at_once.bytes) + " on " + at_once.at;
  if (left_out > 0) add(said, "; %" PRIu64 " runs of entry methods were left out of it", left_out);
  return said;
}

namespace {

// Removes the parts when one of them can't be read.
void remove_parts(const Recorder::Goal& goal, std::uint32_t parts) {
  for (std::uint32_t pe = 0; pe < parts; ++pe)
    if (const auto part = goal.part(pe)) std::remove(part->c_str());
}

}  // namespace

Result<std::string> Recorder::merge(const Goal& goal, std::uint32_t pes, const Entries& entries,
                                    std::uint32_t threads) {
  Merged merged(entries);
  for (std::uint32_t pe = 0; pe < pes + threads; ++pe) {
    const std::string of_thread = "process " + std::to_string(pe - pes) + "'s communication thread",
                      who = pe < pes ? "PE " + std::to_string(pe) : of_thread;
    const auto file = goal.part(pe);
    auto part = file ? Merged::read(*file) : tl::unexpected(file.error());
    if (!part) {
      remove_parts(goal, pes + threads);
      if (part.error().code == Errc::invalid) return tl::unexpected(part.error());
      return fail_in(who + "'s part is not there", part.error());
    }
    if (pe < pes) merged.add_pe(pe, *part);
    merged.add_footprint(who, *part);
  }
  merged.add_arrows();
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + merged.events +
                    "\n],\"footprint\":[" + merged.footprint + "],\n";
  add(out, "\"otherData\":{\"written by\":\"nigh chare\",\"runs left out\":%" PRIu64 "}}\n", merged.left_out);
  if (auto written = sys::write_file(goal.path, out); !written) return tl::unexpected(written.error());
  return goal.path + ": " + merged.summary(pes);
}

}  // namespace nigh::chare
