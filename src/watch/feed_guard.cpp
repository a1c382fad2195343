// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/feed_guard.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <vector>

#include "sys/threads.hpp"

namespace nigh::watch {

namespace {

constexpr auto between_looks = std::chrono::milliseconds(100);
constexpr auto while_nobody_asks = std::chrono::milliseconds(500);
constexpr double longest_request = 3;  // s, from its first look to its last byte
constexpr double longest_in_a_crowd = 0.2;
constexpr std::size_t most_streams = 6;
constexpr std::size_t most_streams_of_a_peer = 4;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

// Digits, dots, or an IPv6 address in brackets.
bool is_address(const std::string& name) {
  if (name.starts_with('[') && name.ends_with(']')) return true;
  return !name.empty() && name.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

FeedGuard::FeedGuard(int port, std::size_t most) : port_(port), most_(most), thread_([this] { watch(); }) {}

FeedGuard::~FeedGuard() {
  {
    const std::lock_guard guard(lock_);
    ended_ = true;
  }
  over_.notify_all();
  thread_.join();
}

bool FeedGuard::begin_stream(const std::string& peer, int port) {
  const std::lock_guard guard(lock_);
  const auto of_peer = static_cast<std::size_t>(std::count_if(
      streams_.begin(), streams_.end(), [&](const auto& stream) { return stream.first == peer; }));
  const bool is_local = peer.starts_with("127.") || peer == "::1";
  if (streams_.size() >= most_streams || (!is_local && of_peer >= most_streams_of_a_peer)) return false;
  return streams_.emplace(peer, port).second;
}

void FeedGuard::end_stream(const std::string& peer, int port) {
  const std::lock_guard guard(lock_);
  streams_.erase({peer, port});
}

void FeedGuard::watch() {
  sys::block_pipe_signal();
  std::unique_lock guard(lock_);
  while (
      !over_.wait_for(guard, since_.empty() ? while_nobody_asks : between_looks, [this] { return ended_; }))
    look(sys::now_seconds());
}

void FeedGuard::look(double now) {
  decltype(since_) still;
  std::vector<std::pair<double, sys::Connection>> requests;  // since when
  for (sys::Connection& one : sys::connections_to(port_)) {
    if (streams_.contains({one.peer, one.peer_port})) continue;
    const std::tuple key{one.fd, one.peer, one.peer_port};
    const auto known = since_.find(key);
    const double since = known == since_.end() ? now : known->second;
    still.emplace(key, since);
    requests.emplace_back(since, std::move(one));
  }
  since_ = std::move(still);
  const double longest = requests.size() > most_ ? longest_in_a_crowd : longest_request;
  for (const auto& [since, connection] : requests)
    if (now - since >= longest) sys::end_connection(connection);
}

bool is_our_host(const std::string& host, const std::string& own_name) {
  std::string name = host;
  const std::size_t colon = name.rfind(':');
  const bool has_port = colon != std::string::npos && name.find(']', colon) == std::string::npos;
  if (has_port) name.resize(colon);
  name = lower(name);
  const std::string own = lower(own_name);
  return is_address(name) || name == "localhost" || (!own.empty() && name == own);
}

bool is_our_origin(const std::string& origin, const std::string& host) {
  return lower(origin) == "http://" + lower(host);
}

bool is_token(const std::string& given, const std::string& token) {
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < token.size(); ++i)
    difference |=
        static_cast<unsigned char>(token[i]) ^ static_cast<unsigned char>(i < given.size() ? given[i] : '\0');
  return difference == 0;
}

}  // namespace nigh::watch
