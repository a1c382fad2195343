// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A Machine as our JSON. Written by hand rather than dumped by the JSON library, so that a core stays on one
// line and a matrix looks like a matrix: these files are read, compared and edited by people. The same
// machine always gives the same bytes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "machine/json_devices.hpp"
#include "machine/json_transfer.hpp"
#include "machine/load.hpp"

namespace nigh {

namespace {
constexpr std::size_t line_width = 100;

std::string quote(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string indent(int depth) { return std::string(static_cast<std::size_t>(depth) * 2, ' '); }

const Object& object(const Machine& m, int i) { return m.objects[static_cast<std::size_t>(i)]; }

std::string head(const Object& o) {
  std::string out = fmt::format("{{ \"type\": \"{}\"", kind_name(o.kind));
  bool numbered_if_silent = o.kind == Kind::package || o.kind == Kind::core;
  if (o.os_index >= 0 || numbered_if_silent) out += fmt::format(", \"os_index\": {}", o.os_index);
  if (o.bytes > 0) out += fmt::format(", \"bytes\": {}", o.bytes);
  return out;
}

// The object on one line, or "" once it is longer than `room`.
std::string one_line(const Machine& m, int i, std::size_t room) {
  const auto& o = object(m, i);
  std::string out = head(o);
  for (std::size_t k = 0; k < o.children.size(); ++k) {
    if (out.size() >= room) return "";
    std::string child = one_line(m, o.children[k], room - out.size());
    if (child.empty()) return "";
    out += (k == 0 ? ", \"children\": [ " : ", ") + child;
  }
  out += o.children.empty() ? " }" : " ] }";
  return out.size() <= room ? out : "";
}

void write_object(const Machine& m, int i, int depth, std::string& out) {
  const auto& o = object(m, i);
  std::size_t used = static_cast<std::size_t>(depth) * 2;
  std::string line = used < line_width && i > 0 ? one_line(m, i, line_width - used) : "";
  if (!line.empty() || o.children.empty()) {
    out += indent(depth) + (line.empty() ? head(o) + " }" : line);
    return;
  }
  out += indent(depth) + head(o) + ", \"children\": [\n";
  for (std::size_t k = 0; k < o.children.size(); ++k) {
    write_object(m, o.children[k], depth + 1, out);
    out += k + 1 < o.children.size() ? ",\n" : " ] }";
  }
}

// n x n cells as a list of rows, one row a line.
template <class Cell>
std::string rows(std::size_t n, int depth, Cell cell) {
  std::string out = "[\n";
  for (std::size_t i = 0; i < n; ++i) {
    out += indent(depth) + '[';
    for (std::size_t j = 0; j < n; ++j) out += (j > 0 ? ", " : "") + cell(i * n + j);
    out += i + 1 < n ? "],\n" : "]]";
  }
  return out;
}

std::string write_matrix(const Machine& m, const LinkMatrix& matrix, const char* key, const char* unit) {
  std::size_t n = m.node_count();
  auto value = [&](std::size_t i) {
    return matrix.source[i] == Source::unknown ? std::string("null") : fmt::format("{}", matrix.value[i]);
  };
  auto source = [&](std::size_t i) {
    return matrix.source[i] == Source::unknown ? "null" : quote(source_name(matrix.source[i]));
  };
  Source only = Source::unknown;
  bool mixed = false;
  for (Source s : matrix.source) {
    mixed = mixed || (only != Source::unknown && s != Source::unknown && s != only);
    if (s != Source::unknown) only = s;
  }
  bool single = !mixed && only != Source::unknown;
  return fmt::format(
      "    \"{}\": {{\n      \"unit\": \"{}\",\n      \"values\": {},\n      \"source\": {} }}", key, unit,
      rows(n, 4, value), single ? quote(source_name(only)) : rows(n, 4, source));
}

std::string write_links(const Machine& m) {
  std::vector<std::string> parts;
  auto distance = [&](std::size_t i) { return std::to_string(m.slit[i]); };
  if (!m.slit.empty()) parts.push_back("    \"slit\": " + rows(m.node_count(), 3, distance));
  if (!m.bandwidth.empty()) parts.push_back(write_matrix(m, m.bandwidth, "bandwidth", "MB/s"));
  if (!m.latency.empty()) parts.push_back(write_matrix(m, m.latency, "latency", "ns"));
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? ",\n  \"links\": {\n" : ",\n") + part;
  return out.empty() ? out : out + " }";
}
}  // namespace

std::string machine_to_json(const Machine& m) {
  std::string out = "{\n  \"format\": \"nigh-machine\",\n  \"version\": 1";
  auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out += fmt::format(",\n  \"{}\": {}", key, quote(value));
  };
  text("name", m.name);
  text("title", m.title);
  text("origin", m.origin);
  for (std::size_t i = 0; i < m.notes.size(); ++i)
    out += (i == 0 ? ",\n  \"notes\": [\n    " : ",\n    ") + quote(m.notes[i]);
  if (!m.notes.empty()) out += " ]";
  std::string tree;
  write_object(m, 0, 1, tree);
  out += ",\n  \"tree\": " + tree.substr(2);
  return out + write_links(m) + transfer_to_json(m) + devices_to_json(m) + "\n}\n";
}

}  // namespace nigh
