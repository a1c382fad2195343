// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What the service shows, over HTTP, for browsers and monitoring. It only tells; nothing can be asked of it
// that changes anything. Listens on the loopback address unless told otherwise.
//
//     /metrics       Prometheus' text format (0.0.4)
//     /state.json    the latest snapshot
//     /events        server-sent events: "state" after each interval, "log" for each event
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"

namespace nigh::watch {

// Abstract and without code of its own, since who calls it may not be linked to it: see feed_module.hpp.
class Feed {
 public:
  // "[ADDRESS:]PORT", an address of IPv6 in brackets: "[::1]:9101"; port 0 takes any that is free. Errors:
  // invalid, io (the port is taken, or the address is not ours).
  static Result<std::unique_ptr<Feed>> open(const std::string& where);
  Feed() = default;
  virtual ~Feed() = default;  // ends all connections, at most about 2 s later
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  virtual void state(const std::string& json, const std::string& metrics) = 0;
  virtual void log(const std::string& json_line) = 0;
  [[nodiscard]] virtual const std::string& url() const = 0;
};

}  // namespace nigh::watch
