// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What a PE tells of itself: its trace, and for a test where it writes.
#include <cstdio>

#include "chare/pe.hpp"

namespace nigh::chare {

void Pe::record(const Header* message, std::int64_t begun, std::int64_t took) {
  using From = Recorder::From;
  const From from = message->producer == far_producer ? From::far
                    : message->producer == rank_      ? From::here
                                                      : From::others;
  recorder_->ran(message->entry, from, message->bytes(), begun, took, pool_->take_peak());
  if (!recorder_->wants_waiting(begun)) return;
  std::uint64_t waiting = ranked_.size();
  for (const Header* at = own_first_; at; at = static_cast<const Header*>(at->next)) ++waiting;
  recorder_->waits(begun, waiting);
}

void Pe::write_trace() {
  if (!recorder_) return;
  if (auto written = recorder_->write(kind_.trace, pool_->accounts()); !written)
    std::fprintf(stderr, "nigh chare: PE %u: the trace: %s\n", number_, written.error().message.c_str());
}

// At PE 0, when all have written theirs.
void Pe::merge_trace() {
  if (!recorder_ || number_ != 0) return;
  const bool have_threads = cluster_ && cluster_->has_thread;
  const auto said =
      Recorder::merge(kind_.trace, count_, entries_, have_threads ? cluster_->carrier->processes() : 0);
  std::fprintf(stderr, "nigh chare: %s%s\n",
               said ? "" : "the trace: ", said ? said->c_str() : said.error().message.c_str());
}

std::vector<message::OwnPart> Pe::own_parts() const {
  std::vector<message::OwnPart> out{{"PE", this, sizeof *this}, {"mailbox", mailbox_, sizeof *mailbox_}};
  pool_->own_parts(out);
  inbox_->own_parts(out);
  for (const auto& peer : peers_) peer->lane.own_parts(out);
  return out;
}

}  // namespace nigh::chare
