// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// hosts_wire RATE DELAY TAP...: a switch with a link to each host, where the kernel has no netem. RATE is in
// bits a second (0: no limit), DELAY in ns, both of a link in each direction; TAP are open descriptors. A
// frame's times are computed when it is read: its link to the switch is busy for its length, then the one to
// its host is; it is written when its last bit is due. A frame of several segments (TSO) is handed on as it
// is, and counts with the headers that its segments will have, as tc does.
#include <linux/if_ether.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace {

using Time = std::int64_t;  // ns

constexpr std::size_t most_bytes = std::size_t{1} << 17;
constexpr Time ahead = 100'000;     // how far a link is filled before its host has to wait
constexpr Time queue = 50'000'000;  // what a port of the switch holds; more is lost
constexpr std::size_t queue_frames = 4096;

// The header before each frame, as linux/virtio_net.h has it, which C++ can't read: a member of another
// struct there is "class".
struct Header {
  std::uint8_t flags, gso_type;
  std::uint16_t hdr_len, gso_size, csum_start, csum_offset;
};

struct Frame {
  Time due;
  std::vector<char> bytes;
};

struct Port {
  int tap = -1;
  Time to_switch_free = 0, to_host_free = 0;
  bool kept_busy = false;         // since its last frame nobody has looked whether its host has another
  std::deque<Frame> under_way{};  // to this host, by time
};

Time now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return Time{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

class Switch {
 public:
  Switch(double rate, Time delay, std::span<char*> taps)
      : ns_per_byte_(rate > 0 ? 8e9 / rate : 0), delay_(delay) {
    for (const char* tap : taps) ports_.push_back({.tap = std::atoi(tap)});
  }

  void run() {
    std::vector<pollfd> polled(ports_.size());
    for (;;) {
      const Time next = deliver();
      Time wake = next;
      for (std::size_t i = 0; i < ports_.size(); ++i) {
        const Time free = ports_[i].to_switch_free - ahead;
        const bool busy = free > now();
        polled[i] = {.fd = busy ? -1 : ports_[i].tap, .events = POLLIN, .revents = 0};
        if (busy) wake = wake < 0 ? free : std::min(wake, free);
        if (!busy && ports_[i].kept_busy) wake = 0;  // only looks
      }
      const Time left = wake < 0 ? -1 : std::max<Time>(0, wake - now());
      const timespec limit{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
      if (::ppoll(polled.data(), polled.size(), wake < 0 ? nullptr : &limit, nullptr) < 0 && errno != EINTR)
        return;
      for (std::size_t i = 0; i < ports_.size(); ++i) {
        const bool looked = polled[i].fd >= 0;
        if (polled[i].revents != 0)
          take(ports_[i]);
        else if (looked)
          ports_[i].kept_busy = false;
      }
    }
  }

 private:
  // Writes what is due; says when the next is, -1 where nothing is under way.
  Time deliver() {
    Time next = -1;
    for (Port& port : ports_) {
      while (!port.under_way.empty() && port.under_way.front().due <= now()) {
        const Frame& frame = port.under_way.front();
        // A host that can't take it loses it, as it would from a card.
        if (::write(port.tap, frame.bytes.data(), frame.bytes.size()) < 0) ++lost_;
        port.under_way.pop_front();
      }
      if (!port.under_way.empty()) {
        const Time due = port.under_way.front().due;
        next = next < 0 ? due : std::min(next, due);
      }
    }
    return next;
  }

  void take(Port& from) {
    const ssize_t got = ::read(from.tap, buffer_.data(), buffer_.size());
    if (got < static_cast<ssize_t>(sizeof(Header) + sizeof(ethhdr))) {
      if (got < 0 && errno != EINTR && errno != EAGAIN) std::exit(0);  // the host is gone
      return;
    }
    const std::span<const char> bytes(buffer_.data(), static_cast<std::size_t>(got));
    const auto [length, first] = times(bytes);
    // A frame that was there when the link became free follows at once, however late this process woke up:
    // otherwise a link of 100 Mbit/s had 55 where a timer is late by the time of a frame.
    const Time start = from.kept_busy ? from.to_switch_free : std::max(now(), from.to_switch_free);
    from.kept_busy = true;
    from.to_switch_free = start + length;
    // The switch passes a segment on when it has all of it.
    const Time at_switch = start + first + delay_;
    const auto* ethernet = reinterpret_cast<const ethhdr*>(bytes.data() + sizeof(Header));
    if ((ethernet->h_dest[0] & 1) != 0) {
      for (Port& to : ports_) {
        if (&to != &from) send(to, bytes, at_switch, length);
      }
    } else if (const std::size_t to = ethernet->h_dest[ETH_ALEN - 1]; to < ports_.size()) {
      send(ports_[to], bytes, at_switch, length);
    }
  }

  void send(Port& to, std::span<const char> bytes, Time at_switch, Time length) {
    const Time start = std::max(at_switch, to.to_host_free);
    if (start - at_switch > queue ||
        to.under_way.size() >= queue_frames + static_cast<std::size_t>(delay_ / 1000)) {
      ++lost_;
      return;
    }
    to.to_host_free = start + length;
    to.under_way.push_back({.due = to.to_host_free + delay_, .bytes = {bytes.begin(), bytes.end()}});
  }

  // The times for which a link is busy with the frame, and with its first segment.
  [[nodiscard]] std::pair<Time, Time> times(std::span<const char> bytes) const {
    const auto* header = reinterpret_cast<const Header*>(bytes.data());
    std::size_t whole = bytes.size() - sizeof(Header), first = whole;
    if (header->gso_type != 0 && header->gso_size > 0 && whole > header->hdr_len) {
      const std::size_t payload = whole - header->hdr_len;
      const std::size_t segments = (payload + header->gso_size - 1) / header->gso_size;
      first = header->hdr_len + std::min<std::size_t>(payload, header->gso_size);
      whole += (segments - 1) * header->hdr_len;
    }
    const auto time = [this](std::size_t n) {
      return static_cast<Time>(static_cast<double>(n) * ns_per_byte_);
    };
    return {time(whole), time(first)};
  }

  double ns_per_byte_;
  Time delay_;
  std::vector<Port> ports_{};
  std::array<char, most_bytes> buffer_{};
  std::uint64_t lost_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  // Before all ranks, as an interrupt would be: they spin, and there may be more of them than CPUs.
  const sched_param first{.sched_priority = 60};
  if (::sched_setscheduler(0, SCHED_FIFO, &first) != 0)
    std::perror("hosts_wire: no real-time priority, so delays may be longer");
  ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  static Switch network(std::atof(argv[1]), std::atoll(argv[2]),
                        std::span(argv + 3, static_cast<std::size_t>(argc - 3)));
  network.run();
}
