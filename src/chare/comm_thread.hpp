// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A thread beside the PEs of a process that does nothing but drive the transport: PEs that compute for long
// don't keep messages waiting (the communication thread of Charm++'s SMP mode).
#pragma once

#include "chare/cluster.hpp"
#include "chare/pe.hpp"

namespace nigh::chare {

class CommThread {
 public:
  CommThread(space::Space& space, message::Waiter& waiter, const Kind& kind, Cluster& cluster)
      : space_(space), waiter_(waiter), kind_(kind), cluster_(cluster) {}
  CommThread(const CommThread&) = delete;
  CommThread& operator=(const CommThread&) = delete;
  [[nodiscard]] bool open();  // false, and told: there is no memory
  void run();                 // until the job ends

 private:
  bool round();
  void hand_in(std::uint32_t pe, Header* message);
  [[nodiscard]] bool all_at(std::uint32_t stage) const;
  void write_footprint();
  void reach(std::uint32_t stage);

  space::Space& space_;
  message::Waiter& waiter_;
  Kind kind_;
  Cluster& cluster_;
  message::PoolDebug debug_;
  Mailbox* mailbox_ = nullptr;
  std::vector<Mailbox*> mailboxes_;  // of the PEs
  std::unique_ptr<message::Pool> pool_;
  std::unique_ptr<message::Inbox<>> inbox_;
  std::vector<std::unique_ptr<message::Lane<>>> lanes_;
  std::vector<bool> staged_;
  std::unique_ptr<Gate> gate_;
};

}  // namespace nigh::chare
