// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A slow or dead listener must not hold up the service: publishing only appends to a short history, from
// which each connection reads at its own pace; whoever falls behind loses the oldest.
#include "watch/feed.hpp"

#include <fmt/format.h>
#include <httplib.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace nigh::watch {

namespace {
constexpr std::size_t most_kept = 256;
constexpr int threads = 8;  // connections that are served at once; a server-sent stream holds one
}  // namespace

struct Feed::Hub {
  httplib::Server server;
  std::thread thread;
  std::string url;
  std::mutex lock;
  std::condition_variable news;
  std::deque<std::string> history;  // ready to be sent
  std::uint64_t first = 0;          // number of history.front()
  std::string json = "{}", metrics;
  bool closing = false;
  int streams = 0;

  void publish(std::string message) {
    const std::lock_guard guard(lock);
    history.push_back(std::move(message));
    if (history.size() > most_kept) {
      history.pop_front();
      ++first;
    }
    news.notify_all();
  }

  // The next messages for a listener that has seen all before `at`; an empty one keeps the line alive.
  bool next(std::uint64_t& at, std::string& out) {
    std::unique_lock guard(lock);
    news.wait_for(guard, std::chrono::seconds(2), [&] { return closing || at < first + history.size(); });
    if (closing) return false;
    at = std::max(at, first);
    out = at == first + history.size() ? ":\n\n" : "";
    for (; at < first + history.size(); ++at) out += history[static_cast<std::size_t>(at - first)];
    return true;
  }

  void serve() {
    server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
    server.set_read_timeout(5);
    server.set_payload_max_length(1024);
    server.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      const std::lock_guard guard(lock);
      response.set_content(metrics, "text/plain; version=0.0.4");
    });
    server.Get("/state.json", [this](const httplib::Request&, httplib::Response& response) {
      const std::lock_guard guard(lock);
      response.set_content(json, "application/json");
    });
    server.Get("/events", [this](const httplib::Request&, httplib::Response& response) { stream(response); });
  }

  void stream(httplib::Response& response) {
    std::uint64_t at = 0;
    {
      const std::lock_guard guard(lock);
      if (streams >= threads - 2) {  // so that /metrics is always answered
        response.status = 503;
        return;
      }
      ++streams;
      at = history.empty() ? first : first + history.size() - 1;
    }
    response.set_header("Cache-Control", "no-store");
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, at](std::size_t, httplib::DataSink& sink) mutable {
          std::string messages;
          return next(at, messages) && sink.write(messages.data(), messages.size());
        },
        [this](bool) {
          const std::lock_guard guard(lock);
          --streams;
        });
  }
};

Feed::Feed(std::unique_ptr<Hub> hub) : hub_(std::move(hub)) {}

Result<std::unique_ptr<Feed>> Feed::open(const std::string& where) {
  const std::size_t colon = where.rfind(':');
  const std::string address = colon == std::string::npos ? "127.0.0.1" : where.substr(0, colon);
  const std::string digits = colon == std::string::npos ? where : where.substr(colon + 1);
  char* end = nullptr;
  const long port = std::strtol(digits.c_str(), &end, 10);
  if (digits.empty() || *end != '\0' || port < 0 || port > 65535)
    return fail(Errc::invalid, fmt::format("'{}' is no place to listen; say PORT or ADDRESS:PORT", where));
  auto hub = std::make_unique<Hub>();
  hub->serve();
  const int bound = port == 0 ? hub->server.bind_to_any_port(address)
                    : hub->server.bind_to_port(address, static_cast<int>(port)) ? static_cast<int>(port)
                                                                                : -1;
  if (bound < 0)
    return fail(Errc::io,
                fmt::format("can't listen on {}:{}: is it taken, or not ours to use?", address, port));
  hub->url = fmt::format("http://{}:{}", address, bound);
  hub->thread = std::thread([server = &hub->server] { server->listen_after_bind(); });
  return std::unique_ptr<Feed>(new Feed(std::move(hub)));
}

Feed::~Feed() {
  {
    const std::lock_guard guard(hub_->lock);
    hub_->closing = true;
    hub_->news.notify_all();
  }
  while (!hub_->server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  hub_->server.stop();
  hub_->thread.join();
}

void Feed::state(const std::string& json, const std::string& metrics) {
  {
    const std::lock_guard guard(hub_->lock);
    hub_->json = json;
    hub_->metrics = metrics;
  }
  hub_->publish("event: state\ndata: " + json + "\n\n");
}

void Feed::log(const std::string& json_line) { hub_->publish("event: log\ndata: " + json_line + "\n\n"); }

const std::string& Feed::url() const { return hub_->url; }

}  // namespace nigh::watch
