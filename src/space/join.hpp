// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The meeting of the ranks: one loop in which a rank serves those who come and goes to those it has not met,
// so that no order of arrival and no slow rank holds up the others. Each pair needs one conversation, whoever
// begins it, since both memfds travel in it.
//
// The end is an agreement. A rank writes down whom it has mapped (SlotHeader::reachable) and then sets
// SlotHeader::joined from `meeting` to `published`; who waits for it in vain (it died, it hangs) sets the
// same word to `given_up`. Both are compare-and-swap on one word in shared memory, so one of them wins for
// everyone, for good. A rank leaves join() only when the word of every peer that it has mapped has left
// `meeting`; from then on all that it will read to answer "who reaches whom" is final, and equal for all who
// can read it.
#pragma once

#include <poll.h>

#include <cstdint>

#include "space/door.hpp"
#include "space/layout.hpp"
#include "space/registry.hpp"
#include "sys/pidfd.hpp"

namespace nigh::space {

enum class Joined : std::uint32_t { meeting, published, given_up };

struct Peer {
  Fate fate = Fate::open;
  bool asked = false;         // a conversation begun by us is under way
  std::uint32_t version = 0;  // of us, where it has another one
  int pause_ms = 0;           // between attempts to reach it
  long next_try = 0;
  sys::Witness witness;
};

class Join {
 public:
  // `doors` are those of job.rank; join closes them. `peers` has job.size entries.
  Join(const Job& job, int memfd, Doors& doors, Peer* peers, int timeout_ms);
  // False: stands aside, reason() says why; nothing is mapped then.
  bool run();
  [[nodiscard]] const char* reason() const { return reason_; }
  // Visitors sent away: of other users, and whose words made no sense.
  [[nodiscard]] int strangers() const { return strangers_; }
  [[nodiscard]] int garbage() const { return garbage_; }

 private:
  // A link stays when its two ends have met: that one of them publishes, or dies, wakes the other.
  enum class Stage : std::uint8_t { unused, to_send, awaiting_answer, awaiting_hello, met, desk };
  struct Link {
    int fd = -1;
    int rank = -1;  // -1: a visitor that has not shown its card
    Stage stage = Stage::unused;
    CardKind owed = CardKind::hello;  // to_send: what
    long since = 0;
  };
  static constexpr int most_links = 2 * kMaxRanks + 64;
  static constexpr int door_count = 2;
  // The time between two searches for the dead; their sockets usually tell at once, unless a child of theirs
  // holds them.
  static constexpr int look_ms = 200;

  [[nodiscard]] int size() const { return job_.size; }
  [[nodiscard]] bool is_open(int rank) const { return rank != job_.rank && peers_[rank].fate == Fate::open; }
  [[nodiscard]] int count_open() const;
  [[nodiscard]] bool speaks_for_all() const;

  Link* add_link(int fd, int rank, Stage stage);
  void drop(Link& link);
  void settle(int rank, Fate fate);
  void stand_aside(const char* format, ...) __attribute__((format(printf, 2, 3)));

  void visit_desk();
  void visit_some();
  void visit(int rank);
  void could_not_visit(int rank, int error);
  bool map(int rank, int memfd, int socket);
  void send_owed(Link& link);

  void take_visitors(int door, int most);
  [[nodiscard]] bool listens_outside() const;
  [[nodiscard]] bool is_beset() const;
  void read_hello(Link& link);
  void read_answer(Link& link);
  void read_notices(Link& link);
  void heard_end(Link& link);
  void hung_up(Link& link);

  [[nodiscard]] bool is_watched(const Link& link) const;
  void wait_and_serve();
  void serve(Link& link, short events);
  [[nodiscard]] int pause() const;
  void tell_who_is_late();
  void publish();
  bool all_ended();
  static Joined word_of(int rank);
  Joined look_after(int rank, bool in_time);
  void finish();

  Job job_;
  int memfd_;
  // After so many strangers there is a crowd at the outer door. While there is no other one, ranks that were
  // to be there already are waited for no longer than this.
  static constexpr int crowd = 64;
  Doors& doors_;
  Peer* peers_;
  int timeout_ms_;
  long started_ = 0, now_ = 0, deadline_ = 0, last_look_ = 0, desk_try_ = 0;
  int links_ = 0, strangers_ = 0, garbage_ = 0;
  bool published_ = false, aside_ = false, told_late_ = false, keep_pidfds_ = true;
  char reason_[240] = "";
  Link link_[most_links];
  pollfd poll_[most_links + door_count];
  int watched_[most_links + door_count] = {};
};

}  // namespace nigh::space
