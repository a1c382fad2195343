// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/wave.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "chare/pe.hpp"

namespace nigh::chare {

namespace {
constexpr std::int64_t shortest_pause = 1'000, longest_pause = 1'000'000, long_idle = 1'000'000'000;  // ns
}

Waves::Waves(Pe& pe) : pe_(pe), begun_(message::now_ns()), told_at_(begun_) {}

void Waves::ask(const Callback& then) {
  asked_.push_back(then);
  pause_ = next_ = 0;
}

// With the next wave, whether a PE is idle or not.
void Waves::tell() {
  tells_ = true;
  if (under_way_) return;
  under_way_ = true;
  begin();
}

void Waves::idle(bool since_now) {
  if (under_way_) return;
  const std::int64_t now = message::now_ns();
  if (since_now) idle_since_ = now;
  if (now < next_ || (asked_.empty() && now - idle_since_ < long_idle)) return;
  under_way_ = true;
  begin();
}

void Waves::on_count(const core::Header* message) {
  asked_for_ = Pe::payload_of<Unfinished>(message);
  begin();
}

void Waves::begin() {
  sums_ = {};
  missing_ = 0;
  for (std::uint32_t i = 1; i <= tree_arity; ++i) {
    const std::uint32_t child = tree_arity * pe_.number() + i;
    if (child >= pe_.count()) break;
    if (Header* message = pe_.system(System::count, 0, asked_for_)) {
      pe_.forward(child, message);
      ++missing_;
    }
  }
  if (missing_ == 0) end();
}

void Waves::on_counted(const core::Header* message) {
  add(Pe::payload_of<Sums>(message));
  if (--missing_ == 0) end();
}

void Contributions::add(const Contributions& other) {
  if (missing == 0) one_missing = other.one_missing;
  if (late == 0) one_late = other.one_late, array_of_late = other.array_of_late;
  if (then.kind == Callback::Kind::nothing) then = other.then;
  come += other.come;
  missing += other.missing;
  late += other.late;
}

void Waves::add(const Sums& sums) {
  sums_.sent += sums.sent;
  sums_.done += sums.done;
  sums_.timers += sums.timers;
  sums_.waiting += sums.waiting;
  if (sums_.one_waiting.what == Waiting::For::nothing) sums_.one_waiting = sums.one_waiting;
  if (sums.unfinished.is_before(sums_.unfinished)) sums_.unfinished = sums.unfinished;
  sums_.contributions.add(sums.contributions);
}

// All below have answered.
void Waves::end() {
  Sums mine;
  mine.sent = pe_.sent_;
  mine.done = pe_.done_;
  mine.timers = pe_.timers_.size() - (pe_.number() == 0 && pe_.kind_.progress > 0 ? 1 : 0);
  mine.waiting = pe_.waiting(mine.one_waiting);
  mine.unfinished = pe_.reductions_.first_unfinished();
  mine.contributions = pe_.reductions_.contributions_to(asked_for_);
  add(mine);
  if (pe_.number() != 0) {
    if (Header* message = pe_.system(System::counted, 0, sums_))
      pe_.forward((pe_.number() - 1) / tree_arity, message);
    return;
  }
  under_way_ = false;
  if (std::exchange(tells_, false)) tell_progress();
  const bool quiet = sums_.sent == sums_.done + sums_.waiting && sums_.counts_as(before_);
  before_ = sums_;
  pause_ = std::clamp(2 * pause_, shortest_pause, longest_pause);
  next_ = message::now_ns() + (asked_.empty() ? long_idle / 4 : pause_);
  if (!quiet) return void(asks_why_ = false);
  if (sums_.waiting > 0 || asked_.empty()) {
    if (sums_.timers == 0) be_stuck();
    return;
  }
  before_ = {};
  for (const Callback& then : std::exchange(asked_, {})) pe_.call(then);
}

void Waves::be_stuck() {
  if (asks_why_ && asked_for_ == sums_.unfinished) return pe_.fail(why());
  asks_why_ = true;
  asked_for_ = sums_.unfinished;
  next_ = 0;
}

void Waves::tell_progress() {
  const std::int64_t now = message::now_ns();
  std::fprintf(stderr, "nigh chare: %.1f s: %llu messages, %.0f a second now, %lld under way\n",
               static_cast<double>(now - begun_) * 1e-9, static_cast<unsigned long long>(sums_.done),
               static_cast<double>(sums_.done - told_) * 1e9 / static_cast<double>(now - told_at_),
               static_cast<long long>(sums_.sent - sums_.done));
  told_ = sums_.done;
  told_at_ = now;
}

// --- why nothing goes on ---

namespace {

// "array 0 of Cell".
std::string text_of_array(Pe& pe, std::uint16_t array) {
  const Elements* const elements = pe.elements(array);
  return "array " + std::to_string(array) + (elements ? " of " + name_of(elements->type) : "");
}

std::string text_of_then(const Entries& entries, const Callback& then) {
  if (then.kind == balance_elements) return "balance()";
  if (then.kind == save_elements) return "checkpoint()";
  if (then.kind == Callback::Kind::finish) return "the end of the job";
  if (then.kind != Callback::Kind::nothing && then.entry < entries.entries.size())
    return name_of(*entries.entries[then.entry]);
  return "what comes then";
}

}  // namespace

std::string Waves::why() const {
  if (sums_.waiting == 0) {
    const std::string reason = why_unfinished();
    return "no message is left and no timer, but finish() was not called" +
           (reason.empty() ? "" : ": " + reason);
  }
  const Waiting& one = sums_.one_waiting;
  const std::string method = name_of(*pe_.entries_.entries[one.entry]);
  std::string out = "nothing is left to do, but ";
  out += sums_.waiting == 1 ? "a message waits" : std::to_string(sums_.waiting) + " messages wait";
  out += " for what is not there: " + method;
  switch (one.what) {
    case Waiting::For::element:
      return out + " for element " + text_of(one.index) + " of " + text_of_array(pe_, one.array.number) +
             ", which was not inserted";
    case Waiting::For::named_array:
      return out + " through a proxy kept since before a checkpoint, whose array was not restored";
    default: return out + " for array " + std::to_string(one.array.number) + ", which was not created";
  }
}

std::string Waves::why_unfinished() const {
  const Contributions& all = sums_.contributions;
  if (all.late > 0)
    return "element " + text_of(all.one_late) + " of " + text_of_array(pe_, all.array_of_late) +
           " has contributed, but was inserted after done_inserting(), which has to be called again";
  const std::uint16_t array = asked_for_.array;
  const Elements* const elements = pe_.elements(array);
  if (!elements) return {};
  const std::string come = std::to_string(all.come) + (all.come == 1 ? " element" : " elements");
  if (!pe_.reductions_.knows_total(array))
    return come + " of " + text_of_array(pe_, array) + ", a sparse one, " + (all.come == 1 ? "has" : "have") +
           " contributed, but done_inserting() was not called: nobody knows how many there will be";
  std::string out = text_of_then(pe_.entries_, all.then) + " waits for reduction " +
                    std::to_string(asked_for_.number) + " (from 0 on) of " + text_of_array(pe_, array) +
                    ", to which " + come + " " + (all.come == 1 ? "has" : "have") + " contributed";
  if (all.missing > 0)
    out += ", but " + std::to_string(all.missing) + (all.missing == 1 ? " has" : " have") + " not, such as " +
           text_of(all.one_missing);
  return out;
}

}  // namespace nigh::chare
