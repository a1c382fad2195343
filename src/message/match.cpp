// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See match.hpp. The lists are short in programs that run well; nothing cleverer is kept for the others.
#include "message/match.hpp"

#include <new>

namespace nigh::message {

Matcher::Matcher(int ranks)
    : ranks_(ranks),
      posted_(new(std::nothrow) Queue<Posted, &Posted::next_posted>[static_cast<std::size_t>(ranks)]),
      arrived_(new(std::nothrow) Queue<Unexpected, &Unexpected::next>[static_cast<std::size_t>(ranks)]) {}

void Matcher::post(Posted* receive) {
  receive->turn = ++turn_;
  (receive->source == any_source ? from_anybody_ : posted_[receive->source]).add(receive);
}

void Matcher::unpost(Posted* receive) {
  auto& queue = receive->source == any_source ? from_anybody_ : posted_[receive->source];
  if (Posted** place = queue.find([&](Posted& other) { return &other == receive; })) queue.remove(place);
}

Posted* Matcher::take_posted(int source, std::int32_t tag, std::uint32_t context) {
  const auto fits = [&](const Posted& receive) {
    return (receive.tag == any_tag || receive.tag == tag) && receive.context == context;
  };
  Posted** own = posted_[source].find(fits);
  Posted** wild = from_anybody_.find(fits);
  if (!own && !wild) return nullptr;
  const bool take_own = own && (!wild || (*own)->turn < (*wild)->turn);
  Posted* receive = take_own ? *own : *wild;
  if (take_own)
    posted_[source].remove(own);
  else
    from_anybody_.remove(wild);
  return receive;
}

void Matcher::arrived(Unexpected* message) {
  message->arrival = ++arrival_;
  arrived_[message->source].add(message);
}

Unexpected* Matcher::find(int source, std::int32_t tag, std::uint32_t context, bool remove) {
  const auto fits = [&](const Unexpected& message) {
    return (tag == any_tag || message.tag == tag) && message.context == context;
  };
  const int first = source == any_source ? 0 : source;
  const int end = source == any_source ? ranks_ : source + 1;
  Unexpected** best = nullptr;
  int from = first;
  for (int rank = first; rank < end; ++rank) {
    Unexpected** place = arrived_[rank].find(fits);
    if (!place || (best && (*best)->arrival < (*place)->arrival)) continue;
    best = place;
    from = rank;
  }
  if (!best) return nullptr;
  Unexpected* message = *best;
  if (remove) arrived_[from].remove(best);
  return message;
}

Unexpected* Matcher::any() {
  for (int rank = 0; rank < ranks_; ++rank)
    if (Unexpected* message = arrived_[rank].first) {
      arrived_[rank].remove(&arrived_[rank].first);
      return message;
    }
  return nullptr;
}

}  // namespace nigh::message
