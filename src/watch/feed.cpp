// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A slow or dead listener must not hold up the service: publishing only appends to a short history, from
// which each connection reads at its own pace; whoever falls behind loses the oldest.
#include "watch/feed.hpp"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "sys/listen.hpp"
#include "watch/feed_guard.hpp"

namespace nigh::watch {

namespace {
constexpr std::size_t most_kept = 256;
constexpr int threads = 32;        // connections that are served at once; a server-sent stream holds one
constexpr int most_requests = 16;  // more than these at once, without streams, are a crowd
constexpr std::size_t most_at_once = 16384;  // bytes written before we look whether it is time to end

struct Place {
  std::string address;  // as in a URL: IPv6 in brackets
  int port = 0;
  [[nodiscard]] std::string host() const {
    return address.front() == '[' ? address.substr(1, address.size() - 2) : address;
  }
};

// No empty address: to the sockets it means all of them, to the world.
std::optional<Place> place_of(const std::string& where) {
  const std::size_t colon = where.rfind(':');
  const std::size_t digits = colon == std::string::npos ? 0 : colon + 1;
  Place out{colon == std::string::npos ? "127.0.0.1" : where.substr(0, colon), 0};
  const char *first = where.data() + digits, *last = where.data() + where.size();
  const auto [end, error] = std::from_chars(first, last, out.port);
  if (error != std::errc() || end != last || out.port < 0 || out.port > 65535) return std::nullopt;
  const bool bracketed = out.address.size() > 2 && out.address.front() == '[' && out.address.back() == ']';
  if (out.address.empty() || (!bracketed && out.address.find_first_of(":[] /") != std::string::npos))
    return std::nullopt;
  return out;
}

struct Hub {
  httplib::Server server;
  std::thread thread;
  std::string url;
  std::mutex lock;
  std::condition_variable news;
  std::deque<std::string> history;  // ready to be sent
  std::uint64_t first = 0;          // number of history.front()
  std::string json = "{}", metrics;
  std::atomic<bool> closing{false};
  std::atomic<bool> ended{false};  // nobody listens (any more)
  std::unique_ptr<FeedGuard> watchman;

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

  // A connection gives its thread back after each answer, and after a second in which it is silent.
  void serve() {
    server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
    server.set_socket_options([](int socket) { sys::own_port(socket); });
    server.set_keep_alive_max_count(1);
    server.set_keep_alive_timeout(1);
    server.set_read_timeout(1);
    server.set_write_timeout(1);
    server.set_payload_max_length(1024);
    server.set_pre_routing_handler([own = sys::host_name()](const httplib::Request& request,
                                                            httplib::Response& response) {
      const bool meant = !request.has_header("Host") || is_our_host(request.get_header_value("Host"), own);
      if (meant && !request.has_header("Range")) return httplib::Server::HandlerResponse::Unhandled;
      response.status = meant ? 400 : 421;  // what changes each second has no ranges
      return httplib::Server::HandlerResponse::Handled;
    });
    server.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      const std::lock_guard guard(lock);
      response.set_content(metrics, "text/plain; version=0.0.4");
    });
    server.Get("/state.json", [this](const httplib::Request&, httplib::Response& response) {
      const std::lock_guard guard(lock);
      response.set_content(json, "application/json");
    });
    server.Get("/events", [this](const httplib::Request& request, httplib::Response& response) {
      stream(request, response);
    });
  }

  void stream(const httplib::Request& request, httplib::Response& response) {
    std::uint64_t at = 0;
    if (!watchman->begin_stream(request.remote_addr, request.remote_port)) {
      response.status = 503;
      return;
    }
    {
      const std::lock_guard guard(lock);
      at = history.empty() ? first : first + history.size() - 1;
    }
    response.set_header("Cache-Control", "no-store");
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, at, messages = std::string(), sent = std::size_t{0}](std::size_t,
                                                                    httplib::DataSink& sink) mutable {
          if (closing) return false;
          if (sent == messages.size()) {
            sent = 0;
            if (!next(at, messages)) return false;
          }
          const std::size_t piece = std::min(messages.size() - sent, most_at_once);
          sent += piece;
          return sink.write(messages.data() + sent - piece, piece);
        },
        [this, peer = request.remote_addr, port = request.remote_port](bool) {
          watchman->end_stream(peer, port);
        });
  }
};

class HttpFeed final : public Feed {
 public:
  explicit HttpFeed(std::unique_ptr<Hub> hub) : hub_(std::move(hub)) {}
  ~HttpFeed() override;
  HttpFeed(const HttpFeed&) = delete;
  HttpFeed& operator=(const HttpFeed&) = delete;
  void state(const std::string& json, const std::string& metrics) override;
  void log(const std::string& json_line) override;
  [[nodiscard]] const std::string& url() const override { return hub_->url; }

 private:
  std::unique_ptr<Hub> hub_;
};

HttpFeed::~HttpFeed() {
  {
    const std::lock_guard guard(hub_->lock);
    hub_->closing = true;
    hub_->news.notify_all();
  }
  // stop() before it runs would be forgotten.
  while (!hub_->server.is_running() && !hub_->ended)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  hub_->server.stop();
  hub_->thread.join();
}

void HttpFeed::state(const std::string& json, const std::string& metrics) {
  {
    const std::lock_guard guard(hub_->lock);
    hub_->json = json;
    hub_->metrics = metrics;
  }
  hub_->publish("event: state\ndata: " + json + "\n\n");
}

void HttpFeed::log(const std::string& json_line) { hub_->publish("event: log\ndata: " + json_line + "\n\n"); }

}  // namespace

Result<std::unique_ptr<Feed>> Feed::open(const std::string& where) {
  const auto place = place_of(where);
  if (!place)
    return fail(Errc::invalid, fmt::format("'{}' is no place to listen; say PORT or ADDRESS:PORT", where));
  const sys::KeepPipeSignal kept;  // the server's constructor sets it
  auto hub = std::make_unique<Hub>();
  hub->serve();
  const std::string host = place->host();
  int bound = place->port;
  if (bound == 0)
    bound = hub->server.bind_to_any_port(host);
  else if (!hub->server.bind_to_port(host, bound))
    bound = -1;
  if (bound < 0)
    return fail(Errc::io, fmt::format("can't listen on {}:{}: is it taken, or not ours to use?",
                                      place->address, place->port));
  hub->watchman = std::make_unique<FeedGuard>(bound, most_requests);
  hub->url = fmt::format("http://{}:{}", place->address, bound);
  hub->thread = std::thread([hub = hub.get()] {
    sys::block_pipe_signal();
    hub->server.listen_after_bind();
    hub->ended = true;
  });
  return std::make_unique<HttpFeed>(std::move(hub));
}

}  // namespace nigh::watch
