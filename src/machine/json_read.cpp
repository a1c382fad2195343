// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Our JSON to a Machine. The file is input from people, so every rule of docs/machine-json.md is checked
// here, where the place in the file is still known ("tree.children[0].type"), and sizes are bounded before
// anything is built: a short file with nested counts must not eat the memory. The first thing wrong ends the
// reading.
#include <nlohmann/json.hpp>

#include <set>

#include "machine/draw.hpp"
#include "machine/json_devices.hpp"
#include "machine/json_transfer.hpp"
#include "machine/json_words.hpp"
#include "machine/load.hpp"

namespace nigh {

namespace {
using Json = nlohmann::json;

constexpr std::size_t max_text = std::size_t{64} << 20;
constexpr int max_objects = 65536;
constexpr int max_depth = 64;

std::string join_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + '.' + key;
}

std::string item_path(const std::string& path, std::size_t i) { return path + '[' + std::to_string(i) + ']'; }

class Reader {
 public:
  explicit Reader(std::string where) : where_(std::move(where)) {}
  Result<Machine> read(std::string_view text);

 private:
  using Ok = bool;  // false: error_ says why

  Ok refuse(const std::string& path, const std::string& what) {
    error_ = Error{Errc::invalid, where_ + ": " + (path.empty() ? "" : path + ": ") + what, 0};
    return false;
  }
  Ok parse(std::string_view text, Json& document);
  Ok check_keys(const Json& object, const std::string& path, std::initializer_list<const char*> known);
  Ok read_header(const Json& document);
  Ok read_text(const Json& document, const char* key, std::string& out);
  Ok read_notes(const Json& document);
  Ok read_integer(const Json& value, const std::string& path, std::uint64_t low, std::uint64_t high,
                  std::uint64_t& out);
  Ok read_pu_numbers(const Json& document);
  Ok read_tree(const Json& document);
  Ok read_children(const Json& object, Kind kind, const std::string& path);
  Ok read_child(const Json& object, const std::string& path);
  Ok read_kind(const Json& object, const std::string& path, Kind& kind);
  Ok open_object(const Json& object, Kind kind, const std::string& path);
  Ok number_object(const Json& object, Kind kind, const std::string& path, int& os_index);
  void restart_cores() {  // core numbers are per package
    met_[static_cast<int>(Kind::core)] = 0;
    std::erase_if(taken_, [](const auto& t) { return t.first == Kind::core; });
  }
  Ok read_links(const Json& document);
  Ok read_slit(const Json& links);
  Ok read_matrix(const Json& links, const char* key, const char* unit, LinkMatrix& out);
  Ok read_source(const Json& source, bool known, const std::string& path, Source& out);
  Ok check_square(const Json& rows, const std::string& path);
  Ok read_transfer(const Json& document);

  std::string where_;
  Error error_;
  MachineBuilder builder_;
  std::vector<Kind> open_kinds_;
  int objects_ = 0;
  int met_[16] = {};  // objects met so far, by kind; cores restart in each package
  std::set<std::pair<Kind, int>> taken_;
  bool given_numbers_ = false;
  std::vector<int> pu_numbers_;
  std::size_t nodes_ = 0;
};

Reader::Ok Reader::parse(std::string_view text, Json& document) {
  if (text.size() > max_text) return refuse("", "larger than 64 MiB, which no machine file is");
  std::vector<std::set<std::string>> keys;
  std::string twice;
  auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second &&
        twice.empty())
      twice = quoted(value.get<std::string>());
    return true;
  };
  try {
    document = Json::parse(text, watch);
  } catch (const Json::exception& e) { return refuse("", parse_message(e.what())); }
  if (!twice.empty()) return refuse("", "the key " + twice + " appears twice in one object");
  if (!document.is_object()) return refuse("", "must be a JSON object, as `nigh machine --json` prints");
  return true;
}

Reader::Ok Reader::check_keys(const Json& object, const std::string& path,
                              std::initializer_list<const char*> known) {
  for (const auto& [key, value] : object.items()) {
    bool found = false;
    std::string list;
    for (const char* k : known) {
      found = found || key == k;
      list += (list.empty() ? "" : ", ") + std::string(k);
    }
    if (!found) return refuse(path, "unknown key " + quoted(key) + "; known here: " + list);
  }
  return true;
}

Reader::Ok Reader::read_text(const Json& document, const char* key, std::string& out) {
  if (!document.contains(key)) return true;
  if (!document[key].is_string()) return refuse(key, "must be a string");
  out = document[key].get<std::string>();
  return true;
}

Reader::Ok Reader::read_notes(const Json& document) {
  if (!document.contains("notes")) return true;
  const auto& notes = document["notes"];
  if (!notes.is_array()) return refuse("notes", "must be a list of strings");
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (!notes[i].is_string()) return refuse(item_path("notes", i), "must be a string");
    builder_.machine().notes.push_back(notes[i].get<std::string>());
  }
  return true;
}

Reader::Ok Reader::read_integer(const Json& value, const std::string& path, std::uint64_t low,
                                std::uint64_t high, std::uint64_t& out) {
  bool in_range =
      value.is_number_unsigned() && value.get<std::uint64_t>() >= low && value.get<std::uint64_t>() <= high;
  if (!in_range)
    return refuse(path, "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  out = value.get<std::uint64_t>();
  return true;
}

Reader::Ok Reader::read_header(const Json& document) {
  if (!document.contains("format") || document["format"] != "nigh-machine")
    return refuse("format", "must be \"nigh-machine\"");
  if (!document.contains("version")) return refuse("version", "is missing; this nigh writes version 1");
  const auto& version = document["version"];
  if (!version.is_number_unsigned() || version.get<std::uint64_t>() == 0)
    return refuse("version", "must be a whole number, 1 or more");
  if (version.get<std::uint64_t>() > 1)
    return refuse("version", "is " + version.dump() +
                                 ", but this nigh reads version 1 only; a newer nigh wrote this file");
  if (!check_keys(document, "",
                  {"format", "version", "name", "title", "origin", "notes", "tree", "pu_numbers", "links",
                   "network", "copying", "devices"}))
    return false;
  auto& m = builder_.machine();
  return read_text(document, "name", m.name) && read_text(document, "title", m.title) &&
         read_text(document, "origin", m.origin) && read_notes(document);
}

Reader::Ok Reader::read_pu_numbers(const Json& document) {
  given_numbers_ = document.contains("pu_numbers");
  if (!given_numbers_) return true;
  const auto& list = document["pu_numbers"];
  if (!list.is_array()) return refuse("pu_numbers", "must be a list of PU numbers");
  std::set<int> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::uint64_t number = 0;
    if (!read_integer(list[i], item_path("pu_numbers", i), 0, CpuSet::max_cpu, number)) return false;
    if (!seen.insert(static_cast<int>(number)).second)
      return refuse(item_path("pu_numbers", i), "pu " + std::to_string(number) + " appears twice");
    pu_numbers_.push_back(static_cast<int>(number));
  }
  return true;
}

Reader::Ok Reader::read_kind(const Json& object, const std::string& path, Kind& kind) {
  if (!object.is_object()) return refuse(path, "must be an object such as { \"type\": \"core\", ... }");
  if (!object.contains("type")) return refuse(path, "has no type");
  const auto& type = object["type"];
  if (!type.is_string()) return refuse(path + ".type", "must be a string");
  auto known = kind_from_name(type.get<std::string>());
  if (!known) return refuse(path + ".type", known.error().message);
  kind = *known;
  return true;
}

Reader::Ok Reader::read_tree(const Json& document) {
  if (!document.contains("tree")) return refuse("tree", "is missing");
  const auto& tree = document["tree"];
  Kind kind = Kind::machine;
  if (!read_kind(tree, "tree", kind)) return false;
  if (kind != Kind::machine) return refuse("tree.type", "must be machine, the root of the tree");
  if (!check_keys(tree, "tree", {"type", "children"})) return false;
  open_kinds_.push_back(Kind::machine);
  if (!read_children(tree, kind, "tree")) return false;
  auto pus = static_cast<std::size_t>(met_[static_cast<int>(Kind::pu)]);
  if (given_numbers_ && pu_numbers_.size() != pus)
    return refuse("pu_numbers", "has " + std::to_string(pu_numbers_.size()) + " numbers, but the tree has " +
                                    std::to_string(pus) + " PUs");
  nodes_ = static_cast<std::size_t>(met_[static_cast<int>(Kind::numa)]);
  return true;
}

Reader::Ok Reader::read_children(const Json& object, Kind kind, const std::string& path) {
  bool any = object.contains("children");
  if (any && !object["children"].is_array()) return refuse(path + ".children", "must be a list of objects");
  if (kind == Kind::pu && any) return refuse(path + ".children", "a PU has nothing inside");
  if (kind != Kind::pu && kind != Kind::numa && (!any || object["children"].empty()))
    return refuse(path, "is empty; only a PU or a memory-only NUMA node has nothing inside");
  if (!any) return true;
  const auto& children = object["children"];
  for (std::size_t i = 0; i < children.size(); ++i)
    if (!read_child(children[i], item_path(path + ".children", i))) return false;
  return true;
}

Reader::Ok Reader::read_child(const Json& object, const std::string& path) {
  Kind kind = Kind::machine;
  if (!read_kind(object, path, kind)) return false;
  if (!check_keys(object, path, {"type", "os_index", "bytes", "children", "count"})) return false;
  bool has_inside =
      object.contains("children") && object["children"].is_array() && !object["children"].empty();
  for (Kind outer : open_kinds_)
    if (!may_hold(outer, kind) || (outer == Kind::numa && kind == Kind::numa && has_inside))
      return refuse(path + ".type", std::string(kind_name(kind)) + " can't be inside a " + kind_name(outer));
  if (open_kinds_.size() >= max_depth)
    return refuse(path, "is nested more than " + std::to_string(max_depth) + " levels deep");
  std::uint64_t count = 1;
  if (object.contains("count")) {
    if (!read_integer(object["count"], path + ".count", 1, max_objects, count)) return false;
    if (object.contains("os_index"))
      return refuse(path + ".os_index", "can't be given together with count; the copies are numbered on");
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!open_object(object, kind, path)) return false;
    open_kinds_.push_back(kind);
    if (!read_children(object, kind, path)) return false;
    open_kinds_.pop_back();
    builder_.close();
    if (kind == Kind::package) restart_cores();
  }
  return true;
}

Reader::Ok Reader::open_object(const Json& object, Kind kind, const std::string& path) {
  if (++objects_ > max_objects)
    return refuse(path, "the tree has more than " + std::to_string(max_objects) + " objects");
  std::uint64_t bytes = 0;
  bool sized = kind == Kind::numa || kind == Kind::l3 || kind == Kind::l2;
  if (object.contains("bytes") && !sized)
    return refuse(path + ".bytes",
                  "is for NUMA nodes and caches only, not for a " + std::string(kind_name(kind)));
  if (object.contains("bytes") &&
      !read_integer(object["bytes"], path + ".bytes", 0, std::uint64_t{1} << 60, bytes))
    return false;
  int os_index = -1;
  if (!number_object(object, kind, path, os_index)) return false;
  builder_.open(kind, os_index, bytes);
  return true;
}

Reader::Ok Reader::number_object(const Json& object, Kind kind, const std::string& path, int& os_index) {
  int& met = met_[static_cast<int>(kind)];
  bool counted = kind == Kind::package || kind == Kind::numa || kind == Kind::core || kind == Kind::pu;
  bool needed = kind == Kind::numa || kind == Kind::pu;
  if (object.contains("os_index")) {
    const auto& value = object["os_index"];
    if (kind == Kind::pu && given_numbers_)
      return refuse(path + ".os_index", "can't be given together with pu_numbers");
    bool none = !needed && value.is_number_integer() && value == -1;  // "has no number"
    std::uint64_t number = 0;
    if (!none && !read_integer(value, path + ".os_index", 0, CpuSet::max_cpu, number)) return false;
    os_index = none ? -1 : static_cast<int>(number);
  } else if (kind == Kind::pu && given_numbers_) {
    if (static_cast<std::size_t>(met) >= pu_numbers_.size())
      return refuse("pu_numbers",
                    "has " + std::to_string(pu_numbers_.size()) + " numbers, but the tree has more PUs");
    os_index = pu_numbers_[static_cast<std::size_t>(met)];
  } else if (counted) {
    os_index = met;
  }
  ++met;
  if (kind == Kind::package) restart_cores();
  if (counted && os_index > CpuSet::max_cpu)
    return refuse(path,
                  std::string(kind_name(kind)) + " numbers go up to " + std::to_string(CpuSet::max_cpu));
  if (counted && os_index >= 0 && !taken_.emplace(kind, os_index).second)
    return refuse(path, std::string(kind_name(kind)) + ' ' + std::to_string(os_index) +
                            (kind == Kind::core ? " appears twice in its package" : " appears twice"));
  return true;
}

Reader::Ok Reader::check_square(const Json& rows, const std::string& path) {
  std::string shape = "must be " + std::to_string(nodes_) + " rows of " + std::to_string(nodes_) +
                      " entries, one for each NUMA node";
  if (!rows.is_array() || rows.size() != nodes_) return refuse(path, shape);
  for (std::size_t i = 0; i < nodes_; ++i)
    if (!rows[i].is_array() || rows[i].size() != nodes_) return refuse(item_path(path, i), shape);
  return true;
}

Reader::Ok Reader::read_links(const Json& document) {
  if (!document.contains("links")) return true;
  const auto& links = document["links"];
  if (!links.is_object()) return refuse("links", "must be an object with slit, bandwidth or latency");
  if (!check_keys(links, "links", {"slit", "bandwidth", "latency"})) return false;
  auto& m = builder_.machine();
  return read_slit(links) && read_matrix(links, "bandwidth", "MB/s", m.bandwidth) &&
         read_matrix(links, "latency", "ns", m.latency);
}

Reader::Ok Reader::read_slit(const Json& links) {
  if (!links.contains("slit")) return true;
  const auto& rows = links["slit"];
  if (!check_square(rows, "links.slit")) return false;
  for (std::size_t i = 0; i < nodes_; ++i)
    for (std::size_t j = 0; j < nodes_; ++j) {
      std::uint64_t distance = 0;
      if (!read_integer(rows[i][j], item_path(item_path("links.slit", i), j), 1, 255, distance)) return false;
      builder_.machine().slit.push_back(static_cast<int>(distance));
    }
  return true;
}

Reader::Ok Reader::read_source(const Json& source, bool known, const std::string& path, Source& out) {
  out = Source::unknown;
  if (source.is_null() && !known) return true;
  if (!known) return refuse(path, "must be null where the value is null");
  if (!source.is_string()) return refuse(path, "must name where the figure comes from, such as \"measured\"");
  auto named = source_from_name(source.get<std::string>());
  if (!named) return refuse(path, named.error().message);
  if (*named == Source::unknown) return refuse(path, "can't be unknown where there is a value");
  out = *named;
  return true;
}

Reader::Ok Reader::read_matrix(const Json& links, const char* key, const char* unit, LinkMatrix& out) {
  if (!links.contains(key)) return true;
  const auto& matrix = links[key];
  std::string path = join_path("links", key);
  if (!matrix.is_object()) return refuse(path, "must be an object with unit, values and source");
  if (!check_keys(matrix, path, {"unit", "values", "source"})) return false;
  for (const char* needed : {"unit", "values", "source"})
    if (!matrix.contains(needed)) return refuse(path + '.' + needed, "is missing");
  if (matrix["unit"] != unit) return refuse(path + ".unit", "must be \"" + std::string(unit) + '"');
  const auto& values = matrix["values"];
  const auto& source = matrix["source"];
  if (!check_square(values, path + ".values")) return false;
  bool single = source.is_string();
  if (!single && !check_square(source, path + ".source")) return false;
  for (std::size_t i = 0; i < nodes_; ++i)
    for (std::size_t j = 0; j < nodes_; ++j) {
      const auto& value = values[i][j];
      std::string at = item_path(item_path(path + ".values", i), j);
      bool known = !value.is_null();
      double number = value.is_number() ? value.get<double>() : 0;
      if (known && !(number > 0 && number <= 1e12))
        return refuse(at, "must be null or a number above 0 and at most 1e12");
      Source from = Source::unknown;
      std::string source_at = single ? path + ".source" : item_path(item_path(path + ".source", i), j);
      if ((!single || known) && !read_source(single ? source : source[i][j], known, source_at, from))
        return false;
      out.value.push_back(known ? number : 0);
      out.source.push_back(from);
    }
  return true;
}

Reader::Ok Reader::read_transfer(const Json& document) {
  auto ok = transfer_from_json(document, builder_.machine());
  if (ok) ok = devices_from_json(document, builder_.machine());
  return ok || refuse("", ok.error().message);
}

Result<Machine> Reader::read(std::string_view text) {
  Json document;
  bool ok = parse(text, document) && read_header(document) && read_pu_numbers(document) &&
            read_tree(document) && read_links(document) && read_transfer(document);
  if (!ok) return tl::unexpected(error_);
  auto machine = builder_.finish();
  if (!machine) return fail_in(where_, machine.error());
  return machine;
}
}  // namespace

Result<Machine> machine_from_json(std::string_view text, const std::string& where) {
  auto machine = Reader(where).read(text);
  // Messages quote the file, and a quoted newline or control character must not reach a terminal or a log.
  if (!machine) machine.error().message = printable(machine.error().message);
  return machine;
}

}  // namespace nigh
