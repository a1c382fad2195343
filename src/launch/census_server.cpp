// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The process behind a census, see census.hpp. It holds nothing of the terminal and of whoever reads the
// job's output, and a rank that says half a sentence is not waited for.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "launch/census.hpp"
#include "sys/pidfd.hpp"
#include "sys/start.hpp"
#include "sys/threads.hpp"

namespace nigh::launch {

namespace {

using sys::CensusAnswer;
using sys::CensusQuestion;
using Verdict = CensusBook::Verdict;

constexpr std::size_t most_connections = 4096;
constexpr double sentence_time = 5;  // s, for a question to arrive

struct Rank {
  int fd = -1;
  double since = 0;
  std::size_t got = 0;
  CensusQuestion question = {};
  bool waits = false;  // it has asked, and there is no answer yet
};

class Server {
 public:
  Server(int listener, const sys::Witness& launcher, const unsigned char (&token)[16])
      : listener_(listener), launcher_(launcher) {
    std::memcpy(token_, token, sizeof token_);
  }

  void run() {
    while (wait(sys::now_seconds())) {
      const double now = sys::now_seconds();
      for (Rank& rank : ranks_)
        if (!rank.waits) read(rank, now);
      book_.decide(now);
      for (Rank& rank : ranks_)
        if (rank.waits) answer(rank, book_.ask(rank.question, now));
      std::erase_if(ranks_, [](const Rank& rank) { return rank.fd < 0; });
    }
  }

 private:
  // False: the launcher has ended.
  bool wait(double now) {
    const double next = book_.decide(now);
    const short more = ranks_.size() < most_connections ? POLLIN : 0;
    std::vector<pollfd> all = {{.fd = listener_, .events = more, .revents = 0},
                               {.fd = launcher_.pidfd, .events = POLLIN, .revents = 0}};
    for (const Rank& rank : ranks_) {
      const short sentence = rank.waits ? 0 : POLLIN;
      all.push_back({.fd = rank.fd, .events = sentence, .revents = 0});
    }
    const double most = ranks_.empty() ? 60 : 1;  // s
    const double seconds = next < 0 ? (launcher_.pidfd < 0 ? 1 : most) : next + 0.001;
    ::poll(all.data(), all.size(), static_cast<int>(1000 * seconds));
    if (sys::has_ended(launcher_)) return false;
    if (all[0].revents == 0) return true;
    for (int i = 0; i < 256 && ranks_.size() < most_connections; ++i) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) break;
      static_cast<void>(
          ::send(fd, sys::census_greeting, sizeof sys::census_greeting, MSG_NOSIGNAL | MSG_DONTWAIT));
      ranks_.push_back({.fd = fd, .since = sys::now_seconds()});
    }
    return true;
  }

  static void end(Rank& rank) {
    ::close(rank.fd);
    rank.fd = -1;
    rank.waits = false;
  }

  static void say(Rank& rank, CensusAnswer what) {
    static_cast<void>(::send(rank.fd, &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
    end(rank);
  }

  static void answer(Rank& rank, Verdict verdict) {
    if (verdict != Verdict::open)
      say(rank, verdict == Verdict::all ? CensusAnswer::all : CensusAnswer::not_all);
  }

  void read(Rank& rank, double now) {
    const ssize_t got = ::recv(rank.fd, reinterpret_cast<char*>(&rank.question) + rank.got,
                               sizeof rank.question - rank.got, MSG_DONTWAIT);
    if (got > 0) rank.got += static_cast<std::size_t>(got);
    const bool later = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    if (rank.got < sizeof rank.question) {
      if (!later || now > rank.since + sentence_time) end(rank);
      return;
    }
    const CensusQuestion& question = rank.question;
    if (question.magic != CensusQuestion::magic_word || std::memcmp(question.token, token_, 16) != 0)
      return end(rank);
    if (question.kind == CensusQuestion::enters) {
      book_.enter(question, now);
      return say(rank, CensusAnswer::entered);
    }
    rank.waits = true;
  }

  int listener_;
  sys::Witness launcher_;
  unsigned char token_[16];
  CensusBook book_;
  std::vector<Rank> ranks_;
};

// One that takes both families where the system has both.
int listen_anywhere() {
  for (const int family : {AF_INET6, AF_INET}) {
    const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    const int no = 0;
    if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    sockaddr_storage any{};
    any.ss_family = static_cast<sa_family_t>(family);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&any), sys::bytes_of(any)) == 0 && ::listen(fd, 4096) == 0)
      return fd;
    ::close(fd);
  }
  return -1;
}

int port_of(int socket) {
  sockaddr_storage own{};
  socklen_t bytes = sizeof own;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &bytes) != 0) return 0;
  in_port_t port = 0;  // at the same place in both families
  std::memcpy(&port, reinterpret_cast<const char*>(&own) + offsetof(sockaddr_in, sin_port), sizeof port);
  return ntohs(port);
}

// Those of this node that others may reach: no loopback, nothing that needs a scope.
std::string own_addresses(int port, bool six_too) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return "";
  std::string out;
  std::size_t count = 0;
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family || (one->ifa_flags & IFF_UP) == 0 ||
          (one->ifa_flags & IFF_LOOPBACK) != 0 || (family == AF_INET6 && !six_too))
        continue;
      char text[INET6_ADDRSTRLEN] = "";
      if (family == AF_INET) {
        const auto* four = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
        ::inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
      } else {
        const auto* six = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
        if (IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) continue;
        ::inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
      }
      if (count++ == sys::CensusPlace::most_addresses) break;
      out += fmt::format(fmt::runtime(family == AF_INET ? "{}{}:{}" : "{}[{}]:{}"), out.empty() ? "" : ",",
                         text, port);
    }
  ::freeifaddrs(first);
  return out;
}

bool is_six(int socket) {
  int family = 0;
  socklen_t bytes = sizeof family;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &bytes) == 0 && family == AF_INET6;
}

}  // namespace

Result<std::string> start_census() {
  const int listener = listen_anywhere();
  const int port = listener < 0 ? 0 : port_of(listener);
  if (port == 0)
    return fail(Errc::io, std::string("no port can be listened on: ") + std::strerror(errno), errno);
  const std::string addresses = own_addresses(port, is_six(listener));
  unsigned char token[16];
  std::random_device chance;
  std::string hex;
  for (unsigned char& byte : token) {
    byte = static_cast<unsigned char>(chance());
    hex += fmt::format("{:02x}", byte);
  }
  const sys::Witness self = sys::own_witness();
  auto started = addresses.empty() ? fail(Errc::io, "this node has no address that others could reach")
                                   : sys::start_detached({listener, self.pidfd},
                                                         [&] { Server(listener, self, token).run(); });
  ::close(listener);
  sys::close_fd(self.pidfd);
  if (!started) return tl::unexpected(started.error());
  return hex + "@" + addresses;
}

}  // namespace nigh::launch
