// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The state of the service, over HTTP, for browsers and monitoring. It only reports; no request changes
// anything. Listens on the loopback address unless told otherwise.
//
//     /              the page, where there is one
//     /metrics       Prometheus' text format (0.0.4)
//     /state.json    the latest snapshot
//     /events        server-sent events: "state" after each interval, "log" for each event; with ?all=1 first
//                    what a page needs of before: "hello", "document", "log"
//
// With a token, every request must name it (?token=...). Requests that somebody else's web page makes a
// browser send are refused, by the names of host and origin.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"

namespace nigh::watch {

struct FeedPage {
  std::string html;   // "": there is none
  std::string token;  // "": nothing is asked for
};

// Abstract and without code of its own, since who calls it may not be linked to it: see feed_module.hpp.
class Feed {
 public:
  // "[ADDRESS:]PORT", an address of IPv6 in brackets: "[::1]:9101"; port 0 takes any that is free. Errors:
  // invalid, io (the port is taken, or the address is not ours).
  static Result<std::unique_ptr<Feed>> open(const std::string& where, FeedPage page = {});
  Feed() = default;
  virtual ~Feed() = default;  // ends all connections, at most about 2 s later
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  virtual void state(const std::string& json, const std::string& metrics) = 0;
  virtual void log(const std::string& json_line) = 0;
  // One more for the page; who comes later gets it, too.
  virtual void document(const std::string& json) = 0;
  // The last thing that is told.
  virtual void end(const std::string& json) = 0;
  // Somebody listens to /events now.
  [[nodiscard]] virtual bool is_heard() const = 0;
  // With the token, for a browser.
  [[nodiscard]] virtual const std::string& url() const = 0;
};

}  // namespace nigh::watch
