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
#include "sys/threads.hpp"
#include "watch/feed_guard.hpp"

namespace nigh::watch {

namespace {
constexpr std::size_t most_kept = 256;
constexpr std::size_t most_bytes_kept = 8 << 20;  // of them, but for the latest
constexpr std::size_t most_of_before = 2000;      // events that a page which comes later is told
constexpr std::size_t most_bytes_of_before = 4 << 20;
constexpr auto last_words = std::chrono::seconds(2);  // a busy machine may not run us sooner
// A page whose connection is lost comes again after a second (`retry` in its first message).
constexpr auto return_time = std::chrono::milliseconds(1500);
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

// The latest of many, ready to be sent; each has a number.
class Messages {
 public:
  Messages(std::size_t most, std::size_t most_bytes) : most_(most), most_bytes_(most_bytes) {}
  void add(const std::string& message) {
    kept_.push_back(message);
    bytes_ += message.size();
    while (kept_.size() > most_ || (bytes_ > most_bytes_ && kept_.size() > 1)) {
      bytes_ -= kept_.front().size();
      kept_.pop_front();
      ++first_;
    }
  }
  [[nodiscard]] std::uint64_t end() const { return first_ + kept_.size(); }
  // Those from this number on that are still there.
  [[nodiscard]] std::string from(std::uint64_t at) const {
    std::string out;
    for (at = std::max(at, first_); at < end(); ++at) out += kept_[static_cast<std::size_t>(at - first_)];
    return out;
  }

 private:
  std::size_t most_, most_bytes_, bytes_ = 0;
  std::deque<std::string> kept_;
  std::uint64_t first_ = 0;
};

struct Hub {
  httplib::Server server;
  std::thread thread;
  std::string url;
  FeedPage page;
  std::string hello;
  std::mutex lock;
  std::condition_variable news;
  Messages history{most_kept, most_bytes_kept};
  Messages before{most_of_before, most_bytes_of_before};  // events, and documents
  std::string json = "{}", metrics;
  std::atomic<int> listeners{0};
  static constexpr std::uint64_t no_end = ~std::uint64_t{0};
  std::atomic<std::uint64_t> after_last{no_end};      // a listener that is at this message has heard the end
  int away = 0;                                       // pages that were lost and may come again
  std::chrono::steady_clock::time_point latest_loss;  // both under `lock`
  std::atomic<bool> closing{false};
  std::chrono::steady_clock::time_point closed;  // when that began
  std::atomic<bool> ended{false};                // nobody listens (any more)
  std::unique_ptr<FeedGuard> watchman;

  void publish(const std::string& message, bool for_later, bool is_last) {
    const std::lock_guard guard(lock);
    history.add(message);
    if (for_later && !page.html.empty()) before.add(message);
    if (is_last) after_last = history.end();
    news.notify_all();
  }

  [[nodiscard]] bool is_late() const {
    return closing && std::chrono::steady_clock::now() - closed > last_words;
  }

  // True while a page that was lost a moment ago may still come again, to hear the end.
  [[nodiscard]] bool is_awaited() {
    const std::lock_guard guard(lock);
    return away > 0 && after_last != no_end && std::chrono::steady_clock::now() - latest_loss < return_time;
  }
  void lost() {
    const std::lock_guard guard(lock);
    if (std::chrono::steady_clock::now() - latest_loss > return_time) away = 0;
    ++away;
    latest_loss = std::chrono::steady_clock::now();
  }

  // The next messages for a listener that has seen all before `at`; an empty one keeps the line alive.
  bool next(std::uint64_t& at, std::string& out) {
    std::unique_lock guard(lock);
    news.wait_for(guard, std::chrono::seconds(2), [&] { return closing || at < history.end(); });
    if (at == history.end()) {
      if (closing) return false;
      out = ":\n\n";
      return true;
    }
    out = history.from(at);
    at = history.end();
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
    server.set_default_headers({{"Cache-Control", "no-store"},
                                {"Content-Security-Policy", "frame-ancestors 'none'"},
                                {"Cross-Origin-Resource-Policy", "same-origin"},
                                {"Referrer-Policy", "no-referrer"},
                                {"X-Content-Type-Options", "nosniff"}});
    server.set_pre_routing_handler([this, own = sys::host_name()](const httplib::Request& request,
                                                                  httplib::Response& response) {
      const int refused = refusal(request, own);
      if (refused == 0) return httplib::Server::HandlerResponse::Unhandled;
      response.status = refused;
      if (refused == 403 && request.path == "/")
        response.set_content("This page opens with the whole address that nigh printed when it started.\n",
                             "text/plain; charset=utf-8");
      return httplib::Server::HandlerResponse::Handled;
    });
    if (!page.html.empty())
      server.Get("/", [this](const httplib::Request&, httplib::Response& response) {
        response.set_content(page.html, "text/html; charset=utf-8");
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

  // The status with which a request is turned away; 0: it is not.
  [[nodiscard]] int refusal(const httplib::Request& request, const std::string& own_name) const {
    const std::string host = request.get_header_value("Host");
    if (request.has_header("Host") && !is_our_host(host, own_name)) return 421;
    if (request.has_header("Origin") && !is_our_origin(request.get_header_value("Origin"), host)) return 403;
    if (!page.token.empty() && !is_token(request.get_param_value("token"), page.token)) return 403;
    return request.has_header("Range") ? 400 : 0;  // what changes each second has no ranges
  }

  void stream(const httplib::Request& request, httplib::Response& response) {
    std::uint64_t at = 0;
    if (!watchman->begin_stream(request.remote_addr, request.remote_port)) {
      response.status = 503;
      return;
    }
    std::string first;
    // Only a page comes again where its connection was lost before the end.
    auto is_told = std::make_shared<bool>(request.get_param_value("all") != "1" || page.html.empty());
    {
      const std::lock_guard guard(lock);
      const bool all = request.get_param_value("all") == "1";
      ++listeners;
      if (request.has_header("Last-Event-ID") && away > 0) --away;  // it has come again
      at = all || history.end() == 0 ? history.end() : history.end() - 1;
      if (all) first = hello + before.from(0);
    }
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, at, is_told, messages = std::move(first), sent = std::size_t{0}](
            std::size_t, httplib::DataSink& sink) mutable {
          if (is_late()) return false;
          if (sent == messages.size()) {
            sent = 0;
            if (!next(at, messages)) return false;
          }
          const std::size_t piece = std::min(messages.size() - sent, most_at_once);
          sent += piece;
          if (!sink.write(messages.data() + sent - piece, piece)) return false;
          if (sent == messages.size() && at >= after_last) *is_told = true;
          return true;
        },
        [this, is_told, peer = request.remote_addr, port = request.remote_port](bool) {
          if (!*is_told) lost();
          --listeners;
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
  void log(const std::string& json_line) override { tell("log", json_line, true); }
  void document(const std::string& json) override { tell("document", json, true); }
  void end(const std::string& json) override { tell("end", json, true, true); }
  [[nodiscard]] bool is_heard() const override { return hub_->listeners > 0; }
  [[nodiscard]] const std::string& url() const override { return hub_->url; }

 private:
  void tell(const char* kind, const std::string& json, bool for_later, bool is_last = false) {
    hub_->publish(fmt::format("event: {}\ndata: {}\n\n", kind, json), for_later, is_last);
  }
  std::unique_ptr<Hub> hub_;
};

HttpFeed::~HttpFeed() {
  {
    const std::lock_guard guard(hub_->lock);
    hub_->closed = std::chrono::steady_clock::now();
    hub_->closing = true;
    hub_->news.notify_all();
  }
  // stop() ends streams in the middle of what they send.
  while ((hub_->listeners > 0 || hub_->is_awaited()) && !hub_->is_late())
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
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
  tell("state", json, false);
}

}  // namespace

Result<std::unique_ptr<Feed>> Feed::open(const std::string& where, FeedPage page) {
  const auto place = place_of(where);
  if (!place)
    return fail(Errc::invalid, fmt::format("'{}' is no place to listen; say PORT or ADDRESS:PORT", where));
  const sys::KeepPipeSignal kept;  // the server's constructor sets it
  auto hub = std::make_unique<Hub>();
  hub->page = std::move(page);
  // A page that has lost its connection tells by it whether the feed is the one that it knew.
  hub->hello =
      fmt::format("retry: 1000\nid: 1\nevent: hello\ndata: {{\"since\": {:.6f}}}\n\n", sys::unix_seconds());
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
  if (!hub->page.token.empty()) hub->url += "/?token=" + hub->page.token;
  hub->thread = std::thread([hub = hub.get()] {
    sys::block_pipe_signal();
    hub->server.listen_after_bind();
    hub->ended = true;
  });
  return std::make_unique<HttpFeed>(std::move(hub));
}

}  // namespace nigh::watch
