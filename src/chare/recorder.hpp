// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The record of a PE, for people: --chare-trace FILE. Runs of entry methods that took a microsecond or more,
// one by one, each with the sender and the time of its message; and for all runs together the busy time of
// the PE, messages by size and origin, waiting messages and their memory, in intervals that grow with the
// job; and at the end the entry methods that the memory was for. Then each PE leaves its part, and so does a
// communication thread, for its memory; PE 0 makes one file of all (Chrome's trace format, which Perfetto
// reads). Parts lie beside FILE, which all nodes see, or in a folder of this user where FILE is a device or a
// FIFO; under names that nobody can guess, as nothing that is there may be touched.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "message/pool.hpp"

namespace nigh::chare {

struct Entries;

// The sender of a message to another PE, and the time. It travels in the 64 bits of Header::next, which are
// otherwise an address or nothing; a message that is copied into a line (message/inbox.hpp) carries only the
// last 32 bits of the time.
//    1 | PE: 20 bits | time since 1970 in 64 ns, its last 43 bits (6 days)
struct Stamp {
  static constexpr unsigned time_bits = 43, pe_bits = 20, ns_bits = 6;
  static constexpr std::uint64_t mark = std::uint64_t{1} << 63;
  std::uint64_t bits = 0;  // without `mark` it is none

  static Stamp make(std::uint32_t pe, std::uint64_t ns) {
    if (pe >> pe_bits) return {};
    return {mark | std::uint64_t{pe} << time_bits | (ns >> ns_bits & last(time_bits))};
  }
  static Stamp of(const void* next) { return {std::bit_cast<std::uint64_t>(next)}; }
  [[nodiscard]] void* as_next() const { return std::bit_cast<void*>(bits); }
  [[nodiscard]] bool is_one() const { return (bits & mark) != 0; }
  [[nodiscard]] std::uint32_t pe() const {
    return static_cast<std::uint32_t>(bits >> time_bits & last(pe_bits));
  }
  [[nodiscard]] std::uint32_t short_time() const { return static_cast<std::uint32_t>(bits); }
  // ns since 1970, as it is known at `now`, less than 3 days later.
  [[nodiscard]] std::uint64_t time(std::uint64_t now) const { return back(now, bits, time_bits); }
  // `time`: the last 32 bits, as they are known at `now`, less than two minutes later.
  static Stamp of_short(std::uint32_t pe, std::uint32_t time, std::uint64_t now) {
    return make(pe, back(now, time, 32));
  }

 private:
  static constexpr std::uint64_t last(unsigned count) { return (std::uint64_t{1} << count) - 1; }
  // Clocks of two hosts differ: it may also be a little later than `now`.
  static std::uint64_t back(std::uint64_t now, std::uint64_t time, unsigned count) {
    const std::uint64_t unit = now >> ns_bits, half = std::uint64_t{1} << (count - 1);
    return (unit + half - ((unit + half - time) & last(count))) << ns_bits;
  }
};

class Recorder {
 public:
  struct Interval {
    std::int64_t busy_ns = 0;
    std::uint64_t own = 0, own_bytes = 0;        // messages from this PE
    std::uint64_t others = 0, others_bytes = 0;  // from others of this process or space
    std::uint64_t far = 0, far_bytes = 0;        // from other processes that share no memory
    std::uint64_t waiting = 0;                   // of this PE's own, at some time in it
    std::uint64_t in_use = 0, held = 0;          // bytes of its pool: the most in it
    void add(const Interval& other);
  };
  enum class From { here, others, far };

  // `process` and `pe`, as they are shown. Memory: at most about 6 MB.
  Recorder(std::uint32_t process, std::uint32_t pe);

  // True: the interval has none so far.
  [[nodiscard]] bool wants_waiting(std::int64_t now) { return !interval(now).waiting_known; }
  void waits(std::int64_t now, std::uint64_t messages);
  // `memory`: the most since the run before this one. `sent`: by another PE; none: by this one, or not known.
  void ran(std::uint16_t entry, From from, std::size_t bytes, std::int64_t begun, std::int64_t took,
           const message::PoolPeak& memory = {}, Stamp sent = {});
  // A message that this PE sends to another one has it.
  [[nodiscard]] Stamp stamp(std::int64_t now) const { return Stamp::make(head_.pe, since_1970(now)); }
  [[nodiscard]] std::uint64_t since_1970(std::int64_t now) const {
    return static_cast<std::uint64_t>(head_.begun + (now - begun_));
  }

  // The place of the trace, and a random number that all PEs of the job have.
  struct Goal {
    std::string path;
    std::uint64_t mark = 0;
    [[nodiscard]] Result<std::string> part(std::uint32_t pe) const;
  };
  // Its part. Errors: io.
  Result<void> write(const Goal& goal, const message::PoolAccounts* memory = nullptr);
  // Merges the parts of all PEs, and removes them; behind them those of the communication threads, numbered
  // like PEs. Returns a line for the user. Errors: io; parts that are not there.
  static Result<std::string> merge(const Goal& goal, std::uint32_t pes, const Entries& entries,
                                   std::uint32_t threads = 0);

 private:
  static constexpr std::size_t most_intervals = 4096, most_runs = 150'000;
  static constexpr std::int64_t shortest = 100'000, noted_run = 1000;  // ns

  struct Known : Interval {
    bool waiting_known = false, memory_known = false;
    void add(const Known& other);
    void note(const message::PoolPeak& memory);
  };
  struct Run {
    std::int64_t begun = 0, took = 0;
    std::int64_t sent = 0;    // its message, like `begun`
    std::uint32_t from = -1;  // that PE; none: not known
    std::uint16_t entry = 0;
  };
  struct Row {  // of the footprint
    std::uint32_t tag = 0;
    std::uint64_t messages = 0, bytes = 0, most = 0;
  };
  struct Head {
    std::uint32_t process = 0, pe = 0;
    std::int64_t begun = 0, ended = 0;  // ns since 1970
    std::int64_t width = shortest;
    std::uint64_t intervals = 0, runs = 0, left_out = 0;  // runs that there was no room for
    std::uint64_t rows = 0, most_in_use = 0, most_held = 0;
  };
  struct Part;
  struct Merged;
  Known& interval(std::int64_t at);

  Head head_;
  std::int64_t begun_;  // of the clock that all else is in
  std::vector<Known> intervals_;
  std::vector<Run> runs_;
};

}  // namespace nigh::chare
