// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See desk.hpp.
#include "space/desk.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace nigh::space {

namespace {

constexpr int backlog = 4096;
// Anybody may connect to an abstract socket, for ever: few strangers are sent away at a time, and then not
// the next for a while.
constexpr int most_strangers = 32;
constexpr long rest_ms = 1;

}  // namespace

Desk::Desk(const unsigned char (&key)[16]) : listener_(sys::listen_at(desk_name(key), backlog)) {
  std::memcpy(key_, key, sizeof key_);
}

Desk::~Desk() {
  sys::close_fd(listener_);
  for (const Client& client : clients_) sys::close_fd(client.fd);
}

void Desk::add_to(std::vector<pollfd>& watched) const {
  watched.push_back({.fd = is_resting() ? -1 : listener_, .events = POLLIN, .revents = 0});
  for (const Client& client : clients_) watched.push_back({.fd = client.fd, .events = POLLIN, .revents = 0});
}

void Desk::note(Notice notice) {
  notices_.push_back(notice);
  for (const Client& client : clients_)
    if (client.rank >= 0) sys::send_record(client.fd, &notice, sizeof notice);
}

void Desk::take_clients() {
  if (listener_ < 0 || is_resting()) return;
  for (int strangers = 0; strangers < most_strangers;) {
    const int fd = sys::accept_from(listener_);
    if (fd < 0) return;
    ucred peer{};
    if (sys::peer_credentials(fd, peer) && peer.uid == ::geteuid()) {
      clients_.push_back({.fd = fd, .rank = -1});
    } else {
      sys::close_fd(fd);
      rest_until_ = sys::now_ms() + rest_ms;
      ++strangers;
    }
  }
}

void Desk::keep(const AccountRecord& record, long bytes) {
  const auto before = static_cast<long>(offsetof(AccountRecord, text));
  Account got = {.rank = record.card.from, .pid = record.pid, .joined = record.joined != 0, .text = {}};
  if (bytes > before)
    got.text.assign(record.text, strnlen(record.text, static_cast<std::size_t>(bytes - before)));
  const bool better = account_.rank < 0 || (got.joined && !account_.joined) ||
                      (got.joined == account_.joined && got.rank < account_.rank);
  if (better) account_ = std::move(got);
}

// False: this client has gone, has said all, or is none of ours.
bool Desk::hear(Client& client) {
  AccountRecord record;
  const Card& card = record.card;
  int passed = -1;
  long got = sys::receive_record(client.fd, &record, sizeof record, passed);
  sys::close_fd(passed);
  if (got == -EAGAIN) return true;
  if (got <= 0 && client.rank >= 0) note({.rank = client.rank, .what = Notice::What::went_on});
  if (got < static_cast<long>(sizeof card) || client.rank >= 0 || card.abi != abi_version ||
      std::memcmp(card.key, key_, sizeof key_) != 0)
    return false;
  if (card.kind == CardKind::account) {
    keep(record, got);
    return false;
  }
  if (got != static_cast<long>(sizeof card) || card.kind != CardKind::hello) return false;
  client.rank = card.from;
  for (const Notice& notice : notices_) sys::send_record(client.fd, &notice, sizeof notice);
  return true;
}

void Desk::serve() {
  take_clients();
  for (std::size_t i = 0; i < clients_.size();) {
    Client client = clients_[i];
    if (hear(client)) {
      clients_[i++] = client;
      continue;
    }
    sys::close_fd(client.fd);
    clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Desk::serve_all() {
  for (int round = 0; round <= backlog / most_strangers; ++round) {
    rest_until_ = 0;
    serve();
    if (rest_until_ == 0) return;
  }
}

}  // namespace nigh::space
