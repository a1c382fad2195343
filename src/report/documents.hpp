// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The page shows documents that nigh's commands wrote with --json, and records of ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "machine/machine.hpp"
#include "plan/nested.hpp"
#include "report/rank_record.hpp"

namespace nigh::report {

// A document of a file. Errors: invalid: it is none, of a later version, or of a format that the page has no
// view for.
Result<nlohmann::ordered_json> page_document(const std::string& text, const std::string& where);

// The documents of a file: one, or all of a page that nigh report wrote, or a browser kept. Errors: as above.
Result<std::vector<nlohmann::ordered_json>> page_documents(const std::string& text, const std::string& where);

// A machine as a document.
nlohmann::ordered_json machine_document(const Machine& machine);

// The document of nigh plan --json.
nlohmann::ordered_json plan_document(const Machine& machine, const CpuSet& mask, const std::string& spec,
                                     int root, const std::vector<PlannedThread>& threads);

// The records of the ranks of a job as one document, nigh-traffic. Where they have more entries than a page
// can show, rows of the matrix are groups of ranks, whose bytes and messages are added up; of many
// communicators the last ones are one. Requires a record at least.
nlohmann::ordered_json traffic_document(const std::vector<RankRecord>& records, const std::string& name);

}  // namespace nigh::report
