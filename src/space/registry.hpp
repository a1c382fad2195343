// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The meeting of ranks: names, cards and fates. Each rank listens at its doors (door.hpp), whose names only
// the job can work out (a keyed hash of its key and the rank); whoever connects shows a card, and both sides
// check two things: the user, which can't be forged (the kernel's word), and the job's key, which the other
// must know. The cards carry the memfds. A card starts with words that every version of us can read, so that
// two versions tell each other so instead of talking past each other.
#pragma once

#include <cstdint>

#include "space/process_space.hpp"
#include "sys/socket.hpp"

namespace nigh::space {

enum class CardKind : std::uint32_t {
  hello = 1,  // from who connects; its memfd comes along
  welcome,    // the answer; the answering rank's memfd comes along
  other_key,  // answers that refuse
  other_version,
  other_job,   // the numbers of ranks differ, or this is not the rank that was asked for
  too_late,    // this rank's join has ended
  unmappable,  // the memfd could not be mapped
  account,     // to the launcher's desk, at a rank's end (account.hpp)
};

struct Card {
  char magic[8] = {'n', 'i', 'g', 'h', 'j', 'o', 'i', 'n'};
  std::uint32_t abi = abi_version;
  CardKind kind = CardKind::hello;
  std::int32_t from = 0, to = 0, size = 0;
  unsigned char key[16] = {};  // of hello, welcome and account only
  unsigned char later[20] = {};
};
static_assert(sizeof(Card) == 64 && offsetof(Card, abi) == 8 && offsetof(Card, kind) == 12,
              "another version must be able to read these");

// The answer of `nigh run` to ranks that ask it (see desk_name): one record for each change.
struct Notice {
  enum class What : std::uint32_t { ended = 1, went_on };
  std::int32_t rank = 0;
  What what = What::ended;
};

// 32 hexadecimal digits that only who has the key can work out.
void hash_text(const unsigned char (&key)[16], const char* what, std::uint64_t number, char (&text)[33]);
// The name of a rank's outer door (door.hpp).
sys::SocketName rank_name(const Job& job, int rank);
// The address of the launcher, which is the parent of all ranks and so the first to know of their ends.
sys::SocketName desk_name(const unsigned char (&key)[16]);

// The answer of rank `job.rank` to a card of `bytes`: welcome, or the refusal. Garbage: false.
bool judge(const Card& card, long bytes, const Job& job, CardKind& answer);

Card make_card(const Job& job, CardKind kind, int to);

// The fate of a peer in join().
enum class Fate : std::uint8_t {
  open,
  mapped,
  nobody,      // nobody listens: that rank runs without us, or in a network namespace of its own
  other_user,  // somebody else's process listens under that name
  other_key,
  other_version,
  other_job,
  garbled,     // answered what no version of us says
  dead,        // ended before it had joined
  went_on,     // ended its join without us
  silent,      // was not heard of in time
  unmappable,  // its memory could not be mapped
  given_up,    // was mapped, but did not come to an end of its own join
  count
};
const char* words_of(Fate fate);

}  // namespace nigh::space
