// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Drawing a batch, and walking through it.
#include "engine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "check.hpp"
#include "quirks.hpp"

namespace soak {

MPI_Status fresh_status() {
  MPI_Status status;
  std::memset(&status, 0x5a, sizeof status);
  status.MPI_ERROR = 0x5a5a5a5a;
  return status;
}

void check_error_field(const MPI_Status& status) {
  static const bool lax = std::getenv("SOAK_LAX") != nullptr;
  if (!lax && status.MPI_ERROR != 0x5a5a5a5a && status.MPI_ERROR != MPI_SUCCESS)
    fail("status.MPI_ERROR is %d after a success", status.MPI_ERROR);
}

void check_status(const MPI_Status& status, int source, int tag, std::size_t bytes, const Layout& layout) {
  check_error_field(status);
  if (status.MPI_SOURCE != source) fail("status.MPI_SOURCE is %d, should be %d", status.MPI_SOURCE, source);
  if (status.MPI_TAG != tag) fail("status.MPI_TAG is %d, should be %d", status.MPI_TAG, tag);
  if (layout.type == MPI_DATATYPE_NULL) return;
  int want = 0;
  if (layout.size > 0) want = bytes % layout.size ? MPI_UNDEFINED : static_cast<int>(bytes / layout.size);
  int got = -1;
  MPI_OK(MPI_Get_count(&status, layout.type, &got));
  if (got != want)
    fail("MPI_Get_count says %d, should be %d (%zu bytes in elements of %zu)", got, want, bytes, layout.size);
  want = basics_in(layout.kind, bytes);
  MPI_OK(MPI_Get_elements(&status, layout.type, &got));
  if (layout.size > 0 && got != want) fail("MPI_Get_elements says %d, should be %d", got, want);
  int cancelled = -1;
  MPI_OK(MPI_Test_cancelled(&status, &cancelled));
  if (cancelled != 0) fail("MPI_Test_cancelled says yes");
}

std::vector<char> stream_of(std::uint64_t id, Kind kind, int items) {
  std::vector<char> bytes(item_bytes(kind) * static_cast<std::size_t>(items));
  content(id, bytes.data(), bytes.size());
  return bytes;
}

Engine::Engine(const Options& options, MPI_Comm world, Arenas arenas, int stream)
    : options_(options), pool_(world, stream > 0), arenas_(arenas), stream_(stream) {
  MPI_OK(MPI_Comm_rank(world, &rank_));
}

// Sizes crowd around the places where protocols change.
int Engine::draw_items(Rng& rng, Kind kind) {
  int die = rng.below(100);
  double bytes = 0;
  if (die < 6) return 0;
  if (die < 14) return 1;
  if (die < 34)
    bytes = rng.in(1, 95);
  else if (die < 52)
    bytes = rng.in(96, 208);
  else if (die < 56)
    bytes = 176;
  else if (die < 66)
    bytes = rng.in(200, 3900);
  else if (die < 76)
    bytes = rng.in(3900, 4300);
  else if (die < 84)
    bytes = rng.in(16384 - 300, 16384 + 300);
  else if (die < 92)
    bytes = rng.in(16384, 100000);
  else if (die < 96)
    bytes = rng.in(60000, 140000);
  else if (die < 99)
    bytes = rng.in(130000, 1100000);
  else
    bytes = rng.in(1000000, 4200000);
  bytes = std::min(bytes, static_cast<double>(options_.most_bytes));
  if (bytes > 8192 && bytes > budget_) bytes = rng.in(1, 8192);
  budget_ -= bytes;
  int items = static_cast<int>(bytes / static_cast<double>(item_bytes(kind)));
  if (items > 24 && rng.percent(60)) items -= items % 12;  // something to divide
  return std::max(items, 1);
}

void Engine::draw_messages(Rng& rng) {
  std::vector<std::vector<Op>> strands;
  int flows = rng.in(1, 6);
  for (int flow = 0; flow < flows; ++flow) {
    int comm = rng.below(pool_.count());
    Message first;
    first.comm = comm;
    first.source = rng.below(pool_[comm].size());
    first.target = rng.below(pool_[comm].size());
    first.tag = rng.percent(15) ? rng.in(30000, 32767) : rng.below(5);
    bool taken =
        std::any_of(wilds_.begin(), wilds_.end(),
                    [&](const Wild& w) { return w.comm == comm && w.target == first.target; }) ||
        std::any_of(messages_.begin(), messages_.end(), [&](const Message& m) {
          return m.comm == comm && m.source == first.source && m.target == first.target && m.tag == first.tag;
        });
    if (taken) continue;
    int many = rng.percent(70) ? rng.in(1, 3) : rng.in(4, 12);
    std::vector<Op> strand;
    int sent = 0;
    int received = 0;
    while (sent < many || received < many) {
      bool both = sent == received && first.source != first.target && rng.percent(40);
      bool is_send = received == many || (sent < many && rng.percent(50));
      if (both || is_send) {
        Message message = first;
        message.kind = static_cast<Kind>(rng.below(static_cast<int>(Kind::count)));
        message.items = draw_items(rng, message.kind);
        message.id = mix(rng.next(), 1);
        message.may_block = sent < received;
        messages_.push_back(message);
        ++sent;
      }
      if (both || !is_send) {
        Receive receive;
        receive.comm = comm;
        receive.target = first.target;
        receive.may_block = received < sent;
        receives_.push_back(receive);
        ++received;
      }
      int last_message = static_cast<int>(messages_.size()) - 1;
      int last_receive = static_cast<int>(receives_.size()) - 1;
      if (both)
        strand.push_back({Op::both, last_message, last_receive, rng.next()});
      else if (is_send)
        strand.push_back({Op::send, last_message, -1, rng.next()});
      else
        strand.push_back({Op::receive, last_receive, -1, rng.next()});
    }
    // The n-th receive of a flow gets its n-th message.
    int message = static_cast<int>(messages_.size()) - many;
    int receive = static_cast<int>(receives_.size()) - many;
    for (int i = 0; i < many; ++i) receives_[receive + i].message = message + i;
    strands.push_back(std::move(strand));
  }
  weave(rng, std::move(strands));
}

void Engine::draw_wild(Rng& rng) {
  std::vector<std::vector<Op>> strands;
  Wild wild;
  wild.comm = rng.below(pool_.count());
  int size = pool_[wild.comm].size();
  wild.target = rng.below(size);
  bool used = std::any_of(wilds_.begin(), wilds_.end(),
                          [&](const Wild& w) { return w.comm == wild.comm && w.target == wild.target; });
  if (used) return;
  wild.any_source = rng.percent(75);
  wild.any_tag = !wild.any_source || rng.percent(60);
  wild.tag = rng.below(4);
  wild.source = rng.below(size);
  if (size == 1 && quirks::lone_any_tag) wild.any_tag = false;
  wild.kind = static_cast<Kind>(rng.below(static_cast<int>(Kind::count)));
  int number = static_cast<int>(wilds_.size());
  int many = rng.in(1, 8);
  std::vector<Op> strand;
  int sent = 0;
  int received = 0;
  while (sent < many || received < many) {
    if (received == many || (sent < many && rng.percent(55))) {
      Message message;
      message.comm = wild.comm;
      message.source = wild.any_source ? rng.below(size) : wild.source;
      message.target = wild.target;
      message.tag = wild.any_tag ? rng.below(6) : wild.tag;
      message.kind = wild.kind;
      message.items = draw_items(rng, message.kind);
      message.id = mix(rng.next(), 2);
      message.wild = number;
      message.may_block = false;
      wild.most_items = std::max(wild.most_items, message.items);
      wild.order.push_back(static_cast<int>(messages_.size()));
      strand.push_back({Op::send, static_cast<int>(messages_.size()), -1, rng.next()});
      messages_.push_back(message);
      ++sent;
    } else {
      Receive receive;
      receive.comm = wild.comm;
      receive.target = wild.target;
      receive.wild = number;
      receive.may_block = received < sent;
      strand.push_back({Op::receive, static_cast<int>(receives_.size()), -1, rng.next()});
      receives_.push_back(receive);
      ++received;
    }
  }
  wilds_.push_back(std::move(wild));
  strands.push_back(std::move(strand));
  weave(rng, std::move(strands));
}

// Merges strands into the batch, each in its own order, at random.
void Engine::weave(Rng& rng, std::vector<std::vector<Op>> strands) {
  strands.push_back(std::move(ops_));
  ops_.clear();
  std::vector<std::size_t> at(strands.size(), 0);
  std::size_t left = 0;
  for (const auto& strand : strands) left += strand.size();
  while (left > 0) {
    auto pick = static_cast<std::size_t>(rng.next() % left);
    std::size_t s = 0;
    for (; pick >= strands[s].size() - at[s]; ++s) pick -= strands[s].size() - at[s];
    ops_.push_back(strands[s][at[s]++]);
    --left;
  }
}

void Engine::batch(int number) {
  where.batch = number;
  operation("draw");
  Rng rng(mix(options_.seed, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(stream_)));
  local_ = Rng(mix(rng.next(), static_cast<std::uint64_t>(rank_)));
  budget_ = rng.percent(10) ? 16e6 : 3e6;
  budget_buffered_ = 400000;
  messages_.clear();
  receives_.clear();
  wilds_.clear();
  ops_.clear();
  if (options_.kinds & comms && rng.percent(30)) pool_.change(rng);
  if (options_.kinds & wild)
    for (int i = rng.below(3); i > 0; --i) draw_wild(rng);
  if (options_.kinds & messages && rng.percent(85)) draw_messages(rng);
  std::vector<Op> more;
  if (options_.kinds & collectives)
    for (int i = rng.below(5); i > 0; --i) more.push_back({Op::collective, 0, -1, rng.next()});
  if (options_.kinds & exchanges)
    for (int i = rng.below(3); i > 0; --i) more.push_back({Op::exchange, 0, -1, rng.next()});
  for (std::size_t i = more.size(); i > 1; --i) std::swap(more[i - 1], more[rng.below(static_cast<int>(i))]);
  weave(rng, {more});
  wild_results_.assign(wilds_.size(), {});
  for (const Op& op : ops_) {
    switch (op.type) {
      case Op::send: send(messages_[op.index], messages_[op.index].may_block); break;
      case Op::receive: receive(receives_[op.index], receives_[op.index].may_block); break;
      case Op::both: both(op); break;
      case Op::collective: collective(op.seed); break;
      case Op::exchange: exchange(op.seed); break;
    }
    if (local_.percent(15)) test_some();
  }
  complete_all();
  verify_wild();
  arenas_.stack.reset();
  arenas_.data.reset();
  // Else the ranks may be batches apart; but none may send to wildcards of an earlier one.
  if (rng.percent(25) || !wilds_.empty()) {
    operation("barrier between batches");
    MPI_OK(MPI_Barrier(pool_[0].handle));
  }
  progress();
}

void Engine::both(const Op& op) {
  const Message& message = messages_[op.index];
  const Receive& into = receives_[op.other];
  send(message, true);
  receive(into, true);
}

void Engine::count(std::uint64_t id, const char* data, std::size_t bytes) {
  digest_ += mix(id, hash(data, bytes));
  ++operations_;
  bytes_ += static_cast<double>(bytes);
}

}  // namespace soak
