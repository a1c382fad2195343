// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The loop of join() and the agreement at its end (see join.hpp); the conversations are in join_talk.cpp.
// Part of the loaded code: no allocation, no C++ library, no thread, no signal disposition touched; every
// wait is bounded.
//
// Why all_reachable(ranks) has one answer everywhere. Say it is asked by x, one of `ranks`, after x's join.
// It is true when each member's word says `published` and each member's bits hold all members. If that is so,
// x has mapped all members, sees just that, and says true. If it is not, some member i did not publish or its
// bits lack a member j. Either x has not mapped i, then x's own bits lack i, or x reads i's word and bits,
// and they are final: x left join() only when i's word had left `meeting`, the word changes once, and the
// bits were written before it. So x says false, whoever x is.
#include "space/join.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "space/memory.hpp"
#include "space/say.hpp"

namespace nigh::space {

namespace {

// A word on stderr when somebody is missing for so long.
constexpr long late_ms = 10'000;
// A peer that we have met began before we publish, so that its own time is over before ours is for the second
// time; and then it needs a CPU to say so.
constexpr long grace_ms = 2'000;
// Visitors that are taken in one round. Inside they are ours; outside anybody may come.
constexpr int most_inside = 256;
constexpr int most_outside = 16;
constexpr long beset_ms = 3'000;
// Open files of the program, about, beside one for each peer.
constexpr rlim_t spare_files = 24;

// The one change of a rank's word; false: it was made before.
bool conclude(SlotHeader* header, Joined word) {
  auto expected = static_cast<std::uint32_t>(Joined::meeting);
  return header->joined.compare_exchange_strong(expected, static_cast<std::uint32_t>(word),
                                                std::memory_order_acq_rel);
}

}  // namespace

Join::Join(const Job& job, int memfd, Doors& doors, Peer* peers, int timeout_ms)
    : job_(job), memfd_(memfd), doors_(doors), peers_(peers), timeout_ms_(timeout_ms) {}

bool Join::run() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    keep_pidfds_ = static_cast<rlim_t>(size() - 1) <= files.rlim_cur / 4;
    // Equal limits in all ranks: better that all see it than that some come to the end of theirs.
    if (files.rlim_cur < static_cast<rlim_t>(size()) + spare_files) could_not_visit(job_.rank, -EMFILE);
  }
  started_ = now_ = last_look_ = sys::now_ms();
  deadline_ = started_ + timeout_ms_;
  peers_[job_.rank].fate = Fate::mapped;
  if (!job_.all_prepared && size() > 1) visit_desk();
  while (!aside_) {
    now_ = sys::now_ms();
    if (!published_ && (count_open() == 0 || now_ >= deadline_ || is_beset())) publish();
    if (published_ && all_ended()) break;
    if (!published_) {
      visit_some();
      tell_who_is_late();
    }
    wait_and_serve();
  }
  finish();
  return !aside_;
}

int Join::count_open() const {
  int open = 0;
  for (int rank = 0; rank < size(); ++rank) open += is_open(rank) ? 1 : 0;
  return open;
}

// The first of those that have met reports for all.
bool Join::speaks_for_all() const {
  for (int rank = 0; rank < job_.rank; ++rank)
    if (peers_[rank].fate == Fate::mapped) return false;
  return true;
}

Join::Link* Join::add_link(int fd, int rank, Stage stage) {
  for (int i = 0; i < most_links; ++i) {
    if (link_[i].stage != Stage::unused) continue;
    if (i >= links_) links_ = i + 1;
    link_[i] = {.fd = fd, .rank = rank, .stage = stage, .owed = CardKind::hello, .since = now_};
    return &link_[i];
  }
  return nullptr;
}

void Join::drop(Link& link) {
  sys::hang_up(link.fd);
  link = Link{};
}

void Join::settle(int rank, Fate fate) {
  if (is_open(rank)) peers_[rank].fate = fate;
}

void Join::stand_aside(const char* format, ...) {
  if (aside_) return;
  aside_ = true;
  va_list args;
  va_start(args, format);
  std::vsnprintf(reason_, sizeof reason_, format, args);
  va_end(args);
}

int Join::pause() const {
  long until = published_ ? last_look_ + look_ms : now_ + look_ms;
  if (deadline_ < until) until = deadline_;
  if (!published_)
    for (int rank = 0; rank < size(); ++rank)
      if (is_open(rank) && !peers_[rank].asked && peers_[rank].next_try < until)
        until = peers_[rank].next_try;
  for (int i = 0; i < links_; ++i)
    if (link_[i].stage == Stage::to_send) until = now_ + 1;
  return until <= now_ ? 1 : static_cast<int>(until - now_);
}

// A peer that has met us is listened to again when its word is all that we wait for.
bool Join::is_watched(const Link& link) const {
  if (link.stage != Stage::met) return link.stage != Stage::unused;
  return published_ && word_of(link.rank) == Joined::meeting;
}

// Strangers can keep a rank busy by coming again and again. Who has another door shuts this one.
bool Join::listens_outside() const { return doors_.inner < 0 || strangers_ < crowd; }

bool Join::is_beset() const {
  return job_.all_prepared && strangers_ >= crowd && doors_.inner < 0 && now_ >= started_ + beset_ms;
}

void Join::wait_and_serve() {
  int count = door_count;
  poll_[0] = {.fd = doors_.inner, .events = POLLIN, .revents = 0};
  poll_[1] = {.fd = listens_outside() ? doors_.outer : -1, .events = POLLIN, .revents = 0};
  for (int i = 0; i < links_; ++i) {
    if (!is_watched(link_[i])) continue;
    watched_[count] = i;
    poll_[count++] = {.fd = link_[i].fd, .events = POLLIN, .revents = 0};
  }
  int ready = sys::wait_for(poll_, static_cast<std::size_t>(count), pause());
  now_ = sys::now_ms();
  if (ready < 0) return stand_aside("can't wait for the other ranks (%s)", std::strerror(-ready));
  // Visitors last: their links may take the place of links that ended meanwhile.
  for (int k = door_count; k < count; ++k) {
    Link& link = link_[watched_[k]];
    if (link.stage == Stage::to_send) send_owed(link);
    if (ready > 0 && poll_[k].revents != 0 && link.stage != Stage::unused) serve(link, poll_[k].revents);
  }
  if (ready > 0 && poll_[0].revents != 0) take_visitors(doors_.inner, most_inside);
  if (ready > 0 && poll_[1].revents != 0) take_visitors(doors_.outer, most_outside);
}

void Join::serve(Link& link, short events) {
  switch (link.stage) {
    case Stage::awaiting_hello: return read_hello(link);
    case Stage::awaiting_answer: return read_answer(link);
    case Stage::desk: return read_notices(link);
    case Stage::met: return heard_end(link);
    case Stage::to_send: {  // nothing is due from there before our card
      if ((events & (POLLHUP | POLLERR)) != 0) hung_up(link);
      return;
    }
    case Stage::unused: return;
  }
}

// One line when somebody is missing for long, by one rank.
void Join::tell_who_is_late() {
  if (told_late_ || now_ < started_ + late_ms || !speaks_for_all()) return;
  told_late_ = true;
  int first = -1, more = -1;
  for (int rank = size() - 1; rank >= 0; --rank)
    if (is_open(rank)) first = rank, ++more;
  char others[48] = "";
  if (more > 0) std::snprintf(others, sizeof others, " and %d more", more);
  say("rank %d%s of %d has not joined the space after %ld s; waiting for %ld s more", first, others, size(),
      (now_ - started_) / 1000, (deadline_ - now_ + 999) / 1000);
}

// ---- the agreement ----

void Join::publish() {
  for (int rank = 0; rank < size(); ++rank) settle(rank, Fate::silent);
  SlotHeader* mine = own_header();
  for (int rank = 0; rank < size(); ++rank)
    if (peers_[rank].fate == Fate::mapped)
      mine->reachable[rank / 64].fetch_or(std::uint64_t{1} << (rank % 64), std::memory_order_relaxed);
  if (!conclude(mine, Joined::published))
    return stand_aside("the other ranks waited for this one in vain and went on without it");
  published_ = true;
  deadline_ = now_ + timeout_ms_ + grace_ms;
  last_look_ = now_;
  // The listener at the other end of a link wakes up and finds the word; its messages still arrive.
  for (int i = 0; i < links_; ++i)
    if (link_[i].stage == Stage::met) sys::end_sending(link_[i].fd);
}

// True if the word of each mapped peer has left `meeting`.
bool Join::all_ended() {
  bool look = now_ >= last_look_ + look_ms, in_time = now_ < deadline_, all = true;
  if (look) last_look_ = now_;
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == job_.rank || peers_[rank].fate != Fate::mapped) continue;
    Joined word = word_of(rank);
    if (word == Joined::meeting && (look || !in_time)) word = look_after(rank, in_time);
    if (word == Joined::meeting) all = false;
    if (word == Joined::given_up) peers_[rank].fate = Fate::given_up;
  }
  return all;
}

// The word of a peer that could not be mapped: nothing is waited for.
Joined Join::word_of(int rank) {
  const SlotHeader* header = peer_header(rank);
  if (header == nullptr) return Joined::given_up;
  return static_cast<Joined>(header->joined.load(std::memory_order_acquire));
}

// Gives up a peer that is dead or out of time, for everyone, unless it publishes just now.
Joined Join::look_after(int rank, bool in_time) {
  if (in_time && !sys::has_ended(peers_[rank].witness)) return Joined::meeting;
  conclude(peer_header(rank), Joined::given_up);
  return word_of(rank);
}

void Join::finish() {
  if (aside_) conclude(own_header(), Joined::given_up);
  close_doors(job_, doors_);
  for (int i = 0; i < links_; ++i)
    if (link_[i].stage != Stage::unused) drop(link_[i]);
  for (int rank = 0; rank < size(); ++rank) {
    Peer& peer = peers_[rank];
    bool lost = peer.fate == Fate::given_up || (aside_ && peer.fate == Fate::mapped);
    if (rank == job_.rank || !lost) continue;
    unmap_peer(rank);
    sys::forget(peer.witness);
    peer.fate = Fate::given_up;
  }
  if (!aside_ && told_late_ && speaks_for_all()) {
    int missing = 0;
    for (int rank = 0; rank < size(); ++rank) missing += peers_[rank].fate == Fate::silent ? 1 : 0;
    if (missing > 0)
      say("%d of %d ranks did not join the space within %d s; the others go on without them", missing, size(),
          timeout_ms_ / 1000);
  }
}

}  // namespace nigh::space
