// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See registry.hpp. Part of the loaded code: no allocation, no C++ library.
#include "space/registry.hpp"

#include <cstdio>
#include <cstring>

#include "space/job.hpp"

namespace nigh::space {

void hash_text(const unsigned char (&key)[16], const char* what, std::uint64_t number, char (&text)[33]) {
  struct {
    char what[8] = {};
    std::uint64_t number = 0;
  } subject;
  std::snprintf(subject.what, sizeof subject.what, "%s", what);
  subject.number = number;
  unsigned char hash[16];
  keyed_hash(key, &subject, sizeof subject, hash);
  for (std::size_t i = 0; i < sizeof hash; ++i) std::snprintf(text + 2 * i, 3, "%02x", hash[i]);
}

namespace {

sys::SocketName hashed_name(const unsigned char (&key)[16], const char* what, int number) {
  char hash[33], text[64];
  hash_text(key, what, static_cast<std::uint64_t>(number), hash);
  std::snprintf(text, sizeof text, "nigh-%s", hash);
  return sys::abstract_name(text);
}

}  // namespace

sys::SocketName rank_name(const Job& job, int rank) { return hashed_name(job.key, "rank", rank); }

sys::SocketName desk_name(const unsigned char (&key)[16]) { return hashed_name(key, "desk", 0); }

bool judge(const Card& card, long bytes, const Job& job, CardKind& answer) {
  const Card good;
  if (bytes != sizeof card || std::memcmp(card.magic, good.magic, sizeof card.magic) != 0) return false;
  answer = CardKind::other_version;
  if (card.abi != good.abi) return true;
  if (card.kind != CardKind::hello) return false;
  // Every byte is looked at, so that the time taken does not tell how many were right.
  unsigned wrong = 0;
  for (std::size_t i = 0; i < sizeof card.key; ++i) wrong |= static_cast<unsigned>(card.key[i] ^ job.key[i]);
  answer = CardKind::other_key;
  if (wrong != 0) return true;
  answer = CardKind::other_job;
  if (card.size != job.size || card.to != job.rank || card.from < 0 || card.from >= job.size ||
      card.from == job.rank)
    return true;
  answer = CardKind::welcome;
  return true;
}

Card make_card(const Job& job, CardKind kind, int to) {
  Card card;
  card.kind = kind;
  card.from = job.rank;
  card.to = to;
  card.size = job.size;
  if (kind == CardKind::hello || kind == CardKind::welcome || kind == CardKind::account)
    std::memcpy(card.key, job.key, sizeof card.key);
  return card;
}

const char* words_of(Fate fate) {
  static const char* const words[] = {
      "not asked yet",
      "mapped",
      "without nigh, or in another network namespace (nobody listens)",
      "refused: another user's process listens in its place",
      "refused: it has another job key",
      "refused: it has another version of nigh",
      "refused: it belongs to a job of another size",
      "refused: what listens in its place is not nigh",
      "ended before it had joined",
      "went on without this rank",
      "did not join in time",
      "its memory could not be mapped",
      "did not finish its own join",
  };
  static_assert(sizeof words / sizeof *words == static_cast<std::size_t>(Fate::count));
  return words[static_cast<std::size_t>(fate)];
}

}  // namespace nigh::space
