// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Both sides have their messages in one order: node by node, by their distance, and for each panel by panel.
// So of all that are not through, the first is the next one of its sender and of its receiver, and can go on;
// and each link is mostly used by one pair of nodes. (All nodes' first panels, then their second: two senders
// meet at each receiver; on links of 500 Mbit/s with three nodes that took 1.3 times as long.)
#include "transpose/mpi_exchange.hpp"

#include <sched.h>

#include <algorithm>
#include <map>
#include <new>

#include "sys/threads.hpp"

namespace nigh::transpose {

namespace {
// A message is long enough for its latency not to count, and short enough that some are under way.
constexpr std::size_t longest_message = std::size_t{1} << 20, shortest_message = std::size_t{64} << 10;
constexpr std::size_t of_a_pair = 4;  // messages, if they are not too short
std::size_t message_bytes(const Slabs& slabs, const Group& from, const Group& to) {
  const std::size_t all = rows_of_a(slabs, from) * rows_of_b(slabs, to) * slabs.element;
  return std::clamp(all / of_a_pair, shortest_message, longest_message);
}
constexpr std::size_t most_buffers = 8;  // each way
constexpr int polls = 200;               // before the CPU is offered to others
constexpr std::size_t kept_for_the_late = std::size_t{1} << 20;
}  // namespace

std::size_t Exchange::piece() const { return piece_ == no_pieces ? 0 : piece_; }

Exchange Exchange::make(const Nodes& nodes, const Slabs& slabs, bool near) {
  const std::size_t piece = find_piece(nodes);
  const bool several =
      nodes.groups().size() > 1 && nodes.groups().size() < static_cast<std::size_t>(nodes.size());
  if (several && nodes.all_agree(near)) {
    Exchange all(nodes, slabs, near, true, piece);
    if (all.sending_.counters != nullptr) return all;
  }
  return {nodes, slabs, near, false, piece};
}

Exchange::Exchange(const Nodes& nodes, const Slabs& slabs, bool near, bool together, std::size_t piece)
    : slabs_(slabs), all_(nodes.all()), together_(together), piece_(piece) {
  if (together) {
    groups_ = nodes.groups();
    group_ = nodes.group();
    const Group& here = groups_[group_];
    member_ = static_cast<std::size_t>(std::find(here.begin(), here.end(), std::size_t(nodes.rank())) -
                                       here.begin());
  } else {
    for (int rank = 0; rank < nodes.size(); ++rank) groups_.push_back({static_cast<std::size_t>(rank)});
    group_ = static_cast<std::size_t>(nodes.rank());
  }
  list(nodes, near, true);
  list(nodes, near, false);
  if (piece != no_pieces) list_credits();
  std::size_t bytes = 0;
  for (Lane* lane : {&sending_, &receiving_}) {
    const bool out = lane == &sending_;
    lane->under_way.assign(std::min(most_buffers, (out ? out_ : in_).size()), 0);
    lane->buffer_bytes = (largest(out) + line - 1) / line * line;
    lane->each = count_pieces(lane->buffer_bytes, piece_) + (out ? 0 : 1);
    lane->requests.assign(lane->buffers_there() * lane->each + (out ? credits_.size() : 0), MPI_REQUEST_NULL);
    bytes += lane->buffers_there() * (sizeof(Counters) + lane->buffer_bytes);
  }
  std::byte* at = nullptr;
  if (together) {
    int rank = 0;
    MPI_Comm_rank(nodes.node(), &rank);
    shared_ = std::make_unique<NodeMemory>(nodes.node(), rank == 0 ? bytes : 0);
    if (!nodes.all_agree(shared_->there())) return;
    at = shared_->part(0);
  } else {
    own_.reset(new std::byte[bytes + line]);
    at = own_.get() + (line - reinterpret_cast<std::uintptr_t>(own_.get()) % line) % line;
  }
  for (Lane* lane : {&sending_, &receiving_}) {
    lane->counters = reinterpret_cast<Counters*>(at);
    // Zero is what counters begin with; those of a node are zeroed already, and may be counting.
    if (!together)
      for (std::size_t i = 0; i < lane->buffers_there(); ++i) new (lane->counters + i) Counters;
    at += lane->buffers_there() * sizeof(Counters);
  }
  for (Lane* lane : {&sending_, &receiving_}) {
    lane->buffers = at;
    at += lane->buffers_there() * lane->buffer_bytes;
  }
  indices_.resize(std::max(sending_.requests.size(), receiving_.requests.size()));
}

// Messages from group a to group b are sent by the ranks of a in turn, and received by those of b in turn.
void Exchange::list(const Nodes& nodes, bool near, bool out) {
  const std::size_t count = groups_.size();
  const auto& here = nodes.neighbours();
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t other = (out ? group_ + step : group_ + count - step) % count;
    if (!together_ && near && std::find(here.begin(), here.end(), static_cast<int>(other)) != here.end())
      continue;
    const Group &from = groups_[out ? group_ : other], &to = groups_[out ? other : group_];
    const std::size_t bytes = message_bytes(slabs_, from, to);
    for (std::size_t i = 0; i < panels(slabs_, from, to, bytes); ++i) {
      const std::size_t ours = (other + i) % groups_[group_].size();
      const auto peer = groups_[other][(group_ + i) % groups_[other].size()];
      (out ? out_ : in_)
          .push_back({other, static_cast<int>(peer), panel(slabs_, from, to, bytes, i), ours == member_});
    }
  }
}

std::size_t Exchange::bytes_of(const Message& message, bool out) const {
  return message.panel.count * rows_of_a(slabs_, groups_[out ? group_ : message.group]) * slabs_.element;
}

std::size_t Exchange::largest(bool out) const {
  std::size_t most = 0;
  for (const Message& message : out ? out_ : in_) most = std::max(most, bytes_of(message, out));
  return most;
}

// The first ones of each pair need none, as many as a rank that is late can keep. Both sides count alike.
void Exchange::list_credits() {
  const std::size_t of_a_pair = std::max(piece_, kept_for_the_late / (groups_.size() - 1));
  std::map<int, std::size_t> givers;
  for (const bool out : {false, true}) {
    std::vector<std::size_t> before(groups_.size(), 0);
    for (Message& message : out ? out_ : in_) {
      before[message.group] += bytes_of(message, out);
      message.on_credit = before[message.group] > of_a_pair;
      if (!out || !message.on_credit || !message.ours) continue;
      const auto [at, added] = givers.emplace(message.peer, credits_.size());
      if (added) credits_.push_back({message.peer});
      message.giver = at->second;
      ++credits_[message.giver].of_a_pass;
    }
  }
}

// None is waited for between passes.
void Exchange::ask_for_credits() {
  MPI_Request* request = sending_.requests.data() + sending_.buffers_there() * sending_.each;
  for (Credits& one : credits_) {
    if (*request == MPI_REQUEST_NULL && one.asked < one.of_a_pass * (passes_ + 1)) {
      MPI_Irecv(nullptr, 0, MPI_BYTE, one.peer, credit_tag, all_, request);
      ++one.asked;
    }
    ++request;
  }
}

// Starts the parts of message i that can be under way now; true: that is all of it.
bool Exchange::start_pieces(Lane& lane, std::size_t i, bool out) {
  const Message& message = (out ? out_ : in_)[i];
  const std::size_t bytes = bytes_of(message, out), pieces = count_pieces(bytes, piece_);
  MPI_Request* const requests = &lane.requests[lane.slot(i) * lane.each];
  if (lane.piece == 0) lane.under_way[lane.slot(i)] = pieces + (message.on_credit && !out ? 1 : 0);
  for (std::size_t& k = lane.piece; k < pieces; ++k) {
    std::byte* const data = lane.buffer_of(i) + k * piece_;
    const int count = static_cast<int>(std::min(piece_, bytes - k * piece_));
    if (!out) {
      MPI_Irecv(data, count, MPI_BYTE, message.peer, data_tag, all_, requests + k);
      continue;
    }
    if (piece_ != no_pieces && pieces_out_ == most_pieces_out) return false;
    MPI_Isend(data, count, MPI_BYTE, message.peer, data_tag, all_, requests + k);
    ++pieces_out_;
  }
  lane.piece = 0;
  if (message.on_credit && out) ++credits_[message.giver].used;
  if (message.on_credit && !out)
    MPI_Isend(nullptr, 0, MPI_BYTE, message.peer, credit_tag, all_, requests + pieces);
  return true;
}

// Those of ours that can be under way now.
bool Exchange::start(bool out) {
  Lane& lane = out ? sending_ : receiving_;
  const auto& list = out ? out_ : in_;
  const std::uint64_t members = groups_[group_].size();
  bool any = false;
  for (std::size_t& i = lane.started; i < list.size(); ++i) {
    if (!list[i].ours) continue;
    const Counters& counters = lane.counters_of(i);
    if (out ? counters.filled.load(std::memory_order_acquire) < members * (lane.use(i) + 1)
            : counters.empty.load(std::memory_order_acquire) < members * lane.use(i))
      break;
    if (out && list[i].on_credit && credits_[list[i].giver].used == credits_[list[i].giver].come) break;
    const std::size_t before = pieces_out_;
    const bool all = start_pieces(lane, i, out);
    any = any || all || pieces_out_ > before;
    if (!all) break;
  }
  return any;
}

bool Exchange::finish(bool out) {
  Lane& lane = out ? sending_ : receiving_;
  int count = 0;
  if (lane.requests.empty()) return false;
  MPI_Testsome(static_cast<int>(lane.requests.size()), lane.requests.data(), &count, indices_.data(),
               MPI_STATUSES_IGNORE);
  if (count == MPI_UNDEFINED) return false;
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    const std::size_t buffer = index / lane.each, pieces = lane.buffers_there() * lane.each;
    if (index >= pieces) {
      ++credits_[index - pieces].come;
      continue;
    }
    if (out) --pieces_out_;
    if (--lane.under_way[buffer] > 0) continue;
    Counters& counters = lane.counters[buffer];
    (out ? counters.empty : counters.filled).fetch_add(1, std::memory_order_release);
  }
  return count > 0;
}

// A ready message is offered before the library gets to send earlier ones: the offer would have to wait
// behind them on the link, and the answer behind the incoming ones, with nothing to send meanwhile.
bool Exchange::serve() {
  bool any = false;
  ask_for_credits();
  for (const bool out : {false, true}) any = start(out) || any;
  for (const bool out : {false, true}) any = finish(out) || any;
  return any;
}

bool Exchange::over() const {
  const auto idle = [](const Lane& lane) {
    return std::all_of(lane.under_way.begin(), lane.under_way.end(), [](auto pieces) { return pieces == 0; });
  };
  return sending_.moved == out_.size() && receiving_.moved == in_.size() && sending_.started == out_.size() &&
         receiving_.started == in_.size() && idle(sending_) && idle(receiving_);
}

void Exchange::run(Team& team, const From& a, const To& b, const CopyOptions& way,
                   const std::function<bool()>& idle) {
  const CopyOptions cached{Stores::cached, 0, nullptr};  // a message is read again at once
  for (int nothing = 0; !over();) {
    bool any = serve();
    if (std::size_t& i = sending_.moved; i < out_.size()) {
      Counters& counters = sending_.counters_of(i);
      if (counters.empty.load(std::memory_order_acquire) == sending_.use(i)) {
        team.run([&](int thread) {
          pack(slabs_, groups_[group_], member_, a, groups_[out_[i].group], out_[i].panel,
               sending_.buffer_of(i), thread, team.threads(), cached);
        });
        counters.filled.fetch_add(1, std::memory_order_release);
        ++i;
        continue;
      }
    }
    if (std::size_t& i = receiving_.moved; i < in_.size()) {
      Counters& counters = receiving_.counters_of(i);
      if (counters.filled.load(std::memory_order_acquire) == receiving_.use(i) + 1) {
        team.run([&](int thread) {
          unpack(slabs_, groups_[in_[i].group], receiving_.buffer_of(i), groups_[group_], member_,
                 in_[i].panel, b, thread, team.threads(), way);
        });
        counters.empty.fetch_add(1, std::memory_order_release);
        ++i;
        continue;
      }
    }
    any = idle() || any;
    nothing = any ? 0 : nothing + 1;
    if (nothing < polls) {
      sys::spin_pause();
    } else {
      sched_yield();
    }
  }
  while (idle()) continue;
  for (Lane* lane : {&sending_, &receiving_}) {
    lane->before += lane == &sending_ ? out_.size() : in_.size();
    lane->moved = lane->started = 0;
  }
  ++passes_;
}

}  // namespace nigh::transpose
