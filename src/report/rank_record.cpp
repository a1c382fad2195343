// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/rank_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace nigh::report {
namespace {

using Json = nlohmann::json;
using Entries = std::vector<Traffic::Entry>;

Error wrong(const std::string& what) { return Error{Errc::invalid, what}; }

bool is_rank(const Json& value, int ranks) {
  return value.is_number_integer() && value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() < ranks;
}
bool is_bytes(double bytes) { return std::isfinite(bytes) && bytes >= 0; }

Result<Traffic> traffic_of_document(std::string_view text) {
  const Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return tl::unexpected(wrong("it is not JSON"));
  const auto format = root.find("format");
  if (format == root.end() || *format != "nigh-ranks")
    return tl::unexpected(wrong("its \"format\" is not \"nigh-ranks\""));
  const auto version = root.find("version");
  if (version == root.end() || *version != 1)
    return tl::unexpected(wrong("its \"version\" is not 1, the only one that this nigh reads"));
  const auto ranks = root.find("ranks"), traffic = root.find("traffic");
  if (ranks == root.end() || !is_rank(*ranks, most_ranks + 1) || *ranks == 0)
    return tl::unexpected(wrong(fmt::format("its \"ranks\" is not a number from 1 to {}", most_ranks)));
  if (traffic == root.end() || !traffic->is_array())
    return tl::unexpected(wrong("it has no list \"traffic\""));
  const int count = ranks->get<int>();
  Entries entries;
  for (const Json& row : *traffic) {
    if (!row.is_array() || row.size() < 3 || !is_rank(row[0], count) || !is_rank(row[1], count) ||
        !row[2].is_number() || !is_bytes(row[2].get<double>()))
      return tl::unexpected(wrong(fmt::format(
          "entry {} of \"traffic\" is not [from, to, bytes] with ranks below {}", entries.size(), count)));
    entries.push_back({row[0].get<int>(), row[1].get<int>(), row[2].get<double>()});
  }
  return Traffic(count, entries);
}

Result<std::vector<double>> numbers_of(std::string_view line, std::size_t number) {
  std::vector<double> out;
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == ',' || c == ';'; };
  while (true) {
    while (!line.empty() && blank(line.front())) line.remove_prefix(1);
    if (line.empty()) return out;
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    const auto length = static_cast<std::size_t>(end - line.data());
    if (error != std::errc() || !is_bytes(value) || (length < line.size() && !blank(line[length])))
      return tl::unexpected(
          wrong(fmt::format("line {}: '{}' is not a number of bytes", number,
                            line.substr(0, std::min<std::size_t>(line.find_first_of(" \t\r,;"), 20)))));
    out.push_back(value);
    line.remove_prefix(length);
  }
}

Result<Traffic> traffic_of_matrix(std::string_view text) {
  Entries entries;
  std::size_t ranks = 0, row = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    auto values = numbers_of(text.substr(0, end), number);
    if (!values) return tl::unexpected(values.error());
    text.remove_prefix(std::min(end + 1, text.size()));
    if (values->empty()) continue;
    if (row == 0) ranks = values->size();
    if (ranks > static_cast<std::size_t>(most_ranks))
      return tl::unexpected(wrong(fmt::format("it has {} ranks, more than {}", ranks, most_ranks)));
    if (values->size() != ranks || row == ranks)
      return tl::unexpected(wrong(
          row == ranks
              ? fmt::format("line {}: there are more lines than the {} numbers of the first one", number,
                            ranks)
              : fmt::format("line {} has {} numbers, the first one {}", number, values->size(), ranks)));
    for (std::size_t i = 0; i < ranks; ++i)
      if ((*values)[i] > 0) entries.push_back({static_cast<int>(row), static_cast<int>(i), (*values)[i]});
    ++row;
  }
  if (row == 0) return tl::unexpected(wrong("it is empty"));
  if (row < ranks)
    return tl::unexpected(
        wrong(fmt::format("it has {} lines of {} numbers: {} lines are missing", row, ranks, ranks - row)));
  return Traffic(static_cast<int>(ranks), entries);
}

bool is_sent(const Json& row, int ranks) {
  if (!row.is_array() || row.size() < 2 || !is_rank(row[0], ranks)) return false;
  return std::all_of(row.begin() + 1, row.end(),
                     [](const Json& value) { return value.is_number() && is_bytes(value.get<double>()); });
}

std::uint32_t number_of(const std::string& function, RankRecord& in) {
  const auto found = std::find(in.functions.begin(), in.functions.end(), function);
  const auto number = static_cast<std::uint32_t>(found - in.functions.begin());
  if (found == in.functions.end()) in.functions.push_back(function);
  return number;
}

// Rows of one way and one function, which `of` names.
Result<void> read_rows(const Json& rows, RankRecord::Sent of, RankRecord& out) {
  for (const Json& row : rows) {
    if (!is_sent(row, out.ranks))
      return tl::unexpected(
          wrong(fmt::format("an entry of \"{}\" is not [rank, bytes, messages]", record_ways[of.way])));
    const auto value = [&](std::size_t at) { return row.size() > at ? row[at].get<double>() : 0; };
    of.to = row[0].get<int>();
    of.bytes = value(1), of.messages = value(2);
    of.carried_bytes = value(3), of.carried_messages = value(4);
    out.sent.push_back(of);
  }
  return {};
}

Result<void> read_communicator(const Json& in, RankRecord& out) {
  if (!in.is_object()) return tl::unexpected(wrong("its \"communicators\" are not objects"));
  const Json name = in.value("name", Json()), size = in.value("size", Json());
  const auto number = static_cast<std::uint32_t>(out.communicators.size());
  out.communicators.push_back(
      {name.is_string() ? name.get<std::string>() : "", is_rank(size, most_ranks + 1) ? size.get<int>() : 0});
  for (std::uint32_t way = 0; way < record_ways.size(); ++way) {
    const auto found = in.find(record_ways[way]);
    if (found == in.end()) continue;
    if (!found->is_object()) {  // version 1 has no functions
      if (auto read = read_rows(*found, {.communicator = number, .way = way}, out); !read) return read;
      continue;
    }
    for (const auto& [function, rows] : found->items()) {
      const RankRecord::Sent of = {.communicator = number, .way = way, .function = number_of(function, out)};
      if (auto read = read_rows(rows, of, out); !read) return read;
    }
  }
  return {};
}

}  // namespace

Result<Traffic> parse_rank_traffic(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '{') return traffic_of_document(text);
  return traffic_of_matrix(text);
}

Result<RankRecord> parse_rank_record(std::string_view text) {
  const Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object())
    return tl::unexpected(wrong("it is not JSON, or was cut short"));
  const Json version = root.value("version", Json());
  if (root.value("format", Json()) != "nigh-rank" || (version != 1 && version != 2))
    return tl::unexpected(wrong("it is not a record of this nigh (format nigh-rank, versions 1 and 2)"));
  const Json ranks = root.value("ranks", Json()), rank = root.value("rank", Json());
  if (!is_rank(ranks, most_ranks + 1) || ranks == 0 || !is_rank(rank, ranks.get<int>()))
    return tl::unexpected(wrong("its \"rank\" and \"ranks\" are not numbers of a job"));
  RankRecord out;
  out.ranks = ranks.get<int>();
  out.rank = rank.get<int>();
  out.complete = root.value("complete", Json(true)) == true;
  if (const auto host = root.find("host"); host != root.end() && host->is_string()) out.host = *host;
  if (const auto program = root.find("program"); program != root.end() && program->is_string())
    out.program = *program;
  constexpr int most_pus = 65536;
  if (const auto package = root.find("package"); package != root.end() && is_rank(*package, most_pus))
    out.package = package->get<int>();
  auto times = rank_times_from(root);
  if (!times) return tl::unexpected(times.error());
  out.times = *std::move(times);
  const Json communicators = root.value("communicators", Json::array());
  for (const Json& communicator : communicators)
    if (auto read = read_communicator(communicator, out); !read) return tl::unexpected(read.error());
  return out;
}

Result<Traffic> traffic_of_records(const std::vector<RankRecord>& records) {
  const int ranks = records.front().ranks;
  std::vector<int> missing;
  std::vector<bool> there(static_cast<std::size_t>(ranks), false);
  Entries entries;
  for (const RankRecord& record : records) {
    if (record.ranks != ranks)
      return tl::unexpected(
          wrong(fmt::format("it holds files of jobs of {} and of {} ranks", ranks, record.ranks)));
    if (!record.complete)
      return tl::unexpected(
          wrong(fmt::format("the record of rank {} has gaps: it had no memory left", record.rank)));
    there[static_cast<std::size_t>(record.rank)] = true;
    for (const RankRecord::Sent& sent : record.sent) entries.push_back({record.rank, sent.to, sent.bytes});
  }
  for (int rank = 0; rank < ranks; ++rank)
    if (!there[static_cast<std::size_t>(rank)]) missing.push_back(rank);
  if (!missing.empty())
    return tl::unexpected(
        wrong(fmt::format("{} {} of {} left no record: they ended early, or ran without nigh",
                          missing.size() == 1 ? "rank" : "ranks", rank_list(missing), ranks)));
  return Traffic(ranks, entries);
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", ranks[i]);
    if (end - i > 1) out += fmt::format("-{}", ranks[end - 1]);
    i = end;
  }
  return out;
}

}  // namespace nigh::report
