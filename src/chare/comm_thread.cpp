// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/comm_thread.hpp"

#include <cstdio>

namespace nigh::chare {

bool CommThread::open() {
  const auto number = static_cast<std::uint32_t>(space_.rank()),
             ranks = static_cast<std::uint32_t>(space_.size());
  mailbox_ = Mailbox::make(space_, ranks);
  if (!mailbox_) {
    std::fprintf(stderr, "nigh chare: there is no memory for the communication thread\n");
    return false;
  }
  mailbox_->digest = Entries::all().digest;
  debug_.found = [](const message::PoolFault&) {
    std::fprintf(stderr, "nigh chare: a message between processes was freed twice or written to after it\n");
  };
  pool_ =
      std::make_unique<message::Pool>(&mailbox_->door, number, ranks, kind_.pool,
                                      kind_.debug ? &debug_ : nullptr, kind_.trace ? &accounting : nullptr);
  inbox_ = std::make_unique<message::Inbox<>>(mailbox_->inbox);
  space_.publish(space::Root::chare, mailbox_);
  for (std::uint32_t pe = 0; pe < number; ++pe) {
    auto box = [&] { return static_cast<Mailbox*>(space_.root(static_cast<int>(pe), space::Root::chare)); };
    if (waiter_.until([&] { return box() != nullptr; }, static_cast<int>(pe)) == message::Waited::peer_dead)
      return false;
    mailboxes_.push_back(box());
    message::InboxMemory<> inbox = mailboxes_.back()->inbox;
    inbox.more = kind_.rings;
    lanes_.push_back(std::make_unique<message::Lane<>>(inbox, number));
  }
  staged_.resize(number);
  auto no_memory = [this](std::size_t bytes) {
    std::fprintf(stderr, "nigh chare: there is no memory for a message of %zu bytes\n", bytes);
    cluster_.transport->abandon();
  };
  gate_ =
      std::make_unique<Gate>(cluster_, *pool_,
                             Gate::Use{[this](std::uint32_t pe, Header* message) { hand_in(pe, message); },
                                       [this](std::uint32_t pe, Header* message) {
                                         Header* const own = gate_->copy(message);
                                         if (own) hand_in(pe, own);
                                         return own != nullptr;
                                       },
                                       no_memory});
  return true;
}

void CommThread::hand_in(std::uint32_t pe, Header* message) {
  const std::uint32_t rank = pe - cluster_.first();
  if (lanes_[rank]->push(reinterpret_cast<message::Link*>(message)))
    waiter_.ring(static_cast<int>(rank));
  else
    staged_[rank] = true;
}

bool CommThread::round() {
  bool did =
      inbox_->take([&](message::Link* link) { gate_->send(reinterpret_cast<Header*>(link)); }, 128) > 0;
  gate_->flush();
  did |= gate_->progress();
  for (std::uint32_t rank = 0; rank < staged_.size(); ++rank) {
    if (!staged_[rank]) continue;
    staged_[rank] = false;
    lanes_[rank]->flush();
    waiter_.ring(static_cast<int>(rank));
  }
  return did;
}

bool CommThread::all_at(std::uint32_t stage) const {
  return std::all_of(mailboxes_.begin(), mailboxes_.end(), [stage](const Mailbox* box) {
    return box->stage.load(std::memory_order_acquire) >= stage;
  });
}

void CommThread::reach(std::uint32_t stage) {
  mailbox_->stage.store(stage, std::memory_order_release);
  for (std::uint32_t pe = 0; pe < mailboxes_.size(); ++pe) waiter_.ring(static_cast<int>(pe));
  waiter_.until([&] { return all_at(stage); });
}

// Before the goodbyes: PE 0 may look for it then.
void CommThread::write_footprint() {
  if (!kind_.trace) return;
  const std::uint32_t process = cluster_.transport->process();
  const Recorder::Goal goal{kind_.trace, cluster_.mark.load(std::memory_order_relaxed)};
  if (auto written = Recorder(process, cluster_.pes() + process).write(goal, pool_->accounts()); !written)
    std::fprintf(stderr, "nigh chare: the communication thread: the trace: %s\n",
                 written.error().message.c_str());
}

void CommThread::run() {
  const bool met = waiter_.until([&] { return cluster_.met.load(std::memory_order_acquire); }, 0) ==
                   message::Waited::ready;
  if (!met) return;
  while (!all_at(1)) waiter_.until([&] { return round() || all_at(1); });
  while (round()) {}  // what they sent before: perhaps that the job ends
  write_footprint();
  gate_->close();
  reach(1);  // the PEs' own stages are explained in pe.cpp
  inbox_->take([&](message::Link* link) {
    each_attached(reinterpret_cast<Header*>(link), [&](const Attached& one) { pool_->give(one.data); });
    pool_->give(link);
  });
  pool_->flush();
  reach(2);
  pool_->trim();
  pool_->each_in_use([](const void*, std::uint32_t) {
    std::fprintf(stderr, "nigh chare: what another process has sent was never freed\n");
  });
  reach(3);
}

}  // namespace nigh::chare
