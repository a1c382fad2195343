// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The table of peers: which way to bind gives the right map in which case (docs/vm.md tells what is right).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/page.hpp"

namespace nigh::report {

using nlohmann::json;

namespace {

std::size_t index_of(std::vector<std::string>& names, const std::string& name) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) found = names.insert(names.end(), name);
  return static_cast<std::size_t>(found - names.begin());
}

// Older files may lack `how`; `right` is a truth value or a word.
std::string verdict(const json& run) {
  auto how = run.value("how", std::vector<std::string>{});
  const json& right = run.at("right");
  bool is_right =
      right.is_boolean() ? right.get<bool>() : right.is_string() && right.get<std::string>() != "no";
  if (is_right) return right.is_string() ? right.get<std::string>() : how.empty() ? "right" : how.front();
  return how.empty() ? "wrong" : fmt::format("{}", fmt::join(how, ", "));
}

}  // namespace

Result<Peers> peers_from_json(const std::string& text, const std::string& where) {
  json in = json::parse(text, nullptr, false);
  if (in.is_discarded() || !in.is_object() || !in.contains("format") || in["format"] != "nigh-peers")
    return fail(Errc::invalid, where + " is not a table of peers");
  try {
    Peers out;
    if (auto machine = in.find("machine"); machine != in.end())
      out.machine = machine->is_string() ? machine->get<std::string>() : machine->value("name", "");
    for (const json& run : in.at("runs")) {
      std::string name = run.at("case").get<std::string>() + " " + run.value("runtime", "");
      std::string subject = run.at("subject").get<std::string>();
      std::size_t column = index_of(out.cases, name);
      auto row =
          std::find_if(out.rows.begin(), out.rows.end(), [&](const auto& r) { return r.subject == subject; });
      if (row == out.rows.end()) row = out.rows.insert(out.rows.end(), {subject, {}});
      if (row->cells.size() <= column) row->cells.resize(column + 1);
      row->cells[column] = verdict(run);
    }
    for (auto& row : out.rows) row.cells.resize(out.cases.size());
    return out;
  } catch (const json::exception& error) { return fail(Errc::invalid, where + ": " + error.what()); }
}

nlohmann::ordered_json peers_document(const Peers& peers) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& row : peers.rows) rows.push_back({{"subject", row.subject}, {"cells", row.cells}});
  return {{"format", "nigh-peers-table"},
          {"version", 1},
          {"machine", peers.machine},
          {"cases", peers.cases},
          {"rows", std::move(rows)}};
}

}  // namespace nigh::report
