// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The reports of a PE: its trace, and for a test the memory that it writes.
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chare/pe.hpp"
#include "sys/globals.hpp"

namespace nigh::chare {

void Pe::record(const Header* message, std::int64_t begun, std::int64_t took) {
  using From = Recorder::From;
  const From from = message->producer == far_producer ? From::far
                    : message->producer == rank_      ? From::here
                                                      : From::others;
  recorder_->ran(message->entry, from, message->bytes(), begun, took, pool_->take_peak(),
                 Stamp::of(message->next));
  if (!recorder_->wants_waiting(begun)) return;
  std::uint64_t waiting = ranked_.size();
  for (const Header* at = own_first_; at; at = static_cast<const Header*>(at->next)) ++waiting;
  recorder_->waits(begun, waiting);
}

// Forwarded, it keeps the first one: whoever forwards it has not sent it.
bool Pe::stamp(Header* message) {
  Stamp stamp = Stamp::of(message->next);
  if (!stamp.is_one()) {
    stamp = recorder_->stamp(message::now_ns());
    message->next = stamp.as_next();
  }
  if (stamp.pe() != number_) return false;
  message->producer = stamp.short_time();  // a message that is not copied after all has the stamp
  return true;
}

void Pe::read_stamp(Header* message) const {
  const Stamp stamp = Stamp::of(message->next);
  if (stamp.is_one() && is_local(stamp.pe())) message->producer = stamp.pe() - first_;
}

void Pe::read_stamp(Header* copied, std::uint32_t producer) const {
  const std::uint64_t now = recorder_->since_1970(message::now_ns());
  copied->next = Stamp::of_short(first_ + producer, copied->producer, now).as_next();
}

Recorder::Goal Pe::goal_of_trace() const {
  return {kind_.trace, cluster_ ? cluster_->mark.load(std::memory_order_relaxed) : mailboxes_[0]->mark};
}

void Pe::write_trace() {
  if (!recorder_) return;
  if (auto written = recorder_->write(goal_of_trace(), pool_->accounts()); !written)
    std::fprintf(stderr, "nigh chare: PE %u: the trace: %s\n", number_, written.error().message.c_str());
}

// Variables that main() sets are set in its process only.
void Pe::run_main(void (*main)(void*), void* argument) {
  const bool are_apart = kind_.processes ? count_ > 1 : cluster_ && cluster_->transport->processes() > 1;
  if (!are_apart) return main(argument);
  constexpr std::size_t most_named = 3;
  const sys::Globals before;
  main(argument);
  const std::vector<std::string> changed = before.changed();
  if (changed.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(changed.size(), most_named); ++i)
    names += (i > 0 ? ", " : "") + changed[i];
  if (changed.size() > most_named) names += " and others";
  std::fprintf(
      stderr,
      "nigh chare: main has set %s, which the elements in other processes do not see: hand it to them as "
      "an argument, or set it before run()\n",
      names.c_str());
}

void Pe::look_for_forgotten(core::ElementBase& element) {
  static std::mutex mutex;
  static std::set<const core::Type*> told;
  const core::Type& type = *element.type;
  if (!type.forgets) return;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (told.count(&type) > 0) return;
  }
  const core::BeingMade outer = std::exchange(being_made_, {element.index(), element.array_id()});
  std::size_t at = 0;
  const bool forgets = type.forgets(&element, &at);
  being_made_ = outer;
  if (!forgets) return;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!told.insert(&type).second) return;
  std::fprintf(
      stderr,
      "nigh chare: PE %u: serialize() of %s forgets what lies at byte %zu of its %zu: element %s has "
      "something else there than a new one, and would lose it in another process or a file\n",
      number_, name_of(type).c_str(), at, type.bytes, text_of(element.index()).c_str());
}

// At PE 0, when all have written theirs.
void Pe::merge_trace() {
  if (!recorder_ || number_ != 0) return;
  const bool have_threads = cluster_ && cluster_->has_thread;
  const auto said =
      Recorder::merge(goal_of_trace(), count_, entries_, have_threads ? cluster_->transport->processes() : 0);
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

namespace {

// A message that all PEs of one process would report (a damaged file that each reads) is reported by the
// first.
class Told {
 public:
  bool is_news(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return std::exchange(last_, what) != what;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    last_.clear();
  }

 private:
  std::mutex mutex_;
  std::string last_;
};
Told& told() {
  static Told here;
  return here;
}

}  // namespace

void Pe::forget_what_was_told() { told().forget(); }

void Pe::fail(const std::string& what) {
  std::string line = what;  // it may quote a file
  for (char& letter : line)
    if (static_cast<unsigned char>(letter) < ' ' || letter == 0x7f) letter = '?';
  if (!failed_ && told().is_news(line)) std::fprintf(stderr, "nigh chare: %s\n", line.c_str());
  failed_ = true;
  finish(1);
}

}  // namespace nigh::chare
