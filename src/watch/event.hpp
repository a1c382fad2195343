// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The events of the service, as they happen: one readable sentence, and the same for programs. The log is one
// JSON object a line; the terminal, the feed and the log all get the same events.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace nigh::watch {

struct Event {
  // start, applications, measured, advice, decision, moved, policy, full-migration, verified, rollback,
  // failed, end
  std::string kind;
  std::string sentence;
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
};

// {"time": "2026-01-31T12:00:00.123Z", "elapsed": s, "kind", "sentence", ...details}; `unix_seconds` is the
// wall clock, for people; nothing is computed from it.
std::string to_line(const Event& event, double unix_seconds, double elapsed);

}  // namespace nigh::watch
