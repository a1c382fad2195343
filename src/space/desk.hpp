// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The launcher's desk: a socket at which joining ranks are told which ranks have ended, or have ended their
// join, so that nobody waits for them. A rank stays connected for as long as its join lasts. At their ends
// ranks hand in their accounts.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "space/account.hpp"

namespace nigh::space {

// A rank's account of its space at its end.
struct Account {
  int rank = -1;  // nobody's
  int pid = 0;
  bool joined = false;
  std::string text;
};

class Desk {
 public:
  // Without a socket (none to be had) it does nothing, and ranks wait until their time is up.
  explicit Desk(const unsigned char (&key)[16]);
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  void add_to(std::vector<pollfd>& watched) const;
  void serve();
  // At the end: also those who wait behind strangers.
  void serve_all();
  // After a stranger nobody is taken for a moment: the caller should ask again in a millisecond.
  [[nodiscard]] bool is_resting() const { return sys::now_ms() < rest_until_; }
  // The one to be printed: of the lowest rank that has joined, or of the lowest rank.
  [[nodiscard]] const Account& account() const { return account_; }
  void note_end(int rank) { note({.rank = rank, .what = Notice::What::ended}); }

 private:
  struct Client {
    int fd = -1;
    int rank = -1;  // not yet known
  };
  void note(Notice notice);
  void take_clients();
  bool hear(Client& client);
  void keep(const AccountRecord& record, long bytes);

  unsigned char key_[16] = {};
  int listener_ = -1;
  long rest_until_ = 0;
  std::vector<Client> clients_;
  Account account_;
  std::vector<Notice> notices_;  // of the past, for who comes later
};

}  // namespace nigh::space
