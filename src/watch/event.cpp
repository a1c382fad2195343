// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/event.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

namespace nigh::watch {

std::string to_line(const Event& event, double unix_seconds, double elapsed) {
  const auto whole = static_cast<std::time_t>(std::floor(unix_seconds));
  std::tm utc{};
  gmtime_r(&whole, &utc);
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  nlohmann::ordered_json line = {
      {"time",
       fmt::format("{}.{:03.0f}Z", text, std::floor((unix_seconds - static_cast<double>(whole)) * 1000))},
      {"elapsed", std::round(elapsed * 1000) / 1000},
      {"kind", event.kind},
      {"sentence", event.sentence}};
  line.update(event.details);
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace nigh::watch
