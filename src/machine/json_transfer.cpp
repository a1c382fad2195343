// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Each object is described once, as the list of its fields with their bounds; reading, the unknown keys and
// writing all follow from the list.
#include "machine/json_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "machine/json_words.hpp"

namespace nigh {

namespace {
using nlohmann::json;

constexpr std::size_t most_parts = 64;  // ranges or levels
constexpr double most_value = 1e12;

// A number of an object: where it is kept, and what it is when it is left out.
template <class T>
struct Field {
  const char* key;
  double T::* value;
  bool above_zero;
  double absent;  // below 0: it may not be
};

constexpr std::array<Field<NetworkRange>, 5> range_fields = {
    {{"latency_us", &NetworkRange::latency_us, false, -1},
     {"process_mb_per_s", &NetworkRange::process_rate, true, -1},
     {"node_mb_per_s", &NetworkRange::node_rate, true, -1},
     {"latency_growth", &NetworkRange::latency_growth, false, 0},
     {"rate_loss", &NetworkRange::rate_loss, false, 0}}};
constexpr std::array<Field<Network>, 2> network_fields = {
    {{"stream_process_mb_per_s", &Network::stream_process_rate, false, 0},
     {"stream_node_mb_per_s", &Network::stream_node_rate, false, 0}}};
constexpr std::array<Field<CopyLevel>, 2> level_fields = {
    {{"core_mb_per_s", &CopyLevel::core_rate, true, -1}, {"node_mb_per_s", &CopyLevel::node_rate, true, -1}}};
constexpr std::array<Field<CopyRates>, 4> copy_fields = {
    {{"transpose_powers", &CopyRates::transpose_powers, true, 1},
     {"transpose_others", &CopyRates::transpose_others, true, 1},
     {"barrier_us", &CopyRates::barrier_us, false, 0},
     {"message_us", &CopyRates::message_us, false, 0}}};

tl::unexpected<Error> refused(const std::string& path, const std::string& what) {
  return fail(Errc::invalid, path + ": " + what);
}

template <class T, std::size_t N>
Result<void> read_fields(const json& object, const std::string& path, const std::array<Field<T>, N>& fields,
                         T& out) {
  for (const Field<T>& field : fields) {
    const std::string at = path + '.' + field.key;
    if (!object.contains(field.key)) {
      if (field.absent < 0) return refused(at, "is missing");
      out.*field.value = field.absent;
      continue;
    }
    const json& value = object[field.key];
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(field.above_zero ? number > 0 : number >= 0) || number > most_value)
      return refused(at, field.above_zero ? "must be a number above 0 and at most 1e12"
                                          : "must be a number from 0 to 1e12");
    out.*field.value = number;
  }
  return {};
}

// An object with these fields and with `others`, and nothing else.
template <class T, std::size_t N>
Result<void> check_object(const json& object, const std::string& path, const std::array<Field<T>, N>& fields,
                          const std::vector<const char*>& others) {
  std::vector<const char*> known = others;
  for (const Field<T>& field : fields) known.push_back(field.key);
  std::string list;
  for (const char* key : known) list += (list.empty() ? "" : ", ") + std::string(key);
  if (!object.is_object()) return refused(path, "must be an object with " + list);
  for (const auto& item : object.items())
    if (std::none_of(known.begin(), known.end(), [&](const char* key) { return item.key() == key; }))
      return refused(path, "unknown key " + quoted(item.key()) + "; known here: " + list);
  return {};
}

Result<void> read_whole(const json& object, const std::string& path, const char* key, std::uint64_t most,
                        std::uint64_t& out) {
  if (!object.contains(key)) return {};
  const json& value = object[key];
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 || value.get<std::uint64_t>() > most)
    return refused(path + '.' + key, "must be a whole number from 1 to " + std::to_string(most));
  out = value.get<std::uint64_t>();
  return {};
}

Result<void> read_one(const json& object, const std::string& path, NetworkRange& out) {
  if (auto ok = check_object(object, path, range_fields, {"upto"}); !ok) return ok;
  if (auto ok = read_whole(object, path, "upto", std::uint64_t{1} << 60, out.upto); !ok) return ok;
  return read_fields(object, path, range_fields, out);
}

Result<void> read_one(const json& object, const std::string& path, CopyLevel& out) {
  if (auto ok = check_object(object, path, level_fields, {"bytes", "cores"}); !ok) return ok;
  if (auto ok = read_whole(object, path, "bytes", std::uint64_t{1} << 60, out.bytes); !ok) return ok;
  std::uint64_t cores = 0;
  if (auto ok = read_whole(object, path, "cores", 65536, cores); !ok) return ok;
  out.cores = static_cast<int>(cores);
  return read_fields(object, path, level_fields, out);
}

template <class T>
Result<void> read_list(const json& object, const std::string& path, const char* key, std::vector<T>& out) {
  const std::string at = path + '.' + key;
  if (!object.contains(key)) return refused(at, "is missing");
  const json& list = object[key];
  if (!list.is_array() || list.empty() || list.size() > most_parts)
    return refused(at, "must be a list of 1 to " + std::to_string(most_parts) + " objects");
  for (std::size_t i = 0; i < list.size(); ++i) {
    T one;
    if (auto ok = read_one(list[i], fmt::format("{}[{}]", at, i), one); !ok) return ok;
    out.push_back(one);
  }
  return {};
}

Result<void> read_origin(const json& object, const std::string& path, Source& out) {
  const std::string at = path + ".source";
  if (!object.contains("source")) return refused(at, "is missing");
  if (!object["source"].is_string())
    return refused(at, "must name where the figures come from, such as \"measured\"");
  auto named = source_from_name(object["source"].get<std::string>());
  if (!named) return refused(at, named.error().message);
  if (*named == Source::unknown) return refused(at, "can't be unknown where there are figures");
  out = *named;
  return {};
}

template <class T, class Part, std::size_t N>
Result<void> read_key(const json& document, const char* key, const std::array<Field<T>, N>& fields,
                      const char* parts, std::vector<Part> T::* list, T& out) {
  if (!document.contains(key)) return {};
  const json& object = document[key];
  if (auto ok = check_object(object, key, fields, {"source", parts}); !ok) return ok;
  if (auto ok = read_origin(object, key, out.source); !ok) return ok;
  if (auto ok = read_list(object, key, parts, out.*list); !ok) return ok;
  if (auto ok = read_fields(object, key, fields, out); !ok) return ok;
  if (auto ok = out.validate(); !ok) return refused(key, ok.error().message);
  return {};
}

template <class T, std::size_t N>
std::string write_fields(const T& object, const std::array<Field<T>, N>& fields) {
  std::string out;
  for (const Field<T>& field : fields)
    if (field.absent < 0 || object.*field.value != field.absent)
      out += fmt::format("{}\"{}\": {}", out.empty() ? "" : ", ", field.key, object.*field.value);
  return out;
}

std::string write_one(const NetworkRange& range) {
  return (range.upto > 0 ? fmt::format("\"upto\": {}, ", range.upto) : "") +
         write_fields(range, range_fields);
}

std::string write_one(const CopyLevel& level) {
  return (level.bytes > 0 ? fmt::format("\"bytes\": {}, ", level.bytes) : "") +
         (level.cores > 0 ? fmt::format("\"cores\": {}, ", level.cores) : "") +
         write_fields(level, level_fields);
}

template <class T, class Part, std::size_t N>
std::string write_key(const char* key, const T& object, const std::array<Field<T>, N>& fields,
                      const char* name, const std::vector<Part>& parts) {
  if (parts.empty()) return "";
  std::string out =
      fmt::format(",\n  \"{}\": {{\n    \"source\": \"{}\",\n", key, source_name(object.source));
  if (const std::string text = write_fields(object, fields); !text.empty()) out += "    " + text + ",\n";
  out += fmt::format("    \"{}\": [", name);
  for (std::size_t i = 0; i < parts.size(); ++i)
    out += (i == 0 ? "\n      { " : ",\n      { ") + write_one(parts[i]) + " }";
  return out + "] }";
}
}  // namespace

Result<void> transfer_from_json(const json& document, Machine& machine) {
  if (auto ok = read_key(document, "network", network_fields, "ranges", &Network::ranges, machine.network);
      !ok)
    return ok;
  return read_key(document, "copying", copy_fields, "levels", &CopyRates::levels, machine.copying);
}

std::string transfer_to_json(const Machine& machine) {
  return write_key("network", machine.network, network_fields, "ranges", machine.network.ranges) +
         write_key("copying", machine.copying, copy_fields, "levels", machine.copying.levels);
}

}  // namespace nigh
