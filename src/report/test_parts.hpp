// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// For the tests of the report: a page with nothing but a machine, and how often a word stands in a text.
#pragma once

#include <string>

#include "machine/load.hpp"
#include "report/documents.hpp"
#include "report/page.hpp"

namespace nigh::report {

inline ReportParts parts() {
  ReportParts out;
  out.machine = load_model("barcelona").value();
  out.documents.push_back(machine_document(out.machine));
  out.date = "2026-01-01";
  return out;
}

inline std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

}  // namespace nigh::report
