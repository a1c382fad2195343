// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The feed as browsers and monitoring see it, over real connections: what it tells, in which order, and that
// nobody who listens badly, or not at all, holds up the service or its end.
#include "watch/feed.hpp"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "sys/os.hpp"
#include "watch/feed_guard.hpp"

namespace nigh::watch {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::unique_ptr<Feed> feed_here(FeedPage page = {}) {
  auto feed = Feed::open("0", std::move(page));
  EXPECT_TRUE(feed) << feed.error().message;
  return feed ? *std::move(feed) : nullptr;
}

// Reads /events as long as it is let.
class Listener {
 public:
  explicit Listener(const std::string& url, std::string query = "")
      : client_(url), query_(std::move(query)), thread_([this] { read(); }) {}
  ~Listener() {
    leave();
    client_.stop();
    thread_.join();
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] bool hears(const std::string& what) {
    std::unique_lock guard(lock_);
    return news_.wait_for(guard, std::chrono::seconds(5),
                          [&] { return text_.find(what) != std::string::npos; });
  }
  std::string text() {
    const std::lock_guard guard(lock_);
    return text_;
  }
  int status() {
    std::unique_lock guard(lock_);
    news_.wait_for(guard, std::chrono::seconds(5), [&] { return status_ != 0; });
    return status_;
  }
  void stall() { set(true, false); }  // takes nothing from the connection any more
  void leave() { set(false, true); }  // closes it at the next event

 private:
  void read() {
    client_.set_read_timeout(20);
    client_.Get(
        "/events" + query_, httplib::Headers(),
        [this](const httplib::Response& response) {
          const std::lock_guard guard(lock_);
          status_ = response.status;
          news_.notify_all();
          return response.status == 200;
        },
        [this](const char* data, std::size_t size) {
          std::unique_lock guard(lock_);
          text_.append(data, size);
          news_.notify_all();
          news_.wait(guard, [&] { return !stalled_; });
          return !leaves_;
        });
  }
  void set(bool stalled, bool leaves) {
    const std::lock_guard guard(lock_);
    stalled_ = stalled;
    leaves_ = leaves;
    news_.notify_all();
  }
  httplib::Client client_;
  std::string query_;
  std::mutex lock_;
  std::condition_variable news_;
  std::string text_;
  int status_ = 0;
  bool stalled_ = false, leaves_ = false;
  std::thread thread_;
};

TEST(Feed, AnswersWithTheLatestState) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  EXPECT_EQ(feed->url().rfind("http://127.0.0.1:", 0), 0U) << feed->url();
  httplib::Client client(feed->url());
  auto before = client.Get("/state.json");
  ASSERT_TRUE(before);
  EXPECT_EQ(before->body, "{}");
  feed->state(R"({"moves":1})", "nigh_moves_total 1\n");
  feed->state(R"({"moves":2})", "nigh_moves_total 2\n");
  auto state = client.Get("/state.json"), metrics = client.Get("/metrics"), other = client.Get("/other");
  ASSERT_TRUE(state && metrics && other);
  EXPECT_EQ(state->status, 200);
  EXPECT_EQ(state->body, R"({"moves":2})");
  EXPECT_EQ(state->get_header_value("Content-Type"), "application/json");
  EXPECT_EQ(metrics->status, 200);
  EXPECT_EQ(metrics->body, "nigh_moves_total 2\n");
  EXPECT_EQ(metrics->get_header_value("Content-Type"), "text/plain; version=0.0.4");
  EXPECT_EQ(other->status, 404);
  auto changed = client.Post("/state.json", "{}", "application/json");
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->status, 404) << "it only tells";
}

TEST(Feed, EventsComeInOrder) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  feed->log("\"before\"");
  feed->log("\"latest\"");
  Listener listener(feed->url());
  ASSERT_TRUE(listener.hears("latest")) << "a new listener hears the latest at once";
  EXPECT_EQ(listener.text().find("before"), std::string::npos);
  std::string all = "event: log\ndata: \"latest\"\n\n";
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    if (i % 3 == 0) {
      feed->state("{\"s\":" + number + "}", "");
      all += "event: state\ndata: {\"s\":" + number + "}\n\n";
    } else {
      feed->log("{\"l\":" + number + "}");
      all += "event: log\ndata: {\"l\":" + number + "}\n\n";
    }
  }
  feed->log("\"last\"");
  all += "event: log\ndata: \"last\"\n\n";
  ASSERT_TRUE(listener.hears("last\"\n\n"));
  EXPECT_EQ(listener.text(), all);
}

// 200 MB for somebody who takes nothing, 50 MB of them kept: more than sockets hold.
TEST(Feed, WhoeverDoesNotReadHoldsUpNobody) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  feed->log("\"first\"");
  Listener deaf(feed->url());
  ASSERT_TRUE(deaf.hears("first"));
  deaf.stall();
  const std::string large = "\"" + std::string(200000, 'x') + "\"";
  const double began = now();  // held up it would be for ever; a busy host takes seconds
  for (int i = 0; i < 1000; ++i) feed->log(large);
  EXPECT_LT(now() - began, 20);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until nothing more goes into its connection
  feed->log("\"end\"");
  EXPECT_TRUE(Listener(feed->url()).hears("end"));
  EXPECT_TRUE(httplib::Client(feed->url()).Get("/metrics"));
  const double closing = now();
  feed.reset();
  EXPECT_LT(now() - closing, 20);
}

TEST(Feed, ManyListenersLeaveRoomForMetrics) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  feed->log("\"first\"");
  std::vector<std::unique_ptr<Listener>> listeners;
  for (int i = 0; i < 6; ++i) {
    listeners.push_back(std::make_unique<Listener>(feed->url()));
    ASSERT_TRUE(listeners.back()->hears("first")) << i;
  }
  EXPECT_EQ(Listener(feed->url()).status(), 503);
  httplib::Client client(feed->url());
  EXPECT_TRUE(client.Get("/metrics"));
  feed.reset();
}

// One that leaves in the middle costs neither the process nor its place among the listeners.
TEST(Feed, WhoeverLeavesIsForgotten) {
  std::signal(SIGPIPE, SIG_DFL);
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  feed->log("\"first\"");
  for (int round = 0; round < 8; ++round) {
    Listener listener(feed->url());
    ASSERT_EQ(listener.status(), 200) << round;
    ASSERT_TRUE(listener.hears("first")) << round;
    listener.leave();
    feed->log("\"first again\"");
    for (int i = 0; i < 10; ++i) {  // into a closed connection
      feed->log("\"first more\"");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  EXPECT_TRUE(httplib::Client(feed->url()).Get("/metrics"));
}

TEST(Feed, EndsWhileAStreamIsOpen) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  feed->log("\"first\"");
  Listener listener(feed->url());
  ASSERT_TRUE(listener.hears("first"));
  const double began = now();
  feed.reset();
  EXPECT_LT(now() - began, 3);
  const double again = now();
  feed_here().reset();  // before anybody came
  EXPECT_LT(now() - again, 1);
}

// More of them than are served at once, one after half a request.
TEST(Feed, SilentConnectionsHoldUpNobodyForLong) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(feed->url().substr(17))));
  std::vector<int> silent;
  for (int i = 0; i < 9; ++i) {
    silent.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(silent.back(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ASSERT_EQ(::send(silent[0], "GET /met", 8, 0), 8);
  const double began = now();
  EXPECT_TRUE(httplib::Client(feed->url()).Get("/metrics"));
  EXPECT_LT(now() - began, 3);
  const double closing = now();
  feed.reset();
  EXPECT_LT(now() - closing, 3);
  for (const int socket : silent) ::close(socket);
}

int port_of(const Feed& feed) { return std::stoi(feed.url().substr(17)); }

int connect_to(const Feed& feed) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port_of(feed)));
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

// A byte now and then is in time for each read, but the request as a whole is not.
TEST(Feed, WhoSendsSlowlyIsSentAway) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  std::vector<int> slow;
  for (int i = 0; i < 48; ++i) slow.push_back(connect_to(*feed));
  std::atomic<bool> over{false};
  std::thread sender([&] {
    while (!over) {
      for (const int fd : slow) static_cast<void>(::send(fd, "G", 1, MSG_NOSIGNAL));
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  for (int i = 0; i < 4; ++i) {
    const double began = now();
    auto metrics = httplib::Client(feed->url()).Get("/metrics");
    ASSERT_TRUE(metrics);
    EXPECT_EQ(metrics->status, 200);
    EXPECT_LT(now() - began, 2);
  }
  over = true;
  sender.join();
  for (const int fd : slow) ::close(fd);
}

TEST(Feed, OneSlowRequestHasItsTime) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  const int fd = connect_to(*feed);
  const double began = now();
  while (now() - began < 10 && ::send(fd, "G", 1, MSG_NOSIGNAL) == 1) {
    char byte = 0;
    if (::recv(fd, &byte, 1, MSG_DONTWAIT) == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_GT(now() - began, 2);
  EXPECT_LT(now() - began, 6);
  ::close(fd);
}

TEST(Feed, OtherHostsPagesAreRefused) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  httplib::Client client(feed->url());
  for (const char* host :
       {"attacker.example", "attacker.example:80", "localhost.attacker.example", "127.0.0.1.example"}) {
    auto answer = client.Get("/state.json", {{"Host", host}});
    ASSERT_TRUE(answer) << host;
    EXPECT_EQ(answer->status, 421) << host;
    EXPECT_EQ(answer->body, "") << host;
  }
  for (const char* host : {"localhost:9090", "LOCALHOST", "127.0.0.1", "[::1]:80", "10.1.2.3"}) {
    auto answer = client.Get("/state.json", {{"Host", host}});
    ASSERT_TRUE(answer) << host;
    EXPECT_EQ(answer->status, 200) << host;
  }
  EXPECT_TRUE(is_our_host("Node17:80", "node17"));
  EXPECT_FALSE(is_our_host("node17.example", "node17"));
  EXPECT_FALSE(is_our_host("", "node17"));
}

std::string place_of(const Feed& feed) { return "http://127.0.0.1:" + std::to_string(port_of(feed)); }

TEST(Feed, ThePageAsksForItsToken) {
  auto feed = feed_here({"<!doctype html>", "5ecret"});
  ASSERT_TRUE(feed);
  EXPECT_EQ(feed->url(), place_of(*feed) + "/?token=5ecret");
  httplib::Client client(place_of(*feed));
  for (const char* path : {"/", "/metrics", "/state.json", "/events", "/events?all=1", "/other"})
    for (const char* token : {"", "token=", "token=5ecre", "token=5ecret5", "token=5ecreT", "Token=5ecret"}) {
      const std::string target =
          path + std::string(std::string(path).find('?') == std::string::npos ? "?" : "&") + token;
      auto answer = client.Get(target);
      ASSERT_TRUE(answer) << target;
      EXPECT_EQ(answer->status, 403) << target;
      EXPECT_EQ(answer->body.find("doctype"), std::string::npos);
    }
  auto page = client.Get("/?token=5ecret");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->body, "<!doctype html>");
  EXPECT_EQ(page->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page->get_header_value("Referrer-Policy"), "no-referrer") << "the address holds the token";
  EXPECT_EQ(page->get_header_value("Cache-Control"), "no-store");
  EXPECT_EQ(page->get_header_value("Content-Security-Policy"), "frame-ancestors 'none'");
  auto without = httplib::Client(feed_here()->url()).Get("/");
  EXPECT_FALSE(without && without->status == 200) << "no page, nothing there";
}

TEST(Feed, PagesOfOthersAreRefused) {
  auto feed = feed_here({"page", "5ecret"});
  ASSERT_TRUE(feed);
  httplib::Client client(place_of(*feed));
  const std::string own = place_of(*feed);
  for (const std::string& origin : {std::string("null"), std::string("http://attacker.example"), own + "0",
                                    "https" + own.substr(4), own + "/"}) {
    auto answer = client.Get("/state.json?token=5ecret", {{"Origin", origin}});
    ASSERT_TRUE(answer) << origin;
    EXPECT_EQ(answer->status, 403) << origin;
  }
  auto same = client.Get("/state.json?token=5ecret", {{"Origin", own}});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->status, 200);
  EXPECT_FALSE(same->has_header("Access-Control-Allow-Origin"));
}

TEST(Feed, APageThatComesLaterIsToldOfBefore) {
  auto feed = feed_here({"page", "5ecret"});
  ASSERT_TRUE(feed);
  EXPECT_FALSE(feed->is_heard());
  feed->log("1");
  feed->state("2", "");
  feed->document("3");
  {
    Listener page(place_of(*feed), "?token=5ecret&all=1");
    ASSERT_TRUE(page.hears("event: document\ndata: 3\n\n"));
    EXPECT_EQ(page.text().rfind("retry: 1000\nid: 1\nevent: hello\ndata: {\"since\": ", 0), 0U)
        << page.text();
    EXPECT_NE(page.text().find("\n\nevent: log\ndata: 1\n\nevent: document"), std::string::npos)
        << page.text();
    EXPECT_TRUE(feed->is_heard());
    feed->log("4");
    ASSERT_TRUE(page.hears("data: 4\n\n"));
    feed->end("5");
    feed.reset();
    EXPECT_TRUE(page.hears("event: end\ndata: 5\n\n")) << "the last words are heard: " << page.text();
  }
}

TEST(Feed, APageThatLosesItsConnectionHearsTheEnd) {
  auto feed = feed_here({"page", ""});
  ASSERT_TRUE(feed);
  const std::string url = feed->url();
  {
    Listener page(url, "?all=1");
    ASSERT_TRUE(page.hears("hello"));
  }
  const double began = now();
  while (feed->is_heard() && now() - began < 10) {
    feed->log("1");  // into the closed connection
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  feed->end("5");
  std::string text;
  std::thread again([&] {  // as the page does, a second later
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    Listener page(url, "?all=1");
    if (page.hears("event: end\ndata: 5\n\n")) text = page.text();
  });
  feed.reset();
  again.join();
  EXPECT_EQ(text.rfind("retry: 1000\nid: 1\nevent: hello", 0), 0U) << text;
}

TEST(Feed, NobodyIsHeardAfterLeaving) {
  auto feed = feed_here({"page", ""});
  ASSERT_TRUE(feed);
  {
    Listener page(feed->url(), "?all=1");
    ASSERT_TRUE(page.hears("hello"));
  }
  const double began = now();
  while (feed->is_heard() && now() - began < 10) {
    feed->log("1");  // into the closed connection
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(feed->is_heard());
}

TEST(Feed, RangesAreRefused) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  feed->state("{}", "nigh_moves_total 1\n");
  std::string many = "bytes=0-0";
  for (int i = 1; i < 2000; ++i) many += ",0-0";
  for (const std::string& range : {std::string("bytes=0-3"), std::string("bytes=0-0,1-1"), many}) {
    auto answer = httplib::Client(feed->url()).Get("/metrics", {{"Range", range}});
    if (!answer) continue;  // sent away
    EXPECT_GE(answer->status, 400);
    EXPECT_LT(answer->body.size(), 100U);
  }
  EXPECT_TRUE(httplib::Client(feed->url()).Get("/metrics"));
}

TEST(Feed, LeavesTheSignalsOfTheProcessAlone) {
  std::signal(SIGPIPE, SIG_DFL);
  auto feed = feed_here();
  struct sigaction after{};
  ASSERT_EQ(sigaction(SIGPIPE, nullptr, &after), 0);
  EXPECT_EQ(after.sa_handler, SIG_DFL) << "a program that we start would inherit it";
  ASSERT_TRUE(httplib::Client(feed->url()).Get("/metrics"));  // its threads run
  const sys::Os os;
  for (const std::string& thread : os.list("/proc/self/task")) {
    if (thread == std::to_string(::getpid())) continue;
    const std::string status = os.read("/proc/self/task/" + thread + "/status").value_or("");
    const std::size_t blocked = status.find("SigBlk:");
    ASSERT_NE(blocked, std::string::npos);
    EXPECT_NE(std::stoull(status.substr(blocked + 7), nullptr, 16) & (1U << (SIGPIPE - 1)), 0U);
  }
}

TEST(Feed, APortThatIsTakenIsRefused) {
  auto feed = feed_here();
  ASSERT_TRUE(feed);
  const std::string place = feed->url().substr(7);
  const std::string port = place.substr(place.find(':') + 1);
  for (const std::string& again : {port, place}) {
    auto second = Feed::open(again);
    ASSERT_FALSE(second) << again;
    EXPECT_EQ(second.error().code, Errc::io);
    EXPECT_EQ(second.error().message, "can't listen on " + place + ": is it taken, or not ours to use?");
  }
  feed.reset();
  auto third = Feed::open(port);
  EXPECT_TRUE(third) << "free again: " << third.error().message;
}

TEST(Feed, NonsenseIsRefused) {
  for (const std::string where :
       {"", "port", "80x", " 80", "+80", "-1", "65536", "99999999999999999999", ":80",
        "127.0.0.1:", "127.0.0.1:http", "::1:80", "[::1:80", "[]:80", "a b:80"}) {
    auto feed = Feed::open(where);
    ASSERT_FALSE(feed) << where;
    EXPECT_EQ(feed.error().code, Errc::invalid);
    EXPECT_EQ(feed.error().message, "'" + where + "' is no place to listen; say PORT or ADDRESS:PORT");
  }
  auto others = Feed::open("192.0.2.1:0");  // an address for documentation (RFC 5737): nobody's
  ASSERT_FALSE(others);
  EXPECT_EQ(others.error().code, Errc::io);
  EXPECT_EQ(others.error().message, "can't listen on 192.0.2.1:0: is it taken, or not ours to use?");
}

TEST(Feed, AddressesOfIpv6StandInBrackets) {
  auto feed = Feed::open("[::1]:0");
  if (!feed) GTEST_SKIP() << "no IPv6 here: " << feed.error().message;
  EXPECT_EQ((*feed)->url().rfind("http://[::1]:", 0), 0U) << (*feed)->url();
  const std::string port = (*feed)->url().substr(13);
  EXPECT_TRUE(httplib::Client("::1", std::stoi(port)).Get("/metrics"));
}

}  // namespace
}  // namespace nigh::watch
