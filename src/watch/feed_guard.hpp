// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Limits on the connections that hold a thread of the feed. The HTTP library bounds each read, not the whole
// request: a client that sends a byte a second would hold a thread for hours. So a guard looks at all
// connections now and then, and ends those that are no streams and are older than a request may take; sooner,
// the oldest first, where they are many. Requests that somebody else's web page makes a browser send are
// refused by the name that they ask for.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "sys/listen.hpp"

namespace nigh::watch {

class FeedGuard {
 public:
  // `most`: connections without streams that may be there at once.
  FeedGuard(int port, std::size_t most);
  ~FeedGuard();
  FeedGuard(const FeedGuard&) = delete;
  FeedGuard& operator=(const FeedGuard&) = delete;
  // A stream may take as long as it likes; false: this peer, or all, have enough of them.
  bool begin_stream(const std::string& peer, int port);
  void end_stream(const std::string& peer, int port);

 private:
  void watch();
  void look(double now);

  const int port_;
  const std::size_t most_;
  std::mutex lock_;
  std::condition_variable over_;
  bool ended_ = false;
  std::set<std::pair<std::string, int>> streams_;
  std::map<std::tuple<int, std::string, int>, double> since_;  // fd, peer, its port
  std::thread thread_;
};

// True if a request for this host (of the Host header, with or without port) is meant for us: an address,
// localhost, this computer's name. Other names lead here only by DNS rebinding.
bool is_our_host(const std::string& host, const std::string& own_name);

// True if the page behind a request, which the Origin header names, came from this host.
bool is_our_origin(const std::string& origin, const std::string& host);
// In a time that does not tell how much of it is right.
bool is_token(const std::string& given, const std::string& token);

}  // namespace nigh::watch
