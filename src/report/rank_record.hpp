// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The texts around a map of ranks: what ranks send each other, as files say it, and which rank runs where, in
// the words of launchers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "machine/machine.hpp"
#include "plan/traffic.hpp"
#include "report/rank_times.hpp"

namespace nigh::report {

inline constexpr int most_ranks = 65536;

// Bytes between ranks. Either JSON, {"format": "nigh-ranks", "version": 1, "ranks": N, "traffic": [[from, to,
// bytes], ...]}, or N lines of N numbers, as TreeMatch reads: row = sender, column = receiver.
// Errors: invalid: what is wrong, and in which line or entry.
Result<Traffic> parse_rank_traffic(std::string_view text);

// A file of nigh run --record (src/mpi/record.cpp): what one rank sent to others, and read from their
// windows, and where its time went.
struct RankRecord {
  struct Communicator {
    std::string name;
    int size = 0;
    friend bool operator==(const Communicator&, const Communicator&) = default;
  };
  struct Sent {
    int to = 0;
    std::uint32_t communicator = 0;  // which of those below
    std::uint32_t way = 0;           // which of record_ways
    double bytes = 0, messages = 0;
    std::uint32_t function = no_function;            // which of those below
    double carried_bytes = 0, carried_messages = 0;  // by nigh; the rest by the library
  };
  static constexpr std::uint32_t no_function = 0xffffffff;  // records of version 1 do not say it
  int rank = 0, ranks = 0;
  bool complete = true;
  std::string host, program;
  int package = -1;  // its first CPU; -1: the rank could run on several, or the record does not say it
  RankTimes times;
  std::vector<Communicator> communicators;
  std::vector<std::string> functions;
  std::vector<Sent> sent;
};
inline constexpr std::array record_ways = {"point_to_point", "collective", "put", "get"};
Result<RankRecord> parse_rank_record(std::string_view text);
// Errors: invalid: files of several jobs, ranks that left none or one with gaps.
Result<Traffic> traffic_of_records(const std::vector<RankRecord>& records);

// "0-3, 7".
std::string rank_list(const std::vector<int>& ranks);

}  // namespace nigh::report
