// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/rank_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "report/rank_record.hpp"

namespace nigh::report {
namespace {

using Json = nlohmann::json;
using Document = nlohmann::ordered_json;

constexpr std::size_t most_time_columns = 512;
constexpr int most_time_rows = 256;
constexpr std::size_t most_functions = 6;  // with a line of their own
constexpr std::size_t most_intervals = 4096;
constexpr double most_seconds = 1e9, most_number = 1e18;
constexpr double most_cpu = 1e6;  // %, 10000 PUs

Error wrong_member(const char* member) {
  return Error{Errc::invalid, fmt::format("its \"{}\" is not what nigh run --record writes", member)};
}

// A number that is there and can be; 0 where it is not there.
Result<double> number_of(const Json& object, const char* member) {
  const auto found = object.find(member);
  if (found == object.end()) return 0.0;
  const double value = found->is_number() ? found->get<double>() : -1;
  if (!(value >= 0 && value <= most_number)) return tl::unexpected(wrong_member(member));
  return value;
}

Result<void> read_numbers(const Json& object,
                          std::initializer_list<std::pair<const char*, double*>> members) {
  for (const auto& [name, to] : members) {
    auto value = number_of(object, name);
    if (!value) return tl::unexpected(value.error());
    *to = *value;
  }
  return {};
}

Result<void> read_intervals(const Json& object, const char* member, std::vector<float>& to) {
  const Json parts = object.value(member, Json::array());
  if (!parts.is_array() || parts.size() > most_intervals) return tl::unexpected(wrong_member(member));
  for (const Json& one : parts) {
    const double value = one.is_number() ? one.get<double>() : -1;
    if (!(value >= 0 && value < most_seconds * 1e6)) return tl::unexpected(wrong_member(member));
    to.push_back(static_cast<float>(value));
  }
  return {};
}

Result<RankTimes::Function> function_from(const std::string& name, const Json& in) {
  if (!in.is_object()) return tl::unexpected(wrong_member("functions"));
  RankTimes::Function out;
  out.name = name;
  if (auto read = read_numbers(
          in, {{"calls", &out.calls}, {"seconds", &out.seconds}, {"longest_seconds", &out.longest_seconds}});
      !read)
    return tl::unexpected(read.error());
  if (auto read = read_intervals(in, "microseconds", out.microseconds); !read)
    return tl::unexpected(read.error());
  return out;
}

// All ranks on one axis, from the first one's start to the last one's end.
class Axis {
 public:
  explicit Axis(const std::vector<RankRecord>& records) {
    double last = 0, coarsest = 0;
    for (const RankRecord& record : records) {
      const RankTimes& times = record.times;
      if (times.seconds <= 0) continue;
      if (!any_ || times.started < start_) start_ = times.started;
      any_ = true;
      last = std::max(last, times.started + times.seconds);
      coarsest = std::max(coarsest, times.interval_seconds);
    }
    seconds_ = std::min(last - start_, most_seconds);
    if (coarsest > 0)
      columns_ = static_cast<std::size_t>(
          std::clamp(std::ceil(seconds_ / coarsest), 1.0, static_cast<double>(most_time_columns)));
  }
  [[nodiscard]] bool any() const { return any_ && seconds_ > 0; }
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] double column_seconds() const { return seconds_ / static_cast<double>(columns_); }

  // Adds to `to` the seconds in each column that intervals of `times` have.
  void spread(const RankTimes& times, const std::vector<float>& microseconds, std::vector<double>& to) const {
    if (times.interval_seconds <= 0) return;
    const double width = column_seconds();
    for (std::size_t i = 0; i < microseconds.size(); ++i) {
      const double in_it = static_cast<double>(microseconds[i]) / 1e6;
      if (in_it <= 0) continue;
      const double from = times.started - start_ + static_cast<double>(i) * times.interval_seconds;
      // The last interval may reach beyond the end of the run.
      const double until = std::min(from + times.interval_seconds, seconds_);
      if (from >= until) continue;
      auto column = std::min(static_cast<std::size_t>(from / width), columns_ - 1);
      for (double at = from; at < until; ++column) {
        const bool last = column + 1 >= columns_;
        const double end = last ? until : std::clamp(static_cast<double>(column + 1) * width, at, until);
        to[std::min(column, columns_ - 1)] += in_it * (end - at) / (until - from);
        at = end;
      }
    }
  }

 private:
  double start_ = 0, seconds_ = 0;
  std::size_t columns_ = 1;
  bool any_ = false;
};

Document percents(const std::vector<double>& seconds, double of, double most = 100) {
  Document out = Document::array();
  for (const double one : seconds) out.push_back(std::lround(std::min(most, 100 * one / of)));
  return out;
}

struct FunctionSum {
  double calls = 0, seconds = 0, longest_seconds = 0;
  int longest_rank = 0;
  std::vector<double> by_column;
};

// Ranks [first, last] as one row.
struct Row {
  int first = 0, last = 0, there = 0;
  std::string host = {};
  double in_mpi = 0, user = 0, system = 0, minor_faults = 0, major_faults = 0, peak_mib = 0;
  double resident_mib = 0, huge_mib = 0;
  std::vector<double> mean, most, cpu;  // s in each column: in MPI twice, of CPU time

  void add(const RankRecord& record, const std::vector<double>& in_mpi_by_column, double seconds) {
    if (there++ == 0) host = record.host;
    if (host != record.host) host = "several";
    in_mpi += seconds;
    user += record.times.user_seconds;
    system += record.times.system_seconds;
    minor_faults += record.times.minor_faults;
    major_faults += record.times.major_faults;
    peak_mib = std::max(peak_mib, record.times.peak_mib);
    resident_mib += record.times.resident_mib;
    huge_mib += record.times.huge_mib;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += in_mpi_by_column[i];
      most[i] = std::max(most[i], in_mpi_by_column[i]);
    }
  }
};

class Sums {
 public:
  Sums(const std::vector<RankRecord>& records, const Axis& axis)
      : axis_(axis), width_((records.front().ranks + most_time_rows - 1) / most_time_rows) {
    const int ranks = records.front().ranks;
    for (int first = 0; first < ranks; first += width_)
      rows_.push_back({.first = first,
                       .last = std::min(first + width_, ranks) - 1,
                       .mean = std::vector<double>(axis.columns()),
                       .most = std::vector<double>(axis.columns()),
                       .cpu = std::vector<double>(axis.columns())});
    for (const RankRecord& record : records)
      if (record.times.seconds > 0) add(record);
  }
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int there() const { return there_; }

  [[nodiscard]] Document in_mpi(bool most) const {
    Document out = Document::array();
    for (const Row& row : rows_)
      out.push_back(
          percents(most ? row.most : row.mean, axis_.column_seconds() * (most ? 1 : std::max(1, row.there))));
    return out;
  }

  // Null: no record has it.
  [[nodiscard]] Document cpu() const {
    if (!has_cpu_) return nullptr;
    Document out = Document::array();
    for (const Row& row : rows_)
      out.push_back(percents(row.cpu, axis_.column_seconds() * std::max(1, row.there), most_cpu));
    return out;
  }

  // Averages over the ranks of a row; of the peak of memory the maximum.
  [[nodiscard]] Document rows() const {
    Document out = Document::array();
    for (const Row& row : rows_) {
      const double there = std::max(1, row.there);
      out.push_back({{"first", row.first},
                     {"last", row.last},
                     {"host", row.host},
                     {"mpi_seconds", row.in_mpi / there},
                     {"user_seconds", row.user / there},
                     {"system_seconds", row.system / there},
                     {"minor_faults", row.minor_faults / there},
                     {"major_faults", row.major_faults / there},
                     {"peak_mib", row.peak_mib}});
      if (row.resident_mib > 0) {
        out.back()["resident_mib"] = row.resident_mib / there;
        out.back()["huge_mib"] = row.huge_mib / there;
      }
    }
    return out;
  }

  [[nodiscard]] Document functions() const {
    std::vector<std::pair<std::string, const FunctionSum*>> sorted;
    sorted.reserve(functions_.size());
    for (const auto& [name, sum] : functions_) sorted.emplace_back(name, &sum);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return std::tuple(-a.second->seconds, a.first) < std::tuple(-b.second->seconds, b.first);
    });
    Document out = Document::array();
    for (const auto& [name, sum] : sorted) {
      out.push_back({{"name", name},
                     {"calls", sum->calls},
                     {"seconds", sum->seconds},
                     {"longest_seconds", sum->longest_seconds},
                     {"longest_rank", sum->longest_rank}});
      if (out.size() <= most_functions)
        out.back()["percent"] = percents(sum->by_column, axis_.column_seconds() * std::max(1, there_));
    }
    return out;
  }

 private:
  void add(const RankRecord& record) {
    ++there_;
    std::vector<double> in_mpi(axis_.columns()), one(axis_.columns());
    double seconds = 0;
    for (const RankTimes::Function& function : record.times.functions) {
      std::fill(one.begin(), one.end(), 0.0);
      axis_.spread(record.times, function.microseconds, one);
      FunctionSum& sum = functions_[function.name];
      sum.by_column.resize(axis_.columns());
      for (std::size_t i = 0; i < one.size(); ++i) {
        in_mpi[i] += one[i];
        sum.by_column[i] += one[i];
      }
      sum.calls += function.calls;
      sum.seconds += function.seconds;
      seconds += function.seconds;
      if (function.longest_seconds > sum.longest_seconds) {
        sum.longest_seconds = function.longest_seconds;
        sum.longest_rank = record.rank;
      }
    }
    Row& row = rows_[static_cast<std::size_t>(record.rank / width_)];
    row.add(record, in_mpi, seconds);
    axis_.spread(record.times, record.times.cpu_microseconds, row.cpu);
    has_cpu_ = has_cpu_ || !record.times.cpu_microseconds.empty();
  }

  const Axis& axis_;
  int width_, there_ = 0;
  bool has_cpu_ = false;
  std::vector<Row> rows_;
  std::map<std::string, FunctionSum> functions_;
};

}  // namespace

Result<RankTimes> rank_times_from(const Json& record) {
  RankTimes out;
  auto read = read_numbers(record, {{"started", &out.started},
                                    {"seconds", &out.seconds},
                                    {"interval_seconds", &out.interval_seconds},
                                    {"user_seconds", &out.user_seconds},
                                    {"system_seconds", &out.system_seconds},
                                    {"minor_faults", &out.minor_faults},
                                    {"major_faults", &out.major_faults},
                                    {"peak_mib", &out.peak_mib},
                                    {"resident_mib", &out.resident_mib},
                                    {"huge_mib", &out.huge_mib}});
  if (!read) return tl::unexpected(read.error());
  if (out.seconds > most_seconds) return tl::unexpected(wrong_member("seconds"));
  if (read = read_intervals(record, "cpu_microseconds", out.cpu_microseconds); !read)
    return tl::unexpected(read.error());
  const Json functions = record.value("functions", Json::object());
  if (!functions.is_object()) return tl::unexpected(wrong_member("functions"));
  for (const auto& [name, in] : functions.items()) {
    auto function = function_from(name, in);
    if (!function) return tl::unexpected(function.error());
    out.functions.push_back(*std::move(function));
  }
  return out;
}

Document rank_times_document(const std::vector<RankRecord>& records, const std::string& name) {
  const Axis axis(records);
  if (!axis.any()) return nullptr;
  const Sums sums(records, axis);
  const auto named =
      std::find_if(records.begin(), records.end(), [](const auto& one) { return !one.program.empty(); });
  Document out = {{"format", "nigh-rank-times"},
                  {"version", 1},
                  {"name", name},
                  {"program", named == records.end() ? "" : named->program},
                  {"ranks", records.front().ranks},
                  {"told", sums.there()},
                  {"width", sums.width()},
                  {"seconds", axis.seconds()},
                  {"in_mpi", sums.in_mpi(false)},
                  {"functions", sums.functions()},
                  {"rows", sums.rows()}};
  if (sums.width() > 1) out["most_in_mpi"] = sums.in_mpi(true);
  if (Document cpu = sums.cpu(); !cpu.is_null()) out["cpu"] = std::move(cpu);
  return out;
}

}  // namespace nigh::report
