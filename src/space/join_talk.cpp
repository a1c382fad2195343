// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The conversations of join(). Who begins: each rank goes to those above it at once and to those below it a
// little later, so that a pair that starts together meets once; who is not there yet will come by itself, so
// a refused rank tries again rarely. Few conversations are begun at a time, because descriptors under way
// count against a limit that all processes of the user share.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "space/join.hpp"
#include "space/memory.hpp"

namespace nigh::space {

namespace {

constexpr long lower_delay_ms = 3;
constexpr int longest_pause_ms = 40;
constexpr long desk_pause_ms = 5;
// An unanswered conversation older than this no longer counts against the number begun at a time.
constexpr long stalled_ms = 40;
// Descriptors under way in the whole job, about.
constexpr int under_way = 400;

bool later(long error) { return error == -EAGAIN || error == -ETOOMANYREFS || error == -ENOBUFS; }
bool out_of_files(long error) { return error == -EMFILE || error == -ENFILE; }

}  // namespace

// ---- going to others ----

void Join::visit_desk() {
  desk_try_ = 0;
  int fd = sys::connect_to(desk_name(job_.key));
  if (later(fd)) desk_try_ = now_ + desk_pause_ms;
  if (fd < 0) return;  // or no such launcher
  ucred peer{};
  Card card = make_card(job_, CardKind::hello, -1);
  if (!sys::peer_credentials(fd, peer) || peer.uid != geteuid() ||
      sys::send_record(fd, &card, sizeof card) < 0 || add_link(fd, -1, Stage::desk) == nullptr)
    sys::hang_up(fd);
}

void Join::visit_some() {
  if (desk_try_ != 0 && now_ >= desk_try_) visit_desk();
  int begun = 0, window = under_way / size();
  if (window < 2) window = 2;
  for (int i = 0; i < links_; ++i)
    if ((link_[i].stage == Stage::awaiting_answer && now_ < link_[i].since + stalled_ms) ||
        (link_[i].stage == Stage::to_send && link_[i].owed == CardKind::hello))
      ++begun;
  for (int step = 1; step < size() && begun < window && !aside_; ++step) {
    int rank = (job_.rank + step) % size();
    Peer& peer = peers_[rank];
    if (!is_open(rank) || peer.asked) continue;
    if (peer.next_try == 0) peer.next_try = started_ + (rank < job_.rank ? lower_delay_ms : 0);
    if (now_ < peer.next_try) continue;
    visit(rank);
    ++begun;
  }
}

void Join::visit(int rank) {
  int fd = visit_rank(job_, rank);
  if (fd < 0) return could_not_visit(rank, fd);
  ucred peer{};
  if (!sys::peer_credentials(fd, peer) || peer.uid != geteuid()) {
    sys::hang_up(fd);
    return settle(rank, Fate::other_user);
  }
  Link* link = add_link(fd, rank, Stage::to_send);
  if (link == nullptr) return sys::hang_up(fd);
  peers_[rank].asked = true;
  send_owed(*link);
}

void Join::could_not_visit(int rank, int error) {
  Peer& peer = peers_[rank];
  if (out_of_files(error)) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    return stand_aside("the limit of open files (ulimit -n, now %lu) is too low for a space of %d ranks",
                       static_cast<unsigned long>(files.rlim_cur), size());
  }
  if (error == -ECONNREFUSED && job_.all_prepared) return settle(rank, Fate::nobody);
  if (error != -ECONNREFUSED && !later(error))
    return stand_aside("can't connect to rank %d (%s)", rank, std::strerror(-error));
  peer.pause_ms = later(error) ? 1 : peer.pause_ms == 0 ? 2 : peer.pause_ms * 2;
  if (peer.pause_ms > longest_pause_ms) peer.pause_ms = longest_pause_ms;
  peer.next_try = now_ + peer.pause_ms;
}

// Sends the card that this link owes. What can't be sent now is tried again.
void Join::send_owed(Link& link) {
  link.stage = Stage::to_send;
  Card card = make_card(job_, link.owed, link.rank);
  bool with_memory = link.owed == CardKind::hello || link.owed == CardKind::welcome;
  long sent = sys::send_record(link.fd, &card, sizeof card, with_memory ? memfd_ : -1);
  if (later(sent)) return;
  if (sent < 0) return hung_up(link);
  link.since = now_;
  if (!with_memory) return drop(link);  // a refusal ends it
  link.stage = link.owed == CardKind::hello ? Stage::awaiting_answer : Stage::met;
}

// The peer's memory, which came over `socket`. True: it is mapped and of this job.
bool Join::map(int rank, int memfd, int socket) {
  Peer& peer = peers_[rank];
  if (peer.fate == Fate::mapped) return true;
  const char* why = "";
  if (memfd < 0 || !map_peer(rank, memfd, &why)) {
    peer.fate = Fate::unmappable;
    return false;
  }
  if (std::memcmp(peer_header(rank)->key, job_.key, sizeof job_.key) != 0) {
    unmap_peer(rank);
    peer.fate = Fate::other_key;
    return false;
  }
  peer.fate = Fate::mapped;
  peer.witness = sys::witness_of(socket, keep_pidfds_);
  return true;
}

void Join::read_answer(Link& link) {
  Card card;
  int memfd = -1;
  long got = sys::receive_record(link.fd, &card, sizeof card, memfd);
  if (later(got)) return;
  if (out_of_files(got)) return could_not_visit(link.rank, -EMFILE);
  const Card good;
  bool sound =
      got == static_cast<long>(sizeof card) && std::memcmp(card.magic, good.magic, sizeof card.magic) == 0;
  Peer& peer = peers_[link.rank];
  if (got <= 0) {
    hung_up(link);
  } else if (!sound) {
    ++garbage_;
    settle(link.rank, Fate::garbled);
    drop(link);
  } else if (card.abi != good.abi || card.kind == CardKind::other_version) {
    peer.version = card.abi;
    settle(link.rank, Fate::other_version);
    drop(link);
  } else if (card.kind == CardKind::welcome && !published_) {
    bool ours = std::memcmp(card.key, job_.key, sizeof card.key) == 0 && card.from == link.rank;
    if (!ours) settle(link.rank, Fate::other_key);
    if (ours) map(link.rank, memfd, link.fd);
    link.stage = Stage::met;  // even when it is not mapped: it has mapped us
  } else {
    settle(link.rank, card.kind == CardKind::too_late     ? Fate::went_on
                      : card.kind == CardKind::unmappable ? Fate::unmappable
                      : card.kind == CardKind::other_key  ? Fate::other_key
                                                          : Fate::other_job);
    drop(link);
  }
  sys::close_fd(memfd);
}

// The other end of a met link has nothing more to say: it has published, or it is gone.
void Join::heard_end(Link& link) {
  char nothing = 0;
  int passed = -1;
  long got = sys::receive_record(link.fd, &nothing, sizeof nothing, passed);
  sys::close_fd(passed);
  if (later(got)) return;
  if (got > 0) ++garbage_;
  // When it has published it still waits for our word, through this link.
  if (got <= 0 && word_of(link.rank) == Joined::meeting) hung_up(link);
}

void Join::hung_up(Link& link) {
  // A dying process closes its files a little before it counts as dead: look again soon.
  if (link.rank >= 0 && peers_[link.rank].fate == Fate::mapped) last_look_ = now_ - look_ms + 4;
  if (link.rank >= 0) settle(link.rank, Fate::dead);
  drop(link);
}

void Join::read_notices(Link& link) {
  Notice notice;
  int passed = -1;
  long got = 0;
  while ((got = sys::receive_record(link.fd, &notice, sizeof notice, passed)) == sizeof notice)
    if (notice.rank >= 0 && notice.rank < size())
      settle(notice.rank, notice.what == Notice::What::ended ? Fate::dead : Fate::went_on);
  sys::close_fd(passed);
  if (!later(got)) drop(link);
}

// ---- taking those who come ----

void Join::take_visitors(int door, int most) {
  for (int i = 0; i < most; ++i) {
    int fd = sys::accept_from(door);
    if (out_of_files(fd)) return could_not_visit(job_.rank, fd);
    if (fd < 0) return;
    ucred peer{};
    if (!sys::peer_credentials(fd, peer) || peer.uid != geteuid()) {
      sys::hang_up(fd);
      if (++strangers_ == crowd && doors_.inner < 0) open_inner_door(job_, doors_);
      if (!listens_outside()) return shut_outer(doors_);
      continue;
    }
    Link* link = add_link(fd, -1, Stage::awaiting_hello);
    if (link == nullptr) {
      sys::hang_up(fd);
      return;
    }
    read_hello(*link);  // it was usually sent with the connection
  }
}

void Join::read_hello(Link& link) {
  Card card;
  int memfd = -1;
  long got = sys::receive_record(link.fd, &card, sizeof card, memfd);
  if (later(got)) return;
  if (out_of_files(got)) return could_not_visit(job_.rank, -EMFILE);
  if (got <= 0) return drop(link);
  if (!judge(card, got, job_, link.owed)) {
    ++garbage_;
    drop(link);
  } else {
    if (link.owed == CardKind::welcome) {
      if (published_)
        link.owed = CardKind::too_late;
      else if (!map(card.from, memfd, link.fd))
        link.owed = CardKind::unmappable;
    }
    link.rank = card.from;
    send_owed(link);
  }
  sys::close_fd(memfd);
}

}  // namespace nigh::space
